"""Names of generated functions and files, and texts that are safe in comments of any language."""

from __future__ import annotations

import hashlib
import keyword
import re

from sixfold.errors import visible

MAX_NAME = 150  # characters of a function's name, which names a file too
MAX_MATLAB_NAME = 63


def identifier(name: str, most: int = MAX_NAME) -> str:
    """Return a name of at most some characters that every language accepts.

    One that is too long ends in a digest, so that names which differ at their end stay apart.
    """
    plain = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_") or "robot"
    if plain[0].isdigit() or has_other_meaning(plain):
        plain = f"robot_{plain}"
    if len(plain) <= most:
        return plain
    digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
    return f"{plain[: most - 9]}_{digest}"


def stem_of(robot: str, language: str, longest: str) -> str:
    """Return the beginning of the names of a robot's functions; the longest one ends in a word."""
    most = MAX_MATLAB_NAME if language == "matlab" else MAX_NAME
    return identifier(robot, most - len(longest) - 1)


def comment(text: str) -> str:
    """Return a line that ends no comment, docstring or line of any language.

    Each character is replaced on its own: no replacement makes a sequence that another one missed.
    """
    return visible(text).translate(_IN_COMMENTS)


_IN_COMMENTS = str.maketrans({"\\": "/", "*": "+", '"': "'"})


# -- words that some language or library uses already

_C = """
auto bool break case char const constexpr continue default do double else enum extern false float
for goto if inline int long nullptr register restrict return short signed sizeof static
static_assert struct switch thread_local true typedef typeof typeof_unqual union unsigned void
volatile while alignas alignof asm fortran
"""
_CPP = """
and and_eq bitand bitor catch char16_t char32_t char8_t class co_await co_return co_yield compl
concept const_cast consteval constinit decltype delete dynamic_cast explicit export friend mutable
namespace new noexcept not not_eq operator or or_eq private protected public reinterpret_cast
requires static_cast template this throw try typeid typename using virtual wchar_t xor xor_eq
"""
_JULIA = """
abstract baremodule begin catch const do else elseif end export false finally for function global
if import importall in isa let local macro missing module mutable nothing primitive public quote
return struct true try type using where while
"""
_MATLAB = """
arguments break case catch classdef continue else elseif end enumeration events for function global
if methods otherwise parfor persistent properties return spmd switch try while ans eps pi
"""
_MATH = """
acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 expm1 fabs fdim
floor fma fmax fmin fmod frexp hypot ilogb ldexp lgamma llrint llround log log10 log1p log2 logb
lrint lround modf nan nearbyint nextafter nexttoward pow remainder remquo rint round scalbln scalbn
sin sincos sinh sqrt tan tanh tgamma trunc drem exp10 finite gamma isinf isnan j0 j1 jn pow10 scalb
significand signbit y0 y1 yn
"""
_MACROS = """
fpclassify isfinite isnormal isgreater isgreaterequal isless islessequal islessgreater isunordered
math_errhandling assert errno offsetof va_arg setjmp stdin stdout stderr complex I imaginary NULL
EOF INFINITY NAN linux unix i386 main
"""
_LIBRARY = """
abort abs alloca atexit atof atoi atol atoll bcmp bcopy bsearch bzero calloc clock div exit execl
execle execlp execv execve execvp fclose feof ferror fflush fgetc fgets fopen fork fprintf fputc
fputs fread free freopen fscanf fseek ftell fwrite getc getchar getenv gets imaxabs index isalnum
isalpha isascii isblank iscntrl isdigit isgraph islower isprint ispunct isspace isupper iswalnum
isxdigit labs ldiv llabs lldiv longjmp malloc memchr memcmp memcpy memmove mempcpy memset perror
printf putc putchar puts qsort raise rand realloc remove rename rewind rindex scanf setbuf setvbuf
signal snprintf sprintf srand sscanf stpcpy stpncpy strcasecmp strcat strchr strcmp strcoll strcpy
strcspn strdup strerror strfmon strftime strlen strncasecmp strncat strncmp strncpy strndup strpbrk
strrchr strspn strstr strtod strtof strtok strtol strtold strtoll strtoul strtoull strxfrm system
time tmpfile tmpnam toascii tolower toupper ungetc vfprintf vfscanf vprintf vscanf vsnprintf
vsprintf vsscanf
"""
_HEADERS = """
assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdalign
stdarg stdatomic stdbool stddef stdint stdio stdlib stdnoreturn string tgmath threads time uchar
wchar wctype
"""
_OWN = """
a f_ext np numpy one p q qd qdd result tau v B C G M T U V PARAMETERS
"""
#: Names that no file of Windows can have, in any case.
_DEVICES = {"con", "prn", "aux", "nul"} | {f"{x}{k}" for x in ("com", "lpt") for k in range(1, 10)}
_WORDS = frozenset(
    f"{_C} {_CPP} {_JULIA} {_MATLAB} {_MACROS} {_LIBRARY} {_HEADERS} {_OWN}".split()
    + [f"{word}{suffix}" for word in _MATH.split() for suffix in ("", "f", "l")]
    + list(keyword.kwlist)
)


def has_other_meaning(name: str) -> bool:
    """Return whether a file or function of a name would not work in some language."""
    return name in _WORDS or name.lower() in _DEVICES
