"""Wide results in whole cache lines: how rows become lines, and when they are written."""
