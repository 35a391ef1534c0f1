"""Scratch memory for kernels: small amounts on the stack, large ones on the heap.

Memory comes from Python's raw allocator, which needs no interpreter lock.  Without any
left, the rows of a call become NaN: a visible answer, never a crash.
"""

from __future__ import annotations

MAX_STACK_BYTES = 65_536  #: Largest scratch on the stack; larger ones are on the heap.

DECLARATIONS = """
declare ptr @PyMem_RawMalloc(i64)
declare void @PyMem_RawFree(ptr)

define internal ptr @scratch_alloc(i64 %bytes) noinline {
entry:
  %more = add i64 %bytes, 128
  %p = call ptr @PyMem_RawMalloc(i64 %more)
  %none = icmp eq ptr %p, null
  br i1 %none, label %empty, label %found
empty:
  ret ptr null
found:
  %n = ptrtoint ptr %p to i64
  %up = add i64 %n, 127
  %down = and i64 %up, -64
  %aligned = inttoptr i64 %down to ptr
  %before = getelementptr i8, ptr %aligned, i64 -8
  store ptr %p, ptr %before
  ret ptr %aligned
}

define internal void @scratch_free(ptr %aligned) noinline {
  %before = getelementptr i8, ptr %aligned, i64 -8
  %p = load ptr, ptr %before
  call void @PyMem_RawFree(ptr %p)
  ret void
}
"""


def alloc(name: str, size: int) -> list[str]:
    """Return instructions that set a name to scratch of a size in bytes, on the stack if small."""
    if size <= MAX_STACK_BYTES:
        return [f"  {name} = alloca i8, i64 {size}, align 64"]
    return [f"  {name} = call ptr @scratch_alloc(i64 {size})"]


def free(name: str, size: int) -> list[str]:
    """Return instructions that free scratch."""
    return [] if size <= MAX_STACK_BYTES else [f"  call void @scratch_free(ptr {name})"]
