"""What is wrong with a model, where in its file, and how to fix it."""

from sixfold.checks.doctor.diagnose import diagnose
from sixfold.checks.doctor.finding import CODES, Code, Diagnosis, Finding

__all__ = ["CODES", "Code", "Diagnosis", "Finding", "diagnose"]
