"""Pictures, windows, pages and notebooks."""
