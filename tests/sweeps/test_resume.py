"""A sweep goes on only with a function that gives the rows that are stored."""

import importlib
import os
import sys

import numpy as np
import pytest

import sixfold as sf

FACTOR = 2.0


class Box:
    factor = 2.0


@pytest.fixture
def module(tmp_path, monkeypatch):
    folder = tmp_path / "code" / "swept"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (folder / "sub.py").write_text("factor = 2.0\n\ndef scale(x):\n    return factor * x\n")
    monkeypatch.syspath_prepend(str(folder.parent))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    importlib.invalidate_caches()
    yield importlib.import_module("swept.sub")
    for name in ("swept", "swept.sub"):
        sys.modules.pop(name, None)


def closure(monkeypatch, module):
    k = [2.0]
    return lambda row: k[0] * row, lambda: k.__setitem__(0, 3.0)


def captured_array(monkeypatch, module):
    k = np.array([2.0])
    return lambda row: k[0] * row, lambda: k.__setitem__(0, np.nextafter(2.0, 3.0))


def global_number(monkeypatch, module):
    change = lambda: monkeypatch.setitem(globals(), "FACTOR", 3.0)  # noqa: E731
    return lambda row: FACTOR * row, change


def submodule(monkeypatch, module):
    import swept.sub

    return lambda row: swept.sub.factor * row, lambda: setattr(module, "factor", 3.0)


def inner_import(monkeypatch, module):
    def function(row):
        from swept.sub import scale

        return scale(row)

    return function, lambda: setattr(module, "factor", 3.0)


def dynamic_import(monkeypatch, module):
    def function(row):
        return importlib.import_module("swept" + ".sub").scale(row)

    return function, lambda: setattr(module, "scale", lambda x: 3.0 * x)


def reloaded(monkeypatch, module):
    def change():
        with open(module.__file__, "w") as file:
            file.write("factor = 3.00\n\ndef scale(x):\n    return factor * x * 1.0\n")
        importlib.reload(module)

    return lambda row: module.scale(row), change


def environment(monkeypatch, module):
    monkeypatch.setenv("SIXFOLD_TEST_FACTOR", "2.0")
    change = lambda: monkeypatch.setenv("SIXFOLD_TEST_FACTOR", "3.0")  # noqa: E731
    return lambda row: float(os.environ["SIXFOLD_TEST_FACTOR"]) * row, change


def class_attribute(monkeypatch, module):
    return lambda row: Box.factor * row, lambda: monkeypatch.setattr(Box, "factor", 3.0)


def default(monkeypatch, module):
    def function(row, factor=2.0):
        return factor * row

    return function, lambda: setattr(function, "__defaults__", (3.0,))


def file(monkeypatch, module):
    path = module.__file__ + ".txt"

    def write(text):
        with open(path, "w") as out:
            out.write(text)

    def function(row):
        with open(path) as given:
            return float(given.read()) * row

    write("2.0")
    return function, lambda: write("3.0")


def name_of_a_result(monkeypatch, module):
    names = ["a"]
    return lambda row: {names[0]: row * 1.0}, lambda: names.__setitem__(0, "b")


def kind_of_number(monkeypatch, module):
    kinds = [np.float64]
    return lambda row: row.astype(kinds[0]), lambda: kinds.__setitem__(0, np.float32)


CHANGES = [
    *(closure, captured_array, global_number, submodule, inner_import, dynamic_import, reloaded),
    *(environment, class_attribute, default, file, name_of_a_result, kind_of_number),
]


@pytest.mark.parametrize("complete", [False, True], ids=["half", "complete"])
@pytest.mark.parametrize("make", CHANGES, ids=lambda make: make.__name__)
def test_a_changed_function_is_refused(make, complete, tmp_path, monkeypatch, module):
    function, change = make(monkeypatch, module)
    options = {"write": tmp_path / "rows", "engine": "serial", "block": 25}
    sf.sweeps.sweep(function, 100, **options)
    if not complete:
        next((tmp_path / "rows").glob("rows-*50-*")).unlink()
    assert sf.sweeps.sweep(function, 100, **options).reused == (100 if complete else 75)
    if not complete:
        next((tmp_path / "rows").glob("rows-*50-*")).unlink()
    change()
    with pytest.raises(
        sf.errors.OutputFileError, match="other results than the function gives now"
    ):
        sf.sweeps.sweep(function, 100, **options)


def test_a_function_that_is_only_written_anew_goes_on(tmp_path):
    options = {"write": tmp_path, "engine": "serial"}
    sf.sweeps.sweep(lambda row: 2.0 * row, 100, **options)
    assert sf.sweeps.sweep(lambda row: row + row.astype(float), 100, **options).reused == 100


def test_a_function_whose_bits_depend_on_the_number_of_rows_goes_on(tmp_path):
    weights = np.random.default_rng(0).normal(size=(64, 64))

    def product(row):
        return np.sin(row[:, None] * np.arange(1.0, 65.0)) @ weights

    options = {"write": tmp_path, "engine": "serial", "block": 50}
    sf.sweeps.sweep(product, 200, **options)
    assert sf.sweeps.sweep(product, 200, **options).reused == 200


def test_a_function_with_random_numbers_of_its_own_is_refused(tmp_path):
    options = {"write": tmp_path, "engine": "serial"}
    sf.sweeps.sweep(lambda row: np.random.random(len(row)), 50, **options)
    with pytest.raises(sf.errors.OutputFileError, match=r"takes them from draw="):
        sf.sweeps.sweep(lambda row: np.random.random(len(row)), 50, **options)


def test_other_draws_and_rows_are_another_study(tmp_path):
    options = {"write": tmp_path, "engine": "serial"}
    sf.sweeps.sweep(lambda x: x, 50, draw={"x": sf.sweeps.draws.uniform(0.0, 1.0)}, **options)
    for other in (
        sf.sweeps.draws.uniform(0.0, 2.0),
        sf.sweeps.draws.normal(0.0, 1.0),
        sf.sweeps.draws.uniform([0.0], [1.0]),
    ):
        with pytest.raises(sf.errors.OutputFileError, match="another study"):
            sf.sweeps.sweep(lambda x: x, 50, draw={"x": other}, **options)
