"""What `sixfold bench` measures, one section a file; `cli/bench.py` puts them together."""
