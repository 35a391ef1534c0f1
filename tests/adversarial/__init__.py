"""Models drawn to break rewrites of trees: every number that decides something is nearly so."""
