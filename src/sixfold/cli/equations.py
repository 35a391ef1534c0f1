"""`sixfold equations ROBOT`: the closed-form equations of motion."""

from __future__ import annotations

from typing import Literal

import click

from sixfold.choices import CodeLanguage, InertiaForm
from sixfold.cli.options import robot_argument
from sixfold.formats import load
from sixfold.progress import working

STYLES = ("text", "latex", "html", "python", "c", "julia", "matlab")


@click.command()
@robot_argument()
@click.option("--latex", "style", flag_value="latex", help="A LaTeX document.")
@click.option("--html", "style", flag_value="html", help="A page that any browser shows.")
@click.option("--python", "style", flag_value="python", help="NumPy functions.")
@click.option("--c", "style", flag_value="c", help="C99 functions, header first.")
@click.option("--julia", "style", flag_value="julia", help="Julia functions.")
@click.option("--matlab", "style", flag_value="matlab", help="MATLAB functions.")
@click.option(
    "--terms",
    default="M,V,G",
    show_default=True,
    help="Which terms: M, V, B, C, G, T, U, tau, separated by commas.",
)
@click.option("--numbers", is_flag=True, help="The model's numbers instead of letters.")
@click.option(
    "--inertias",
    default="centre",
    show_default=True,
    type=click.Choice(["centre", "origin", "base"]),
    help="Inertias about the centres of mass, about the joints, or the minimal set.",
)
@click.option(
    "--angle-tolerance",
    default=1e-12,
    show_default=True,
    type=click.FloatRange(min=0.0, min_open=True),
    help="Constant angles this near to a right angle [rad] are taken for one.",
)
@click.option("--explain", is_flag=True, help="Also explain the minimal set of parameters.")
def equations(
    robot: str,
    style: CodeLanguage | Literal["latex", "html"] | None,
    terms: str,
    numbers: bool,
    inertias: InertiaForm,
    angle_tolerance: float,
    explain: bool,
) -> None:
    """Print the equations of motion of ROBOT, a file or a name, in closed form.

    Every expression is compared with the recursive algorithms on random states before it is shown.
    """
    from sixfold.identification import base_parameters
    from sixfold.symbolic import equations as closed_form

    model = load(robot)
    with working(f"deriving the equations of {model.name}"):
        found = closed_form(
            model,
            "numbers" if numbers else "symbols",
            inertias=inertias,
            angle_tolerance=angle_tolerance,
        )
    if style == "latex":
        click.echo(found.latex(terms, document=True), nl=False)
    elif style == "html":
        click.echo(found.html(terms), nl=False)
    elif style is None:
        click.echo(found.text(terms), nl=False)
    else:
        click.echo(found.code(style, terms), nl=False)
    if explain:
        click.echo(f"\n{base_parameters(model)}")
