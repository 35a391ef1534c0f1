"""Trees with motion constraints in addition to their joints: rows, forces, projection, impacts."""
