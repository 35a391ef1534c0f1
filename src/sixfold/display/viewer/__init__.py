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
    from sixfold.display.viewer.viewer import Viewer
    from sixfold.simulation import Stepper

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
    live: bool | str | Stepper = False,
    drag: str | None = None,
) -> Viewer:
    """Show a robot in the browser, at rest or in motion.

    The page is served on 127.0.0.1 only and makes no network requests.

    Args:
        model: the robot.
        trajectory: a motion: what `sixfold.simulate` returns, or any object or mapping with t (T,)
            and q (T, nq) and, if known, v, a, tau and contacts; or q alone.  With q (N, T, nq) the
            first motion is solid and the others are ghosts.
        q: a configuration [rad or m] (nq,), or many (N, nq): the first is solid, all others are
            ghosts.
        t: times [s] of the motion, when the trajectory brings none; otherwise 60 rows a second.
        port: where to listen; 0 takes any free port.
        open_browser: also open the page.
        block: print the address and return when Ctrl-C is pressed; otherwise return at once.
        play: let a motion or a simulation run from the start.
        live: True runs a live simulation from rest at q: the mouse pulls bodies by a spring.
            "hold" begins with soft motors on, which hold the pose and which sliders move.  A
            `Stepper` with rows=None and f_ext=... runs instead, under action zero.
        drag: name of a frame that begins with a handle, which the mouse drags; inverse kinematics
            follows.  The panel has the same choice.

    Returns:
        The viewer, with `.url`, `.play()`, `.pause()`, `.seek(t)`, `.pose(q)`, `.drag(frame)` and
        `.close()`; it also closes at the end of `with`.  `.q` is the configuration that is shown.

    Raises:
        NotApplicableError: if viser is not installed, the port is taken, or a motion is live.
        OptionError: if live is none of these.
        UnknownNameError: if there is no frame of the name `drag`.
        ShapeError: if an array does not fit the model.
        StateError: if an element is not finite or times do not grow.

    Example:
        >>> import sixfold as sf
        >>> with sf.view(sf.load("pendulum"), q=[0.5], block=False) as window:
        ...     window.pose([1.0])
        ...     print(window.url.startswith("http://127.0.0.1:"), window.q)
        True [1.]
    """
    from sixfold.display.viewer.viewer import open_window

    viewer = open_window(model, trajectory, q, t, port, open_browser, play, live, drag)
    if block:
        print(f"{visible(model.name)} at {viewer.url} (Ctrl-C closes it)", flush=True)
        viewer.wait()
    return viewer
