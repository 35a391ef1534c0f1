"""What Nvidia's assembler says of PTX, where it is installed."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from pathlib import Path


def is_installed():
    return shutil.which("ptxas") is not None


def assembled(text):
    """Return registers of a thread and bytes of spill stores; raises for what it does not take."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.ptx"
        path.write_text(text)
        command = ["ptxas", "-v", "-arch=sm_80", str(path), "-o", str(path.with_suffix(".cubin"))]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    registers = max(map(int, re.findall(r"Used (\d+) registers", done.stderr)))
    return registers, sum(map(int, re.findall(r"(\d+) bytes spill stores", done.stderr)))
