"""The window: a page in the browser, served on this machine only."""

from __future__ import annotations

import contextlib
import io
import os
import socket
import webbrowser
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sixfold.errors import NotApplicableError, OptionError, ShapeError
from sixfold.evaluate import model_checked, neutral
from sixfold.model import Model
from sixfold.optional import optional
from sixfold.progress import working
from sixfold.scene import finite, record
from sixfold.scene.poses import within_limits
from sixfold.simulation import Stepper
from sixfold.viewer.guard import Keys, guarded, hush
from sixfold.viewer.hands import LivePlayer, live_stepper
from sixfold.viewer.hands.frame_drag import check_frame
from sixfold.viewer.panel import closed
from sixfold.viewer.scenario import Scenario, configurations
from sixfold.viewer.viewer import Viewer

HOST = "127.0.0.1"
"""Loopback: no other machine can see the window."""


def open_window(
    model: Model,
    trajectory: Any,
    q: ArrayLike | None,
    t: ArrayLike | None,
    port: int,
    open_browser: bool,
    play: bool,
    live: Any = False,
    drag: str | None = None,
) -> Viewer:
    """Return the open window of a robot; see `sixfold.viewer.view`."""
    model = model_checked("view", model)
    scenario = _scenario(model, trajectory, q, t)
    player = None if live is False else _live(model, scenario, live, q is not None)
    if drag is not None:
        check_frame("view", model, drag)
    server, keys = _server(_port(port))
    try:
        with working(f"drawing {model.name}"):
            viewer = Viewer(server, keys.address(server.get_port()), model, scenario, player)
        viewer.drag(drag)
    except BaseException:
        server.stop()
        raise
    motion = scenario.motion
    if play and (player is not None or (motion is not None and len(motion.t) > 1)):
        viewer.play()
    if open_browser:
        webbrowser.open(keys.address(viewer.port, keys.new_ticket()))
    return viewer


def _scenario(model: Model, trajectory: Any, q: ArrayLike | None, t: ArrayLike | None) -> Scenario:
    """Return what is to be shown, from checked arrays."""
    array = None if q is None else finite("view", "q", q, f"(nq,) = ({model.nq},)")
    if array is not None and array.ndim > 2 and trajectory is None:
        trajectory, array = array, None
    if t is not None and trajectory is None:
        fix = "pass the configurations as trajectory=q, or leave t out"
        raise NotApplicableError("view: argument 't'", "a robot that does not move", fix)
    motion = None if trajectory is None else record("view", model, trajectory, t)
    poses = np.zeros((0, model.nq)) if array is None else configurations(model, array)
    if motion is not None:
        if len(poses) and len(motion.q) > 1:
            fix = "pass the batch alone, or one motion with poses as ghosts"
            raise ShapeError("view", "q", "none beside a batch of motions", poses.shape, fix)
        return Scenario(motion.q[0, 0], motion, poses)
    if not len(poses):
        inside = within_limits(model, neutral(model))
        start = closed(model, inside)
        return Scenario(inside if start is None else start, None, poses)
    return Scenario(poses[0], None, poses[1:])


def _live(model: Model, scenario: Scenario, live: Any, placed: bool) -> LivePlayer:
    """Return the simulation of a live window."""
    if scenario.motion is not None:
        fix = "leave trajectory out; q= says where the simulation begins"
        raise NotApplicableError("view: option 'live'", "a motion that is recorded", fix)
    own = isinstance(live, Stepper) and not placed
    stepper, holds = live_stepper(model, live, scenario.q)
    return LivePlayer(model, np.array(stepper.q if own else scenario.q, float), stepper, holds)


def _port(port: int) -> int:
    """Return the port if it can be had."""
    good = isinstance(port, (int, np.integer)) and not isinstance(port, bool)
    if not good or not 0 <= port <= 65535:
        raise OptionError("view", "port", ("0 for any free port", "a number below 65536"), port)
    with socket.socket() as probe:
        if os.name == "posix":
            # a port whose last connection is only just closed is free
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, int(port)))
        except OSError as error:
            where = f"port {port} ({error.strerror})"
            raise NotApplicableError("view", where, "pass port=0 for any free port") from None
    return int(port)


def _server(port: int) -> tuple[Any, Keys]:
    """Return a viser server on loopback that asks nothing of the network, and the keys to it."""
    viser = optional("viser", "view")
    server: Any = None
    try:
        # viser prints a box of its own
        with guarded() as keys, contextlib.redirect_stdout(io.StringIO()):
            server = viser.ViserServer(host=HOST, port=port, verbose=False)
    except NotApplicableError:
        if server is not None:
            server.stop()
        raise
    hush(server)
    # a page could ask it to open a tunnel to the internet: there is none
    server.request_share_url = lambda verbose=True: None
    return server, keys
