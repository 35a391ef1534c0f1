"""A damaged motion ends in the one error of the library, whatever its readers raise."""

import pytest
from click.testing import CliRunner

import sixfold as sf
from sixfold.cli import main
from tests.simulation.damaged import HEADERS, broken, motion, rewritten, run


def test_damaged_files_end_in_one_error():
    counts = run(range(300))
    assert not broken(counts), broken(counts)
    assert sum(n for (_, end), n in counts.items() if end == "error") > 200


@pytest.mark.parametrize("header", HEADERS)
def test_headers_that_no_tokenizer_reads_are_refused(header, tmp_path):
    path = tmp_path / "run.npz"
    motion().save(path)
    size = len(header + b"\n").to_bytes(2, "little")
    array = b"\x93NUMPY\x01\x00" + size + header + b"\n" + bytes(64)
    path.write_bytes(rewritten(path.read_bytes(), "q.npy", array))
    with pytest.raises(sf.errors.TrajectoryFileError) as caught:
        sf.Trajectory.load(path)
    assert str(caught.value).startswith(f"{path}: ")
    # the window reads motions too
    result = CliRunner().invoke(main, ["view", str(path)])
    assert result.exit_code == 2
    assert result.output.startswith(f"error: {path}: ")


def test_a_motion_whose_model_is_damaged_is_one_error(tmp_path):
    import io

    import numpy as np

    path = tmp_path / "run.npz"
    motion().save(path)
    out = io.BytesIO()
    np.save(out, np.frombuffer(b"{", np.uint8))
    path.write_bytes(rewritten(path.read_bytes(), "model.npy", out.getvalue()))
    with pytest.raises(sf.errors.TrajectoryFileError, match="cannot be understood"):
        sf.Trajectory.load(path)
