"""Optional libraries are imported, or named with the line that installs them."""

import sys
import tomllib
from pathlib import Path

import pytest

import sixfold as sf
from sixfold.lazy import PACKAGES, optional


def test_an_installed_module_is_returned():
    scipy = pytest.importorskip("scipy.integrate")
    assert optional("scipy.integrate", "a test") is scipy


@pytest.mark.parametrize("module", sorted(PACKAGES))
def test_a_missing_library_is_named_with_its_package_and_extra(module, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    package, extra = PACKAGES[module]
    with pytest.raises(sf.errors.NotApplicableError) as caught:
        optional(module, "this picture")
    text = str(caught.value)
    assert text.startswith(f"this picture does not apply to an installation without {package}")
    assert f"pip install {package}, or pip install 'sixfold[{extra}]'" in text


def test_every_extra_holds_its_package():
    project = Path(__file__).parents[1] / "pyproject.toml"
    extras = tomllib.loads(project.read_text())["project"]["optional-dependencies"]
    for package, extra in PACKAGES.values():
        assert any(line.startswith(package) for line in extras[extra]), (package, extra)
