"""The window: a robot in the browser, with sliders, screws and playback.

What it needs is loaded when it is opened.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from sixfold.choices import MotionInput
from sixfold.errors import visible
from sixfold.model import Model

if TYPE_CHECKING:
    from sixfold.viewer.viewer import Viewer

__all__ = ["view"]


def view(
    model: Model,
    trajectory: MotionInput | None = None,
    *,
    q: ArrayLike | None = None,
    t: ArrayLike | None = None,
    port: int = 0,
    open_browser: bool = False,
    block: bool = True,
    play: bool = True,
) -> Viewer:
    """Show a robot in the browser, at rest or in motion.

    The page is served on 127.0.0.1 only and asks nothing of the network.

    Args:
        model: the robot.
        trajectory: a motion: what `sixfold.simulate` returns, or any object or mapping with t (T,)
            and q (T, nq) and, if known, v, a, tau and contacts; or q alone.  With q (N, T, nq) the
            first motion is solid and the others are ghosts.
        q: a configuration (nq,), or many (N, nq): the first is solid, all others are ghosts.
        t: times [s] of the motion, when the trajectory brings none; otherwise 60 rows a second.
        port: where to listen; 0 takes any free port.
        open_browser: also open the page.
        block: print the address and return when Ctrl-C is pressed; otherwise return at once.
        play: let a motion run from the start.

    Returns:
        The viewer, with `.url`, `.play()`, `.pause()`, `.seek(t)`, `.pose(q)` and `.close()`; it
        also closes at the end of `with`.

    Raises:
        NotApplicableError: if viser is not installed, or the port is taken.
        ShapeError: if an array does not fit the model.
        StateError: if an element is not finite or times do not grow.
    """
    from sixfold.viewer.window import open_window

    viewer = open_window(model, trajectory, q, t, port, open_browser, play)
    if block:
        print(f"{visible(model.name)} at {viewer.url} (Ctrl-C closes it)", flush=True)
        viewer.wait()
    return viewer
