"""Five small models that together have every feature, and every public function's arguments."""

from functools import cache

import numpy as np

import sixfold as sf

ARGUMENTS = {
    "inverse_dynamics": ("q", "v", "a", "f_ext"),
    "forward_dynamics": ("q", "v", "tau", "f_ext"),
    "mass_matrix": ("q",),
    "inverse_mass_matrix": ("q",),
    "bias_force": ("q", "v", "f_ext"),
    "gravity_force": ("q",),
    "coriolis_matrix": ("q", "v"),
    "kinetic_energy": ("q", "v"),
    "potential_energy": ("q",),
    "momentum": ("q", "v"),
    "centroidal_momentum": ("q", "v"),
    "center_of_mass": ("q",),
    "body_poses": ("q",),
    "frame_pose": ("q", "name"),
    "body_velocities": ("q", "v"),
    "body_accelerations": ("q", "v", "a"),
    "jacobian": ("q", "name", "point"),
    "jacobian_bias": ("q", "v", "name", "point"),
    "joint_wrenches": ("q", "v", "a", "f_ext"),
    "constraint_forces": ("q", "v", "a", "f_ext"),
    "point_force": ("q", "frame", "force", "point"),
    "integrate": ("q", "v", "dt"),
    "difference": ("q0", "q1"),
    "position_rate": ("q", "v"),
    "inverse_dynamics, no forces": ("q", "v", "a"),
    "forward_dynamics, no forces": ("q", "v", "tau"),
    "bias_force, no forces": ("q", "v"),
    "integrate, no time": ("q", "v"),
}
"""The arguments after the model, in order; after a comma, which are left out."""

NAMES = ("name", "frame")
OPTIONS = {
    "inverse_dynamics": ("f_ext_frame",),
    "forward_dynamics": ("f_ext_frame", "method"),
    "bias_force": ("f_ext_frame",),
    "body_velocities": ("frame",),
    "body_accelerations": ("frame", "kind"),
    "jacobian": ("frame",),
    "jacobian_bias": ("frame",),
    "joint_wrenches": ("f_ext_frame",),
    "constraint_forces": ("f_ext_frame",),
}


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


MAKERS = {
    "double_pendulum": lambda: sf.load("double_pendulum"),
    "cart_pendulum": lambda: sf.load("cart_pendulum"),
    "floating_link": lambda: sf.load("floating_link"),
    "spherical_tree": spherical_tree,
    "coupled_arm": coupled_arm,
}


@cache
def model_named(name):
    return MAKERS[name]()


def frame_of(model):
    return model.frame_names[0] if model.frames else model.body_names[-1]


def core_shape(model, argument):
    """Return the shape of one state of an array argument."""
    if argument in ("q", "q0", "q1"):
        return (model.nq,)
    if argument in ("force", "point"):
        return (3,)
    return {"f_ext": (model.nb, 6), "dt": ()}.get(argument, (model.nv,))


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
    return getattr(sf, public(function))(model, *listed, **options)


def arrays_of(function):
    return [a for a in ARGUMENTS[function] if a not in NAMES]


def plain_values(function, model, lead=()):
    """Return one set of good arguments; names as text, the rest as float64 arrays."""
    frame = frame_of(model)
    one_point = function in ("jacobian", "jacobian_bias")
    return {
        a: frame if a in NAMES else state(model, a, () if one_point and a == "point" else lead)
        for a in ARGUMENTS[function]
    }
