"""Results that the pieces of a program store themselves, while the processor computes."""
