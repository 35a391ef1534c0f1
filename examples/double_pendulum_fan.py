"""Ten thousand double pendulums that start almost alike: chaos as a picture.

python double_pendulum_fan.py --picture fan.png
"""

import argparse

import numpy as np

import sixfold as sf


def fan(count=10_000, duration=8.0):
    """Return the motion of many pendulums, their first angles a millionth of a radian apart."""
    model = sf.load("double_pendulum")
    start = np.zeros((count, 2))
    start[:, 0] = 2.6 + 1e-6 * np.linspace(-0.5, 0.5, count)
    start[:, 1] = 0.5
    return sf.simulate(model, start, None, duration, dt=2e-3, every=10)


def draw(run, path):
    """Draw the path of every tip, coloured by where it started."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    chosen = run.select(slice(None, None, max(1, len(run.q) // 400))).resample(4e-3)
    tips = sf.frame_pose(run.model, chosen.q, "tip")[..., :3, 3]
    figure, axes = pyplot.subplots(figsize=(8, 8))
    colors = pyplot.get_cmap("plasma")(np.linspace(0, 0.9, len(tips)))
    for tip, color in zip(tips, colors, strict=True):
        axes.plot(tip[:, 0], tip[:, 2], color=color, linewidth=0.4, alpha=0.35)
    axes.set_aspect("equal")
    axes.axis("off")
    figure.savefig(path, dpi=150)
    pyplot.close(figure)


def main(arguments=()):
    """Simulate the fan and say when the pendulums part ways."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--picture", help="draw the paths into this file (needs matplotlib)")
    parser.add_argument("--count", type=int, default=10_000)
    options = parser.parse_args(arguments)
    run = fan(options.count)
    spread = np.ptp(run.q[..., 0], axis=0)
    apart = run.t[np.argmax(spread > 0.1)]
    rate = run.steps * options.count / run.elapsed
    print(f"{options.count} pendulums, {run.steps} steps each: {rate / 1e6:.1f} million steps/s")
    print(f"one microradian apart at the start, 0.1 rad apart at t = {apart:.2f} s")
    print(f"after {run.duration:g} s the first angles spread over {spread[-1]:.2f} rad")
    if options.picture:
        draw(run, options.picture)
        print(f"picture in {options.picture}")
    return {"apart": apart, "spread": spread, "run": run}


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
