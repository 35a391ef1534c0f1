"""Tests of sixfold; stages of the compiler verify what they make."""

import os

os.environ.setdefault("SIXFOLD_VERIFY", "1")
