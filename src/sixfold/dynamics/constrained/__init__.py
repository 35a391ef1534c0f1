"""Motion under constraints: impacts."""
