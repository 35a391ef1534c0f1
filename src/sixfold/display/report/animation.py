"""A motion as a GIF or MP4 file: the robot as shaded triangles over the ground, frame by frame."""

from __future__ import annotations

import math
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from sixfold.arrays import Array
from sixfold.display.scene.figure import Stage, figure, stage
from sixfold.display.scene.record import Record, record
from sixfold.display.scene.surfaces import Part
from sixfold.errors import NotApplicableError, OptionError, OutputFileError, visible
from sixfold.files import path_of, replacement
from sixfold.lazy import optional
from sixfold.progress import bar
from sixfold.quantities.kinematics import body_poses

NAME = "Trajectory.animate"
TRIANGLES = 4000  #: Most triangles of the robot: they are drawn without a graphics card.
MAX_FRAMES = 10_000
SKY, SHADE, GRID, INK = "#f4f6f9", "#dde3ea", "#cdd7e2", "#5d6b7a"
LIGHT = np.array([0.35, -0.25, 0.9])
FIELD = math.radians(40.0)


def animate(
    trajectory: Any, path: str | os.PathLike[str], fps: float, speed: float, size: tuple[int, int]
) -> Path:
    """Write the motion; see `Trajectory.animate`."""
    target = path_of(NAME, path, "motion.gif")
    kind = target.suffix.lower()
    if kind not in (".gif", ".mp4"):
        raise OptionError(NAME, "path", ("*.gif", "*.mp4"), str(path))
    rate, fast = _number("fps", fps, 1.0, 120.0), _number("speed", speed, 1e-3, 1e3)
    width, height = _size(size)
    program = _ffmpeg() if kind == ".mp4" else ""
    motion = record(NAME, trajectory.model, trajectory)
    # one frame each 1 / rate seconds of the film
    count = max(1, math.ceil(motion.duration / fast * rate))
    if count > MAX_FRAMES:
        words = f"a rate that makes at most {MAX_FRAMES:,} frames; raise speed= for a shorter film"
        raise OptionError(NAME, "fps", words, f"{fps:g}, which makes {count:,} frames")
    times = motion.t[0] + np.arange(count) * fast / rate
    frames = _frames(motion, times, width, height)
    with replacement(target) as part:
        if kind == ".gif":
            _write_gif(part, frames, rate)
        else:
            _write_mp4(part, frames, rate, program, width, height)
    return target


def _number(option: str, given: Any, low: float, high: float) -> float:
    real = isinstance(given, (int, float)) and not isinstance(given, bool)
    if not real or not low <= given <= high:
        raise OptionError(NAME, option, f"a number from {low:g} to {high:g}", given)
    return float(given)


def _size(given: Any) -> tuple[int, int]:
    whole = isinstance(given, (tuple, list)) and len(given) == 2
    if not whole or not all(type(n) is int and 64 <= n <= 4096 and n % 2 == 0 for n in given):
        raise OptionError(NAME, "size", "two even numbers of pixels from 64 to 4096", given)
    return given[0], given[1]


def _ffmpeg() -> str:
    """Return the program that makes MP4 files: the system's, or that of imageio-ffmpeg."""
    found = shutil.which("ffmpeg")
    if found is not None:
        return found
    try:
        return str(optional("imageio_ffmpeg", f"{NAME} to .mp4").get_ffmpeg_exe())
    except NotApplicableError as error:
        fix = "pip install 'sixfold[animate]', install ffmpeg, or name a .gif file"
        where = "an installation without ffmpeg"
        raise NotApplicableError(f"{NAME} to .mp4", where, fix) from error


def _write_gif(target: Path, frames: Iterator[Array], rate: float) -> None:
    image = optional("PIL.Image", f"{NAME} to .gif")
    pictures = (image.fromarray(pixels).quantize(128, method=2) for pixels in frames)
    first = next(pictures)
    # times in a GIF are whole hundredths of a second
    shown = max(20, round(100.0 / rate) * 10)
    first.save(target, "GIF", save_all=True, append_images=pictures, duration=shown, loop=0)


def _write_mp4(
    target: Path, frames: Iterator[Array], rate: float, program: str, width: int, height: int
) -> None:
    # raw pixels in, H.264 out
    how = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r", f"{rate:g}"]
    code = ["-an", "-c:v", "libx264", "-pix_fmt", "yuv420p", "-movflags", "+faststart"]
    code += ["-f", "mp4"]  # the part of a file has no suffix that tells
    command = [program, "-y", "-loglevel", "error", *how, "-i", "-", *code]
    with subprocess.Popen(
        [*command, os.path.abspath(target)], stdin=subprocess.PIPE, stderr=subprocess.PIPE
    ) as running:
        assert running.stdin is not None and running.stderr is not None
        try:
            for pixels in frames:
                running.stdin.write(pixels.tobytes())
        except BrokenPipeError:
            pass
        running.stdin.close()
        said = running.stderr.read().decode(errors="replace")
    if running.returncode:
        lines = visible(said.strip().splitlines()[-1]) if said.strip() else "no reason given"
        fix = "name a .gif file, or install an ffmpeg with libx264"
        raise OutputFileError(target, f"cannot be written (ffmpeg: {lines})", fix)


def _frames(motion: Record, times: Array, width: int, height: int) -> Iterator[Array]:
    """Yield pictures (height, width, 3) of the motion at times."""
    model = motion.model
    parts = figure(model, budget=TRIANGLES).parts
    some = motion.q[0, motion.rows(60)]
    place = stage(model, parts, some, follow=True, contacts=motion.touch_points())
    camera = Camera(place, width, height)
    canvas = Canvas(width, height)
    progress = bar("frames", delay=2.0)
    first = body_poses(model, motion.q[0, 0])
    for k, time in enumerate(times):
        poses = body_poses(model, motion.positions(float(time))[0])
        # the camera goes along with a base that roams
        shift = np.zeros(3)
        if place.follows >= 0:
            shift = (poses - first)[place.follows, :3, 3]
        seen = [_world_triangles(part, poses) for part in parts]
        yield canvas.draw(camera, shift, seen, f"{time:.2f} s")
        if progress is not None:
            progress(k + 1, len(times))


def _world_triangles(part: Part, poses: Array) -> tuple[Array, Array]:
    """Return the corners (F, 3, 3) of a part in the world, and its colour."""
    corners = part.surface.corners
    if part.body >= 0:
        pose = poses[part.body]
        corners = corners @ pose[:3, :3].T + pose[:3, 3]
    return corners, np.append(np.asarray(part.color) / 255.0, part.opacity)


class Camera:
    """Perspective from the eye of a stage."""

    def __init__(self, place: Stage, width: int, height: int) -> None:
        """Look from the eye to the middle."""
        self.place = place
        # axes of the camera: right, up and back
        back = place.eye - place.center
        back = back / np.linalg.norm(back)
        right = np.cross(place.up, back)
        right = right / np.linalg.norm(right)
        self.axes = np.stack([right, np.cross(back, right), back])
        self.scale = 0.5 * min(width, height) / math.tan(FIELD / 2)
        self.middle = np.array([width / 2, height / 2])
        # the stage frames its sphere for a wider lens
        fit = 0.9 * place.radius / math.sin(FIELD / 2) / np.linalg.norm(place.eye - place.center)
        self.eye = place.center + fit * (place.eye - place.center)

    def project(self, points: Array, shift: Array) -> tuple[Array, Array]:
        """Return where points appear [pixels] and how far away they are."""
        # pinhole projection: x / depth, y / depth
        local = (points - self.eye - shift) @ self.axes.T
        depth = np.maximum(-local[..., 2], 1e-3 * self.place.radius)
        return self.middle + self.scale * local[..., :2] / depth[..., None], depth

    def shadow(self, points: Array) -> Array:
        """Return the shadow of points on the ground, the light right above."""
        up = self.place.up
        return np.asarray(points - (points @ up - self.place.ground)[..., None] * up)

    def grid(self, shift: Array) -> Array:
        """Return lines of the ground (n, 2, 3) around what is seen, where they lie in the world."""
        place = self.place
        # cells of a round size, a few for each radius
        power = 10.0 ** math.floor(math.log10(place.radius))
        wide = place.radius / power
        cell = power * (0.25 if wide < 2 else 0.5 if wide < 5 else 1.0)
        reach = cell * math.ceil(4 * place.radius / cell)
        local = (place.center + shift) @ place.turn
        # lines stay where they are in the world while the camera moves along
        x0, y0 = np.round(local[:2] / cell) * cell
        at = np.arange(-reach, reach + cell / 2, cell)
        ends = np.full_like(at, reach)
        level = np.full_like(at, place.ground)
        along = [np.stack([at + x0, s * ends + y0, level], -1) for s in (-1, 1)]
        across = [np.stack([s * ends + x0, at + y0, level], -1) for s in (-1, 1)]
        lines = np.concatenate([np.stack(along, 1), np.stack(across, 1)])
        return np.asarray(lines @ place.turn.T)


class Canvas:
    """A matplotlib figure that is drawn again and again."""

    def __init__(self, width: int, height: int) -> None:
        """Prepare the figure, the grid, the triangles and the clock."""
        figures = optional("matplotlib.figure", NAME)
        agg = optional("matplotlib.backends.backend_agg", NAME)
        collections = optional("matplotlib.collections", NAME)
        made = figures.Figure(figsize=(width / 100, height / 100), dpi=100, facecolor=SKY)
        self.canvas = agg.FigureCanvasAgg(made)
        axes = made.add_axes((0, 0, 1, 1))
        axes.set(xlim=(0, width), ylim=(0, height))
        axes.axis("off")
        self.shadow = collections.PolyCollection([], facecolor=SHADE, linewidths=0, zorder=1)
        self.lines = collections.LineCollection([], colors=GRID, linewidths=0.8, zorder=2)
        self.shapes = collections.PolyCollection([], linewidths=0.3, zorder=3)
        for each in (self.shadow, self.lines, self.shapes):
            axes.add_collection(each)
        self.clock = axes.text(12, 12, "", color=INK, fontsize=11)

    def draw(
        self, camera: Camera, shift: Array, parts: list[tuple[Array, Array]], text: str
    ) -> Array:
        """Return the picture of triangles, far ones first."""
        at, depth = camera.project(camera.grid(shift), shift)
        near = (depth > 0.05 * camera.place.radius).all(axis=-1)
        self.lines.set_segments(at[near])
        corners = np.concatenate([part for part, _ in parts])
        colors = np.concatenate([np.tile(color, (len(part), 1)) for part, color in parts])
        self.shadow.set_verts(camera.project(camera.shadow(corners), shift)[0])
        at, depth = camera.project(corners, shift)
        # Lambert's shading by the normals, which needs no graphics card
        normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        length = np.linalg.norm(normal, axis=-1, keepdims=True)
        normal = normal / np.where(length > 0, length, 1.0)
        light = camera.place.turn @ (LIGHT / np.linalg.norm(LIGHT))
        colors[:, :3] *= (0.62 + 0.38 * (normal @ light))[:, None]
        # the painter's algorithm: far triangles first
        order = np.argsort(-depth.mean(axis=-1))
        self.shapes.set_verts(at[order])
        self.shapes.set_facecolor(np.clip(colors[order], 0.0, 1.0))
        self.shapes.set_edgecolor(np.clip(colors[order], 0.0, 1.0))
        self.clock.set_text(text)
        self.canvas.draw()
        return np.asarray(self.canvas.buffer_rgba())[..., :3].copy()
