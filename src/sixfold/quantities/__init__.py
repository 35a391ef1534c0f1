"""The public quantities, one function each: a model and arrays in, an array out.

A function is written for the numbers of one state; `quantity` makes it a function of arrays, which
takes the model first, broadcasts over leading axes, takes `out=`, and names the argument when a
shape is wrong.  `q` is (..., nq); `v`, `a` and `tau` are (..., nv); `f_ext` is (..., nb, 6).

A quantity in a module of this folder is a public name of the package.
"""

from typing import TYPE_CHECKING

from sixfold.quantities.configurations import *
from sixfold.quantities.constraints import *
from sixfold.quantities.derivatives import *
from sixfold.quantities.dynamics import *
from sixfold.quantities.energies import *
from sixfold.quantities.hybrid import *
from sixfold.quantities.impacts import *
from sixfold.quantities.kinematic_derivatives import *
from sixfold.quantities.kinematics import *
from sixfold.quantities.operational_space import *
from sixfold.quantities.regressors import *
from sixfold.quantities.wrenches import *
from sixfold.runtime.public import PUBLIC_NAMES

if not TYPE_CHECKING:  # static tools follow the stars, which bring what a module lists
    __all__ = sorted(PUBLIC_NAMES)
