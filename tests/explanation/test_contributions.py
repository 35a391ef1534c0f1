"""Joint forces split by body and cause: they add up, and each cause is what it says."""

import dataclasses
from fractions import Fraction
from html.parser import HTMLParser

import numpy as np
import pytest

import sixfold as sf
from sixfold.errors import (
    ArgumentError,
    NotApplicableError,
    NumberError,
    OptionError,
    ShapeError,
    UnknownNameError,
)

ID, JOINT_CAUSES = "inverse_dynamics", ("armature", "viscous", "dry", "spring")


def state(model, seed=0):
    """Return q, v, a and external forces."""
    rng = np.random.default_rng(seed)
    q, v = sf.random_state(model, seed=rng)
    return q, v, rng.standard_normal(model.nv), rng.standard_normal((model.nb, 6))


def worst_error(parts):
    """Return the largest relative difference of exact sums of contributions from the total."""
    errors = []
    for terms, total in zip(parts.contributions, parts.total.tolist(), strict=True):
        exact = sum(map(Fraction, terms.ravel().tolist()))
        errors.append(abs((exact - Fraction(total)) / Fraction(total)) if total else abs(exact))
    return float(max(errors))


@pytest.mark.parametrize("start", range(0, 100, 10))
def test_contributions_of_random_trees_add_up_to_inverse_dynamics(start):
    for seed in range(start, start + 10):
        model = sf.random_tree(1 + seed % 7, seed, properties=True)
        q, v, a, f_ext = state(model, seed)
        parts = sf.explain(model, ID, q, v, a, f_ext)
        np.testing.assert_array_equal(parts.total, sf.inverse_dynamics(model, q, v, a, f_ext))
        assert parts.contributions.shape == (model.nv, model.nb, 9)
        assert worst_error(parts) <= 4e-16, seed


MODELS = {
    "random tree": sf.random_tree(8, 5, properties=True),
    "tree6": sf.load("tree6"),
    "puma560": sf.load("puma560"),
    "floating base": sf.load("floating_link"),
    "couplings": (
        sf.ModelBuilder("coupled")
        .add_body("a", joint=sf.Revolute("y"), inertia=sf.Inertia.from_mass(2.0, (0.3, 0, 0.1)))
        .add_body("b", parent="a", joint=sf.Revolute("x"), damping=0.3, armature=0.2,
                  placement=(0.5, 0, 0), inertia=sf.Inertia.from_mass(1.0, (0.2, 0.1, 0)))
        .add_body("c", parent="b", joint=sf.Prismatic("z"), friction=0.4,
                  inertia=sf.Inertia.from_mass(0.5, (0, 0.2, 0.3)))
        .couple("c_joint", ("a_joint", 0.5), ("b_joint", -2.0))
        .build()
    ),
}  # fmt: skip


@pytest.fixture(params=MODELS)
def model(request):
    return MODELS[request.param]


def assert_near(actual, expected):
    scale = max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-13 * scale)


def test_each_cause_is_what_remains_when_the_others_are_switched_off(model):
    q, v, a, f_ext = state(model)
    still = np.zeros(model.nv)
    cause = sf.explain(model, ID, q, v, a, f_ext).by_cause

    def alone(kept, v=still, a=still, f=None, gravity=True):
        """Return inverse dynamics with one property of the joints alone."""
        off = {name: name != kept for name in ("damping", "friction", "springs", "armature")}
        return sf.inverse_dynamics(model.without(**off, gravity=gravity), q, v, a, f)

    assert_near(cause["inertia"], alone("none", a=a))
    assert_near(cause["gravity"], alone("none", gravity=False))
    assert_near(cause["gravity"], sf.gravity_force(model, q))
    assert_near(cause["external"], alone("none", f=f_ext))
    assert_near(cause["coriolis"] + cause["centrifugal"], alone("none", v=v))
    squares = sum(alone("none", v=v[k] * np.eye(model.nv)[k]) for k in range(model.nv))
    assert_near(cause["centrifugal"], squares)
    assert_near(cause["armature"], alone("armature", a=a) - alone("none", a=a))
    assert_near(cause["viscous"], alone("damping", v=v) - alone("none", v=v))
    assert_near(cause["dry"], alone("friction", v=v) - alone("none", v=v))
    assert_near(cause["spring"], alone("springs"))


def test_each_body_is_what_is_missing_when_it_has_no_mass(model):
    q, v, a, f_ext = state(model)
    f_ext *= 0
    model = model.without(damping=True, friction=True, springs=True, armature=True)
    parts = sf.explain(model, ID, q, v, a, f_ext)
    for k, name in enumerate(model.body_names):
        numbers = [list(body.inertia.parameters()) for body in model.bodies]
        numbers[k] = [0.0] * 10
        without = sf.inverse_dynamics(
            model, q, v, a, inertias=np.array(numbers, float), backend="numpy"
        )
        assert_near(parts.by_body[name], parts.total - without)


def test_coriolis_forces_are_those_of_the_christoffel_symbols():
    model = sf.load("puma560").without(damping=True, friction=True, armature=True)
    q, v, _, _ = state(model, 3)
    found = sf.explain(model, "bias_force", q, v).by_cause
    n = model.nv
    total = sf.coriolis_matrix(model, q, v) @ v
    squares = sum(
        sf.coriolis_matrix(model, q, v[k] * np.eye(n)[k]) @ np.eye(n)[k] * v[k] for k in range(n)
    )
    assert_near(found["centrifugal"], squares)
    assert_near(found["coriolis"], total - squares)


def test_one_moving_joint_has_no_coriolis_force_at_all(model):
    q, v, a, _ = state(model)
    only = np.zeros(model.nv)
    only[0] = v[0]
    assert not sf.explain(model, ID, q, only, a).by_cause["coriolis"].any()


def test_a_body_adds_nothing_to_joints_that_do_not_carry_it():
    model = sf.load("tree6")
    parts = sf.explain(model, ID, *state(model))
    for k, body in enumerate(model.bodies):
        carried = set(model.subtree(body.name))
        row = parts[body.joint_name]
        adding = {name for name, x in row.by_body.items() if x.any()}
        assert adding <= carried and body.name in adding, k


def test_forces_of_a_joint_count_to_the_body_that_it_carries():
    model = MODELS["random tree"]
    parts = sf.explain(model, ID, *state(model))
    places = [parts.causes.index(cause) for cause in JOINT_CAUSES]
    assert parts.contributions[:, :, places].any()
    for joint in model.coordinates.free:
        others = np.delete(parts.contributions[joint.v], joint.body, axis=1)
        assert not others[:, :, places].any()


@pytest.mark.parametrize("frame", ["world", "body"])
def test_external_forces_are_taken_in_both_frames(frame):
    model = sf.load("puma560")
    q, v, a, f_ext = state(model)
    parts = sf.explain(model, ID, q, v, a, f_ext, f_ext_frame=frame)
    tau = sf.inverse_dynamics(model, q, v, a, f_ext, f_ext_frame=frame)
    np.testing.assert_array_equal(parts.total, tau)
    assert worst_error(parts) <= 4e-16


def test_bias_and_gravity_are_split_as_well():
    model = MODELS["random tree"]
    q, v, _, f_ext = state(model)
    bias = sf.explain(model, "bias_force", q, v, f_ext=f_ext)
    np.testing.assert_array_equal(bias.total, sf.bias_force(model, q, v, f_ext))
    assert worst_error(bias) <= 4e-16
    assert not bias.by_cause["inertia"].any() and not bias.by_cause["armature"].any()
    weight = sf.explain(model, "gravity_force", q)
    np.testing.assert_array_equal(weight.total, sf.gravity_force(model, q))
    assert worst_error(weight) <= 4e-16
    assert {c for c, x in weight.by_cause.items() if x.any()} == {"gravity"}


def test_a_pendulum_is_split_as_on_paper():
    # 1 kg at 0.5 m: inertia 0.25 a, gravity 0.5 g sin q
    parts = sf.explain(sf.load("pendulum"), ID, [0.4], [3.0], [2.0]).by_cause
    inertia = sf.mass_matrix(sf.load("pendulum"), [0.4])[0, 0] * 2.0
    np.testing.assert_allclose(parts["inertia"], [inertia], rtol=1e-15)
    np.testing.assert_allclose(parts["gravity"], [0.5 * 9.81 * np.sin(0.4)], rtol=1e-15)
    assert not parts["coriolis"].any() and abs(parts["centrifugal"][0]) < 1e-15


def test_two_links_in_the_plane_are_split_as_on_paper():
    # h = -m l l_c sin q2: Coriolis 2 h v1 v2, centrifugal h v2^2 on joint 1 and -h v1^2 on joint 2
    arm = sf.load("planar_chain:2")
    q, v = [0.3, 0.5], [1.5, 2.0]
    h = -1.0 * 1.0 * 0.5 * np.sin(q[1])
    parts = sf.explain(arm, "bias_force", q, v).by_cause
    np.testing.assert_allclose(parts["coriolis"], [2 * h * 3.0, 0.0], atol=1e-15)
    np.testing.assert_allclose(parts["centrifugal"], [h * 4.0, -h * 2.25], atol=1e-15)


# -- joints, tables, pictures


def test_a_joint_is_chosen_by_its_name_or_by_its_coordinate():
    model = MODELS["floating base"]
    given = state(model)[:3]
    parts = sf.explain(model, ID, *given)
    joint = model.joint_names[0]
    assert parts[joint].joints == tuple(n for n in parts.joints if n.startswith(f"{joint}."))
    one = sf.explain(model, ID, *given, joint=parts.joints[4])
    assert one.joints == parts.joints[4:5] and one.total == parts.total[4]
    np.testing.assert_array_equal(one.contributions[0], parts.contributions[4])


def test_the_table_fits_80_columns_and_shows_each_sum():
    model = sf.load("puma560")
    parts = sf.explain(model, ID, *state(model))
    for shown in (parts, parts["joint2"]):
        text = str(shown)
        assert max(map(len, text.splitlines())) <= 80
        used = [cause for cause, x in shown.by_cause.items() if x.any()]
        assert all(f" {cause}" in text for cause in used)
        assert "spring" not in text
        assert f"{shown.total[0]:.4g}" in text
    assert [line.split()[0] for line in str(parts["joint2"]).splitlines()[3:9]] == [
        *model.body_names[1:],
        "sum",
    ]
    assert "6 joint forces, 6 bodies" in repr(parts)
    assert "most of it dry" in repr(parts["joint2"])


def test_long_and_forged_names_do_not_break_the_table():
    names = {"bob": "x\n" + "long" * 30, sf.load("pendulum").joint_names[0]: "y\x1b[31m" * 20}
    model = dataclasses.replace(sf.rename(sf.load("pendulum"), names), name="z" * 200)
    text = str(sf.explain(model, ID, [0.4], [3.0], [2.0]))
    assert max(map(len, text.splitlines())) <= 80
    assert [line.split(" ")[0][:3] for line in text.splitlines()] == [
        "inv",
        "",
        "bod",
        "x\\n",
        "sum",
    ]


def test_the_html_holds_the_table():
    class Cells(HTMLParser):
        found = ()

        def handle_data(self, data):
            self.found += (data,)

    model = sf.load("puma560")
    parts = sf.explain(model, ID, *state(model), joint="joint2")
    cells = Cells()
    cells.feed(parts._repr_html_())
    assert {"body", "gravity", "link6", "sum", f"{parts.total[0]:.4g}"} <= set(cells.found)


def test_the_picture_has_a_bar_for_each_body_whose_pieces_add_up():
    model = sf.load("puma560")
    parts = sf.explain(model, ID, *state(model), joint="joint2")
    figure = parts.plot()
    (axes,) = figure.axes
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names == list(model.body_names[1:])
    for k, name in enumerate(names):
        bars = [bar for pieces in axes.containers for bar in [pieces[k]]]
        assert sum(bar.get_width() for bar in bars) == pytest.approx(parts.by_body[name][0])
        # pieces of one sign lie next to each other
        ends = sorted((bar.get_x(), bar.get_x() + bar.get_width()) for bar in bars)
        reach = max(max(pair) for pair in ends) - min(min(pair) for pair in ends)
        assert reach == pytest.approx(sum(abs(bar.get_width()) for bar in bars))
    assert len(sf.explain(model, ID, *state(model)).plot().axes[0].get_yticklabels()) == 6


# -- what is refused


def test_several_states_are_refused():
    model = sf.load("puma560")
    q, v = sf.random_state(model, 5, seed=1)
    with pytest.raises(ShapeError, match="one state at a time"):
        sf.explain(model, ID, q, v, np.zeros(6))
    with pytest.raises(ShapeError, match=r"argument 'f_ext'"):
        sf.explain(model, ID, q[0], v[0], np.zeros(6), np.zeros((2, 6, 6)))


def test_symbols_and_numbers_that_are_not_finite_are_refused():
    sympy = pytest.importorskip("sympy")
    model = sf.load("pendulum")
    for q in ([sympy.Symbol("q")], [np.nan], [np.inf]):
        with pytest.raises(NumberError, match="finite floats"):
            sf.explain(model, ID, q, [0.0], [0.0])


@pytest.mark.parametrize(
    ("error", "message", "arguments", "options"),
    [
        (OptionError, "inverse_dynamics", ("forward_dynamics", [0.1]), {}),
        (OptionError, "option 'about'", (None, [0.1]), {}),
        (OptionError, "f_ext_frame", (ID, [0.1], [0.1], [0.1]), {"f_ext_frame": "tool"}),
        (ArgumentError, "argument 'a'", (ID, [0.1], [0.1]), {}),
        (ArgumentError, r"sf.explain\(model, 'bias_force', q, v\)", ("bias_force", [0.1]), {}),
        (NotApplicableError, "argument 'v' of gravity", ("gravity_force", [0.1], [0.1]), {}),
        (NotApplicableError, "argument 'f_ext'", ("gravity_force", [0.1]), {"f_ext": [[0] * 6]}),
        (NotApplicableError, "f_ext_frame", (ID, [0.1], [0.1], [0.1]), {"f_ext_frame": "body"}),
        (ShapeError, "argument 'q'", (ID, [0.1, 0.2], [0.1], [0.1]), {}),
        (UnknownNameError, "elbow", (ID, [0.1], [0.1], [0.1]), {"joint": "elbow"}),
        (UnknownNameError, "no joint", (ID, [0.1], [0.1], [0.1]), {"joint": 3}),
    ],
)
def test_what_cannot_be_explained_is_refused_with_a_way_out(error, message, arguments, options):
    with pytest.raises(error, match=message):
        sf.explain(sf.load("pendulum"), *arguments, **options)


def test_only_models_and_names_can_be_explained():
    with pytest.raises(ArgumentError, match="must be a Model"):
        sf.explain(3, ID, [0.1])
