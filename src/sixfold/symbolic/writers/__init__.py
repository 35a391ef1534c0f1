"""Equations as text, LaTeX, HTML and SymPy."""
