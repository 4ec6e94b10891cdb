"""Functions as C source: the text of `Function.c`, and the files of `Function.export_source`.

The core prints the definition of the function with the small functions that it calls; here are its
declaration, the comments, the header and the Makefile. Of a function whose loops run on a GPU it is
host code with PTX in it, which calls the functions of gpu_host.c. The page docs/export.md says what
they promise.
"""

from __future__ import annotations

import ctypes
import functools
import os
import platform
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from .. import _core
from ..base.checks import a_path
from ..base.errors import ExportError
from ..base.results import Result
from ..schedule.scheduled_functions import ScheduledFunction
from .exported_arguments import C_TYPES, Argument, Interface
from .exporting import checked_symbol, linked_externs

__all__ = ["ExportedSource", "SourceInterface", "c_text", "export_source", "gpu_host", "source_of"]

_TYPES = {name: kind for name, (kind, _) in C_TYPES.items()} | {
    "complex64": "float _Complex",
    "complex128": "double _Complex",
}
FLAGS = "-std=c99 -O2 -fopenmp -ffp-contract=off"
GPU_FLAGS = "-std=c99 -O2 -pthread"
GPU_LIBRARIES = "-ldl"


@dataclass(frozen=True)
class ExportedSource(Result):
    """What `Function.export_source` wrote.

    Attributes:
        name: the C function.
        prototype: its declaration, as in the header.
        source: the C file.
        header: what declares the function.
        makefile: builds a shared object and a static library of it.
        library: the shared object that ``make`` makes.
    """

    name: str
    prototype: str
    source: Path
    header: Path
    makefile: Path
    library: Path

    made_by = "Function.export_source"


class SourceInterface(Interface):
    """The arguments of the function in C source: parameters, inputs, outputs."""

    def __init__(self, function: ScheduledFunction, symbol: str) -> None:
        self._externs = {name for name, _ in _core.c_externs(function)}
        super().__init__(function, symbol, False)
        for argument in self.arguments:
            if not argument.fields:
                argument.c_type = _TYPES[argument.dtype]
                if argument.dtype.startswith("complex"):
                    argument.notes = []

    def _argument_name(self, name: str) -> str:
        own = str(_core.c_identifier(name))
        taken = own in self._externs or own.startswith(f"{self.symbol.upper()}_")
        return f"{own}_" if taken else own

    @staticmethod
    def is_number(argument: Argument) -> bool:
        return not (argument.extents or argument.fields or argument.is_written)

    def declared_arguments(self, restrict: bool) -> list[str]:
        """The declaration of each argument."""
        # A person may well pass one array twice where all are only read.
        pointer = "*restrict " if restrict else "*"
        declared = [f"int64_t {name}" for name in self.parameters]
        for argument in self.arguments:
            if self.is_number(argument):
                declared.append(f"{argument.c_type} {argument.name}")
            else:
                const = "" if argument.is_written else "const "
                declared.append(f"{const}{argument.c_type} {pointer}{argument.name}")
        return declared

    def declaration(self, restrict: bool) -> str:
        listed = ", ".join(self.declared_arguments(restrict)) or "void"
        return f"int {self.symbol}({listed})"

    def places(self, function: ScheduledFunction) -> list[tuple[str, str, bool]]:
        """For each of the kernel's arguments: pointer or number, member, whether it is a number."""
        found: dict[str, tuple[str, str, bool]] = {}
        for argument in self.arguments:
            members = {each.offset: f".{_core.c_identifier(each.name)}" for each in argument.fields}
            for name, offset in argument.parts:
                found[name] = (argument.name, members.get(offset, ""), self.is_number(argument))
        return [found[name] for name, _, _, _ in function._arguments]


def gpu_host() -> str:
    """What the source of functions for a GPU calls; once in a file."""
    return (Path(__file__).parent / "gpu_host.c").read_text(encoding="utf-8")


def _refuse_packed(function: ScheduledFunction, interface: SourceInterface) -> None:
    """A GPU reads elements at multiples of their size alone."""
    for argument in interface.arguments:
        if function._on_device and "its fields are packed" in argument.notes:
            raise ExportError(
                f"{function.name}: the fields of {argument.name} are packed, and a GPU reads elements "
                f"at multiples of their size alone; give its dtype align=True"
            )


# ---- texts ----


def _comment(lines: Sequence[str]) -> str:
    body = "\n".join(f" * {line}".rstrip().replace("*/", "* /") for line in lines)
    return f"/*\n{body}\n */\n"


def _wrapped(text: str, width: int = 96) -> str:
    """A declaration over several lines, broken at commas."""
    lines = [""]
    for part in re.split(r"(?<=,) ", text):
        if lines[-1] and len(lines[-1]) + 1 + len(part) > width:
            lines.append(f"    {part}")
        else:
            lines[-1] += f" {part}" if lines[-1] else part
    return "\n".join(lines)


def _described(argument: Argument) -> str:
    role = "in and out" if argument.is_input and argument.is_written else "in"
    role = role if argument.is_input else "out"
    kind = argument.c_type if argument.fields else argument.dtype
    if SourceInterface.is_number(argument):
        return "; ".join([f"{argument.name}: a number, {kind}", *argument.notes])
    shape = f"[{', '.join(argument.extents)}]" if argument.extents else " (one element)"
    return "; ".join([f"{argument.name}: {role}, {kind}{shape}", *argument.notes])


def _structures(interface: SourceInterface) -> Iterator[str]:
    for argument in interface.arguments:
        if not argument.fields:
            continue
        packed = "its fields are packed" in argument.notes
        lines = ["#pragma pack(push, 1)"] if packed else []
        lines.append(f"{argument.c_type} {{")
        end = 0
        for each in argument.fields:
            if packed and each.offset > end:
                lines.append(f"  char unused_{end}[{each.offset - end}];")
            lines.append(f"  {_TYPES[each.dtype]} {_core.c_identifier(each.name)};")
            end = each.offset + C_TYPES[each.dtype][1]
        if packed and argument.element_bytes > end:
            lines.append(f"  char unused_{end}[{argument.element_bytes - end}];")
        lines.append("};")
        lines += ["#pragma pack(pop)"] if packed else []
        yield "\n".join(lines) + "\n\n"


@dataclass(frozen=True)
class _Source:
    """The pieces of the files."""

    symbol: str
    about: str
    needed: str  # includes of the header
    includes: str  # of the definition
    declarations: str
    prototype: str
    definition: str
    host: str  # what the definition of a function for a GPU calls
    libraries: str  # what is linked besides the C library's


_ABOUT = (
    "Compile it with {flags} -shared -fPIC, or as a part of a program; without -fopenmp it runs in "
    "one thread. With contraction off it computes the bits of the compiled function without "
    "fast_math, elementary functions among them, but for the order in which a vector loop sums up "
    "floats, the sign and the digits of NaN, and functions of complex numbers, which are the C "
    "library's."
)
_ABOUT_GPU = (
    f"Compile it with {GPU_FLAGS} -shared -fPIC, or as a part of a program, and link "
    f"{GPU_LIBRARIES}; nothing of a CUDA toolkit is needed. The first call opens CUDA's driver "
    "(libcuda.so.1, or what the environment's TILEWRIGHT_CUDA_DRIVER names), which compiles the "
    "kernels. Each call copies arrays to the first device, and back what the kernels write. It "
    "computes the bits of the compiled function."
)


def _problem(symbol: str) -> str:
    return f"const char *{symbol}_problem(void)"


def _fma_flag(definition: str) -> str:
    """What makes fma() an instruction in place of a call, if the definition has it."""
    has_fma = re.search(r"\bfmaf?\(", definition) is not None
    return " -mfma" if has_fma and platform.machine() in ("x86_64", "AMD64") else ""


def source_of(function: ScheduledFunction, symbol: str) -> _Source:
    """The pieces of a function as C source, under a name."""
    interface = SourceInterface(function, symbol)
    _refuse_packed(function, interface)
    on_device = function._on_device
    upper = symbol.upper()
    includes, definition, subscripts = _core.export_c_source(
        function,
        symbol,
        _wrapped(interface.declaration(restrict=True)),
        f"{upper}_",
        interface.places(function),
        interface.parameters,
    )
    flags = f"{FLAGS}{_fma_flag(definition)}"
    schedule = [f"  {line}" for line in str(function.default_schedule or "").splitlines()]
    if function.schedule.commands:
        schedule = [f"  {line}" for line in str(function.schedule).splitlines()]
    about = [
        f"{function.signature}",
        "",
        *(["Schedule:", *schedule, ""] if schedule else []),
        *textwrap.wrap(_ABOUT_GPU if on_device else _ABOUT.format(flags=flags), 94),
        *linked_externs(function),
        "",
        "Arrays are row-major without gaps, and what is written shares no memory with others:",
        *(f"  {_described(argument)}" for argument in interface.arguments),
        *(f"  {name}: a size" for name in interface.parameters),
        "",
        *textwrap.wrap(
            f"Returns {upper}_OK or what was wrong: the low 8 bits are one of the codes below"
            + (", the others the number of the subscript:" if subscripts else ".")
            + (
                f" {symbol}_problem() says why the last call returned {upper}_DEVICE or _LOST."
                if on_device
                else ""
            ),
            94,
        ),
        *(f"  {number}: {text}" for number, text in enumerate(subscripts)),
    ]
    has_complex = any(
        dtype.startswith("complex")
        for argument in interface.arguments
        for dtype in (argument.dtype, *(each.dtype for each in argument.fields))
    )
    needed = ("#include <complex.h>\n" if has_complex else "") + (
        "#include <stdbool.h>\n#include <stdint.h>\n\n"
    )
    declarations = str(_core.c_source_statuses(f"{upper}_", on_device)) + "\n"
    declarations += "".join(_structures(interface))
    return _Source(
        symbol=symbol,
        about=_comment(about),
        needed=needed,
        includes=includes,
        declarations=declarations,
        prototype=interface.declaration(restrict=False),
        definition=definition,
        host=gpu_host() if on_device else "",
        libraries=f" {GPU_LIBRARIES}" if on_device else "",
    )


@functools.cache
def _is_of_the_c_library(symbol: str) -> bool:
    for library in ("libc.so.6", "libm.so.6"):
        try:
            if hasattr(ctypes.CDLL(library), symbol):
                return True
        except OSError:
            continue
    return False


def _whole_definition(made: _Source) -> str:
    """With what it calls, and with the function that says why a GPU failed."""
    if not made.host:
        return made.definition
    problem = f"{_problem(made.symbol)} {{ return tilewright_gpu_problem; }}"
    return f"{made.host}{made.definition}\n{problem}\n"


def c_text(function: ScheduledFunction) -> str:
    """See `Function.c`."""
    symbol = str(_core.c_identifier(function.name))
    if _is_of_the_c_library(symbol):
        symbol += "_"
    made = source_of(function, symbol)
    text = f"{made.about}{made.includes}{made.declarations}{_whole_definition(made)}"
    return text.rstrip("\n")


_MAKEFILE = """# Builds lib{symbol}.so and lib{symbol}.a of {symbol}.c.
CC ?= cc
CFLAGS ?= -O2
# Without -ffp-contract=off some compilers round once where two operations are written.
{fma}NEEDED = -std=c99 -fopenmp -ffp-contract=off{flag} -fPIC

all: lib{symbol}.so lib{symbol}.a

{symbol}.o: {symbol}.c {symbol}.h
\t$(CC) $(CFLAGS) $(NEEDED) -c -o $@ {symbol}.c

lib{symbol}.so: {symbol}.o
\t$(CC) $(CFLAGS) $(NEEDED) -shared -o $@ {symbol}.o{libraries} -lm

lib{symbol}.a: {symbol}.o
\t$(AR) rcs $@ {symbol}.o

clean:
\trm -f {symbol}.o lib{symbol}.so lib{symbol}.a

.PHONY: all clean
"""


def _makefile(made: _Source) -> str:
    flag = _fma_flag(made.definition)
    fma = "# With -mfma, fma() is one instruction; without it a call, of the same result.\n"
    return _MAKEFILE.format(
        symbol=made.symbol, flag=flag, fma=fma if flag else "", libraries=made.libraries
    )


def _header(made: _Source) -> str:
    guard = f"{made.symbol.upper()}_H"
    return f"""{made.about}#ifndef {guard}
#define {guard}

{made.needed}{made.declarations}#ifdef __cplusplus
extern "C" {{
#endif

{_wrapped(made.prototype)};
{f"{_problem(made.symbol)};" + chr(10) if made.host else ""}
#ifdef __cplusplus
}}
#endif

#endif
"""


def export_source(
    function: ScheduledFunction, directory: str | os.PathLike[str], name: str | None
) -> ExportedSource:
    """See `Function.export_source`."""
    symbol = checked_symbol(function, name)
    target = Path(a_path(directory, "directory"))
    if target.exists() and not target.is_dir():
        raise ExportError(f"{target} is there already and is no directory; name another one")
    made = source_of(function, symbol)
    definition = f"{made.includes}{_whole_definition(made)}"
    texts = {
        f"{symbol}.c": f'{made.about}#include "{symbol}.h"\n\n{definition}',
        f"{symbol}.h": _header(made),
        "Makefile": _makefile(made),
    }
    target.mkdir(parents=True, exist_ok=True)
    for file, text in texts.items():
        (target / file).write_text(text, encoding="utf-8")
    return ExportedSource(
        name=symbol,
        prototype=made.prototype,
        source=target / f"{symbol}.c",
        header=target / f"{symbol}.h",
        makefile=target / "Makefile",
        library=target / f"lib{symbol}.so",
    )
