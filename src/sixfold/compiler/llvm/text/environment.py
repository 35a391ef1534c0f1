"""The floating-point environment that kernels rely on, and leave as they found it.

Other libraries of the process may have numbers below the normal range taken for zero (flush to
zero), another rounding, or exceptions that stop the process.  A kernel works with none of that, so
that its bits are the same next to any library, and afterwards everything is as it was.  So are the
flags that tell of invalid operations: a state that is not finite is an answer, not a reason for a
warning.  On processors that are not listed nothing is set.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Registers:
    """How to reach the environment of a processor; two words at %fp_place hold what is kept of it.

    Args:
        declarations: intrinsics that the instructions call.
        read: fills %fp_place; %fp_odd says whether anything but flags differs from the default.
        reset: sets the default.
        flags: brings back the flags.
        control: brings back all else, unless that is done with the flags.
    """

    declarations: str
    read: str
    reset: str
    flags: str
    control: str = ""


_X86 = Registers(
    """
declare void @llvm.x86.sse.stmxcsr(ptr)
declare void @llvm.x86.sse.ldmxcsr(ptr)
@usual_mxcsr = internal constant i32 8064
""",
    # the lowest six bits are flags; 8064 masks all exceptions, rounds to nearest, flushes nothing
    """
  call void @llvm.x86.sse.stmxcsr(ptr %fp_place)
  %fp_mxcsr = load i32, ptr %fp_place
  %fp_mode = and i32 %fp_mxcsr, 65472
  %fp_odd = icmp ne i32 %fp_mode, 8064
""",
    """
  call void @llvm.x86.sse.ldmxcsr(ptr @usual_mxcsr)
""",
    """
  call void @llvm.x86.sse.ldmxcsr(ptr %fp_place)
""",
)

_ARM = Registers(
    """
declare i64 @llvm.aarch64.get.fpcr()
declare void @llvm.aarch64.set.fpcr(i64)
declare i64 @llvm.aarch64.get.fpsr()
declare void @llvm.aarch64.set.fpsr(i64)
""",
    # FPSR has the flags, FPCR all else, which is 0 by default
    """
  %fp_fpsr = call i64 @llvm.aarch64.get.fpsr()
  store i64 %fp_fpsr, ptr %fp_place
  %fp_fpcr = call i64 @llvm.aarch64.get.fpcr()
  %fp_second = getelementptr i64, ptr %fp_place, i64 1
  store i64 %fp_fpcr, ptr %fp_second
  %fp_odd = icmp ne i64 %fp_fpcr, 0
""",
    """
  call void @llvm.aarch64.set.fpcr(i64 0)
""",
    """
  %fp_flags = load i64, ptr %fp_place
  call void @llvm.aarch64.set.fpsr(i64 %fp_flags)
""",
    """
  %fp_control_p = getelementptr i64, ptr %fp_place, i64 1
  %fp_control = load i64, ptr %fp_control_p
  call void @llvm.aarch64.set.fpcr(i64 %fp_control)
""",
)

#: By the first word of LLVM's triple.
PROCESSORS = {"x86_64": _X86, "aarch64": _ARM, "arm64": _ARM}


def _registers(triple: str) -> Registers | None:
    return PROCESSORS.get(triple.partition("-")[0])


def declarations(triple: str) -> str:
    """Return what the instructions below refer to."""
    registers = _registers(triple)
    return registers.declarations if registers else ""


def enter(triple: str) -> str:
    """Return instructions that set the default environment; they end with the label %fp_work.

    Where it is set already they cost a test that is foreseen.
    """
    registers = _registers(triple)
    if registers is None:
        return "  br label %fp_work\nfp_work:"
    return f"""
  %fp_place = alloca i64, i64 2{registers.read}
  br i1 %fp_odd, label %fp_reset, label %fp_work
fp_reset:{registers.reset}  br label %fp_work
fp_work:"""


def leave(triple: str) -> str:
    """Return instructions that set back what was there before, once in a function."""
    registers = _registers(triple)
    if registers is None:
        return ""
    if not registers.control:
        return registers.flags
    return f"""{registers.flags}  br i1 %fp_odd, label %fp_back, label %fp_left
fp_back:{registers.control}  br label %fp_left
fp_left:"""


def switches(triple: str) -> str:
    """Return @enter(place) and @leave(place): the same in two functions, around any other work."""
    registers = _registers(triple) or Registers("", "\n", "\n", "\n")
    return f"""{registers.declarations}
define void @enter(ptr %fp_place) {{{registers.read}{registers.reset}  ret void
}}
define void @leave(ptr %fp_place) {{{registers.flags}{registers.control}  ret void
}}
"""
