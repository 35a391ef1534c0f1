"""Programs and bits of ten robots are those that were recorded.

A change that means to alter them records them anew and says so; any other change must not.
"""

import json

import pytest

import sixfold as sf
from sixfold.compiler.llvm import host
from tests.replay.recording import FILE, ROBOTS, digest, functions

RECORDED = json.loads(FILE.read_text())


@pytest.mark.parametrize("robot", ROBOTS)
def test_programs_and_results_are_those_recorded(robot):
    try:
        sf.load(robot)
    except sf.errors.SixfoldError:
        pytest.skip("example-robot-data is not installed")
    if "+fma" not in host()[2]:
        pytest.skip("recorded with fused multiply-add, which changes the last bits")
    assert set(RECORDED[robot]) == set(functions(robot))
    found = {function: digest(robot, function) for function in functions(robot)}
    assert found == RECORDED[robot]
