"""Contact with friction: gaps, the convex soft model, and its solver."""
