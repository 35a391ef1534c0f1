"""What `python -m benchmarks bench` measures, one section a file; `__main__.py` runs them."""
