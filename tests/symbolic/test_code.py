"""Generated code: C99 that compiles without a warning and agrees with the kernels, and scripts."""

from __future__ import annotations

import ctypes
import shutil
import subprocess

import numpy as np
import pytest
from benchmarks.bench.examples import FILES, pinocchio_example

import sixfold as sf
from sixfold.codegen.languages import constant
from sixfold.codegen.names import identifier
from sixfold.errors import OptionError
from sixfold.interop.pinocchio import from_pinocchio
from sixfold.runtime import QUANTITIES
from sixfold.symbolic.code import FUNCTIONS, closed_form
from tests.public_names import find

CC = shutil.which("gcc") or shutil.which("cc")
needs_cc = pytest.mark.skipif(CC is None, reason="no C compiler is installed")
STRICT = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic"]
KINDS = {"double": np.float64, "float": np.float32}


def robot(name):
    if name not in FILES:
        return sf.load(name)
    pytest.importorskip("pinocchio")
    return from_pinocchio(pinocchio_example(name)[1])


def built(code, folder):
    """Compile the files of some code strictly and load the library."""
    (source,) = [path for path in code.write(folder) if path.suffix == ".c"]
    library = folder / "code.so"
    command = [CC, *STRICT, "-O1", "-fPIC", "-shared", str(source), "-o", str(library), "-lm"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return ctypes.CDLL(str(library))


def called(function, rows, size, dtype="double"):
    """Return the results of a C function for rows of arguments."""
    kind = KINDS[dtype]
    found = np.zeros((len(rows[0]), size), kind)
    for k, arguments in enumerate(zip(*rows, strict=True)):
        arrays = [np.ascontiguousarray(x, kind) for x in arguments]
        pointers = [x.ctypes.data_as(ctypes.c_void_p) for x in (*arrays, found[k])]
        function(*pointers)
    return found


def states(model, n=20):
    q, v = sf.random_state(model, n, seed=0)
    return q, v, np.random.default_rng(1).standard_normal((n, model.nv))


def error(found, expected):
    return np.abs(found - expected).max() / np.abs(expected).max()


# -- recursive algorithms in C


@needs_cc
@pytest.mark.parametrize("dtype", ["double", "float"])
@pytest.mark.parametrize("function", ["inverse_dynamics", "forward_dynamics"])
@pytest.mark.parametrize("name", ["puma560", "panda", "floating_link"])
def test_exported_c_compiles_without_a_warning_and_agrees(name, function, dtype, tmp_path):
    model = robot(name)
    library = built(sf.export(model, function, dtype=dtype, name="robot"), tmp_path)
    rows = states(model)
    expected = find(function)(model, *rows)
    found = called(library.robot, rows, model.nv, dtype)
    assert error(found, expected) <= (1e-13 if dtype == "double" else 2e-5)


def arguments(function, model, n=5):
    """Return rows of arguments, and the place as a keyword, for a function of a model."""
    row = QUANTITIES[function]
    rng = np.random.default_rng(1)
    rows = []
    for k, name in enumerate(FUNCTIONS[function]):
        shape = row.argument(model, name, None).shape
        point = name[0] == "q"
        rows.append(states(model, n + k)[0][k:] if point else rng.standard_normal((n, *shape)))
    return rows, {row.place: model.body_names[-1]} if row.place else {}


def results(function, model, rows, place):
    """Return all results of the public call, flat for each state."""
    named = dict(zip(FUNCTIONS[function], rows, strict=True))
    found = find(function)(model, **named, **place)
    found = found if isinstance(found, tuple) else (found,)
    return found, [x.reshape(len(rows[0]), -1) for x in found]


def with_constraints(function):
    return (function.startswith("constraint_") and function != "joint_reaction_forces") or (
        function in ("constrained_dynamics", "project")
    )


def model_for(function):
    return sf.load("four_bar_leg" if with_constraints(function) else "double_pendulum")


@needs_cc
@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_quantity_in_c_fills_one_array_for_each_result(function, tmp_path):
    model = model_for(function)
    rows, place = arguments(function, model)
    code = sf.export(model, function, name="robot", at=next(iter(place.values()), None))
    library = built(code, tmp_path)
    _, expected = results(function, model, rows, place)
    for k in range(len(rows[0])):
        found = [np.full(x.shape[1], np.nan) for x in expected]
        arrays = [np.ascontiguousarray(x[k]) for x in rows]
        library.robot(*(x.ctypes.data_as(ctypes.c_void_p) for x in (*arrays, *found)))
        for mine, whole in zip(found, expected, strict=True):
            np.testing.assert_allclose(mine, whole[k], rtol=1e-11, atol=1e-11 * np.abs(whole).max())


@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_quantity_in_numpy_returns_arrays_of_the_same_shapes(function):
    model = model_for(function)
    rows, place = arguments(function, model, 6)
    code = sf.export(
        model, function, language="python", name="robot", at=next(iter(place.values()), None)
    )
    space = {}
    exec(code.files["robot.py"], space)
    expected, _ = results(function, model, rows, place)
    for lead in ((6,), (2, 3), ()):
        cut = [x.reshape(*lead, *x.shape[1:]) if lead else x[0] for x in rows]
        found = space["robot"](*cut)
        assert isinstance(found, tuple) == (len(expected) > 1)
        found = found if isinstance(found, tuple) else (found,)
        for mine, whole in zip(found, expected, strict=True):
            whole = whole.reshape(*lead, *whole.shape[1:]) if lead else whole[0]
            assert mine.shape == np.shape(whole)
            scale = np.abs(whole).max() + 1e-300
            np.testing.assert_allclose(mine, whole, rtol=1e-11, atol=1e-11 * scale)


@needs_cc
@pytest.mark.parametrize("function", ["inverse_dynamics_derivatives", "integrate_derivatives"])
def test_several_results_on_a_floating_base_compile_without_a_warning(function, tmp_path):
    model = sf.load("floating_link")
    library = built(sf.export(model, function, dtype="float", name="robot"), tmp_path)
    rows, place = arguments(function, model, 1)
    _, expected = results(function, model, rows, place)
    found = [np.zeros(x.shape[1], np.float32) for x in expected]
    given = [np.ascontiguousarray(x[0], np.float32) for x in rows]
    library.robot(*(x.ctypes.data_as(ctypes.c_void_p) for x in (*given, *found)))
    for mine, whole in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, whole[0], atol=2e-5 * np.abs(whole).max())


def test_functions_at_a_place_need_its_name_and_others_refuse_one():
    model = sf.load("double_pendulum")
    with pytest.raises(OptionError, match="the name of a body or frame"):
        sf.export(model, "jacobian")
    with pytest.raises(sf.errors.NotApplicableError, match="leave it out"):
        sf.export(model, "mass_matrix", at=model.body_names[0])
    with pytest.raises(sf.errors.UnknownNameError, match="nowhere"):
        sf.export(model, "jacobian", at="nowhere")


@needs_cc
def test_joints_with_friction_springs_and_couplings_export_too(tmp_path):
    model = sf.random_tree(3, 2, properties=True)
    library = built(sf.export(model, name="robot"), tmp_path)
    rows = states(model)
    assert error(called(library.robot, rows, model.nv), sf.inverse_dynamics(model, *rows)) < 1e-13


def test_grouping_by_hand_saves_nothing_more_where_axes_are_coordinate_axes():
    model = sf.load("puma560")
    assert sf.export(model).operations <= sf.export(sf.group_inertias(model)).operations


def test_the_header_can_be_included_twice_and_from_cpp():
    header = sf.export(sf.load("pendulum")).files["pendulum_inverse_dynamics.h"]
    assert "#ifndef pendulum_inverse_dynamics_H" in header
    assert 'extern "C"' in header


# -- closed forms as code


@needs_cc
@pytest.mark.parametrize("parameters", ["symbols", "numbers"])
@pytest.mark.parametrize("name", ["cart_pendulum", "ma23", "puma560"])
def test_closed_forms_in_c_agree_with_the_kernels(name, parameters, tmp_path):
    model = sf.load(name).without(friction=True, damping=True)
    found = sf.equations(model, parameters)
    library = built(closed_form(found, "c", "M,V,G,T,U,tau"), tmp_path)
    q, v, a = states(model)
    stem, n = identifier(model.name), model.nv
    p = [np.tile(list(found.values.values()), (len(q), 1))] if found.values else []

    def get(word, *rows, size=n):
        return called(getattr(library, f"{stem}_{word}"), [*rows, *p], size)

    M = sf.mass_matrix(model, q).reshape(len(q), -1)
    assert error(get("mass_matrix", q, size=n * n), M) < 1e-13
    bias = get("velocity_force", q, v) + get("gravity_force", q)
    assert error(bias, sf.bias_force(model, q, v)) < 1e-13
    assert error(get("joint_forces", q, v, a), sf.inverse_dynamics(model, q, v, a)) < 1e-13
    T = sf.kinetic_energy(model, q, v)
    assert error(get("kinetic_energy", q, v, size=1)[:, 0], T) < 1e-13


@pytest.mark.parametrize("parameters", ["symbols", "numbers"])
def test_closed_forms_in_numpy_agree_for_many_states_at_once(parameters):
    model = sf.load("puma560").without(friction=True, damping=True)
    found = sf.equations(model, parameters)
    space = {}
    exec(found.code("python", "M,V,G,T"), space)
    q, v, _ = states(model, 12)
    q, v = q.reshape(3, 4, 6), v.reshape(3, 4, 6)
    np.testing.assert_allclose(
        space["puma560_mass_matrix"](q), sf.mass_matrix(model, q), atol=1e-13
    )
    bias = space["puma560_velocity_force"](q, v) + space["puma560_gravity_force"](q)
    np.testing.assert_allclose(bias, sf.bias_force(model, q, v), atol=1e-12)
    T = space["puma560_kinetic_energy"](q, v)
    np.testing.assert_allclose(T, sf.kinetic_energy(model, q, v), rtol=1e-12)


def test_numpy_code_of_a_recursive_algorithm_agrees():
    model = sf.load("puma560")
    space = {}
    exec(sf.export(model, language="python").files["puma560_inverse_dynamics.py"], space)
    rows = states(model)
    found = space["puma560_inverse_dynamics"](*rows)
    assert error(found, sf.inverse_dynamics(model, *rows)) < 1e-13


def as_python(text, language):
    """Read the statements of a Julia or MATLAB function as Python: they share their syntax."""
    lines = [line.strip().rstrip(";") for line in text.splitlines()]
    start = next(k for k, line in enumerate(lines) if line.startswith("function") and "(q" in line)
    inside = lines[start + 1 : lines.index("end", start)]
    inside = [line for line in inside if line[:1] not in ("%", "#")]
    return [line.removeprefix("return ") for line in inside]


@pytest.mark.parametrize("language", ["julia", "matlab"])
def test_julia_and_matlab_statements_compute_the_mass_matrix(language):
    """Without those languages at hand their arithmetic, the same as Python's, is carried out."""
    found = sf.equations(sf.load("double_pendulum"), "numbers")
    *steps, last = as_python(found.code(language, "M"), language)
    q = [0.3, -0.8]
    space = {"sin": np.sin, "cos": np.cos}
    # arrays from one, in square or round brackets
    space["q"] = type(
        "Ones", (), {"__getitem__": lambda s, k: q[k - 1], "__call__": lambda s, k: q[k - 1]}
    )()
    for step in steps:
        exec(step, space)
    text = last.partition("= ")[2] if language == "matlab" else last
    rows = text.strip("[]").split("; ")
    gap = ", " if language == "matlab" else " "
    M = [[eval(x, space) for x in row.split(gap)] for row in rows]
    np.testing.assert_allclose(M, sf.mass_matrix(sf.load("double_pendulum"), q), atol=1e-14)


@pytest.mark.parametrize("language", ["julia", "matlab"])
def test_julia_and_matlab_statements_compute_several_results(language):
    model = sf.load("double_pendulum")
    code = sf.export(model, "inverse_dynamics_derivatives", language=language, name="robot")
    (text,) = code.files.values()
    lines = as_python(text, language)
    count = 3 if language == "matlab" else 1
    steps, last = lines[:-count], lines[-count:]
    rows = arguments("inverse_dynamics_derivatives", model, 1)[0]
    space = {"sin": np.sin, "cos": np.cos}
    for name, row in zip("qva", rows, strict=True):
        get = lambda s, k, row=row: row[0][k - 1]  # noqa: E731
        space[name] = type("Ones", (), {"__getitem__": get, "__call__": get})()
    for step in steps:
        exec(step, space)
    if language == "matlab":
        assert text.startswith("function [result1, result2, result3] = robot(q, v, a)\n")
        assert text.count("function ") == 1  # the function that the file is named after
        matrices = [line.partition("= ")[2] for line in last]
    else:
        matrices = last[0].split(", ")
    gap = ", " if language == "matlab" else " "
    expected = sf.derivatives.inverse_dynamics_derivatives(model, *rows)
    for matrix, whole in zip(matrices, expected, strict=True):
        rows_of = [row.split(gap) for row in matrix.strip("[]").split("; ")]
        found = [[eval(x, space) for x in row] for row in rows_of]
        np.testing.assert_allclose(found, whole[0], atol=1e-13)


def test_matlab_returns_handles_of_all_terms():
    text = sf.equations(sf.load("cart_pendulum")).code("matlab")
    assert text.startswith("function robot_ = cart_pendulum()")
    for letter, word in (("M", "mass_matrix"), ("V", "velocity_force"), ("G", "gravity_force")):
        assert f"robot_.{letter} = @cart_pendulum_{word};" in text


# -- small things


@pytest.mark.parametrize("x", [0.1, -2.5, 1e-300, 1 / 3, 3.0])
def test_constants_read_back_as_the_same_number(x):
    assert float(constant(x).strip("()")) == x


@pytest.mark.parametrize(
    ("name", "expected"),
    [("planar_chain:3", "planar_chain_3"), ("7dof", "robot_7dof"), ("é", "robot")],
)
def test_names_of_models_become_names_of_functions(name, expected):
    assert identifier(name) == expected


def test_wrong_choices_are_refused_by_name():
    model = sf.load("pendulum")
    with pytest.raises(OptionError, match="function"):
        sf.export(model, "fly")
    with pytest.raises(OptionError, match="language"):
        sf.export(model, language="cobol")
    with pytest.raises(OptionError, match="dtype"):
        sf.equations(model).code("c", dtype="half")
