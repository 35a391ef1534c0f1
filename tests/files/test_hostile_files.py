"""A hundred hostile files over all readers: a clear error or a correct read, soon and in bounds."""

import io
import time
import tracemalloc
import warnings
import zipfile

import numpy as np
import pytest

import sixfold as sf
from tests.files.arrays import header
from tests.formats.small_robots import ARM
from tests.fuzz.corpus import MJCF, READERS, STUDY

MEGABYTES, SECONDS = 400, 30.0
JSON = READERS["json"][2]()[0].decode()
LAUGHS = "".join(f'<!ENTITY l{k} "{f"&l{k - 1};" * 10}">' for k in range(1, 10))
LAUGHS = f'<!DOCTYPE r [<!ENTITY l0 "ha">{LAUGHS}]>'
XXE = '<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]>'
LINK = '<link name="{}"/>'
JOINT = '<joint name="{0}{1}" type="fixed"><parent link="{0}"/><child link="{1}"/></joint>'


def urdf(inside, name="x"):
    return f'<robot name="{name}">{inside}</robot>'


def chain(count):
    links = "".join(LINK.format(k) for k in range(count))
    return urdf(links + "".join(JOINT.format(k, k + 1) for k in range(count - 1)))


def npz(**members):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(f"{name}.npy", data)
    return out.getvalue()


def common(text):
    """Yield damage that any text can take, by name."""
    data = text.encode()
    yield "empty", b""
    yield "blank", b" \n\t\r\n"
    yield "zeros", bytes(100_000)
    yield "noise", np.random.default_rng(0).bytes(100_000)
    yield "nul inside", data[:40] + b"\0" + data[40:]
    yield "utf16", text.encode("utf-16")
    yield "bom", b"\xef\xbb\xbf" + data
    yield "half", data[: len(data) // 2]
    yield "half a character", data[:60] + b"\xed\xa0\x80" + data[60:]
    yield "latin", data + "é".encode("latin-1")
    yield "twice", data + data
    yield "long line", b"x" * 5_000_000
    yield "many lines", b"\n" * 2_000_000 + data
    yield "html", b"<!DOCTYPE html><html><body>404</body></html>"


def files():
    """Yield reader, name and content of every file."""
    texts = {"urdf": ARM, "mjcf": MJCF, "json": JSON, "toml": STUDY}
    for reader, text in texts.items():
        yield from ((reader, name, data) for name, data in common(text))
    csv = READERS["csv"][2]()[0].decode()
    yield from (("csv", name, data) for name, data in common(csv))
    a, b = LINK.format("a"), LINK.format("b")
    for name, text in {
        "billion laughs": LAUGHS + urdf('<link name="&l9;"/>'),
        "external entity": XXE + urdf('<link name="&x;"/>'),
        "deep": "<robot>" + "<a>" * 100_000,
        "deep and closed": urdf("<a>" * 50_000 + "</a>" * 50_000),
        "huge attribute": urdf(LINK.format("x" * 10_000_000)),
        "many attributes": "<robot " + " ".join(f'a{k}="1"' for k in range(100_000)) + "/>",
        "cycle": urdf(a + b + JOINT.format("a", "b") + JOINT.format("b", "a")),
        "self": urdf(a + JOINT.format("a", "a")),
        "two parents": urdf(
            a + b + LINK.format("c") + JOINT.format("a", "c") + JOINT.format("b", "c")
        ),
        "duplicate links": urdf(a + a),
        "duplicate joints": urdf(a + b + JOINT.format("a", "b") * 2),
        "no links": urdf(""),
        "many links": chain(3000),
        "large numbers": ARM.replace("1.0", "1e308"),
        "not a number": ARM.replace("1.0", "nan"),
        "number of 100,000 digits": ARM.replace("1.0", "1" * 100_000),
        "another encoding": '<?xml version="1.0" encoding="cp500"?>' + urdf(a),
        "unknown encoding": '<?xml version="1.0" encoding="x"?>' + urdf(a),
        "comment without end": urdf(a) + "<!--" + "-" * 100_000,
        "wrong root": "<sdf/>",
    }.items():
        yield "urdf", name, text.encode()
    for name, text in {
        "billion laughs": LAUGHS + "<mujoco>&l9;</mujoco>",
        "external entity": XXE + "<mujoco>&x;</mujoco>",
        "deep bodies": "<mujoco><worldbody>" + "<body>" * 5000,
        "includes itself": '<mujoco><include file="x.xml"/></mujoco>',
        "includes a device": '<mujoco><include file="/dev/zero"/></mujoco>',
        "large numbers": MJCF.replace("0.1", "1e308"),
        "duplicate names": MJCF.replace('name="b"', 'name="a"'),
    }.items():
        yield "mjcf", name, text.encode()
    for name, text in {
        "deep lists": "[" * 1_000_000,
        "deep objects": '{"a":' * 200_000,
        "many values": "[" + "1," * 5_000_000 + "1]",
        "many escapes": '"' + "\\u0041" * 500_000 + '"',
        "huge integer": JSON.replace("1.0", "1" * 100_000),
        "infinite": JSON.replace("1.0", "Infinity"),
        "doubled key": '{"format": "a", "format": "b"}',
        "wrong types": JSON.replace("1.0", '"1.0"'),
        "null": "null",
    }.items():
        yield "json", name, text.encode()
    for name, text in {
        "deep": "a = " + "[" * 100_000,
        "deep keys": ".".join("a" * 50_000) + " = 1",
        "deep keys, quoted": " . ".join(['"a"'] * 20_000) + " = 1",
        "deep tables": "[" + ".".join("a" * 50_000) + "]",
        "deep keys inside": "x = {" + ".".join("a" * 50_000) + " = 1}",
        "many rows": STUDY.replace("rows = 6", "rows = 9" + "0" * 30),
        "wrong types": STUDY.replace("seed = 3", "seed = [3]"),
        "device as robot": STUDY.replace("double_pendulum", "/dev/zero"),
        "code": 'function = "os:abort"\n[grid]\nx = [1]',
        "large numbers": STUDY.replace("0.5", "1e999"),
    }.items():
        yield "toml", name, text.encode()
    q = header((5, 2)) + bytes(80)
    for name, data in {
        "empty archive": npz(),
        "bomb": npz(q=header((30_000_000,)) + bytes(240_000_000)),
        "lie": npz(q=header((10**15,))),
        "objects": npz(q=header((2,), "|O") + b"cos\nsystem\n(S'x'\ntR."),
        "negative": npz(q=b"\x93NUMPY\x01\x00" + header((3,))[8:].replace(b"(3,)", b"(-3)")),
        "pickle": b"\x80\x04cos\nsystem\n.",
        "text": b"hello",
        "no model": npz(about=header((2,), "|u1") + b"{}", q=q),
        "deep about": npz(about=header((200_000,), "|u1") + b"[" * 200_000),
        "structured": npz(q=header((2,), [("a", "<f8")]) + bytes(16)),
    }.items():
        yield "npz", name, data
        yield "log", name, data
    lines = csv.splitlines()
    for name, text in {
        "names only": lines[0],
        "ragged": csv + "1,2,3\n",
        "words": lines[0] + "\n" + ",".join(["x"] * len(lines[0].split(","))),
        "open quote": '"' + csv,
        "many columns": ",".join(f"c{k}" for k in range(200_000)) + "\n",
        "semicolons": csv.replace(",", ";"),
    }.items():
        yield "csv", name, text.encode()
    for name, data in {
        "cut": b"PAR1" + bytes(20) + b"PAR1",
        "length": b"PAR1\xff\xff\xff\x7fPAR1",
    }.items():
        yield "parquet", name, data
    for name, data in {
        "stl": b"x" * 80 + b"\xff\xff\xff\xff" + bytes(50),
        "obj": b"f 1 2 99999999999\n",
        "ply": b"ply\nformat ascii 1.0\nelement vertex 999999999999\nend_header\n",
    }.items():
        yield name, "lying counts", data


FILES = [pytest.param(*each, id=f"{each[0]}, {each[1]}") for each in files()]


def test_there_are_a_hundred_of_them():
    assert len(FILES) >= 100


@pytest.mark.parametrize(("reader", "name", "data"), FILES)
def test_a_hostile_file_is_read_or_refused_in_bounds(reader, name, data, tmp_path):
    suffix, read, _ = READERS[reader]
    if reader in ("stl", "obj", "ply"):
        pytest.importorskip("trimesh")
    if reader == "parquet":
        pytest.importorskip("pyarrow")
    if reader == "mjcf":
        pytest.importorskip("mujoco")
    path = tmp_path / f"x{suffix}"
    path.write_bytes(data)
    begun = time.monotonic()
    tracemalloc.start()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            read(path)
    except sf.errors.SixfoldError as error:
        said = str(error)
        assert any(word in said for word in ("fix: ", "expected: ", " must be ")), said
        assert len(said) < 5000 and said.replace("\n", "").isprintable()
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < MEGABYTES * 2**20, f"{peak / 2**20:.0f} MiB"
    # a bound against hangs, not a measurement
    assert time.monotonic() - begun < SECONDS


@pytest.mark.parametrize("reader", ["urdf", "json", "toml"])
def test_a_mark_of_byte_order_changes_nothing(reader, tmp_path):
    suffix, read, begin = READERS[reader]
    plain, marked = tmp_path / f"a{suffix}", tmp_path / f"b{suffix}"
    plain.write_bytes(begin()[0])
    marked.write_bytes(b"\xef\xbb\xbf" + begin()[0])
    one, other = read(plain), read(marked)
    assert one == other if reader != "toml" else one.rows == other.rows
