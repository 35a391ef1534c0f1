"""Print the largest files and functions: a mirror, not a gate."""

import ast
from pathlib import Path

ROOT = Path(__file__).parent.parent / "src" / "sixfold"


def main() -> None:
    files, functions = [], []
    for path in ROOT.rglob("*.py"):
        text = path.read_text()
        name = str(path.relative_to(ROOT))
        files.append((len(text.splitlines()), name))
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef) and node.end_lineno:
                functions.append((node.end_lineno - node.lineno + 1, f"{name}:{node.name}"))
    total = sum(lines for lines, _ in files)
    print(f"{len(files)} files, {total} lines")
    print("largest files:     " + ", ".join(f"{n} {name}" for n, name in sorted(files)[:-6:-1]))
    print("largest functions: " + ", ".join(f"{n} {name}" for n, name in sorted(functions)[:-6:-1]))


if __name__ == "__main__":
    main()
