from sixfold.display.report import plot as plot
from sixfold.display.report import write_report as write_report
from sixfold.display.viewer import view as view

__all__: list[str]
