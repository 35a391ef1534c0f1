"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click


def random_states(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --samples and --seed: which random states a command looks at."""
    seed = click.option(
        "--seed",
        default=0,
        show_default=True,
        type=click.IntRange(min=0),
        help="Same seed, same states.",
    )
    samples = click.option(
        "--samples",
        default=100,
        show_default=True,
        type=click.IntRange(min=1),
        help="Number of random states.",
    )
    return samples(seed(command))
