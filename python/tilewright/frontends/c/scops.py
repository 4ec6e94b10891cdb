"""The parts of a C file that become programs: between `#pragma scop` and `#pragma endscop`, whole
functions, or whatever can be translated (as pet's ``--autodetect`` has it)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pycparser import c_ast

from .parsing import CFile, nodes
from .preprocessing import HEADERS
from .refusals import refuse

__all__ = ["Region", "functions_of", "pragma_regions"]


@dataclass(frozen=True)
class Region:
    """Statements of a function.

    Attributes:
        name: of the program that they become.
        function: the function around them.
        before: declarations and scopes on the way from the function's body to the statements: lists
            of items, outermost first, those of inner blocks last.
        items: the statements.
        whole: nothing but declarations stands around the statements, so that the program's arguments
            are those of the function. Otherwise they are the variables that the statements use.
        pragmas: the `#pragma scop` and the `#pragma endscop` around them.
    """

    name: str
    function: str
    before: tuple[tuple[Any, ...], ...]
    items: tuple[Any, ...]
    whole: bool
    pragmas: tuple[Any, ...] = ()


def functions_of(file: CFile) -> list[Region]:
    """Each function but `main` and those of the system's headers, as a whole."""
    return [
        Region(name, name, (), tuple(function.body.block_items or ()), True)
        for name, function in file.functions.items()
        if name != "main" and not file.place(function).file.startswith(HEADERS)
    ]


def pragma_regions(file: CFile) -> list[Region]:
    """What stands between `#pragma scop` and `#pragma endscop`, in the order of the file.

    Raises:
        TranslationError: for a pragma without its counterpart in the same block.
    """
    found: list[Region] = []
    for name, function in file.functions.items():
        here: list[tuple[tuple[tuple[Any, ...], ...], tuple[Any, ...], bool]] = []
        _search(file, function.body.block_items or [], (), True, here)
        whole = len(here) == 1 and here[0][2]
        for at, (before, items, _) in enumerate(here):
            title = name if len(here) == 1 else f"{name}_scop{at + 1}"
            pragmas = items[0], items[-1]
            found.append(Region(title, name, before, items[1:-1], whole, pragmas))
    for each in file.declarations:
        if isinstance(each, c_ast.Pragma) and _kind(each):
            refuse(
                file.place(each),
                f"this pragma {_kind(each)} stands outside functions",
                "write it around the statements of a function",
            )
    return found


def _kind(node: Any) -> str:
    words = (node.string or "").split()
    return words[0] if words and words[0] in ("scop", "endscop") else ""


def _search(
    file: CFile,
    items: list[Any],
    outer: tuple[tuple[Any, ...], ...],
    only_declared: bool,
    found: list[tuple[tuple[tuple[Any, ...], ...], tuple[Any, ...], bool]],
) -> None:
    """Collects the regions of a block and of the blocks in it."""
    start: int | None = None
    opened: Any = None
    regions: list[tuple[int, int]] = []
    for at, item in enumerate(items):
        kind = _kind(item) if isinstance(item, c_ast.Pragma) else ""
        if kind == "scop":
            if start is not None:
                refuse(
                    file.place(item),
                    "a scop begins within another one",
                    "write #pragma endscop first",
                )
            start, opened = at, item
        elif kind == "endscop":
            if start is None:
                refuse(
                    file.place(item),
                    "this endscop has no scop before it in the same block",
                    "write #pragma scop before the statements",
                )
            regions.append((start, at))
            start = None
    if start is not None:
        refuse(
            file.place(opened),
            "this scop has no endscop in the same block",
            "write #pragma endscop behind the last statement",
        )
    inside = {at for first, last in regions for at in range(first, last + 1)}
    rest = [item for at, item in enumerate(items) if at not in inside]
    declared = only_declared and all(_declares(item) for item in rest)
    for first, last in regions:
        here = (*outer, tuple(items[:first]))
        found.append((here, tuple(items[first : last + 1]), declared))
    for at, item in enumerate(items):
        if at in inside:
            for each in nodes(item) if at not in {x for pair in regions for x in pair} else ():
                if isinstance(each, c_ast.Pragma) and _kind(each):
                    refuse(file.place(each), "a scop begins or ends within another one")
            continue
        below = [item] if isinstance(item, c_ast.Compound) else []
        if not below and not isinstance(item, c_ast.Pragma | c_ast.Decl):
            below = _blocks(item)
        for block in below:
            _search(file, block.block_items or [], (*outer, tuple(items[:at])), False, found)


def _blocks(node: Any) -> list[Any]:
    """The outermost blocks in a statement."""
    result = []
    for _, child in node.children():
        result += [child] if isinstance(child, c_ast.Compound) else _blocks(child)
    return result


def _declares(item: Any) -> bool:
    """Whether an item only declares something: no statement that a program would leave out."""
    if isinstance(item, c_ast.Return):
        return item.expr is None
    return isinstance(item, c_ast.Decl | c_ast.Typedef | c_ast.Pragma | c_ast.EmptyStatement)
