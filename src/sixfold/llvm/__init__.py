"""Machine code of programs: LLVM text, object code, NumPy gufuncs, and the cache on disk."""

from sixfold.llvm.layout.signature import Layout
from sixfold.llvm.modules.scan import Scan
from sixfold.llvm.modules.straight import supported
from sixfold.llvm.runtime import cache, result_memory
from sixfold.llvm.runtime.cross import (
    TARGETS,
    cross_object,
    ptx_text,
)
from sixfold.llvm.runtime.jit import host, lanes, usual_environment
from sixfold.llvm.runtime.kernel import Kernel, toolchain
from sixfold.llvm.runtime.long_kernel import build, loaded
from sixfold.llvm.runtime.scan_kernel import ScanKernel, build_scan
from sixfold.llvm.runtime.xla import XlaHandler, content_digest
from sixfold.llvm.text.writer import SUPPORTED

__all__ = [
    "SUPPORTED",
    "TARGETS",
    "Kernel",
    "Layout",
    "Scan",
    "ScanKernel",
    "XlaHandler",
    "build",
    "build_scan",
    "cache",
    "content_digest",
    "cross_object",
    "host",
    "lanes",
    "loaded",
    "ptx_text",
    "result_memory",
    "supported",
    "toolchain",
    "usual_environment",
]
