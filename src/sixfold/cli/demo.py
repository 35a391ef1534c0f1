"""`sixfold demo`: a first look, on a sample robot."""

from __future__ import annotations

import click
import numpy as np

from sixfold.cli.show import tree_lines
from sixfold.evaluate import (
    bias_force,
    check,
    forward_dynamics,
    gravity_force,
    inverse_dynamics,
    kinetic_energy,
    mass_matrix,
    random_state,
)
from sixfold.formats import load


@click.command()
@click.option("--robot", default="puma560", show_default=True, help="Sample robot to show.")
def demo(robot: str) -> None:
    """Show a robot, a round trip through its dynamics, and the agreement of all formulations."""
    model = load(robot)
    click.echo(f"{model.name}: {model.nb} bodies, {model.nv} freedoms\n")
    for line in tree_lines(model):
        click.echo(f"  {line}")

    q, v = random_state(model, seed=1)
    a = np.random.default_rng(2).standard_normal(model.nv)
    tau = inverse_dynamics(model, q, v, a)
    back = forward_dynamics(model, q, v, tau)
    M = mass_matrix(model, q)
    click.echo("\nOne state, there and back:")
    with np.printoptions(precision=5, suppress=True, linewidth=100):
        for label, value in (
            ("q", q),
            ("v", v),
            ("a", a),
            ("tau = inverse dynamics", tau),
            ("a   = forward dynamics", back),
            ("gravity force", gravity_force(model, q)),
        ):
            click.echo(f"  {label:<24} {value}")
    scale = np.abs(M).sum(axis=1).max() * np.abs(a).max() + np.abs(tau).max()
    residual = np.abs(M @ a + bias_force(model, q, v) - tau).max() / scale
    energy = kinetic_energy(model, q, v)
    click.echo(f"  {'kinetic energy [J]':<24} {energy:.6f}  (v M v / 2 = {v @ M @ v / 2:.6f})")
    click.echo(f"  {'|M a + C - tau|':<24} {residual:.1e} relative")

    click.echo("\nThe same quantities by every formulation that applies:\n")
    report = check(model, 100)
    click.echo(str(report))
    report.raise_if_bad()
    click.echo("\nall formulations agree")
