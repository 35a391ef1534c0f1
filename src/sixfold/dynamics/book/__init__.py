"""The algorithms as the books print them, one page a file."""
