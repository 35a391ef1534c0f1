"""Print every public name with its signature: python -m tests.signatures > tests/signatures.txt."""

import enum
import inspect
import sys
import types
from pathlib import Path

import sixfold

RECORDED = Path(__file__).with_name("signatures.txt")


def _public_modules():
    """Yield sixfold and the public submodules that it names in `__all__`."""
    yield "sf", sixfold
    for name in sorted(sixfold.__all__):
        value = getattr(sixfold, name)
        if isinstance(value, types.ModuleType):
            yield f"sf.{name}", value


def _signature(value):
    try:
        return str(inspect.signature(value))
    except (TypeError, ValueError):
        return ""


def _is_internal(kind):
    """Return whether a base class has no public name of its own."""
    return kind.__module__.startswith(("sixfold.spatial", "sixfold.model")) and (
        kind.__name__[0] == "_" or kind.__name__ == "Linear"
    )


def _members(path, value):
    """Yield a class's own public methods and properties, and those of bases without a page."""
    bases = [base for base in reversed(value.__mro__) if _is_internal(base)]
    members = {name: member for kind in (*bases, value) for name, member in vars(kind).items()}
    for name, member in sorted(members.items()):
        if name.startswith("_"):
            continue
        if isinstance(member, (classmethod, staticmethod)):
            yield f"{path}.{name}{_signature(member.__func__)}"
        elif callable(member):
            yield f"{path}.{name}{_signature(member)}"
        elif isinstance(member, property):
            yield f"{path}.{name}: property"


def lines():
    """Yield a line for each public name, class member and exception."""
    for prefix, module in _public_modules():
        for name in sorted(getattr(module, "__all__", ())):
            value = getattr(module, name)
            path = f"{prefix}.{name}"
            if isinstance(value, types.ModuleType):
                yield f"{path}: module"
            elif isinstance(value, type) and issubclass(value, (BaseException, enum.Enum)):
                yield f"{path}: {', '.join(base.__name__ for base in value.__mro__[1:-1])}"
            elif isinstance(value, type):
                yield f"{path}{_signature(value)}"
                yield from _members(path, value)
            elif callable(value):
                yield f"{path}{_signature(value)}"
            else:
                yield f"{path}: {type(value).__name__}"


if __name__ == "__main__":
    sys.stdout.write("\n".join(lines()) + "\n")
