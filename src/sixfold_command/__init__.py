"""The command `sixfold`, as far as it needs none of the library's modules.

The package `sixfold` loads NumPy and more before the first of its lines could say what Ctrl-C does
meanwhile; so the command starts here.
"""

import signal
from typing import Any


def main(**options: Any) -> Any:
    """Load the command line and run it; Ctrl-C meanwhile ends the process without a traceback."""
    usual = signal.getsignal(signal.SIGINT)
    if usual is signal.default_int_handler:  # neither ignored nor in the hands of a program
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from sixfold.cli import main as run

    if usual is signal.default_int_handler:
        signal.signal(signal.SIGINT, usual)
    return run(**options)
