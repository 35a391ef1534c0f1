from sixfold.interop.array_api import array_api_function as array_api_function
from sixfold.interop.compare import Comparison as Comparison
from sixfold.interop.compare import compare_with as compare_with
from sixfold.interop.coordinates import Converter as Converter
from sixfold.interop.coordinates import convert as convert
from sixfold.interop.jax_bridge import jax_function as jax_function
from sixfold.interop.mujoco import from_mujoco as from_mujoco
from sixfold.interop.mujoco import to_mujoco as to_mujoco
from sixfold.interop.pinocchio import from_pinocchio as from_pinocchio
from sixfold.interop.pinocchio import pinocchio_constraints as pinocchio_constraints
from sixfold.interop.pinocchio import to_pinocchio as to_pinocchio
from sixfold.interop.torch_bridge import torch_function as torch_function

__all__: list[str]
