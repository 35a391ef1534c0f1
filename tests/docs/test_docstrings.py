"""Docstrings of public names: their arguments, what they return, and an example that runs."""

import doctest
import inspect

import pytest

from tests.public_names import places

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
MADE_BY = {
    "BaseParameters": "base_parameters",
    "BaseProjection": "base_projection",
    "BlockOperator": "influence_operators",
    "Code": "export",
    "Comparison": "compare_with",
    "ContactForces": "contact_forces",
    "Consistency": "physical_consistency",
    "Constrained": "constrained_motion",
    "Converter": "convert",
    "Diagnosis": "diagnose",
    "Equations": "equations",
    "Identification": "identify",
    "InverseKinematics": "inverse_kinematics",
    "Linearization": "linearize",
    "Mobility": "mobility",
    "Model": "ModelBuilder",
    "Operators": "influence_operators",
    "OperatorSolution": "influence_operators",
    "OptimalControl": "optimal_control",
    "RolloutGradient": "rollout_gradient",
    "Sweep": "sweep",
    "Trajectory": "simulate",
}
"""Classes that users do not make: the example is that of what makes them."""
NEEDS = {
    "array_api_function": "array_api_compat",
    "compare_with": "pinocchio",
    "convert": "pinocchio",
    "Env": "gymnasium",
    "equations": "sympy",
    "from_mujoco": "mujoco",
    "from_pinocchio": "pinocchio",
    "jax_function": "jax",
    "lqr": "scipy",
    "McapLog": "mcap",
    "opencl_function": "pyopencl",
    "opencl_rollout": "pyopencl",
    "pinocchio_constraints": "pinocchio",
    "plot": "matplotlib",
    "to_mujoco": "mujoco",
    "to_pinocchio": "pinocchio",
    "torch_function": "torch",
    "tvlqr": "scipy",
    "view": "viser",
    "VectorEnv": "gymnasium",
}
"""What an example needs; those for a graphics card are read, not run."""


def public():
    """Return the public functions and classes, without errors and warnings."""
    found = {name: value for name, (_, value) in places().items()}
    return {
        name: value
        for name, value in found.items()
        if callable(value) and not (inspect.isclass(value) and issubclass(value, Exception))
    }


FUNCTIONS = {name: value for name, value in public().items() if not inspect.isclass(value)}
EXAMPLES = [name for name in public() if name not in MADE_BY]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_say_what_they_take_and_return(name):
    function = FUNCTIONS[name]
    signature, text = inspect.signature(function), inspect.getdoc(function)
    if signature.parameters:
        assert "\nArgs:\n" in text
        listed = text.split("\nArgs:\n")[1].split("\n\n")[0]
        missing = [p for p in signature.parameters if f"{p}: " not in listed]
        assert not missing
    if signature.return_annotation not in (None, "None"):
        assert "\nReturns:\n" in text


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_run(name, tmp_path, monkeypatch):
    value = public()[name]
    found = doctest.DocTestParser().get_doctest(
        inspect.getdoc(value), {}, f"sixfold.{name}", None, None
    )
    assert found.examples
    needed = NEEDS.get(name)
    if needed == "no card":
        return
    if needed is not None:
        pytest.importorskip(needed)
    monkeypatch.chdir(tmp_path)
    said = []
    doctest.DocTestRunner(optionflags=FLAGS, verbose=False).run(found, out=said.append)
    assert not said, "".join(said)


def test_what_makes_a_class_has_an_example():
    assert set(MADE_BY) <= set(public())
    assert set(MADE_BY.values()) <= set(EXAMPLES)
