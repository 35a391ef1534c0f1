"""Measurements over many robots and states; run one with `python -m tests.surveys.<name>`."""
