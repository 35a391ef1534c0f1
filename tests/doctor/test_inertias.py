"""Inertias that no body can have, and masses that are zero, negative or out of proportion."""

from dataclasses import replace

import pytest

import sixfold as sf
from sixfold.model import Link, SourceInfo
from tests.doctor.support import ROD, chain, codes, only, with_lines


def solid(*moments, mass=1.0, at=(0.0, 0.0, 0.1)):
    return sf.Inertia.from_mass(mass, at, moments)


def test_a_sound_robot_has_no_findings():
    assert codes(chain(ROD, ROD, ROD).build()) == []


def test_a_moment_above_the_sum_of_the_others_is_an_error_with_its_amount():
    found = only(with_lines(chain(ROD, solid(0.01, 0.02, 0.05)).build()), "inertia-triangle")
    assert (found.severity, found.where, found.file, found.line) == (
        "error",
        "link 'b'",
        "arm.urdf",
        12,
    )
    assert found.values["excess"] == pytest.approx(0.02)
    assert found.values["relative_excess"] == pytest.approx(0.4)
    assert found.values["principal_moments"] == pytest.approx([0.01, 0.02, 0.05])
    assert "0.02 kg m^2 (0.4 of it)" in found.what
    assert str(found).startswith("arm.urdf:12: error: link 'b': principal moments 0.01, 0.02, 0.05")


@pytest.mark.parametrize(
    ("moments", "expected"),
    [
        ((0.01, 0.02, 0.03), []),
        ((0.01, 0.02, 0.03 * (1 + 1e-12)), []),
        ((0.01, 0.02, 0.03001), [("inertia-triangle", "warning")]),
        ((0.01, 0.02, 0.034), [("inertia-triangle", "error")]),
        ((1e-14, 1e-14, 3e-14), [("inertia-triangle", "note")]),
        ((-1e-3, 0.02, 0.02), [("inertia-not-positive", "error")]),
        ((-1e-15, 0.02, 0.02), []),
    ],
)
def test_the_amount_decides(moments, expected):
    assert codes(chain(ROD, solid(*moments, at=(0, 0, 0))).build()) == expected


def test_an_inertia_that_is_not_positive_is_reported_once_and_by_its_eigenvalues():
    rows = [[0.02, 0.03, 0.0], [0.03, 0.02, 0.0], [0.0, 0.0, 0.03]]
    model = with_lines(chain(ROD, sf.Inertia.from_mass(1.0, (0, 0, 0.1), rows)).build())
    assert [c for c, _ in codes(model) if c.startswith("inertia")] == ["inertia-not-positive"]
    found = only(model, "inertia-not-positive")
    assert found.values["principal_moments"] == pytest.approx([-0.01, 0.03, 0.05])
    assert found.line == 12


def test_moments_are_judged_about_the_centre_of_mass_in_any_axes():
    turned = sf.Transform.from_rpy((0.3, 0.4, 0.5), (1.0, 2.0, 3.0))
    sound = turned.T @ solid(0.01, 0.02, 0.0299) @ turned
    broken = turned.T @ solid(0.01, 0.02, 0.05) @ turned
    placed = {"step": 4.0}
    assert codes(chain(ROD, sound, **placed).build()) == []
    assert codes(chain(ROD, broken, **placed).build()) == [("inertia-triangle", "error")]


def test_rounding_far_from_the_origin_is_no_violation():
    far = sf.Inertia.from_mass(5.0, (30.0, 20.0, 10.0), (1e-9, 1e-9, 1e-9))
    found = {code for code, _ in codes(chain(ROD, far).build())}
    assert not found & {"inertia-triangle", "inertia-not-positive"}


def test_each_link_is_judged_as_its_file_gives_it_even_when_the_body_is_sound():
    bad = solid(0.001, 0.001, 0.01)
    builder = chain(ROD, ROD * 5.0)
    builder.add_body("camera", parent="b", joint=sf.Fixed(), inertia=bad)
    model = builder.build()
    assert codes(model) == []
    links = (
        Link("a", 0, sf.Transform.identity(), ROD, 1, 2),
        Link("b", 1, sf.Transform.identity(), ROD * 5.0, 3, 4),
        Link("camera", 1, sf.Transform.identity(), bad, 5, 6),
    )
    found = only(replace(model, origin=SourceInfo("arm.urdf", links)), "inertia-triangle")
    assert (found.where, found.line) == ("link 'camera'", 6)


def test_a_body_that_was_fixed_is_judged_as_it_is_now():
    model = with_lines(chain(ROD, solid(0.01, 0.02, 0.05)).build())
    fixed = sf.replace_inertias(model, {"b": solid(0.01, 0.02, 0.025)})
    assert codes(fixed) == []
    spoiled = sf.replace_inertias(fixed, {"a": solid(0.01, 0.02, 0.06)})
    found = only(spoiled, "inertia-triangle")
    assert (found.where, found.line) == ("body 'a'", 1)


def test_a_negative_mass_is_an_error():
    model = chain(ROD, ROD).build()
    light = replace(model.bodies[1], inertia=solid(0, 0, 0, mass=-0.5))
    found = only(with_lines(replace(model, bodies=(model.bodies[0], light))), "mass-negative")
    assert (found.severity, found.line, found.values["mass"]) == ("error", 12, -0.5)


def test_a_massless_link_is_a_note_unless_it_moves_alone():
    nothing = sf.Inertia.zero()
    model = with_lines(chain(ROD, nothing, ROD, joint="x").build())
    found = only(model, "mass-zero")
    assert (found.severity, found.line) == ("warning", 12)
    builder = chain(ROD, ROD)
    builder.add_body("tool", parent="b", joint=sf.Fixed(), inertia=nothing)
    model = with_lines(builder.build())
    tool = Link("tool", 1, sf.Transform.identity(), nothing, 50, 51)
    model = replace(model, origin=replace(model.origin, links=(*model.origin.links, tool)))
    assert codes(model) == [("mass-zero", "note")]


def test_a_moving_link_without_any_inertia_is_a_warning_and_a_frame_is_nothing():
    model = with_lines(chain(ROD, sf.Inertia.zero(), ROD, joint="x").build())
    links = list(model.origin.links)
    links[1] = replace(links[1], inertia=None)
    frame = Link("tool", 2, sf.Transform.identity(), None, 50, 50)
    model = replace(model, origin=replace(model.origin, links=(*links, frame)))
    assert codes(model) == [("inertia-absent", "warning")]
    assert "joint 'jb'" in only(model, "inertia-absent").what


def test_a_body_between_two_joints_of_one_link_is_nothing():
    model = with_lines(chain(ROD, sf.Inertia.zero(), ROD, joint="x").build())
    links = tuple(link for link in model.origin.links if link.name != "b")
    assert codes(replace(model, origin=replace(model.origin, links=links))) == []


def test_moments_without_mass_and_mass_without_moments_are_told():
    spinning = sf.Inertia.from_mass(0.0, (0, 0, 0), (0.1, 0.1, 0.1))
    assert codes(chain(ROD, spinning).build()) == [("inertia-massless", "warning")]
    point = sf.Inertia.from_mass(1.0, (0, 0, 0.1))
    assert codes(chain(ROD, point).build()) == [("inertia-point", "note")]


def test_a_body_of_nearly_no_mass_is_a_warning():
    dust = sf.Inertia.from_mass(1e-7, (0, 0, 0), (1e-10, 1e-10, 1e-10))
    assert codes(chain(ROD, dust).build()) == [("mass-tiny", "warning")]
    light = sf.Inertia.from_mass(1e-3, (0, 0, 0), (1e-6, 1e-6, 1e-6))
    assert codes(chain(ROD, light).build()) == []


def test_a_link_that_outweighs_all_others_is_a_warning():
    assert codes(chain(ROD, ROD * 4e4, ROD, step=5.0).build()) == [("mass-huge", "warning")]
    assert codes(chain(ROD, ROD * 100.0, ROD, step=5.0).build()) == []
