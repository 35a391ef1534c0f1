"""Every robot that MuJoCo can read, compared with it: a table of worst differences.

MJCF files of gymnasium and dm_control, and the URDFs of example-robot-data on a fixed and on a
floating base.  Needs mujoco, and whichever of those packages is installed.

    python benchmarks/robots_vs_mujoco.py [--samples N] [--numpy] [PART ...]

PART is a piece of a path; only matching files are compared.  Figures are those of the default call,
which is what users run; the NumPy reading is compared beside it and has to agree too.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import sixfold as sf
from sixfold.formats import bundled

QUANTITIES = {
    "inverse dynamics": "ID",
    "forward dynamics": "FD",
    "mass matrix": "M",
    "kinetic energy": "T",
    "potential energy": "V",
    "poses": "poses",
    "springs and damping": "passive",
}


def files() -> Iterator[tuple[str, Path, bool]]:
    """Yield a label, a file and whether its base floats."""
    for package in ("gymnasium", "dm_control"):
        spec = find_spec(package)
        if spec is None or spec.origin is None:
            print(f"{package} is not installed")
            continue
        root = Path(spec.origin).parent
        for path in sorted(root.rglob("*.xml")):
            yield f"{package}/{path.relative_to(root).as_posix()}", path, False
    folder = bundled.folder()
    if folder is None:
        print("example-robot-data is not installed")
        return
    for floating in (False, True):
        for path in sorted(folder.rglob("*.urdf")):
            label = path.relative_to(folder).as_posix()
            yield label + (" (floating)" if floating else ""), path, floating


def main() -> int:
    """Print the table; return 1 if any robot disagrees."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=20)
    parser.add_argument("--library", default="mujoco", choices=("mujoco", "pinocchio"))
    parser.add_argument(
        "--numpy", action="store_true", help="the NumPy reading alone: no compiling"
    )
    parser.add_argument("parts", nargs="*")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"{'robot':<64}" + "".join(f" {short:>8}" for short in QUANTITIES.values()))
    agree, differ, refused = 0, 0, []
    for label, path, floating in files():
        if options.parts and not any(part in label for part in options.parts):
            continue
        try:
            found = sf.interop.compare_with(
                options.library,
                path,
                samples=options.samples,
                backend="numpy" if options.numpy else None,
                floating_base=floating,
                package_dirs=[parent for parent in path.parents if parent.name == "dm_control"],
            )
        except sf.errors.SixfoldError as error:
            refused.append((label, str(error).splitlines()[0]))
            continue
        worst = {d.quantity: f"{d.worst:.1e}{'' if d.agrees else '!'}" for d in found.differences}
        if "mass matrix" not in worst:
            continue  # nothing moves
        agree, differ = agree + found.agrees, differ + (not found.agrees)
        print(f"{label[-64:]:<64}" + "".join(f" {worst.get(q, '-'):>8}" for q in QUANTITIES))
    print(f"\n{agree} agree, {differ} differ, {len(refused)} cannot be read by one of the two:")
    for label, reason in refused:
        print(f"  {label}: {reason[-150:]}")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
