"""The plain call: a built-in function that runs a kernel on plain arrays.

A gufunc resolves broadcasting, casting and strides before it does any work, which takes longer than
the work of a small kernel.  For plain arrays (float64 or float32, aligned, C order, core shapes
with at most one leading axis) nothing has to be resolved: this function reads the data pointers,
allocates the result or takes the one that is given, and runs the kernel's own loop.  Anything else
goes to the gufunc.
"""

from __future__ import annotations

import ctypes
from math import prod
from typing import Any

import numpy as np

from sixfold.compiler.llvm.layout.signature import MIN_POOLED_BYTES, Layout, tag
from sixfold.compiler.llvm.modules.array_fields import (
    AXES,
    DATA,
    FLAGS,
    KIND,
    PLAIN,
    SIZES,
    TYPE,
    WRITEABLE,
    symbols,
)

#: Numbers read and written up to which a batch never goes to several threads.
MAX_NUMBERS = 1 << 19
#: Numbers read and written above which the interpreter's lock is released meanwhile.
MIN_UNLOCKED_NUMBERS = 1 << 13
#: Null: return None instead of calling a fallback; there is no limit on states.
NO_FALLBACK = ctypes.py_object()
_FASTCALL_KEYWORDS = 0x0082


def text(layout: Layout, most: int | None = None) -> str:
    """Return @entry(self, args, count, keywords): the built-in function of a kernel.

    It takes the input arrays and, if wanted, an array for each result (or None for all of them).
    Each input holds one state or has one leading axis; all leading axes are of one length; no state
    has a zero at `layout.nonzero`.  It returns the result, or a tuple where there are several.
    Where any of this is not so it calls `self` with the same arguments, or returns None when `self`
    is None or null.  If it is None, there are at most `most_rows(layout)` states.  Results of
    MIN_POOLED_BYTES or more have to be given.

    Args:
        layout: of the arrays.
        most: states that it takes at the most, for any `self`; any number by default.
    """
    if not possible(layout):
        return ""
    return _Entry(layout, most).text()


class _Entry:
    """Writes the function, test by test; label %other is where it gives up."""

    def __init__(self, layout: Layout, most: int | None) -> None:
        self.layout, self.most, self.count, self.passed = layout, most, 0, 0
        self.made: list[str] = []
        arrays, axes = len(layout.shapes), sum(map(len, layout.shapes))
        self.lines = [
            f"  %sizes = alloca i64, i64 {max(map(len, layout.outputs)) + 1}",
            f"  %data = alloca ptr, i64 {arrays}",
            f"  %steps = alloca i64, i64 {arrays + axes}",
            "  %dims = alloca i64",
        ]

    def emit(self, instruction: str) -> str:
        """Write an instruction and return the name of its value."""
        self.count += 1
        self.lines.append(f"  %e{self.count} = {instruction}")
        return f"%e{self.count}"

    def at(self, pointer: str, offset: int | str, kind: str) -> str:
        """Load what lies at an offset from a pointer, in bytes."""
        where = self.emit(f"getelementptr i8, ptr {pointer}, i64 {offset}")
        return self.emit(f"load {kind}, ptr {where}")

    def need(self, test: str) -> None:
        """Go on only if a test holds."""
        self.passed += 1
        self.lines.append(f"  br i1 {test}, label %ok{self.passed}, label %other")
        self.lines.append(f"ok{self.passed}:")

    def equal(self, kind: str, x: str, y: str | int) -> None:
        self.need(self.emit(f"icmp eq {kind} {x}, {y}"))

    def array(self, array: str, shape: tuple[int, ...], flags: int) -> tuple[str, str]:
        """Test that an object is a plain array of states; return its lead (0 or 1) and sizes."""
        self.equal("ptr", self.at(array, TYPE, "ptr"), "@sixfold_array_type")
        self.equal("ptr", self.at(array, KIND, "ptr"), f"@sixfold_{self.layout.dtype}")
        axes = self.emit(f"sext i32 {self.at(array, AXES, 'i32')} to i64")
        lead = self.emit(f"sub i64 {axes}, {len(shape)}")
        self.need(self.emit(f"icmp ult i64 {lead}, 2"))
        self.equal("i32", self.emit(f"and i32 {self.at(array, FLAGS, 'i32')}, {flags}"), flags)
        sizes = self.at(array, SIZES, "ptr")
        core = self.emit(f"getelementptr i64, ptr {sizes}, i64 {lead}")
        for axis, size in enumerate(shape):
            self.equal("i64", self.at(core, 8 * axis, "i64"), size)
        return self.emit(f"trunc i64 {lead} to i1"), sizes

    def text(self) -> str:
        layout, emit, at = self.layout, self.emit, self.at
        inputs, item = len(layout.inputs), layout.item
        # as many arguments as inputs, or also an array for each result
        self.equal("ptr", "%keywords", "null")
        extra = emit(f"sub i64 %count, {inputs}")
        outputs = len(layout.outputs)
        if outputs == 1:
            self.need(emit(f"icmp ult i64 {extra}, 2"))
        else:
            none, all_given = (emit(f"icmp eq i64 {extra}, {n}") for n in (0, outputs))
            self.need(emit(f"or i1 {none}, {all_given}"))
        # each input is plain; those with a leading axis have the same number of rows
        rows, several = "1", "false"
        pointers, steps = [], []
        for k, shape in enumerate(layout.inputs):
            array = at("%args", 8 * k, "ptr")
            lead, sizes = self.array(array, shape, PLAIN)
            # an array of one state has at least one axis, so that there is a first size to read
            first = at(sizes, 0, "i64")
            same = emit(f"icmp eq i64 {first}, {rows}")
            free = emit(f"xor i1 {emit(f'and i1 {lead}, {several}')}, true")
            self.need(emit(f"or i1 {same}, {free}"))
            rows = emit(f"select i1 {lead}, i64 {first}, i64 {rows}")
            several = emit(f"or i1 {several}, {lead}")
            steps.append(emit(f"select i1 {lead}, i64 {item * prod(shape)}, i64 0"))
            pointers.append(at(array, DATA, "ptr"))
        # if `self` is None, batches that threads may share are left to the caller
        less = emit(f"sub i64 {rows}, 1")
        few = emit(f"icmp ult i64 {less}, {self.most or most_rows(layout)}")
        if self.most is None:
            some = emit(f"icmp ne i64 {rows}, 0")
            any_number = emit("icmp ne ptr %self, @sixfold_none")
            few = emit(f"or i1 {few}, {emit(f'and i1 {any_number}, {some}')}")
        self.need(few)
        self._look(rows, pointers, steps)
        if () in layout.outputs:
            self.need(several)  # one number is no array
        return self._module(self._results(rows, several, pointers, steps))

    def _look(self, rows: str, pointers: list[str], steps: list[str]) -> None:
        """Go on only if no state has a zero where the layout forbids it."""
        layout, emit, lines = self.layout, self.emit, self.lines
        if not layout.nonzero:
            return
        lines += [
            "  br label %look",
            "look:",
            f"  %row = phi i64 [0, %ok{self.passed}], [%next_row, %look]",
            f"  %zero = phi i1 [false, %ok{self.passed}], [%zero_too, %look]",
        ]
        found = "%zero"
        for array, place in layout.nonzero:
            offset = emit(f"mul i64 %row, {steps[array]}")
            state = emit(f"getelementptr i8, ptr {pointers[array]}, i64 {offset}")
            number = self.at(state, layout.item * place, layout.scalar)
            zero = emit(f"fcmp oeq {layout.scalar} {number}, 0.0")
            found = emit(f"or i1 {found}, {zero}")
        lines += [
            f"  %zero_too = or i1 {found}, false",
            "  %next_row = add i64 %row, 1",
            f"  %more_rows = icmp ult i64 %next_row, {rows}",
            "  br i1 %more_rows, label %look, label %looked",
            "looked:",
        ]
        self.need(emit("xor i1 %zero_too, true"))

    def _results(self, rows: str, several: str, pointers: list[str], steps: list[str]) -> str:
        """Find or make the results, call the loop, and return what the function returns."""
        layout, emit, at, lines = self.layout, self.emit, self.at, self.lines
        inputs, outputs = len(layout.inputs), len(layout.outputs)
        sizes = [layout.item * size for size in layout.output_sizes]
        # results are given and not None, or made here
        there = emit(f"icmp eq i64 %count, {inputs + outputs}")
        lines += [f"  br i1 {there}, label %perhaps, label %make", "perhaps:"]
        given = [at("%args", 8 * (inputs + o), "ptr") for o in range(outputs)]
        nothing = emit(f"icmp eq ptr {given[0]}, @sixfold_none")
        for array in given[1:]:
            also = emit(f"icmp eq ptr {array}, @sixfold_none")
            nothing = emit(f"and i1 {nothing}, {also}")
        lines += [f"  br i1 {nothing}, label %make, label %given", "given:"]
        targets = self._check_results(given, rows, several, pointers, steps)
        lines += [
            *(f"  call void @sixfold_incref(ptr {array})" for array in given),
            "  br label %given_end",
            "given_end:",
            "  br label %work",
            "make:",
            f"  store i64 {rows}, ptr %sizes",
        ]
        # memory of large results comes from a pool: the caller takes it and gives arrays
        self.need(emit(f"icmp ult i64 {rows}, {-(-MIN_POOLED_BYTES // sum(sizes))}"))
        # new arrays; without memory those made before are released
        made = [self._make(o, several) for o in range(outputs)]
        fresh = [at(array, DATA, "ptr") for array in made]
        lines += ["  br label %work", "work:"]
        last = f"made_end{tag(outputs - 1)}"
        for o in range(outputs):
            t = tag(o)
            lines += [
                f"  %result{t} = phi ptr [{given[o]}, %given_end], [{made[o]}, %{last}]",
                f"  %target{t} = phi ptr [{targets[o]}, %given_end], [{fresh[o]}, %{last}]",
            ]
        # run the loop on the pointers
        where = [f"%target{tag(o)}" for o in range(outputs)]
        self._run(rows, [*pointers, *where], [*steps, *map(str, sizes)])
        return "%result" if outputs == 1 else self._tuple()

    def _check_results(
        self, given: list[str], rows: str, several: str, pointers: list[str], steps: list[str]
    ) -> list[str]:
        """Test result arrays that are given; return where their data is."""
        layout, emit, at = self.layout, self.emit, self.at
        targets: list[str] = []
        taken: list[tuple[str, str]] = []  # where the data of results starts and stops
        for o, (array, core) in enumerate(zip(given, layout.outputs, strict=True)):
            lead, sizes = self.array(array, core, PLAIN | WRITEABLE)
            self.equal("i1", lead, several)
            if core:
                many = emit(f"icmp eq i64 {at(sizes, 0, 'i64')}, {rows}")
                self.need(emit(f"or i1 {many}, {emit(f'xor i1 {several}, true')}"))
            else:
                self.equal("i64", at(sizes, 0, "i64"), rows)
            target = at(array, DATA, "ptr")
            # a result must overlap no argument and no other result
            start = emit(f"ptrtoint ptr {target} to i64")
            size = layout.item * layout.output_sizes[o]
            stop = emit(f"add i64 {start}, {emit(f'mul i64 {rows}, {size}')}")
            for k, (pointer, step) in enumerate(zip(pointers, steps, strict=True)):
                # NumPy copies arguments that share memory with a result
                begin = emit(f"ptrtoint ptr {pointer} to i64")
                one = emit(f"icmp eq i64 {step}, 0")
                states = emit(f"select i1 {one}, i64 1, i64 {rows}")
                length = emit(f"mul i64 {states}, {layout.item * layout.input_sizes[k]}")
                end = emit(f"add i64 {begin}, {length}")
                self._apart((begin, end), (start, stop))
            for other in taken:
                self._apart(other, (start, stop))
            targets.append(target)
            taken.append((start, stop))
        return targets

    def _apart(self, one: tuple[str, str], other: tuple[str, str]) -> None:
        """Go on only if two ranges of memory do not overlap."""
        before = self.emit(f"icmp ule i64 {one[1]}, {other[0]}")
        after = self.emit(f"icmp uge i64 {one[0]}, {other[1]}")
        self.need(self.emit(f"or i1 {before}, {after}"))

    def _make(self, output: int, several: str) -> str:
        """Make a result array; without memory, let go of those made before and fail."""
        layout, emit, lines = self.layout, self.emit, self.lines
        core = layout.outputs[output]
        axes = len(core)
        # the shape: the leading axis, if there is one, then the core
        for k, n in enumerate(core):
            lines.append(
                f"  store i64 {n}, ptr {emit(f'getelementptr i64, ptr %sizes, i64 {k + 1}')}"
            )
        skipped = emit(f"select i1 {several}, i64 0, i64 1")
        shape = emit(f"getelementptr i64, ptr %sizes, i64 {skipped}")
        count = emit(f"select i1 {several}, i32 {axes + 1}, i32 {axes}")
        number = np.dtype(layout.dtype).num
        made = emit(
            f"call ptr @sixfold_array_new(ptr @sixfold_array_type, i32 {count}, ptr {shape}, "
            f"i32 {number}, ptr null, ptr null, i32 0, i32 0, ptr null)"
        )
        some = emit(f"icmp ne ptr {made}, null")
        failed = f"undo{output}" if output else "failed"
        end = f"made_end{tag(output)}"
        lines.append(f"  br i1 {some}, label %{end}, label %{failed}")
        if output:
            lines.append(f"{failed}:")
            lines += [f"  call void @sixfold_decref(ptr {array})" for array in self.made]
            lines.append("  br label %failed")
        self.made.append(made)
        lines.append(f"{end}:")
        return made

    def _tuple(self) -> str:
        """Put the results in a tuple, which takes over their references."""
        results = [f"%result{tag(o)}" for o in range(len(self.layout.outputs))]
        found = self.emit(f"call ptr @sixfold_tuple_new(i64 {len(results)})")
        some = self.emit(f"icmp ne ptr {found}, null")
        self.lines += [f"  br i1 {some}, label %tuple, label %no_tuple", "no_tuple:"]
        self.lines += [f"  call void @sixfold_decref(ptr {array})" for array in results]
        self.lines += ["  br label %failed", "tuple:"]
        for k, array in enumerate(results):
            self.emit(f"call i32 @sixfold_tuple_set(ptr {found}, i64 {k}, ptr {array})")
        return found

    def _run(self, rows: str, pointers: list[str], steps: list[str]) -> None:
        """Call the loop, without the interpreter's lock when it takes long."""
        layout, emit, lines = self.layout, self.emit, self.lines
        steps += map(str, layout.steps[len(layout.shapes) :])
        lines.append(f"  store i64 {rows}, ptr %dims")
        for name, kind, values in (("data", "ptr", pointers), ("steps", "i64", steps)):
            for k, x in enumerate(values):
                where = emit(f"getelementptr i64, ptr %{name}, i64 {k}")
                lines.append(f"  store {kind} {x}, ptr {where}")
        # release the interpreter's lock when the call takes long
        long = emit(f"icmp ugt i64 {rows}, {MIN_UNLOCKED_NUMBERS // sum(layout.sizes)}")
        call = "  call void @loop(ptr %data, ptr %dims, ptr %steps, ptr null)"
        lines += [
            f"  br i1 {long}, label %unlocked, label %locked",
            "unlocked:",
            "  %thread = call ptr @sixfold_save_thread()",
            call,
            "  call void @sixfold_restore_thread(ptr %thread)",
            "  ret ptr %result" if len(layout.outputs) == 1 else "  br label %ready",
            "locked:",
            call,
        ]
        if len(layout.outputs) > 1:
            lines += ["  br label %ready", "ready:"]

    def _module(self, result: str) -> str:
        several = [
            "declare ptr @sixfold_tuple_new(i64)",
            "declare i32 @sixfold_tuple_set(ptr, i64, ptr)",
        ]
        return "\n".join(
            [
                "@sixfold_array_type = external global i8",
                f"@sixfold_{self.layout.dtype} = external global i8",
                "@sixfold_none = external global i64",
                "declare ptr @sixfold_vectorcall(ptr, ptr, i64, ptr)",
                "declare void @sixfold_incref(ptr)",
                "declare ptr @sixfold_save_thread()",
                "declare void @sixfold_restore_thread(ptr)",
                *(several if len(self.layout.outputs) > 1 else ()),
                "declare ptr @sixfold_array_new(ptr, i32, ptr, i32, ptr, ptr, i32, i32, ptr)",
                "declare void @sixfold_decref(ptr)",
                "define ptr @entry(ptr %self, ptr %args, i64 %count, ptr %keywords) {",
                *self.lines,
                f"  ret ptr {result}",
                "failed:",
                "  ret ptr null",
                "other:",
                "  %none = icmp eq ptr %self, @sixfold_none",
                "  %null = icmp eq ptr %self, null",
                "  %no_other = or i1 %none, %null",
                "  br i1 %no_other, label %nothing, label %whole",
                "whole:",
                "  %answer = call ptr @sixfold_vectorcall"
                "(ptr %self, ptr %args, i64 %count, ptr %keywords)",
                "  ret ptr %answer",
                "nothing:",
                "  call void @sixfold_incref(ptr @sixfold_none)",
                "  ret ptr @sixfold_none",
                "}\n",
            ]
        )


def builtin(address: int, name: str, otherwise: Any, keep: Any) -> Any:
    """Return the built-in function at an address.

    Args:
        address: of an @entry.
        name: its name.
        otherwise: called where the arrays are not plain; NO_FALLBACK to return None then, None to
            return None also for batches that several threads may take.
        keep: objects that must live as long as the function.
    """
    method = _Method(name.encode(), address, _FASTCALL_KEYWORDS, None)
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype = ctypes.py_object
    make.argtypes = [ctypes.c_void_p, ctypes.py_object, ctypes.py_object]
    return make(ctypes.addressof(method), otherwise, (method, keep))


class _Method(ctypes.Structure):
    """PyMethodDef."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


def possible(layout: Layout) -> bool:
    """Return whether kernels of a layout have a short way."""
    return bool(symbols()) and all(layout.inputs) and 0 not in layout.sizes


def most_rows(layout: Layout) -> int:
    """Return how many states never go to several threads."""
    return max(1, MAX_NUMBERS // sum(layout.sizes))
