"""Functions of the user: called with care, shown to be pure, compiled."""
