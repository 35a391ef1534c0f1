"""Scratch memory for kernels: small amounts on the stack, large ones on the heap.

Memory comes from Python's raw allocator, which needs no interpreter lock.  Where there is none
left, the rows of a call become NaN: a visible answer, never a crash.
"""

from __future__ import annotations

STACK_BYTES = 65_536
"""Most that a kernel puts on the stack at once."""

DECLARATIONS = """
declare ptr @PyMem_RawMalloc(i64)
declare void @PyMem_RawFree(ptr)

define internal ptr @heap_take(i64 %bytes) noinline {
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

define internal void @heap_give(ptr %aligned) noinline {
  %before = getelementptr i8, ptr %aligned, i64 -8
  %p = load ptr, ptr %before
  call void @PyMem_RawFree(ptr %p)
  ret void
}
"""


def take(name: str, size: int) -> list[str]:
    """Return instructions that set a name to scratch of so many bytes, on the stack if small."""
    if size <= STACK_BYTES:
        return [f"  {name} = alloca i8, i64 {size}, align 64"]
    return [f"  {name} = call ptr @heap_take(i64 {size})"]


def give(name: str, size: int) -> list[str]:
    """Return instructions that give scratch back."""
    return [] if size <= STACK_BYTES else [f"  call void @heap_give(ptr {name})"]
