"""Machine code of programs: LLVM text, object code, NumPy gufuncs, and the cache on disk."""

from sixfold.compiler.llvm.layout.signature import Layout
from sixfold.compiler.llvm.modules.scan import Scan
from sixfold.compiler.llvm.modules.straight import has_machine_code
from sixfold.compiler.llvm.runtime import cache, result_memory
from sixfold.compiler.llvm.runtime.cross import TARGETS, cross_object, ptx_text
from sixfold.compiler.llvm.runtime.jit import host, lanes, usual_environment
from sixfold.compiler.llvm.runtime.kernel import Kernel, toolchain
from sixfold.compiler.llvm.runtime.long_kernel import build, load
from sixfold.compiler.llvm.runtime.scan_kernel import ScanKernel, build_scan
from sixfold.compiler.llvm.runtime.xla import XlaHandler, content_digest
from sixfold.compiler.llvm.text.writer import SUPPORTED

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
    "has_machine_code",
    "host",
    "lanes",
    "load",
    "ptx_text",
    "result_memory",
    "toolchain",
    "usual_environment",
]
