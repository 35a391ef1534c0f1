"""What is measured, one section a file."""
