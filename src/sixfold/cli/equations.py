"""`sixfold equations` and `export`: closed forms, and code that stands alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, cast

import click

from sixfold.choices import CodeLanguage, CodePrecision, CodeTarget, InertiaForm
from sixfold.cli.options import refuse_idle, robot_argument
from sixfold.errors import NotApplicableError, visible
from sixfold.formats import load
from sixfold.model import group_inertias
from sixfold.progress import working

Style = CodeLanguage | Literal["text", "latex", "html"]


@click.command()
@robot_argument()
@click.option("--latex", is_flag=True, help="A LaTeX document.")
@click.option("--html", is_flag=True, help="A page that any browser shows.")
@click.option("--python", is_flag=True, help="NumPy functions.")
@click.option("--c", is_flag=True, help="C99 functions, header first.")
@click.option("--julia", is_flag=True, help="Julia functions.")
@click.option("--matlab", is_flag=True, help="MATLAB functions.")
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
    terms: str,
    numbers: bool,
    inertias: InertiaForm,
    angle_tolerance: float,
    explain: bool,
    **styles: bool,
) -> None:
    """Print the equations of motion of ROBOT, a file or a name, in closed form.

    Every expression is compared with the recursive algorithms on random states before it is shown.
    """
    from sixfold.identification import base_parameters
    from sixfold.symbolic import equations as closed_form

    # one style at a time; explanations are text
    style = _pick_style(styles)
    where = f"{style}, which has no place for it"
    refuse_idle("--explain", style != "text", where, "ask for it without a style")
    model = load(robot)
    with working(f"deriving the equations of {model.name}"):
        found = closed_form(
            model,
            "numbers" if numbers else "symbols",
            inertias=inertias,
            angle_tolerance=angle_tolerance,
        )
    # each style has its own writer
    if style == "latex":
        click.echo(found.latex(terms, document=True), nl=False)
    elif style == "html":
        click.echo(found.html(terms), nl=False)
    elif style == "text":
        click.echo(found.text(terms), nl=False)
    else:
        click.echo(found.code(style, terms), nl=False)
    if explain:
        click.echo(f"\n{base_parameters(model)}")


def _pick_style(styles: Mapping[str, bool]) -> Style:
    """Return the one style that was asked for; text if none was."""
    given = [name for name, asked in styles.items() if asked]
    if len(given) > 1:
        first, second, *_ = given
        raise NotApplicableError(f"option --{first}", f"--{second}", "keep one of the two")
    return cast(Style, given[0] if given else "text")


@click.command()
@robot_argument()
@click.option(
    "--language",
    default="c",
    show_default=True,
    type=click.Choice(["c", "python", "julia", "matlab"]),
    help="C99 with a header, NumPy, Julia or MATLAB.",
)
@click.option(
    "--function",
    default="inverse_dynamics",
    show_default=True,
    help="Which function, such as forward_dynamics or mass_matrix.",
)
@click.option(
    "--dtype",
    default="double",
    show_default=True,
    type=click.Choice(["double", "float"]),
    help="Numbers of the C code.",
)
@click.option("--at", default=None, help="Body or frame, for functions such as jacobian.")
@click.option(
    "--target",
    type=click.Choice(["aarch64", "aarch64_sve256", "aarch64_sve512", "riscv64", "x86_64", "ptx"]),
    help="An object file for this processor, with a C header; ptx for an Nvidia GPU.",
)
@click.option("--out", default=".", show_default=True, help="Folder to write to.")
@click.option("--grouped", is_flag=True, help="Group inertial parameters: fewer operations.")
def export(
    robot: str,
    language: CodeLanguage,
    function: str,
    dtype: CodePrecision,
    at: str | None,
    target: CodeTarget | None,
    out: str,
    grouped: bool,
) -> None:
    """Write a function of ROBOT, a file or a name, as code that needs nothing else."""
    from sixfold.runtime import QUANTITIES
    from sixfold.symbolic import export as exported

    where = f"{language}, where the type of the arguments decides"
    refuse_idle("--dtype", language != "c", where)
    model = load(robot)
    if grouped:
        # grouping moves inertia between bodies: only joint-space results stay the same
        row = QUANTITIES.get(function)
        if row is not None and not getattr(row.reading, "joint_space", False):
            fix = "leave --grouped out: joint forces and what follows from them stay the same"
            raise NotApplicableError("option --grouped", f"--function {function}", fix)
        model = group_inertias(model)
    with working(f"writing {function} of {model.name}"):
        code = exported(model, function, language=language, dtype=dtype, at=at, target=target)
    for path in code.write(out):
        click.echo(f"{visible(path)}: {path.stat().st_size} bytes")
    click.echo(f"{code.operations} additions, multiplications and divisions a call")
