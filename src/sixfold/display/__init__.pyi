from sixfold.display.report.figures import plot as plot
from sixfold.display.report.html import write_report as write_report
from sixfold.display.viewer.viewer import view as view

__all__: list[str]
