"""The functions that NumPy calls for the memory of large results, as machine code.

They are what `PyDataMem_SetHandler` of NumPy's C interface asks for.  NumPy's own functions give
and take the memory; what a result gives back is kept, and goes to the next of about that size.

NumPy calls them with the interpreter's lock held, so that no two run at a time.  They know nothing
but their first argument: the address of the words of STATE, then two for each piece of idle memory
(where its data starts, how many bytes there are), the one that came back last at the end.
"""

from __future__ import annotations

MIN_BYTES = 1 << 20
"""Bytes of all results of a call from which on their memory is worth keeping.

The C library keeps arrays of up to 32 MiB by itself, but gives memory back to the system when more
than twice the largest of them is free, or when nothing lies behind it: a call on 32,768 states of
puma560 then took up to a quarter longer.
"""
STATE = ("context", "allocate", "release", "limit", "idle", "count")
"""NumPy's own argument and functions, the bytes that may be kept, those that are, and how many."""
MAX_BLOCKS = 64
"""Pieces of idle memory that are kept, so that a search among them stays short."""
FUNCTIONS = ("take", "take_cleared", "resize", "give")
"""In NumPy's order: malloc, calloc, realloc and free."""
PAGE = 4096
"""Bytes of a page; results in kept memory start with one, and so with a whole line of the caches.

The C library hands out large arrays 16 bytes behind the start of a page.  A result that started a
little further into a page than the arguments would make their loads wait: processors compare the
last twelve bits of an address with those of stores that are still on their way.
"""
_EXTRA = PAGE + 16  # before the data lie where its memory starts and how many bytes it has


def _field(name: str) -> str:
    """Return instructions that find a word of the state, and load it."""
    where = f"%{name}_at = getelementptr i64, ptr %state, i64 {STATE.index(name)}"
    return f"  {where}\n  %{name} = load i64, ptr %{name}_at"


def text() -> str:
    """Return FUNCTIONS, the first argument of each being the state."""
    return f"""
define ptr @take(ptr %state, i64 %wanted) {{
start:
  %more = add i64 %wanted, 7
  %size = and i64 %more, -8
  %twice = shl i64 %size, 1
  %large = icmp uge i64 %size, {PAGE}
{_field("count")}
  br i1 %large, label %look, label %new
look:
  %k = phi i64 [%count, %start], [%last, %next]
  %none = icmp eq i64 %k, 0
  br i1 %none, label %new, label %next
next:
  %last = sub i64 %k, 1
  %block = call ptr @block(ptr %state, i64 %last)
  %size_at = getelementptr i64, ptr %block, i64 1
  %there = load i64, ptr %size_at
  %enough = icmp uge i64 %there, %size
  %close = icmp ule i64 %there, %twice
  %fits = and i1 %enough, %close
  br i1 %fits, label %found, label %look
found:
  %kept = call ptr @remove(ptr %state, i64 %last)
  ret ptr %kept
new:
{_field("context")}
{_field("allocate")}
  %own = inttoptr i64 %context to ptr
  %function = inttoptr i64 %allocate to ptr
  %total = add i64 %size, {_EXTRA}
  %memory = call ptr %function(ptr %own, i64 %total)
  %failed = icmp eq ptr %memory, null
  br i1 %failed, label %without, label %made
without:
  ret ptr null
made:
  %begin = ptrtoint ptr %memory to i64
  %past = add i64 %begin, {_EXTRA - 1}
  %place = and i64 %past, {-PAGE}
  %data = inttoptr i64 %place to ptr
  %begin_at = getelementptr i64, ptr %data, i64 -2
  %bytes_at = getelementptr i64, ptr %data, i64 -1
  store i64 %begin, ptr %begin_at
  store i64 %size, ptr %bytes_at
  ret ptr %data
}}

define ptr @take_cleared(ptr %state, i64 %count, i64 %each) {{
  %pair = call {{i64, i1}} @llvm.umul.with.overflow.i64(i64 %count, i64 %each)
  %over = extractvalue {{i64, i1}} %pair, 1
  %size = extractvalue {{i64, i1}} %pair, 0
  br i1 %over, label %without, label %some
some:
  %data = call ptr @take(ptr %state, i64 %size)
  %failed = icmp eq ptr %data, null
  br i1 %failed, label %without, label %clear
clear:
  %place = phi i64 [0, %some], [%next, %word]
  %more = icmp ult i64 %place, %size
  br i1 %more, label %word, label %done
word:
  %to = getelementptr i8, ptr %data, i64 %place
  store i64 0, ptr %to
  %next = add i64 %place, 8
  br label %clear
done:
  ret ptr %data
without:
  ret ptr null
}}

define ptr @resize(ptr %state, ptr %old, i64 %size) {{
  %new = call ptr @take(ptr %state, i64 %size)
  %failed = icmp eq ptr %new, null
  %nothing = icmp eq ptr %old, null
  %ready = or i1 %failed, %nothing
  br i1 %ready, label %done, label %start
start:
  %bytes_at = getelementptr i64, ptr %old, i64 -1
  %bytes = load i64, ptr %bytes_at
  %shorter = icmp ult i64 %bytes, %size
  %stop = select i1 %shorter, i64 %bytes, i64 %size
  br label %copy
copy:
  %place = phi i64 [0, %start], [%next, %word]
  %more = icmp ult i64 %place, %stop
  br i1 %more, label %word, label %copied
word:
  %from = getelementptr i8, ptr %old, i64 %place
  %to = getelementptr i8, ptr %new, i64 %place
  %value = load i64, ptr %from
  store i64 %value, ptr %to
  %next = add i64 %place, 8
  br label %copy
copied:
  call void @give(ptr %state, ptr %old, i64 %bytes)
  br label %done
done:
  ret ptr %new
}}

define void @give(ptr %state, ptr %data, i64 %unused) {{
  %nothing = icmp eq ptr %data, null
  br i1 %nothing, label %done, label %some
some:
  %size_at = getelementptr i64, ptr %data, i64 -1
  %size = load i64, ptr %size_at
{_field("limit")}
{_field("count")}
{_field("idle")}
  %small = icmp ult i64 %size, {PAGE}
  %huge = icmp ugt i64 %size, %limit
  %refused = or i1 %small, %huge
  br i1 %refused, label %let_go, label %keep
let_go:
  call void @free(ptr %state, ptr %data)
  ret void
keep:
  %full = icmp eq i64 %count, {MAX_BLOCKS}
  br i1 %full, label %oldest, label %put
oldest:
  call void @drop(ptr %state)
  br label %put
put:
  %where = load i64, ptr %count_at
  %block = call ptr @block(ptr %state, i64 %where)
  %bytes_at = getelementptr i64, ptr %block, i64 1
  store ptr %data, ptr %block
  store i64 %size, ptr %bytes_at
  %several = add i64 %where, 1
  store i64 %several, ptr %count_at
  %before = load i64, ptr %idle_at
  %after = add i64 %before, %size
  store i64 %after, ptr %idle_at
  br label %check
check:
  %now = load i64, ptr %idle_at
  %much = icmp ugt i64 %now, %limit
  br i1 %much, label %less, label %done
less:
  call void @drop(ptr %state)
  br label %check
done:
  ret void
}}

define internal ptr @block(ptr %state, i64 %k) {{
  %twice = shl i64 %k, 1
  %place = add i64 %twice, {len(STATE)}
  %block = getelementptr i64, ptr %state, i64 %place
  ret ptr %block
}}

define internal ptr @remove(ptr %state, i64 %k) {{
start:
  %block = call ptr @block(ptr %state, i64 %k)
  %size_at = getelementptr i64, ptr %block, i64 1
  %data = load ptr, ptr %block
  %size = load i64, ptr %size_at
{_field("count")}
{_field("idle")}
  %fewer = sub i64 %count, 1
  store i64 %fewer, ptr %count_at
  %less = sub i64 %idle, %size
  store i64 %less, ptr %idle_at
  br label %move
move:
  %n = phi i64 [%k, %start], [%next, %one]
  %more = icmp ult i64 %n, %fewer
  br i1 %more, label %one, label %done
one:
  %next = add i64 %n, 1
  %to = call ptr @block(ptr %state, i64 %n)
  %from = call ptr @block(ptr %state, i64 %next)
  %pair = load <2 x i64>, ptr %from, align 8
  store <2 x i64> %pair, ptr %to, align 8
  br label %move
done:
  ret ptr %data
}}

define internal void @drop(ptr %state) {{
  %data = call ptr @remove(ptr %state, i64 0)
  call void @free(ptr %state, ptr %data)
  ret void
}}

define internal void @free(ptr %state, ptr %data) {{
  %begin_at = getelementptr i64, ptr %data, i64 -2
  %size_at = getelementptr i64, ptr %data, i64 -1
  %memory = load ptr, ptr %begin_at
  %size = load i64, ptr %size_at
  %total = add i64 %size, {_EXTRA}
{_field("context")}
{_field("release")}
  %own = inttoptr i64 %context to ptr
  %function = inttoptr i64 %release to ptr
  call void %function(ptr %own, ptr %memory, i64 %total)
  ret void
}}

declare {{i64, i1}} @llvm.umul.with.overflow.i64(i64, i64)
"""


def new_array(number: int) -> str:
    """Return @new_array(large, axes, shape) for a dtype of NumPy's number: a result of a kernel.

    A large one gets its memory from these functions, unless there are none yet.
    """
    return f"""
@sixfold_handler = external global ptr
declare ptr @sixfold_set_handler(ptr)
declare ptr @sixfold_array_new(ptr, i32, ptr, i32, ptr, ptr, i32, i32, ptr)
declare void @sixfold_decref(ptr)
define internal ptr @new_array(i1 %large, i32 %axes, ptr %shape) {{
  %handler = load ptr, ptr @sixfold_handler
  %known = icmp ne ptr %handler, null
  %keep = and i1 %large, %known
  br i1 %keep, label %set, label %usual
usual:
  %found = {_array(number)}
  ret ptr %found
set:
  %before = call ptr @sixfold_set_handler(ptr %handler)
  %ready = icmp ne ptr %before, null
  br i1 %ready, label %make, label %failed
make:
  %made = {_array(number)}
  %after = call ptr @sixfold_set_handler(ptr %before)
  call void @sixfold_decref(ptr %before)
  %back = icmp ne ptr %after, null
  br i1 %back, label %done, label %undo
done:
  call void @sixfold_decref(ptr %after)
  ret ptr %made
undo:
  call void @sixfold_decref(ptr %made)
  br label %failed
failed:
  ret ptr null
}}
"""


def _array(number: int) -> str:
    """Return the call of PyArray_New with its shape and nothing else said."""
    arguments = f"i32 %axes, ptr %shape, i32 {number}, ptr null, ptr null, i32 0, i32 0, ptr null"
    return f"call ptr @sixfold_array_new(ptr @sixfold_array_type, {arguments})"
