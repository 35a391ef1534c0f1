"""The public quantities, one function each: a model and arrays in, an array out.

A function is written for the numbers of one state; `quantity` makes it a function of arrays, which
takes the model first, broadcasts over leading axes, takes `out=`, and names the argument when a
shape is wrong.  `q` is (..., nq); `v`, `a` and `tau` are (..., nv); `f_ext` is (..., nb, 6).

A quantity in a module of this folder is a public name of the package.  The list at the foot of
the module is for type checkers.
"""

from typing import TYPE_CHECKING

from sixfold.evaluate.public import PUBLIC_NAMES
from sixfold.evaluate.quantities.configurations import *
from sixfold.evaluate.quantities.constraints import *
from sixfold.evaluate.quantities.derivatives import *
from sixfold.evaluate.quantities.dynamics import *
from sixfold.evaluate.quantities.energies import *
from sixfold.evaluate.quantities.impacts import *
from sixfold.evaluate.quantities.kinematic_derivatives import *
from sixfold.evaluate.quantities.kinematics import *
from sixfold.evaluate.quantities.regressors import *
from sixfold.evaluate.quantities.wrenches import *

if not TYPE_CHECKING:  # static tools follow the stars, which bring what a module lists
    __all__ = sorted(PUBLIC_NAMES)
