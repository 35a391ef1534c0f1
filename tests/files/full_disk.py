"""Every writer of the library where no file may grow beyond some bytes, as on a full disk.

    python -m tests.files.full_disk FOLDER [BYTES]

writes each file once, then again under the limit, and prints one line of JSON for each writer.
"""

import json
import resource
import sys
from pathlib import Path

from benchmarks.bench import report as bench_report

import sixfold as sf
from sixfold.display import plot, write_report

STEPS = 0.3


def writers(folder: Path):
    """Return the writers by name: the file that is replaced and the call that writes it."""
    model = sf.load("double_pendulum")
    arm = sf.simulate(model, [0.3, 0.1], None, STEPS)
    code = sf.export(model, "mass_matrix")
    (folder / "code").mkdir(exist_ok=True)
    calls = {
        "robot.urdf": lambda path: sf.save(model, path),
        "robot.json": lambda path: sf.save(model, path),
        "run.npz": arm.save,
        "run.csv": arm.save,
        "run.parquet": arm.save,
        "run.mcap": arm.save,
        "log.mcap": lambda path: _log(path, model, arm),
        "report.html": lambda path: write_report(path, model, arm),
        "plot.svg": lambda path: plot(arm, path),
        "plot.png": lambda path: plot(arm, path),
        "swing.gif": lambda path: arm.animate(path, fps=4, size=(64, 64)),
        "code/double_pendulum_mass_matrix.h": lambda path: code.write(path.parent),
        "sweep.html": _sweep_page,
        "bench.json": _bench,
    }
    return {name: (folder / name, call) for name, call in calls.items()}


def _log(path, model, arm):
    with sf.McapLog(path, model) as log:
        for k in range(len(arm)):
            log.write(arm.t[k], arm.q[k], arm.v[k])


def _sweep_page(path):
    from sixfold.cli.simulate import sweep

    study = path.with_suffix(".toml")
    if not study.exists():
        study.write_text(
            'robot = "pendulum"\nquantity = "gravity_force"\nrows = 50\nseed = 1\n'
            "[draw.q]\nuniform = [-1.0, 1.0]\n"
        )
    arguments = [str(study), "--engine", "serial", "--out", str(path)]
    sweep.main(arguments, standalone_mode=False)


def _bench(path):
    from benchmarks.bench.run import Results, Settings

    results = Results(peak_gflops=[1.0])
    bench_report.write(str(path), results, Settings(("inverse_dynamics",)), ())


def main() -> int:
    folder, limit = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 100
    out = sys.stdout
    sys.stdout = sys.stderr
    listed = writers(folder)
    for path, write in listed.values():
        write(path)
    before = {name: path.read_bytes() for name, (path, _) in listed.items()}
    kept = {path for path in folder.rglob("*") if path.is_file()}
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    for name, (path, write) in listed.items():
        try:
            write(path)
            ended = "written"
        except BaseException as error:
            ended = f"{type(error).__name__}: {error}"
        left = sorted(x.name for x in folder.rglob("*") if x.is_file() and x not in kept)
        kept |= {x for x in folder.rglob("*") if x.is_file()}
        found = {"writer": name, "ended": ended, "old": path.read_bytes() == before[name]}
        print(json.dumps(found | {"left": left}), file=out, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
