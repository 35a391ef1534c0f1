"""`sixfold export ROBOT`: an algorithm for one robot as code without dependencies."""

from __future__ import annotations

import click

from sixfold.choices import CodeLanguage, CodePrecision, CodeTarget
from sixfold.cli.options import refuse_idle, robot_argument
from sixfold.errors import NotApplicableError, visible
from sixfold.formats import load
from sixfold.model import grouped as grouped_model
from sixfold.progress import working


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
@click.option("--at", default=None, help="The body or frame, for functions of one, as jacobian.")
@click.option(
    "--target",
    type=click.Choice(["aarch64", "aarch64_sve256", "aarch64_sve512", "riscv64", "x86_64", "ptx"]),
    help="An object file for this processor, with a C header; ptx for Nvidia's cards.",
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
    from sixfold.evaluate import QUANTITIES
    from sixfold.symbolic import export as exported

    where = f"{language}, where the type of the arguments decides"
    refuse_idle("--dtype", language != "c", where)
    model = load(robot)
    if grouped:
        row = QUANTITIES.get(function)
        if row is not None and not getattr(row.reading, "joint_space", False):
            fix = "leave --grouped out: joint forces and what follows from them stay the same"
            raise NotApplicableError("grouping", function, fix)
        model = grouped_model(model)
    with working(f"writing {function} of {model.name}"):
        code = exported(model, function, language=language, dtype=dtype, at=at, target=target)
    for path in code.write(out):
        click.echo(f"{visible(path)}: {path.stat().st_size} bytes")
    click.echo(f"{code.operations} additions, multiplications and divisions a call")
