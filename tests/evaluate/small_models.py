"""Small models that together have every feature, and every public function's arguments."""

import inspect
from functools import cache

import numpy as np

import sixfold as sf
from sixfold.runtime import all_quantities
from tests.public_names import find

QUANTITIES = all_quantities()


def _arguments():
    """Return the arguments after the model of every quantity, with and without optional ones."""
    found = {}
    for name, row in QUANTITIES.items():
        parameters = inspect.signature(find(name)).parameters.values()
        order = [p.name for p in parameters if p.kind is not p.KEYWORD_ONLY][1:]
        found[name] = tuple(order)
        if row.optional & set(order):
            found[f"{name}, {LEFT_OUT}"] = tuple(a for a in order if a not in row.optional)
    return found


LEFT_OUT = "no options"
ARGUMENTS = _arguments()
"""The arguments after the model, in order; after a comma, which are left out."""

NAMES = ("name", "frame")
OPTIONS = {name: tuple(row.choices) for name, row in QUANTITIES.items() if row.choices}


def _links(builder, *joints, **more):
    for k, joint in enumerate(joints, 1):
        inertia = sf.Inertia.from_mass(0.5 * k, (0.1, -0.2, 0.3), (0.02, 0.03, 0.04))
        parent = f"link{k - 1}" if k > 1 else None
        builder.add_body(
            f"link{k}",
            parent=parent,
            joint=joint,
            placement=sf.Transform.from_rpy((0.3, -0.2, 0.1 * k), (0.2, 0.1, 0.3)),
            inertia=inertia,
            **more,
        )
    builder.add_frame("tip", f"link{len(joints)}", (0.1, 0.2, 0.3))
    return builder


def spherical_tree():
    """Two ball joints with damping, friction and springs: nq = 8, nv = 6."""
    builder = sf.ModelBuilder("spherical_tree", friction_speed=0.1)
    more = {"damping": 0.1, "friction": 0.2, "friction_negative": 0.3, "stiffness": 2.0}
    return _links(builder, sf.Spherical(), sf.Spherical(), **more).build()


def coupled_arm():
    """Three joints, the last one following the others: nq = nv = 2."""
    builder = sf.ModelBuilder("coupled_arm")
    _links(builder, sf.Revolute("z"), sf.Prismatic("x"), sf.Revolute((1, 2, 3)), armature=0.1)
    builder.couple("link3_joint", ("link1_joint", 2.0), ("link2_joint", -0.5), offset=0.3)
    return builder.build()


def held_arm():
    """Three hinges and a ball joint that meet in a point: nq = 7, nv = 6, nc = 3."""
    builder = sf.ModelBuilder("held_arm")
    _links(builder, sf.Revolute("z"), sf.Revolute("x"), sf.Revolute((1, 2, 3)), armature=0.1)
    stay = sf.Inertia.from_mass(2.0, (0.1, 0.2, 0.1), (0.3, 0.4, 0.5))
    builder.add_body("stay", joint=sf.Spherical(), placement=(1.0, 0, 0), inertia=stay)
    return builder.close("stay", "link3", sf.Spherical(), (0.3, 0.5, 0.2), (0.2, 0, 0)).build()


CONSTRAINED = (
    "constrained_dynamics",
    "constraint_bias",
    "constraint_gaps",
    "constraint_jacobian",
    "constraint_wrenches",
    "project",
)
"""Functions that trees have no use for."""

MAKERS = {
    "double_pendulum": lambda: sf.load("double_pendulum"),
    "cart_pendulum": lambda: sf.load("cart_pendulum"),
    "floating_link": lambda: sf.load("floating_link"),
    "spherical_tree": spherical_tree,
    "coupled_arm": coupled_arm,
}


HELD = "held_arm"
"""The model that CONSTRAINED runs on."""


UNCOUPLED = {"articulated_inertias"}
"""Functions of a tree whose joints are free of each other."""


def applies(model_name, function):
    if model_name == "coupled_arm" and public(function) in UNCOUPLED:
        return False
    return (public(function) in CONSTRAINED) == (model_name == HELD)


def pairs():
    """Return each model with each function that applies to it, (model, function)."""
    return [(m, f) for m in (*MAKERS, HELD) for f in ARGUMENTS if applies(m, f)]


@cache
def model_named(name):
    return held_arm() if name == HELD else MAKERS[name]()


def frame_of(model):
    return model.frame_names[0] if model.frames else model.body_names[-1]


def core_shape(model, argument):
    """Return the shape of one state of an array argument."""
    if argument in ("q", "q0", "q1"):
        return (model.nq,)
    if argument in ("force", "point"):
        return (3,)
    return {"f_ext": (model.nb, 6), "dt": (), "forces": (model.nc,)}.get(argument, (model.nv,))


def state(model, argument, lead=()):
    """Return repeatable values for an argument: unit quaternions in q, otherwise normal numbers."""
    return _state(model, argument, lead).copy()


@cache
def _state(model, argument, lead):
    number = sum(ord(letter) for letter in argument)
    if argument in ("q", "q0", "q1"):
        return sf.random_state(model, lead, seed=number)[0]
    rng = np.random.default_rng(number)
    return np.asarray(rng.standard_normal((*lead, *core_shape(model, argument))))


def public(function):
    """Return the name of the public function, without what is left out."""
    return function.split(",")[0]


def call(function, model, values, **options):
    """Call a public function with its arguments by name."""
    listed = [values[a] for a in ARGUMENTS[function]]
    return called(public(function), model, *listed, **options)


def called(name, model, *listed, **options):
    """Call a public function; several results come as one array, one state's numbers in a row."""
    found = find(name)(model, *listed, **options)
    if not isinstance(found, tuple):
        return found
    shapes = QUANTITIES[name].shapes(model)
    assert len(found) == len(shapes) and {type(x) for x in found} == {np.ndarray}
    assert len({x.dtype for x in found}) == 1
    rows = [
        x.reshape(*x.shape[: x.ndim - len(core)], -1)
        if x.size
        else x.reshape(*x.shape[: x.ndim - len(core)], np.prod(core, dtype=int))
        for x, core in zip(found, shapes, strict=True)
    ]
    return np.concatenate(rows, axis=-1)


def arrays_of(function):
    return [a for a in ARGUMENTS[function] if a not in NAMES]


def plain_values(function, model, lead=()):
    """Return one set of good arguments; names as text, the rest as float64 arrays."""
    frame = frame_of(model)
    return {a: frame if a in NAMES else state(model, a, lead) for a in ARGUMENTS[function]}
