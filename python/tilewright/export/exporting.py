"""Export ahead of time: a function as a library for C programs, with a header and an example.

The core compiles the code, a C function around the kernel included, and has the small runtime that
it calls; here are the argument list, the texts and the call of the linker. The page docs/export.md
says what C programs can rely on.
"""

from __future__ import annotations

# subprocess and its like are imported where they are needed: every program imports this module.
import ctypes
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .. import _core
from ..base.errors import ArgumentError, ArgumentTypeError, ExportError
from ..base.results import Result
from ..schedule.scheduled_functions import ScheduledFunction
from .exported_arguments import Interface, c_name, is_reserved
from .exported_texts import example_program, header

__all__ = ["Exported", "checked_symbol", "export_function", "linked_externs"]


@dataclass(frozen=True)
class Exported(Result):
    """What `Function.export` wrote.

    Attributes:
        name: the C function.
        prototype: its declaration, as in the header.
        library: the shared object or static library.
        header: what declares the function and describes its arguments.
        example: a program that calls it.
        build: the command, to be run in the directory, that builds the example.
        cpu: what the code needs: ``"x86-64-v3"``.
    """

    name: str
    prototype: str
    library: Path
    header: Path
    example: Path
    build: str
    cpu: str

    made_by = "Function.export"


_LONGEST = 200  # files have names of at most 255 letters


def checked_symbol(function: ScheduledFunction, name: str | None) -> str:
    """The name of the C function, or an ExportError that says why it cannot have it."""
    symbol = c_name(function.name) if name is None else name
    if not isinstance(symbol, str) or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", symbol):
        raise ExportError(f"{symbol!r} is not a name of a C function; give one with name=")
    if is_reserved(symbol):
        raise ExportError(f"{symbol} is a word of C; give another name with name=")
    if symbol.startswith("tilewright_"):
        raise ExportError(f"names such as {symbol} are the library's own; give another with name=")
    if len(symbol) > _LONGEST:
        raise ExportError(
            f"a name of {len(symbol)} letters is too long for the files of a library, which take "
            f"at most {_LONGEST}; give another name with name="
        )
    if any(symbol == extern for extern, _ in _core.c_externs(function)):
        raise ExportError(
            f"{function.name} calls a function of C that is named {symbol}, too; give the exported "
            f"one another name with name="
        )
    for library in ("libc.so.6", "libm.so.6"):
        try:
            known = hasattr(ctypes.CDLL(library), symbol)
        except OSError:
            continue
        if known:
            raise ExportError(
                f"the C library has a function {symbol} already, which programs would get instead "
                f"or lose; give another name with name="
            )
    return symbol


def linked_externs(function: ScheduledFunction) -> list[str]:
    """What a program has to link, in lines of a comment."""
    externs = [prototype for _, prototype in _core.c_externs(function)]
    if not externs:
        return []
    return ["", "It calls functions that it does not have; link what defines them:"] + [
        f"  {prototype};" for prototype in externs
    ]


LINKERS = ("ld", "ld.lld", "ld.gold", "mold", "cc", "gcc", "clang")


def _find_linker(asked: str | None) -> str:
    import shutil

    asked = asked or os.environ.get("TILEWRIGHT_LINKER")
    for name in (asked,) if asked else LINKERS:
        found = shutil.which(name)
        if found:
            return found
    wanted = f"{asked} was not found" if asked else f"none of {', '.join(LINKERS)} was found"
    raise ExportError(
        f"a shared object needs a linker, and {wanted} on PATH: install one (package binutils), "
        f'name it with linker= or TILEWRIGHT_LINKER, or export with kind="static", which needs none'
    )


def _system_libraries() -> list[str]:
    """The C library of this process: there need be no development packages."""
    wanted = ("libm.so.6", "libc.so.6", "ld-linux")
    found: dict[str, str] = {}
    try:
        with open("/proc/self/maps", encoding="utf-8") as maps:
            for line in maps:
                path = line.rstrip("\n").partition("/")[2]
                for each in wanted:
                    if f"/{path}".rpartition("/")[2].startswith(each):
                        found.setdefault(each, f"/{path}")
    except OSError:
        pass
    if "libc.so.6" not in found:
        return ["-lm", "-lc"]
    return [found[each] for each in wanted if each in found]


def _link(
    linker: str,
    symbol: str,
    objects: Sequence[Path],
    output: Path,
    folder: Path,
    is_complete: bool,
) -> None:
    import subprocess

    exports = folder / "exports.map"
    names = (symbol, f"{symbol}_message", f"{symbol}_set_num_threads")
    exports.write_text(f"{{ global: {' '.join(f'{name};' for name in names)} local: *; }};\n")
    # nodelete: threads of the library may sleep in it when a program unloads it.
    options = ["-soname", f"lib{symbol}.so", "-z", "nodelete", "-z", "noexecstack"]
    options += ["-z", "defs"] if is_complete else []  # else the program has the rest
    options += ["-z", "relro", "--gc-sections", "--as-needed", f"--version-script={exports}"]
    is_driver = not re.match(r"(.*-)?(ld|mold|lld)\b", os.path.basename(linker))
    if is_driver:
        command = [linker, "-shared", "-nostdlib", f"-Wl,{','.join(options)}"]
    else:
        command = [linker, "-shared", *options]
    command += [*map(str, objects), *_system_libraries(), "-o", str(output)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        raise ExportError(f"the linker {linker} failed:\n{run.stderr.strip()}")


def export_function(
    function: ScheduledFunction,
    directory: str | os.PathLike[str],
    name: str | None,
    kind: str,
    cpu: str | None,
    strides: bool,
    linker: str | None,
) -> Exported:
    """See `Function.export`."""
    if kind not in ("shared", "static"):
        raise ArgumentError(f"kind must be 'shared' or 'static', not {kind!r}")
    if not isinstance(strides, bool):
        raise ArgumentTypeError(f"strides must be True or False, not {strides!r}")
    if function._on_device:
        raise ExportError(
            f"{function.name} has loops over the blocks and threads of a GPU, which an exported "
            f'function does not have; set its target to "cpu", which makes them loops of the '
            f"processor, or export a copy with another schedule"
        )
    symbol = checked_symbol(function, name)
    program = _find_linker(linker) if kind == "shared" else ""
    interface = Interface(function, symbol, strides)
    code, described = _core.export_function(
        function, symbol, interface.for_core(), strides, cpu or ""
    )
    is_shared = kind == "shared"
    library = f"lib{symbol}.so" if is_shared else f"lib{symbol}.a"
    how = f"-L. -l{symbol} -Wl,-rpath,'$ORIGIN'" if is_shared else f"{library} -lm -pthread"
    build = f"cc -O2 {symbol}_example.c {how} -o {symbol}_example"
    texts = {
        f"{symbol}.h": header(function, interface, described, build, linked_externs(function)),
        f"{symbol}_example.c": example_program(function, interface, build),
    }
    import tempfile

    target = Path(directory)
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".export-", dir=target) as temporary:
        folder = Path(temporary)
        if is_shared:
            objects = [folder / f"{symbol}.o", folder / "runtime.o"]
            objects[0].write_bytes(code)
            objects[1].write_bytes(_core.exported_runtime())
            complete = not _core.c_externs(function)
            _link(program, symbol, objects, folder / library, folder, complete)
        else:
            members = [(f"{symbol}.o", code), ("tilewright_runtime.o", _core.exported_runtime())]
            (folder / library).write_bytes(_core.static_library(members))
        for file, text in texts.items():
            (folder / file).write_text(text, encoding="utf-8")
        for file in (library, *texts):
            (folder / file).replace(target / file)
    return Exported(
        name=symbol,
        prototype=interface.prototype(),
        library=target / library,
        header=target / f"{symbol}.h",
        example=target / f"{symbol}_example.c",
        build=build,
        cpu=described,
    )
