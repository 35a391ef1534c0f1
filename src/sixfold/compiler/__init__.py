"""Programs as graphs, and their machine code."""
