"""Files on disk: robot files as bytes, and the meshes that they name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

from sixfold.errors import NotApplicableError, RobotFileError
from sixfold.files import open_regular
from sixfold.formats.xml import excerpt
from sixfold.model import Mesh, Model, SourceInfo

MAX_BYTES = 64 * 2**20


def read(path: Path) -> bytes:
    """Return the bytes of a regular file of at most 64 MiB that is not empty.

    Raises:
        RobotFileError: if there is no such file or it cannot be read.
    """
    try:
        with open_regular(path) as stream:
            data = stream.read(MAX_BYTES + 1)
    except IsADirectoryError:
        raise _error(path, "is a folder, not a file", _inside(path)) from None
    except FileNotFoundError:
        raise _error(path, "there is no such file", _near(path)) from None
    except PermissionError:
        raise _error(path, "may not be read", "ask its owner for permission to read") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise _error(path, f"cannot be read ({reason})", "check the path") from None
    # one byte more than allowed was asked for
    if len(data) > MAX_BYTES:
        what = f"is larger than {MAX_BYTES // 2**20} MiB"
        raise _error(path, what, "give a robot file; meshes belong in files of their own")
    if not data.strip():
        raise RobotFileError("the file is empty", file=path, line=1, fix="write a robot into it")
    return data


def is_json(data: bytes) -> bool:
    """Tell a JSON file from XML by what is in it."""
    return data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"[")


def _error(path: Path, what: str, fix: str) -> RobotFileError:
    return RobotFileError(what, file=path, fix=fix)


def _inside(path: Path) -> str:
    found = sorted(p.name for kind in ("urdf", "xml", "json") for p in path.glob(f"*.{kind}"))
    return f"name one of its files: {', '.join(found[:5])}" if found else "name a file"


def _near(path: Path) -> str:
    if not path.parent.is_dir():
        return f"check the path: there is no folder '{path.parent}'"
    same = sorted(p.name for p in path.parent.glob("*") if p.suffix == path.suffix and p.suffix)
    return f"the folder has {', '.join(same[:5])}" if same else "check the path"


#: Folders of a package that usually hold its robot files, next to one for meshes.
FILE_FOLDERS = {"urdf", "robots", "robot", "xml", "mjcf", "xacro", "model", "models"}
PARENTS = 5  #: How far above its file a package may begin.


def mesh_path(model: Model, mesh: Mesh | str) -> Path:
    """Return the file of a mesh, which lies under one of the folders that are allowed.

    Allowed are the folder of the robot's file, the package around it, and the `package_dirs` given
    to `load`.  `package://name/rest` is looked for in a `package_dirs` folder (as `name/rest`, or
    as `rest` when the folder itself is `name`) and in folders `name` around or next to the file.
    Links on disk and `..` are followed first and judged by where they end.

    Raises:
        RobotFileError: if there is no such file or it is not under an allowed folder.
        NotApplicableError: if the model does not come from a file.
    """
    if model.origin is None or not model.origin.file:
        raise NotApplicableError(
            "mesh_path", f"model '{model.name}', which has no file", "load the model from its file"
        )
    name = mesh.file if isinstance(mesh, Mesh) else str(mesh)
    tried: list[str] = []
    outside: list[str] = []
    for allowed, path in _candidates(model.origin, name):
        found = _resolve(path)
        if found is None or not found.is_file():
            tried.append(str(allowed))
        elif found.is_relative_to(allowed):
            return found
        else:
            outside.append(f"{found}, which is not under {allowed}")
    # a file that exists elsewhere is reported before one that is missing
    if outside:
        raise RobotFileError(
            f"mesh '{excerpt(name)}' lies outside the folders that are allowed",
            file=model.origin.file,
            got=outside[0],
            fix="pass its folder as package_dirs to load, if you trust the file",
        )
    raise RobotFileError(
        f"mesh '{excerpt(name)}' is not found",
        file=model.origin.file,
        expected="a file under " + (", ".join(dict.fromkeys(tried)) or "package_dirs"),
        fix="pass the folder that holds the package as package_dirs to load",
    )


def _candidates(origin: SourceInfo, name: str) -> Iterator[tuple[Path, Path]]:
    """Yield a folder, its links followed, and a path that must end under it."""
    # candidates in order: package_dirs, then folders around the file
    here = Path(origin.file).absolute().parent
    dirs = [Path(folder).absolute() for folder in origin.package_dirs]
    scheme, mark, rest = name.partition("://")
    # package://name/rest: a folder `name`, given or around the file
    if mark and scheme in ("package", "model"):
        package, _, inside = rest.lstrip("/").partition("/")
        if package in ("", ".", "..") or "\\" in package:
            return
        around = [here, *list(here.parents)[:PARENTS]]
        for folder in (*dirs, *around):
            root = _resolve(folder)
            if root is not None and folder.name == package:
                yield root, folder / inside
            if root is not None:
                # a symbolic link instead of the package does not widen what is allowed
                yield root / package, folder / package / inside
    elif not mark or scheme == "file":
        # a path relative to the file, its package, or a given folder
        inside = unquote(rest) if mark else name
        for folder in (here, _package(here), *dirs):
            root = _resolve(folder)
            if root is not None:
                yield root, here / inside
                yield root, folder / inside


def _package(here: Path) -> Path:
    """Return the folder of the package around a robot file."""
    for folder in (here, *list(here.parents)[:PARENTS]):
        if (folder / "package.xml").is_file():
            return folder
    return here.parent if here.name.lower() in FILE_FOLDERS else here


def _resolve(path: Path) -> Path | None:
    try:
        return path.resolve()
    except (OSError, ValueError, RuntimeError):
        return None
