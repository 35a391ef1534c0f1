"""Inputs as people type them: nothing is guessed, nothing is swallowed."""
