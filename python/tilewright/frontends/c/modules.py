"""Loading a C file: `tw.c.load`, and the module of functions that it gives."""

from __future__ import annotations

import linecache
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal, get_args

from pycparser import c_ast

from ...base.errors import ArgumentError, ArgumentTypeError, TranslationError
from ...language.externs import Extern
from ..accesses import Summary, summary_of
from ..tree import Location
from . import bodies, parsing, preprocessing, programs, scops
from .functions import CFunction
from .refusals import keep_text, refuse

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
    """Functions that are translated when they are first asked for."""

    def __init__(self, makers: Mapping[str, Callable[[], CFunction]]) -> None:
        self._makers = dict(makers)
        self._made: dict[str, CFunction] = {}

    def __getitem__(self, name: str) -> CFunction:
        if name not in self._made:
            self._made[name] = self._makers[name]()
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)

    def __contains__(self, name: object) -> bool:
        return name in self._makers

    def __repr__(self) -> str:
        return f"<functions {', '.join(self._makers)}>"


def load(
    source: str | os.PathLike[str],
    *,
    define: Mapping[str, object] | None = None,
    include: Sequence[str | os.PathLike[str]] = (),
    scop: Scop = "pragma",
    externs: Mapping[str, Extern] | None = None,
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
        externs: functions without a body in the file, given by `tw.extern`: pure functions of numbers.
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
    parsed = parsing.parse(preprocessing.preprocess(text, name, macros, folders), name)
    programs.check_file(parsed, known)

    def make(region: scops.Region) -> CFunction:
        def again(replacements: Sequence[bodies.Body]) -> programs.Translated:
            with bodies.replaced(parsed, replacements):
                return programs.translate(parsed, region, known, math == "libm")

        return CFunction(again(()), again)

    def summarise(function: str) -> Summary:
        return _summary(parsed, function, known)

    if scop == "function":
        regions = scops.functions_of(parsed)
        makers = {each.name: _maker(make, each) for each in regions}
        return CModule(name, _Functions(makers), summarise)
    if scop == "autodetect":
        return CModule(name, _detected(parsed, make), summarise)
    regions = scops.pragma_regions(parsed)
    if not regions:
        refuse(
            Location(name, 1, 1),
            "there is no #pragma scop in this file",
            'write #pragma scop and #pragma endscop around the loops, or load it with scop="function"',
        )
    return CModule(name, {each.name: make(each) for each in regions}, summarise)


def _summary(parsed: parsing.CFile, function: str, externs: Mapping[str, object]) -> Summary:
    """See `CModule.summary`."""
    described, _ = parsed.source.summaries.get(function, (function, None))
    for region in scops.functions_of(parsed):
        if region.name == described:
            program = programs.translate(parsed, region, externs, True, summarising=True).program
            return summary_of(program)
    known = ", ".join(parsed.functions) or "none"
    raise ArgumentError(f"the file defines no function {function!r}; it has {known}")


def _maker(
    make: Callable[[scops.Region], CFunction], region: scops.Region
) -> Callable[[], CFunction]:
    return lambda: make(region)


def _detected(
    parsed: parsing.CFile, make: Callable[[scops.Region], CFunction]
) -> dict[str, CFunction]:
    """Functions as a whole where that goes, else the longest runs of statements with loops that go."""
    found: dict[str, CFunction] = {}
    for region in scops.functions_of(parsed):
        made = _tried(make, region)
        if made is not None:
            found[region.name] = made
            continue
        parts: list[CFunction] = []
        items = list(region.items)
        at = 0
        while at < len(items):
            end = at
            best: CFunction | None = None
            for stop in range(at + 1, len(items) + 1):
                if not _has_loop(items[at]):
                    break
                name = f"{region.function}_scop{len(parts) + 1}"
                part = scops.Region(
                    name, region.function, (tuple(items[:at]),), tuple(items[at:stop]), False
                )
                made = _tried(make, part)
                if made is None:
                    break
                best, end = made, stop
            if best is not None:
                parts.append(best)
            at = max(end, at + 1)
        found.update({each.name: each for each in parts})
    return found


def _tried(make: Callable[[scops.Region], CFunction], region: scops.Region) -> CFunction | None:
    try:
        return make(region)
    except TranslationError:
        return None  # it is not a part that becomes a function


def _has_loop(item: object) -> bool:
    return any(isinstance(each, c_ast.For | c_ast.While) for each in parsing.nodes(item))


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


def _externs(externs: Mapping[str, Extern] | None) -> dict[str, object]:
    found: dict[str, object] = {}
    if externs is not None and not isinstance(externs, Mapping):
        raise ArgumentTypeError(
            f"externs is a dictionary of what tw.extern makes, not {type(externs).__name__}"
        )
    for name, each in (externs or {}).items():
        if not isinstance(each, Extern):
            raise ArgumentTypeError(
                f"externs[{name!r}] is what tw.extern makes, not {type(each).__name__}"
            )
        found[name] = each
    return found


def _text(source: str | os.PathLike[str]) -> tuple[str, str]:
    """The text of a program, and its name."""
    if isinstance(source, str) and re.search(r"[\n{;]", source):
        return source, keep_text(source)
    if not isinstance(source, str | os.PathLike):
        raise ArgumentTypeError(
            f"tw.c.load reads a path or the text of a program, not {type(source).__name__}"
        )
    path = os.fsdecode(source)
    if "\0" in path:
        raise ArgumentError(f"{path!r} is no path: it has a NUL in it")
    with open(path, "rb") as file:
        text = file.read().decode(errors="backslashreplace")
    text = text.removeprefix("\ufeff")
    linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)
    return text, path
