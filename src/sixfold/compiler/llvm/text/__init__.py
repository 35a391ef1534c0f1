"""LLVM text of single instructions and of elementary functions."""
