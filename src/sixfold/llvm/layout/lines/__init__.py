"""Wide results in whole cache lines."""
