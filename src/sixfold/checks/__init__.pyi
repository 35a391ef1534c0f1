from sixfold.checks.doctor import Diagnosis as Diagnosis
from sixfold.checks.doctor import diagnose as diagnose
from sixfold.checks.verify import check as check

__all__: list[str]
