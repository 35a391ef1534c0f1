"""What a simulation is given and how it ends, checked."""
