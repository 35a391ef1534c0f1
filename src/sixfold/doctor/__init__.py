"""What is wrong with a model, where, and how to mend it."""
