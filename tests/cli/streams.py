"""The command line with its two streams apart."""

from __future__ import annotations

import inspect
from typing import Any

from click.testing import CliRunner, Result

from sixfold.cli import main


def apart(*arguments: str, **options: Any) -> Result:
    """Run a command; stdout and stderr are apart, as they are for click by itself from 8.2 on."""
    if "mix_stderr" in inspect.signature(CliRunner).parameters:
        options["mix_stderr"] = False
    return CliRunner(**options).invoke(main, arguments)
