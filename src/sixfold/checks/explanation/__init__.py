"""What a joint force consists of, and what an equation of the sources means for a model."""
