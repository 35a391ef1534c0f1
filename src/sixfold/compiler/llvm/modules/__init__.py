"""Whole LLVM modules: straight-line, rolled, scan, and the single-state call."""
