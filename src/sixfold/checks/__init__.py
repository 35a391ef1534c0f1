"""What is wrong with a model: the doctor, and formulations compared."""
