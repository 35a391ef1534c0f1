"""The printed coefficients of the MA23 (Khatib, Stanford lecture on dynamics) and what is right.

The text is the lecture's, in its own shorthand; the arm is the sample `ma23`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sixfold.formats.bundled import sample
from sixfold.symbolic.equations import Equations, equations
from sixfold.symbolic.polynomial import Polynomial
from sixfold.symbolic.shorthand import sum_text
from sixfold.symbolic.simplify import nest
from tests.symbolic.shorthand_reader import read

PRINTED: Mapping[str, str] = {
    "A11": """
        Iz1 + M2 SS2 d2^2 + SS2 Iy2 + CC2 Iz2 + M3 (SS2 l2^2 + 2 S2 S(2+3) l2 d3 + SS(2+3) d3^2)
        + SS(2+3) Iy3 + CC(2+3) Iz3 + M4 (SS2 l2^2 + 2 S2 S(2+3) l2 h1 + 2 S2 C(2+3) C4 l2 dy4
        + SS(2+3) h1^2 + 2 SC(2+3) C4 dy4 h1 + CC(2+3) dy4^2 + SS(2+3) SS4 dy4^2) + SS(2+3) SS4 Ix4
        + SS(2+3) CC4 Iy4 - 2 SC(2+3) C4 Iyz4 + CC(2+3) Iz4 + M5 (SS2 l2^2 + 2 S2 S(2+3) l2 h2
        + 2 S2 C(2+3) C4 l2 ly4 + 2 S2 S(2+3) C5 l2 d5 + 2 S2 C(2+3) C4 S5 l2 d5 + SS(2+3) h2^2
        + 2 SC(2+3) C4 ly4 h2 + 2 SS(2+3) C5 h2 d5 + 2 SC(2+3) C4 S5 h2 d5 + CC(2+3) ly4^2
        + 2 SC(2+3) C4 C5 ly4 d5 + 2 CC(2+3) S5 ly4 d5 + SS(2+3) CC4 CC5 d5^2 + 2 SC(2+3) C4 S5 d5^2
        + CC(2+3) SS5 d5^2 + SS(2+3) SS4 ly4^2 + 2 SS(2+3) SS4 S5 ly4 d5 + SS(2+3) SS4 d5^2)
        + SS(2+3) SS4 Ix5
        + SS(2+3) CC4 CC5 Iy5 + 2 SC(2+3) C4 S5 Iy5 + CC(2+3) SS5 Iy5 + SS(2+3) CC4 SS5 Iz5
        - 2 SC(2+3) C4 S5 Iz5
        + CC(2+3) CC5 Iz5 + M6 (SS2 l2^2 + 2 S2 S(2+3) l2 d6 + SS(2+3) d6^2) + SS(2+3) Iy6
        + CC(2+3) Iz6
    """,
    "A22": """
        A33 + M2 d2^2 + Ix2 + M3 (2 C3 l2 d3 + l2^2) + M4 (2 C3 l2 h1 + l2^2 - 2 S3 C4 l2 dy4)
        - M5 (l2^2 + 2 C3 l2 h2 + 2 C3 C5 l2 d5 - 2 S3 C4 l2 ly4 - 2 S3 C4 S5 l2 d5)
        + M6 (2 C3 l2 d6 + l2^2)
    """,
    "A33": """
        M3 d3^2 + Ix3 + M4 (h1^2 + CC4 dy4^2) + CC4 Ix4 + SS4 Iy4 + M5 (h2^2 + 2 C5 h2 d5
        + SS4 CC5 d5^2 + CC4 ly4^2 + 2 CC4 S5 ly4 d5 + CC4 d5^2) + CC4 Ix5 + SS4 CC5 Iy5
        + SS4 SS5 Iz5 + M6 d6^2 + Ix6
    """,
    "A44": """
        M4 dy4^2 + Iz4 + M5 (ly4^2 + 2 S5 ly4 d5 + SS5 d5^2) + SS5 Iy5 + CC5 Iz5
    """,
    "A55": "M5 d5^2 + Ix5",
    "A66": "Iz5",
    "A12": """
        A13 - M4 C2 S4 l2 dy4 + M5 (-C2 S4 l2 ly4 - C2 S4 S5 l2 d5)
    """,
    "A13": """
        M4 (-C(2+3) S4 dy4 h1 + S(2+3) SC4 dy4^2) - S(2+3) SC4 Ix4 - S(2+3) SC4 Iy4
        + C(2+3) S4 Iyz4
        + M5 (-C(2+3) S4 ly4 h2 - C(2+3) S4 C5 ly4 d5 - S(2+3) SC4 CC5 d5^2 - C(2+3) S4 S5 h2 d5
        - C(2+3) S4 S5 d5^2 + S(2+3) SC4 ly4^2 + 2 S(2+3) SC4 S5 ly4 d5 + S(2+3) SC4 d5^2)
        + S(2+3) SC4 Ix5
        - S(2+3) SC4 CC5 Iy5 - C(2+3) S4 S5 Iz5 - S(2+3) SC4 SS5 Iz5 + C(2+3) S4 S5 Iz5
    """,
}
"""The eight coefficients as the lecture prints them, l for the script l."""

CORRECTIONS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "A11": (
        ("2 SC(2+3) C4 S5 d5^2", "2 SC(2+3) C4 SC5 d5^2"),
        ("2 SC(2+3) C4 S5 Iy5", "2 SC(2+3) C4 SC5 Iy5"),
        ("2 SC(2+3) C4 S5 Iz5", "2 SC(2+3) C4 SC5 Iz5"),
    ),
    "A22": (("- M5 (", "+ M5 ("),),
    "A66": (("Iz5", "Iz6"),),
    "A13": (
        ("- S(2+3) SC4 Ix4", "+ S(2+3) SC4 Ix4"),
        ("- C(2+3) S4 S5 d5^2", "- C(2+3) S4 SC5 d5^2"),
        ("- C(2+3) S4 S5 Iz5", "- C(2+3) S4 SC5 Iy5"),
        ("+ C(2+3) S4 S5 Iz5", "+ C(2+3) S4 SC5 Iz5"),
    ),
}
"""What has to be changed in the print, term by term: as it stands, as it should be."""

LETTERS: Mapping[str, str] = {
    **{f"m{k}": f"M{k}" for k in range(1, 7)},
    **{f"I{a}{a}{k}": f"I{a}{k}" for k in range(1, 7) for a in "xyz"},
    "Iyy6": "Ix6",  # body 6 is round about its axis: one letter
    "lz3": "l2",
    "ly5": "ly4",
    "lz5": "h2",
    "cz2": "d2",
    "cz3": "d3",
    "cy4": "dy4",
    "cz4": "h1",
    "cz5": "d5",
    "cz6": "d6",
}
"""The lecture's letters for the parameters of the sample."""


def corrected(name: str) -> str:
    """Return a printed coefficient with its misprints corrected, in the lecture's shorthand."""
    text = " ".join(PRINTED[name].split())
    for wrong, right in CORRECTIONS.get(name, ()):
        text = text.replace(wrong, right, 1)
    return text


@dataclass(frozen=True)
class Coefficient:
    """One printed coefficient beside the computed one."""

    name: str
    printed: Polynomial
    computed: Polynomial

    @property
    def agrees(self) -> bool:
        """True when print and mechanics are the same expression."""
        return self.printed == self.computed

    @property
    def computed_text(self) -> str:
        """The computed coefficient in the lecture's shorthand."""
        return sum_text(self.computed.ring, nest(self.computed))

    @property
    def missing(self) -> str:
        """What has to be added to the print, in the lecture's shorthand."""
        return sum_text(self.computed.ring, nest(self.computed - self.printed))


def ma23_equations() -> Equations:
    """Return the equations of the sample `ma23` in the lecture's letters."""
    return equations(sample("ma23"), names=LETTERS)


def ma23_coefficients(computed: Equations | None = None) -> dict[str, Coefficient]:
    """Return each printed coefficient of the MA23 beside the computed one.

    A12 and A22 refer to A13 and A33; there the computed ones are put in, so that a mistake in A13
    is not reported twice.
    """
    found = computed or ma23_equations()
    M = found.forms.M
    element = {name: M[int(name[1]) - 1][int(name[2]) - 1] for name in PRINTED}
    ring = found.forms.symbolic.ring
    known = {**element, "Iy6": read(ring, "Ix6")}
    return {
        name: Coefficient(name, read(ring, text, known), element[name])
        for name, text in PRINTED.items()
    }
