"""The compiler, which knows no robots: trace -> graph -> passes -> llvm -> gufunc, and cache."""

from sixfold.native import cache
from sixfold.native.block import SUPPORTED
from sixfold.native.derivative import gradient, jacobian
from sixfold.native.graph import Graph, Node, Program
from sixfold.native.jit import host, lanes, usual_environment
from sixfold.native.kernel import Kernel, build, rebuild, toolchain
from sixfold.native.layout import Layout
from sixfold.native.llvm import supported
from sixfold.native.passes import optimise
from sixfold.native.recorder import NotRolled
from sixfold.native.rolled import Rolled
from sixfold.native.scan import Scan, ScanKernel, build_scan
from sixfold.native.trace import trace

__all__ = [
    "SUPPORTED",
    "Graph",
    "Kernel",
    "Layout",
    "Node",
    "NotRolled",
    "Program",
    "Rolled",
    "Scan",
    "ScanKernel",
    "build",
    "build_scan",
    "cache",
    "gradient",
    "host",
    "jacobian",
    "lanes",
    "optimise",
    "rebuild",
    "supported",
    "toolchain",
    "trace",
    "usual_environment",
]
