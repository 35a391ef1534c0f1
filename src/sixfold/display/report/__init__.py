"""Reports of a motion: one HTML page, a matplotlib figure, or a film."""
