"""Units, centres of mass, radii of gyration, left against right."""

from dataclasses import replace

import pytest

import sixfold as sf
from sixfold.checks.doctor.part_checks import mirror_names
from sixfold.model import Geometry, Mesh
from tests.doctor.support import ROD, box_on, chain, codes, only, with_lines


def shaped(model, *shapes):
    return replace(model, geometries=shapes)


def test_joints_hundreds_of_metres_apart_look_like_millimetres():
    assert ("units-millimetres", "warning") in codes(chain(ROD, ROD, ROD, step=300.0).build())
    assert codes(chain(ROD, ROD, ROD, step=3.0).build()) == []


def test_a_centre_of_mass_in_millimetres_is_seen_against_the_rest():
    far = sf.Inertia.from_mass(2.0, (0.0, 0.0, 150.0), (0.016, 0.016, 0.001))
    found = only(with_lines(chain(ROD, far, ROD).build()), "units-millimetres")
    assert (found.where, found.line) == ("link 'b'", 12)
    assert found.values["center"] == pytest.approx([0, 0, 150.0])
    assert found.values["outside"] == pytest.approx(149.7)


def test_a_centre_of_mass_outside_is_measured_from_joints_and_shapes():
    off = sf.Inertia.from_mass(2.0, (0.0, 0.9, 0.0), (0.016, 0.016, 0.001))
    arm = chain(ROD, off, ROD).build()
    assert codes(arm) == [("center-outside", "warning")]
    assert only(arm, "center-outside").values["outside"] == pytest.approx(0.9)
    # a shape that reaches there, known or a mesh at that place, explains it
    assert codes(shaped(arm, box_on(1, (0.2, 0.2, 0.2), (0, 0.9, 0)))) == []
    # a small box around another place is exact, and less is allowed
    near = sf.Inertia.from_mass(2.0, (0.0, 0.4, 0.0), (0.016, 0.016, 0.001))
    small = chain(ROD, near).build()
    assert codes(small) == []
    assert codes(shaped(small, box_on(1, (0.2, 0.2, 0.2)))) == [("center-outside", "warning")]


def test_a_mesh_has_no_known_size():
    off = sf.Inertia.from_mass(2.0, (0.0, 0.4, 0.0), (0.016, 0.016, 0.001))
    mesh = Geometry(1, sf.Transform.identity(), Mesh("hand.stl"))
    arm = shaped(chain(ROD, off).build(), box_on(1, (0.2, 0.2, 0.2)), mesh)
    assert codes(arm) == []


def test_moments_too_large_for_the_link_are_told_with_their_radius():
    wide = sf.Inertia.from_mass(1.0, (0, 0, 0.1), (4.0, 4.0, 4.0))
    found = only(with_lines(chain(ROD, wide, ROD).build()), "gyration-large")
    assert (found.severity, found.line) == ("warning", 12)
    assert found.values["radius_of_gyration"] == pytest.approx(2.0)
    stand_in = sf.Inertia.from_mass(1e-3, (0, 0, 0.1), (4e-3, 4e-3, 4e-3))
    assert codes(chain(ROD, stand_in, ROD).build()) == [("gyration-large", "note")]
    boxed = shaped(chain(ROD, ROD).build(), box_on(1, (0.05, 0.05, 0.05), (0, 0, 0.15)))
    assert codes(boxed) == []


def test_moments_in_kg_mm2_look_like_a_wrong_unit():
    wrong = sf.Inertia.from_mass(2.0, (0, 0, 0.15), (16e3, 16e3, 1e3))
    assert ("units-inertia", "warning") in codes(chain(ROD, wrong, ROD).build())


def test_masses_in_grams_are_seen_against_lengths():
    heavy = ROD * 1e5
    assert ("units-grams", "warning") in codes(chain(heavy, heavy, heavy).build())
    builder = chain(ROD, ROD, ROD)
    dense = sf.Inertia.from_mass(500.0, (0, 0, 0), (0.5, 0.5, 0.5))
    builder.add_body("e", parent="c", joint=sf.Revolute("x"), inertia=dense)
    model = shaped(builder.build(), box_on(3, (0.1, 0.1, 0.1)))
    found = only(model, "units-grams")
    assert found.where == "body 'e'"
    assert found.values["density"] == pytest.approx(5e5)
    plain = shaped(chain(ROD, ROD, ROD).build(), box_on(1, (0.1, 0.1, 0.3)))
    assert codes(plain) == []


# -- left and right


def pair(left, right, names=("left_arm", "right_arm")):
    builder = sf.ModelBuilder("body")
    torso = sf.Inertia.from_mass(10.0, (0, 0, 0.2), (0.3, 0.3, 0.2))
    builder.add_body("torso", joint=sf.Revolute("z"), inertia=torso)
    for name, inertia, side in zip(names, (left, right), (1, -1), strict=True):
        builder.add_body(
            name,
            parent="torso",
            joint=sf.Revolute("y"),
            placement=(0.0, 0.3 * side, 0.4),
            inertia=inertia,
        )
    return builder.build()


def arm(y, mass=2.0, scale=1.0):
    return sf.Inertia.from_mass(mass, (0.02, y, -0.15), (0.016 * scale, 0.016 * scale, 0.001))


def test_mirror_images_are_no_finding():
    assert codes(pair(arm(0.05), arm(-0.05))) == []
    assert codes(pair(arm(0.05), arm(-0.051, mass=2.01, scale=1.02))) == []


@pytest.mark.parametrize(
    ("right", "severity", "words"),
    [
        (arm(-0.05, mass=2.5), "warning", "masses 2 and 2.5 kg"),
        (arm(-0.05, scale=1.5), "note", "principal moments 0.001 0.016 0.016 and"),
        (arm(0.05), "note", "centres of mass 0.1 m from each other's mirror image"),
    ],
)
def test_left_and_right_that_differ_are_told_with_the_difference(right, severity, words):
    found = only(pair(arm(0.05), right), "asymmetric")
    assert found.severity == severity
    assert found.where == "body 'left_arm'"
    assert "differs from body 'right_arm'" in found.what and words in found.what


def test_names_that_are_no_pair_are_not_compared():
    assert codes(pair(arm(0.05), arm(0.05, mass=3.0), ("first", "second"))) == []


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("left_hip", "right_hip"),
        ("arm_left_3_link", "arm_right_3_link"),
        ("LeftElbow", "RightElbow"),
        ("l_wrist", "r_wrist"),
        ("gripper_l", "gripper_r"),
        ("L_foot", "R_foot"),
        ("LElbowYaw_link", "RElbowYaw_link"),
        ("FL_hip", None),
        ("lf_foot", "rf_foot"),
        ("LF_HAA", "RF_HAA"),
        ("link_1", None),
        ("Lower", None),
        ("lower_arm", None),
        ("right_hip", None),
    ],
)
def test_the_right_twin_of_a_name(left, right):
    assert (right in mirror_names(left)) if right else mirror_names(left) == []
