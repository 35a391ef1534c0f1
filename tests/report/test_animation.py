"""Films of motions: frames, times, sizes, and what is refused."""

import shutil

import numpy as np
import pytest

import sixfold as sf
from sixfold import lazy
from sixfold.display.report import animation

PIL = pytest.importorskip("PIL.Image", reason="pillow is not installed")
pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def swing():
    model = sf.load("double_pendulum")
    return sf.simulate(model, [2.0, 1.0], None, 0.5, dt=1e-2)


def test_a_gif_has_the_frames_of_the_motion(swing, tmp_path):
    path = swing.animate(tmp_path / "a.gif", fps=10, size=(160, 120))
    with PIL.open(path) as film:
        assert film.n_frames == 5 and film.size == (160, 120)
        assert film.info["duration"] == 100 and film.info["loop"] == 0
        first = np.asarray(film.convert("RGB")).astype(int)
        film.seek(4)
        last = np.asarray(film.convert("RGB")).astype(int)
    # orange joints are drawn, and they move
    assert ((first[..., 0] - first[..., 2]) > 80).sum() > 20
    assert (np.abs(first - last).max(axis=-1) > 40).sum() > 50


def test_speed_makes_a_film_longer_or_shorter(swing, tmp_path):
    path = swing.animate(tmp_path / "slow.gif", fps=10, speed=0.5, size=(64, 64))
    with PIL.open(path) as film:
        assert film.n_frames == 10


def test_an_mp4_is_a_film(swing, tmp_path):
    if shutil.which("ffmpeg") is None:
        pytest.importorskip("imageio_ffmpeg", reason="there is no ffmpeg")
    path = swing.animate(tmp_path / "a.mp4", fps=10, size=(160, 120))
    data = path.read_bytes()
    assert data[4:8] == b"ftyp" and len(data) > 1000


def test_without_ffmpeg_the_message_names_the_way_out(swing, tmp_path, monkeypatch):
    def absent(module):
        raise ImportError(module)

    monkeypatch.setattr(animation.shutil, "which", lambda name: None)
    monkeypatch.setattr(lazy, "import_module", absent)
    with pytest.raises(sf.errors.NotApplicableError, match=r"sixfold\[animate\].*\.gif"):
        swing.animate(tmp_path / "a.mp4")
    assert not (tmp_path / "a.mp4").exists()


def test_an_ffmpeg_that_fails_is_heard(swing, tmp_path):
    program = tmp_path / "ffmpeg"
    program.write_text("#!/bin/sh\ncat > /dev/null\necho 'no such codec' >&2\nexit 1\n")
    program.chmod(0o755)
    frames = iter([np.zeros((64, 64, 3), np.uint8)])
    with pytest.raises(sf.errors.OutputFileError, match="no such codec"):
        animation._write_mp4(tmp_path / "a.mp4", frames, 10.0, str(program), 64, 64)


@pytest.mark.parametrize(
    ("name", "options", "word"),
    [
        ("a.avi", {}, "path"),
        ("a.gif", {"fps": 0}, "fps"),
        ("a.gif", {"fps": True}, "fps"),
        ("a.gif", {"speed": -1.0}, "speed"),
        ("a.gif", {"speed": 0.001, "fps": 120}, "fps"),
        ("a.gif", {"size": (63, 64)}, "size"),
        ("a.gif", {"size": 64}, "size"),
    ],
)
def test_options_that_make_no_sense_are_refused(swing, tmp_path, name, options, word):
    with pytest.raises(sf.errors.OptionError, match=f"'{word}'"):
        swing.animate(tmp_path / name, **options)


def test_a_folder_that_does_not_exist_is_named(swing, tmp_path):
    with pytest.raises(sf.errors.OutputFileError, match="cannot be written"):
        swing.animate(tmp_path / "nowhere" / "a.gif", fps=10, size=(64, 64))


def test_the_eye_goes_along_with_a_free_robot_and_the_ground_stays():
    model = sf.load("floating_link")
    q = np.tile(sf.neutral(model), (2, 1))
    q[1, 0] = 5.0
    motion = {"t": [0.0, 1.0], "q": q}
    frames = animation._frames(animation.record("x", model, motion), np.array([0.0, 1.0]), 128, 128)
    first, last = (np.asarray(frame).astype(int) for frame in frames)
    color = lambda x: (x.max(axis=-1) - x.min(axis=-1)) > 40  # noqa: E731
    assert color(first).sum() > 20 and abs(color(first).sum() - color(last).sum()) < 20
