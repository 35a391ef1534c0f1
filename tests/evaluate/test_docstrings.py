"""Docstrings of quantities are complete, though texts of common arguments are written once."""

import inspect

import pytest

from sixfold import quantities
from tests.public_names import find


@pytest.mark.parametrize("name", quantities.__all__)
def test_help_describes_every_parameter_in_order_and_has_an_example(name):
    function = find(name)
    arguments = function.__doc__.partition("    Args:\n")[2].partition("\n\n")[0]
    described = [line.partition(":")[0].strip() for line in arguments.splitlines()]
    listed = [word for word in described if word in inspect.signature(function).parameters]
    assert listed == list(inspect.signature(function).parameters)
    assert "    Returns:\n" in function.__doc__ and "    Example:\n" in function.__doc__
    assert max(map(len, function.__doc__.splitlines())) <= 100
