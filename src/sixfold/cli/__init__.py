"""The command line: one file for each verb."""

from sixfold.cli.main import main

__all__ = ["main"]
