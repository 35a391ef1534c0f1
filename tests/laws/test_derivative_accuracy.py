"""How many digits of the derivatives are right: against 256 bits, and beside Pinocchio."""

import pytest

from sixfold.formats import bundled
from tests.cases import some
from tests.surveys.derivatives import BAR, Measured, report, robot_errors, tree_errors
from tests.surveys.robots_vs_pinocchio import Pair


@pytest.mark.parametrize("k", some(range(12), 4))
def test_random_trees_are_right_to_fourteen_digits(k):
    found = list(tree_errors(k, compiled=k % 6 == 0))
    assert len(found) >= 6
    assert all(m.error <= BAR == 4e-14 for m in found), report("trees", found)


@pytest.mark.parametrize("floating", [False, True])
@pytest.mark.parametrize("name", ["ur5", "panda", "a1"])
def test_robots_agree_with_pinocchio(name, floating):
    pin = pytest.importorskip("pinocchio", reason="compared with Pinocchio")
    if not bundled.folder():
        pytest.skip("example-robot-data is not installed")
    pair = Pair(pin, bundled.robots()[name], floating)
    found = list(robot_errors(pair, name))
    assert len(found) == 18
    assert all(m.error <= m.bar == 1e-13 for m in found), report("robots", found)


def test_the_report_counts_what_misses_its_bar(capsys):
    good, bad = Measured("x", 1e-16, "here", 1e-14), Measured("x", 1e-12, "there", 1e-14)
    assert report("trees", [good, good]) == 0
    assert report("trees", [good, bad]) == 1
    assert "missed: x 1.0e-12 on there" in capsys.readouterr().out
