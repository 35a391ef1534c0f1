"""Derivatives of the dynamics along the motion subspaces: exact, and in O(N d) operations.

d/dq is along column t of a joint's motion subspace (the tangent space): a spherical or a free joint
has nv columns, not nq.  Where qd = dq/dt that is the ordinary partial derivative.

| fast version | textbook algorithm |
|---|---|
| `inverse_dynamics.first_order` | `spatial.first_order` (IDSVA) |
"""
