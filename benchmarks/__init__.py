"""Measurements: `python -m benchmarks bench`, and scripts, each of which explains itself."""
