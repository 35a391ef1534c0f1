"""Tests of the influence operators."""
