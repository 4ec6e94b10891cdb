"""Loading a C file: `tw.c.load`, and the module of functions that it gives.

What a file's functions need to be called is kept beside the kernels (`...base.notes`): the parser and the
translation (`.files`) are loaded when something else is asked.
"""

from __future__ import annotations

import json
import linecache
import os
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeGuard, get_args

import numpy as np

from ... import _core
from ...base import notes
from ...base.errors import ArgumentError, ArgumentTypeError
from .functions import CFunction
from .kept_tables import described, restored
from .texts import keep_text

if TYPE_CHECKING:
    from ..accesses import Summary
    from .files import File

__all__ = ["CModule", "load"]

Scop = Literal["pragma", "autodetect", "function"]
Mathematics = Literal["library", "libm"]


class CModule:
    """The functions of a C file: `tw.c.load` makes it. They are attributes by their names,
    ``m.kernel_gemm(...)``, and stand in ``m.functions["kernel_gemm"]``."""

    def __init__(
        self,
        name: str,
        functions: Mapping[str, CFunction],
        summarise: Callable[[str], Summary] | None = None,
    ) -> None:
        self._name = name
        self._functions = functions
        self._summarise = summarise

    @property
    def functions(self) -> Mapping[str, CFunction]:
        """The functions by name, in the order of the file."""
        return self._functions

    def summary(self, function: str) -> Summary:
        """What a call of a function of the file may read, may write and must write, for all values of
        its integer arguments: as its summary function says, if it has one, and else as its body does
        (PENCIL report, sections 3.6 and 3.7)::

            m.summary("set_odd").may_writes    # [n] -> { A_a[i] : i mod 2 = 1 and 0 < i < n }

        Args:
            function: its name in the file.

        Raises:
            ArgumentError: the file defines no such function.
            TranslationError: for what has no translation.
        """
        if not isinstance(function, str):
            raise ArgumentTypeError(
                f"summary takes the name of a function, not {type(function).__name__}"
            )
        assert self._summarise is not None
        return self._summarise(function)

    def __getattr__(self, name: str) -> CFunction:
        if name.startswith("__"):
            raise AttributeError(name)
        if name not in self._functions:
            known = ", ".join(self._functions) or "none"
            raise AttributeError(f"{self._name} has no function {name!r}; it has {known}")
        return self._functions[name]

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._functions]

    def __repr__(self) -> str:
        return f"<C {self._name}: {', '.join(self._functions)}>"


class _Functions(Mapping[str, CFunction]):
    """Functions that are made when they are first asked for."""

    def __init__(self, names: Sequence[str], make: Callable[[str], CFunction]) -> None:
        self._names = dict.fromkeys(names)
        self._make = make
        self._made: dict[str, CFunction] = {}

    def __getitem__(self, name: str) -> CFunction:
        if name not in self._made:
            if name not in self._names:
                raise KeyError(name)
            self._made[name] = self._make(name)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __repr__(self) -> str:
        return f"<functions {', '.join(self._names)}>"


def load(
    source: str | os.PathLike[str],
    *,
    define: Mapping[str, object] | None = None,
    include: Sequence[str | os.PathLike[str]] = (),
    scop: Scop = "pragma",
    externs: Mapping[str, Any] | None = None,
    math: Mathematics = "library",
) -> CModule:
    """Reads a C file::

        m = tw.c.load("gemm.c", define={"DATA_TYPE": "float"}, include=["utilities"])

    Args:
        source: a path; or the text of a program, known by its line ends or its braces.
        define: macros, as ``-D`` of a compiler has them; True and None stand for 1.
        include: folders, as ``-I`` has them. Stand-ins for the standard headers ship.
        scop: what becomes a function. "pragma": what stands between ``#pragma scop`` and ``#pragma
            endscop``. "function": each function except `main`, translated when it is first named.
            "autodetect": each function that can be translated, or else the loops in it that can.
        externs: functions that the file only declares: a ctypes function, a Numba ``cfunc``, a Python
            callable; or what `tw.extern` makes. Those with arrays are blocks (docs/c.md, Functions from
            elsewhere). They are sought in this process if they are not given.
        math: "library": `exp`, `pow` and their like are this library's (docs/math.md). "libm": they are
            the C library's, bit for bit, called element by element, which a GPU cannot.

    Raises:
        TranslationError: for what is malformed or has no translation, with file, line and column.
        OSError: if the file cannot be read: FileNotFoundError if there is none.
        ArgumentTypeError, ArgumentError: for arguments of another type or an unknown `scop`.
    """
    if not isinstance(scop, str) or scop not in get_args(Scop):
        raise ArgumentError(f'scop is "pragma", "autodetect" or "function", not {scop!r}')
    if not isinstance(math, str) or math not in get_args(Mathematics):
        raise ArgumentError(f'math is "library" or "libm", not {math!r}')
    macros = _macros(define)
    folders = _folders(include)
    known = _externs(externs)
    text, name = _text(source)
    return _Loading(text, name, macros, folders, known, scop, math).module()


class _Loading:
    """A file that is loaded: parsed when something is asked that is not kept."""

    def __init__(
        self,
        text: str,
        name: str,
        macros: dict[str, str],
        folders: list[str],
        externs: dict[str, object],
        scop: Scop,
        math: Mathematics,
    ) -> None:
        self.arguments = text, name, macros, folders, externs, scop, math == "libm"
        self.key = ""
        self._lock = threading.Lock()
        self._file: File | None = None
        if not externs:  # whose addresses are this process's
            places = [_folder_of(name), *map(os.path.abspath, folders)]
            given = json.dumps([name, places, list(macros.items()), scop, math])
            self.key = notes.identity("C file", text, given)

    @property
    def file(self) -> File:
        with self._lock:
            if self._file is None:
                from ..depth import many_levels
                from ..tree import Location
                from .files import File

                with many_levels(Location(self.arguments[1], 1, 1)):
                    self._file = File(*self.arguments)
            return self._file

    def module(self) -> CModule:
        """The module, of what is kept if that is still so."""
        content: Any = notes.load(self.key) if self.key else None
        if not _is_still_so(content):
            file = self.file
            said = {name: _described(each) for name, each in file.signatures.items()}
            content = {"files": file.files, "functions": said}
            if self.key:
                notes.store(self.key, content)
        digest = json.dumps(content["files"])
        signatures = content["functions"]

        def make(function: str) -> CFunction:
            key = f"{self.key}\n{digest}\nfunction {function}" if self.key else ""
            return self.function(function, key, signatures[function])

        name = self.arguments[1]
        return CModule(name, _Functions(signatures, make), lambda each: self.file.summary(each))

    def function(self, name: str, key: str, said: Any) -> CFunction:
        """A function; `said`: its arguments in plain values, None where it is not translated before it is
        named."""
        if said is None:
            signature = f"{key}\narguments"
            said = notes.load(signature) if key else None
            if not _is_signature(said):
                said = _described(self.file.translated(name).signature)
                if key:
                    notes.store(signature, said)
        arguments = {name: None if table is None else restored(table) for name, table in said}

        def translate(bodies: Sequence[Any], numbers: Mapping[str, int | None]) -> Any:
            return self.file.translated(name, bodies, numbers)

        return CFunction(name, arguments, translate, key=key)


def _folder_of(name: str) -> str:
    """Where `#include "..."` looks first."""
    return os.path.dirname(os.path.abspath(name)) if os.path.exists(name) else os.getcwd()


def _is_still_so(content: Any) -> bool:
    """Whether what is kept of a file is of the headers that there are now."""
    try:
        functions = content["functions"]
        return (
            _are_names(list(functions))
            and all(each is None or _is_signature(each) for each in functions.values())
            and all(digest_of(path) == digest for path, digest in content["files"])
        )
    except (AttributeError, LookupError, TypeError, ValueError):
        return False


def _are_names(content: Any) -> TypeGuard[list[str]]:
    return isinstance(content, list) and all(isinstance(each, str) for each in content)


def _described(signature: Mapping[str, np.ndarray | None] | None) -> list[Any] | None:
    """A function's arguments in plain values: their names, and tables that they are by default."""
    if signature is None:
        return None
    return [
        [name, None if table is None else described(table)] for name, table in signature.items()
    ]


def _is_signature(content: Any) -> bool:
    """Whether it is what `_described` gives."""
    try:
        return _are_names([name for name, _ in content]) and all(
            table is None or isinstance(restored(table), np.ndarray) for _, table in content
        )
    except (LookupError, TypeError, ValueError):
        return False


def digest_of(path: str) -> str | None:
    """What tells a file's content from others; None where there is no such file."""
    try:
        with open(path, "rb") as file:
            return _core.text_digest(file.read())
    except OSError:
        return None


def _macros(define: Mapping[str, object] | None) -> dict[str, str]:
    if define is None:
        return {}
    if not isinstance(define, Mapping):
        raise ArgumentTypeError(f"define is a dictionary of macros, not {type(define).__name__}")
    result = {}
    for name, value in define.items():
        if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_]\w*(\([\w\s,]*\))?", name):
            raise ArgumentError(f"define has {name!r}, which is no name of a macro")
        text = "1" if value is None or value is True else "0" if value is False else str(value)
        if "\n" in text:
            raise ArgumentError(f"the macro {name} has a line end in its value")
        result[name] = text
    return result


def _folders(include: Sequence[str | os.PathLike[str]]) -> list[str]:
    if isinstance(include, str | os.PathLike):
        raise ArgumentTypeError(f"include is a list of folders, [{str(include)!r}]")
    try:
        return [os.fspath(each) for each in include]
    except TypeError as error:
        raise ArgumentTypeError(f"include is a list of folders: {error}") from None


def _externs(externs: Mapping[str, Any] | None) -> dict[str, object]:
    if externs is None:
        return {}
    if not isinstance(externs, Mapping):
        raise ArgumentTypeError(
            f"externs is a dictionary of functions, not {type(externs).__name__}"
        )
    for name, each in externs.items():
        if not callable(each):
            raise ArgumentTypeError(
                f"externs[{name!r}] is a function (of ctypes, Numba or Python) or what tw.extern makes, "
                f"not {type(each).__name__}"
            )
    return dict(externs)


def _text(source: str | os.PathLike[str]) -> tuple[str, str]:
    """The text of a program, and its name."""
    if isinstance(source, str) and re.search(r"[\n{;]", source):
        # What a file that is no UTF-8 was read as, and a mark in front of a text, are no C.
        source = source.removeprefix("\ufeff").encode(errors="backslashreplace").decode()
        return source, keep_text(source)
    if not isinstance(source, str | os.PathLike):
        raise ArgumentTypeError(
            f"tw.c.load reads a path or the text of a program, not {type(source).__name__}"
        )
    path = os.fsdecode(source)
    if "\0" in path:
        raise ArgumentError(f"{path!r} is no path: it has a NUL in it")
    if not path.strip():
        raise ArgumentError(
            "tw.c.load reads a path or the text of a program: this text holds nothing; one of a kernel "
            "begins as in void f(int n, double a[n]) { ... }"
        )
    with open(path, "rb") as file:
        text = file.read().decode(errors="backslashreplace")
    text = text.removeprefix("\ufeff")
    linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)
    return text, path
