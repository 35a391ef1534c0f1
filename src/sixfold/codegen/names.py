"""Names of generated functions and files, and texts that are safe in comments of any language."""

from __future__ import annotations

import hashlib
import keyword
import re
from pathlib import Path

from sixfold.errors import visible

MAX_NAME = 150  # characters of a function's name, which names a file too
MAX_MATLAB_NAME = 63


def identifier(name: str, most: int = MAX_NAME) -> str:
    """Return a name of at most some characters that every language accepts.

    One that is too long ends in a digest, so that names which differ at their end stay apart.
    """
    # ASCII letters, digits and underscores; never a digit or a known word at the start
    plain = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_") or "robot"
    if plain[0].isdigit() or has_other_meaning(plain):
        plain = f"robot_{plain}"
    if len(plain) <= most:
        return plain
    digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
    return f"{plain[: most - 9]}_{digest}"


def stem_of(robot: str, language: str, longest: str) -> str:
    """Return the beginning of the names of a robot's functions; the longest one ends in a word."""
    most = MAX_MATLAB_NAME if language == "matlab" else MAX_NAME
    return identifier(robot, most - len(longest) - 1)


def comment(text: str) -> str:
    """Return a line that ends no comment, docstring or line of any language.

    Each character is replaced on its own: no replacement makes a sequence that another one missed.
    """
    return visible(text).translate(_IN_COMMENTS)


_IN_COMMENTS = str.maketrans({"\\": "/", "*": "+", '"': "'"})


#: Names that no file of Windows can have, in any case.
_DEVICES = {"con", "prn", "aux", "nul"} | {f"{x}{k}" for x in ("com", "lpt") for k in range(1, 10)}
#: Words of C, C++, Julia, MATLAB and Python, of the C library, and of the generated code itself.
_WORDS = frozenset(keyword.kwlist) | {
    word
    for line in Path(__file__).with_name("reserved_words.txt").read_text().splitlines()
    if not line.startswith("#")
    for word in line.split()
}


def has_other_meaning(name: str) -> bool:
    """Return whether a file or function of a name would not work in some language."""
    return name in _WORDS or name.lower() in _DEVICES
