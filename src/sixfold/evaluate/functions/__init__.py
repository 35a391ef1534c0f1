"""The public quantities, one row each: a model and arrays in, an array out.

Every function takes the model first, broadcasts over leading axes, takes `out=`, and names the
argument when a shape is wrong.  `q` is (..., nq); `v`, `a` and `tau` are (..., nv); `f_ext` is
(..., nb, 6).  Float64 and float32 arrays run as machine code, compiled once for each model;
`backend="numpy"` evaluates the same page step by step in NumPy instead, as all other kinds of
numbers do.

A public function of a module of this folder is a public name of the package.  The list at the foot
of the module is for type checkers.
"""

from types import FunctionType
from typing import TYPE_CHECKING

from sixfold.evaluate.functions.configurations import *
from sixfold.evaluate.functions.constraints import *
from sixfold.evaluate.functions.derivatives import *
from sixfold.evaluate.functions.dynamics import *
from sixfold.evaluate.functions.energies import *
from sixfold.evaluate.functions.energy_derivatives import *
from sixfold.evaluate.functions.impacts import *
from sixfold.evaluate.functions.jacobians import *
from sixfold.evaluate.functions.kinematic_derivatives import *
from sixfold.evaluate.functions.kinematics import *
from sixfold.evaluate.functions.regressors import *
from sixfold.evaluate.functions.wrenches import *

if not TYPE_CHECKING:  # static tools follow the stars, which bring what a module lists
    __all__ = [
        name
        for name, value in globals().items()
        if isinstance(value, FunctionType) and value.__module__.startswith(f"{__name__}.")
    ]
