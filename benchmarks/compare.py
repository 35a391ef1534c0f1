"""Compare the speed of two commits in one run.

    python benchmarks/compare.py BASE [--only WORDS] [--quick] [--repeats N]

BASE, any commit, is checked out into a temporary folder with `git worktree`; the other side is the
working tree as it is.  Both sides run in processes of their own with cache folders of their own,
and take turns case by case.  A figure is processor time on one thread, the best of all rounds and
of `--repeats` processes; first calls and imports get a new process each.  The ratio is the speed
relative to BASE: above 1 is faster.  Cases below the bar of their group are measured again, and the
exit status is 1 if some stay below.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Names below `sixfold` that a case uses; the first one that a commit has is taken.
NAMES = {
    "Loop": ("model.constraint.Loop", "model.Loop"),
    "forward_derivatives": (
        "forward_dynamics_derivatives",
        "derivatives.forward_dynamics_derivatives",
    ),
    "inverse_derivatives": (
        "inverse_dynamics_derivatives",
        "derivatives.inverse_dynamics_derivatives",
    ),
    "set_threads": ("set_threads", "threads.set_threads"),
    "ContactPoint": ("ContactPoint", "contact.ContactPoint"),
    "Ground": ("Ground", "contact.Ground"),
    "constrained_dynamics": ("constrained_dynamics", "loops.constrained_dynamics"),
    "regressor": ("regressor", "identification.regressor"),
    "Spherical": ("Spherical", "joints.Spherical"),
    "Transform": ("Transform", "spatial.Transform"),
}

# The lowest speed of a group, relative to BASE.
BARS = {
    "inverse": 0.95,
    "forward": 0.95,
    "mass": 0.95,
    "derivatives": 0.90,
    "regressor": 0.90,
    "constrained": 0.90,
    "contact": 0.90,
    "rollout": 0.95,
    "one": 1 / 1.05,
    "simulate": 1 / 1.05,
    "first": 1 / 1.05,
    "import": 1 / 1.05,
}
ROBOTS = ("ur5", "panda", "g1", "a1", "quadruped")
BATCH, REGRESSOR_BATCH, ROLLOUTS, STEPS, DT = 1024, 256, 64, 50, 1e-3
WINDOW_S = 5e-3  # a round repeats a call until it takes this long


# ---- the cases, run in a process that has one of the two trees on its path


@cache
def public(name: str):
    """Return what a commit calls by one of the alternatives in NAMES."""
    import sixfold

    for path in NAMES.get(name, (name,)):
        parts = path.split(".")
        try:
            if len(parts) > 1:
                __import__("sixfold." + ".".join(parts[:-1]))
            found = sixfold
            for part in parts:
                found = getattr(found, part)
        except (AttributeError, ImportError):
            continue
        return found
    raise LookupError(f"no public name for '{name}': add it to NAMES")


@cache
def robot(name: str):
    """Return a model of rigid bodies without passive joint forces."""
    files = {"g1": "g1_29dof"}
    floating = {"floating_base": True} if name in ("g1", "a1") else {}
    model = public("load")(files.get(name, name), **floating)
    return model.without(damping=True, friction=True, springs=True, armature=True, constraints=True)


@cache
def states(name: str, count: int):
    """Return the model and random q, v and two more arrays of the length of v."""
    import numpy as np

    model = robot(name)
    q, v = public("random_state")(model, count, seed=1)
    random = np.random.default_rng(2)
    return model, q, v, random.normal(size=v.shape), random.normal(size=v.shape)


def stance(name: str):
    """Return a robot on the ground: model, contact points, standing configuration."""
    import numpy as np

    model, point = robot(name), public("ContactPoint")
    q = public("neutral")(model)
    if name == "a1":
        q[2], q[7:] = 0.2985, np.tile((0.0, 0.8, -1.6), 4)
        legs = [body for body in model.body_names if body.endswith("calf")]
        points = [point(leg, (0.0, 0.0, -0.2), 0.02) for leg in legs]
    elif name == "g1":
        q[2] = 0.7915
        corners = ((-0.05, 0.025), (-0.05, -0.025), (0.12, 0.03), (0.12, -0.03))
        points = [
            point(f"{side}_ankle_roll_link", (x, y, -0.03), 0.005)
            for side in ("left", "right")
            for x, y in corners
        ]
    else:
        feet = [frame.name for frame in model.frames if "foot" in frame.name]
        q[2] -= min(public("frame_pose")(model, q, foot)[2, 3] for foot in feet)
        places = [model.locate(foot) for foot in feet]
        points = [point(model.body_names[body], tuple(X.r)) for body, X in places]
    return model, points, q


def with_held_feet():
    """Return A1 with its four feet held to the world as points, and standing states."""
    from dataclasses import replace

    import numpy as np

    model, points, q = stance("a1")
    held = []
    transform, loop, joint = public("Transform"), public("Loop"), public("Spherical")()
    for each in points:
        body, X = model.locate(each.body)
        pose = public("frame_pose")(model, q, each.body)
        there = transform.from_pose(pose[:3, :3].tolist(), pose[:3, 3].tolist())
        held.append(loop(f"{each.body} held", -1, there, body, X, joint))
    random = np.random.default_rng(3)
    v, tau = random.normal(size=(2, 256, model.nv))
    return replace(model, constraints=tuple(held)), np.tile(q, (256, 1)), v, tau


def batch_case(group: str, name: str) -> Callable[[], object]:
    """Return a call of one quantity with a batch of states."""
    count = REGRESSOR_BATCH if group == "regressor" else BATCH
    model, q, v, a, tau = states(name, count)
    function, arrays = {
        "inverse": ("inverse_dynamics", (q, v, a)),
        "forward": ("forward_dynamics", (q, v, tau)),
        "mass": ("mass_matrix", (q,)),
        "regressor": ("regressor", (q, v, a)),
    }[group]
    return lambda: public(function)(model, *arrays)


def derivatives_case(name: str, which: str) -> Callable[[], object]:
    """Return a call of the derivatives of inverse or forward dynamics with a batch."""
    model, q, v, a, tau = states(name, REGRESSOR_BATCH)
    function, last = public(f"{which}_derivatives"), a if which == "inverse" else tau
    return lambda: function(model, q, v, last)


def constrained_case(name: str) -> Callable[[], object]:
    """Return a call of constrained dynamics: A1 with held feet, or a sample with loops."""
    import numpy as np

    if name == "a1":
        model, q, v, tau = with_held_feet()
    else:
        model = public("load")(name)
        q = np.tile(public("neutral")(model), (256, 1))
        v, tau = np.random.default_rng(4).normal(size=(2, 256, model.nv))
    return lambda: public("constrained_dynamics")(model, q, v, tau)


def rollout_case(name: str, contact: bool) -> Callable[[], object]:
    """Return a call of `rollout`, in free flight or on the ground."""
    import inspect

    import numpy as np

    rollout, options = public("rollout"), {}
    if contact:
        model, points, start = stance(name)
        options = {"contacts": public("Ground")(friction=0.8, points=tuple(points))}
        q = np.tile(start, (ROLLOUTS, 1))
        v = 0.05 * np.random.default_rng(5).standard_normal((ROLLOUTS, model.nv))
    else:
        model, q, v, _, _ = states(name, ROLLOUTS)
    moving = model
    if options and "contacts" not in inspect.signature(rollout).parameters:
        moving, options = public("System")(model, **options), {}
    return lambda: rollout(moving, q, v, dt=DT, steps=STEPS, **options)


def one_case(name: str, function: str, kind: str = "arrays") -> Callable[[], object]:
    """Return a public call with one state."""
    model, *arrays = states(name, 1)
    q, v, a, tau = (x[0] for x in arrays)
    given = {"forward_dynamics": (q, v, tau), "inverse_dynamics": (q, v, a)}.get(function, (q,))
    if kind == "lists":
        given = tuple(x.tolist() for x in given)
    place = (model.body_names[-1],) if function in ("frame_pose", "jacobian") else ()
    return lambda: public(function)(model, *given, *place)


def simulate_case(name: str) -> Callable[[], object]:
    """Return a short simulation with a control law, made anew for each call as a script does."""
    model, q, v, _, _ = states(name, 1)

    def call():
        def law(t, q, v):
            return [-2.0 * x for x in v]

        return public("simulate")(model, q[0], v[0], 0.05, dt=DT, control=law)

    return call


def make_cases(quick: bool) -> dict[str, Callable[[], Callable[[], object]]]:
    """Return all cases that run in a process that stays, by name; the first word is the group."""
    found: dict[str, Callable[[], Callable[[], object]]] = {}
    robots = ("panda", "a1") if quick else ROBOTS
    for name in robots:
        for group in ("inverse", "forward", "mass", "regressor"):
            found[f"{group} {name}"] = lambda g=group, n=name: batch_case(g, n)
        for which in ("inverse", "forward"):
            found[f"derivatives {which} {name}"] = lambda n=name, w=which: derivatives_case(n, w)
        found[f"rollout {name}"] = lambda n=name: rollout_case(n, contact=False)
    for name in ("a1",) if quick else ("a1", "g1", "quadruped"):
        found[f"contact {name}"] = lambda n=name: rollout_case(n, contact=True)
    for name in ("four_bar_leg",) if quick else ("four_bar_leg", "stewart", "a1"):
        found[f"constrained {name}"] = lambda n=name: constrained_case(n)
    functions = ("inverse_dynamics", "forward_dynamics", "mass_matrix", "frame_pose", "jacobian")
    for name in ("panda",) if quick else ("panda", "g1"):
        for function in functions:
            found[f"one {function} {name}"] = lambda n=name, f=function: one_case(n, f)
        found[f"one inverse_dynamics {name} lists"] = lambda n=name: one_case(
            n, "inverse_dynamics", "lists"
        )
    found["simulate panda"] = lambda: simulate_case("panda")
    return found


def first_case(name: str) -> Callable[[], object]:
    """Return a call that a new process makes with an empty cache; the model is loaded before."""
    what, model = name.split()[1:]
    if what == "rollout":
        return rollout_case(model, contact=False)
    if what == "derivatives":
        return derivatives_case(model, "forward")
    return batch_case(what, model)


def best_time(call: Callable[[], object], rounds: int) -> float:
    """Return the least processor time of a call over some rounds, after one call not timed."""
    call()
    start = time.process_time()
    call()
    repeats = max(1, round(WINDOW_S / max(time.process_time() - start, 1e-7)))
    best = math.inf
    for _ in range(rounds):
        start = time.process_time()
        for _ in range(repeats):
            call()
        best = min(best, (time.process_time() - start) / repeats)
    return best


def serve() -> None:
    """Answer requests on stdin, a JSON line each, until it closes."""
    answers, sys.stdout = sys.stdout, sys.stderr
    start = time.process_time()
    import sixfold  # noqa: F401

    import_s = time.process_time() - start
    public("set_threads")(1)
    cases, calls = make_cases(quick=False), {}
    for line in sys.stdin:
        name, rounds = json.loads(line)
        try:
            if name == "import":
                seconds = import_s
            elif name.startswith("first"):
                call = first_case(name)
                start = time.process_time()
                call()
                seconds = time.process_time() - start
            else:
                if name not in calls:
                    calls[name] = cases[name]()
                seconds = best_time(calls[name], rounds)
            answer = {"seconds": seconds}
        except Exception as error:  # a commit without a name, a robot that is not installed
            answer = {"error": f"{type(error).__name__}: {str(error).splitlines()[0]}"}
        print(json.dumps(answer), file=answers, flush=True)


# ---- the comparison


class Side:
    """One of the two trees, its cache folder, and the process that runs its cases."""

    def __init__(self, tree: Path, cache_folder: Path) -> None:
        self.tree, self.cache_folder = tree, cache_folder
        self.process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Start a process."""
        environment = os.environ | {
            "PYTHONPATH": str(self.tree / "src"),
            "SIXFOLD_CACHE_DIR": str(self.cache_folder),
            **{name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")},
        }
        self.process = subprocess.Popen(
            [sys.executable, "-W", "ignore", __file__, "--serve"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
            cwd=self.cache_folder,
        )

    def ask(self, name: str, rounds: int) -> float:
        """Return the seconds of a case; raise LookupError with the reason if it cannot run."""
        assert self.process and self.process.stdin and self.process.stdout
        print(json.dumps([name, rounds]), file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        answer = json.loads(line) if line else {"error": "the process ended"}
        if "error" in answer:
            raise LookupError(answer["error"])
        return answer["seconds"]

    def stop(self) -> None:
        """End the process."""
        if self.process and self.process.stdin:
            self.process.stdin.close()
            self.process.wait()
            self.process = None

    def ask_new_process(self, name: str) -> float:
        """Return the seconds of a case in a new process with an empty cache folder."""
        with tempfile.TemporaryDirectory() as empty:
            other = Side(self.tree, Path(empty))
            other.start()
            try:
                return other.ask(name, 1)
            finally:
                other.stop()


@contextmanager
def checkout(commit: str) -> Iterator[Path]:
    """Check a commit out into a temporary folder."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "base"
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(tree), commit], check=True)
        try:
            yield tree
        finally:
            subprocess.run([*git, "remove", "--force", str(tree)], check=True)


def measure(sides: tuple[Side, Side], names: list[str], repeats: int, rounds: int):
    """Return the best seconds of both sides by case, and why cases are missing."""
    best: dict[str, list[float]] = {name: [math.inf, math.inf] for name in names}
    missing: dict[str, str] = {}
    fresh = [name for name in names if name.split()[0] in ("first", "import")]
    for repeat in range(repeats):
        # the side that goes first changes, and both use new processes in each repeat
        order = (0, 1) if repeat % 2 == 0 else (1, 0)
        for side in sides:
            side.start()
        for name in names:
            for turn in range(1 if name in fresh else 3):
                for k in order if turn % 2 == 0 else order[::-1]:
                    if name in missing:
                        continue
                    try:
                        side = sides[k]
                        seconds = (
                            side.ask_new_process(name) if name in fresh else side.ask(name, rounds)
                        )
                    except LookupError as error:
                        missing[name] = f"{('base', 'here')[k]}: {error}"
                    else:
                        best[name][k] = min(best[name][k], seconds)
        for side in sides:
            side.stop()
    return {name: pair for name, pair in best.items() if name not in missing}, missing


def report(best: dict[str, list[float]], missing: dict[str, str]) -> list[str]:
    """Print a line for each case and group; return the cases that are below their bar."""
    low = []
    groups: dict[str, list[float]] = {}
    for name, (base, here) in best.items():
        group, ratio = name.split()[0], base / here
        groups.setdefault(group, []).append(ratio)
        below = ratio < BARS[group]
        low += [name] if below else []
        note = f"  below {BARS[group]:.2f}" if below else ""
        print(f"{name:40} {base * 1e6:12.2f} us {here * 1e6:12.2f} us {ratio:7.3f}{note}")
    for name, why in missing.items():
        print(f"{name:40} not measured: {why}")
    print("\nspeed relative to the base: geometric mean, lowest, bar")
    for group, ratios in groups.items():
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f"{group:16} {mean:7.3f} {min(ratios):7.3f} {BARS[group]:7.2f}")
    return low


def main() -> int:
    """Compare, measure what is below its bar again, and report."""
    parser = argparse.ArgumentParser(description="Compare the speed of two commits.")
    parser.add_argument("base", metavar="BASE", help="commit to compare the working tree with")
    parser.add_argument("--only", nargs="*", default=[], help="cases whose names hold a word")
    parser.add_argument("--quick", action="store_true", help="two robots, fewer rounds")
    parser.add_argument("--repeats", type=int, help="processes of each side (default 3, quick 1)")
    options = parser.parse_args()
    repeats = options.repeats or (1 if options.quick else 3)
    rounds = 5 if options.quick else 10
    names = list(make_cases(options.quick))
    names += ["first inverse panda", "first derivatives a1", "first rollout panda"]
    names += [] if options.quick else ["first derivatives g1", "first mass g1"]
    names += ["import"]
    if options.only:
        names = [name for name in names if any(word in name for word in options.only)]
    with checkout(options.base) as tree, tempfile.TemporaryDirectory() as folder:
        folders = Path(folder, "base"), Path(folder, "here")
        for each in folders:
            each.mkdir()
        sides = Side(tree, folders[0]), Side(ROOT, folders[1])
        best, missing = measure(sides, names, repeats, rounds)
        low = [name for name, (a, b) in best.items() if a / b < BARS[name.split()[0]]]
        if low:
            again, _ = measure(sides, low, repeats, 2 * rounds)
            for name, pair in again.items():
                best[name] = [min(x) for x in zip(best[name], pair, strict=True)]
    return 1 if report(best, missing) else 0


if __name__ == "__main__":
    if "--serve" in sys.argv:
        serve()
    else:
        sys.exit(main())
