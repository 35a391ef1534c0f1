"""Fixtures of the tests of spatial algebra."""

from tests.spatial.support import time

__all__ = ["time"]
