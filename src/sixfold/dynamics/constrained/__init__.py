"""Trees with motion constraints beside their joints: rows, forces, projection, impacts."""
