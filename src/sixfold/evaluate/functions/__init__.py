"""The public quantities, one row each: a model and arrays in, an array out.

Every function takes the model first, broadcasts over leading axes, takes `out=`, and names the
argument when a shape is wrong.  `q` is (..., nq); `v`, `a` and `tau` are (..., nv); `f_ext` is
(..., nb, 6).  Float64 and float32 arrays run as machine code, compiled once for each model;
`backend="numpy"` evaluates the same page step by step in NumPy instead, as all other kinds of
numbers do.
"""
