"""The reference page of all commands: ``python -m tilewright.reference`` writes docs/commands.md.

The page is made of the docstrings of the commands. Beside the loops that a docstring promises stand
those that the library makes: the command in the docstring's line "After ``C.split(i, 32)``" is given
to a small function, and the function's loops are printed before and after.
"""

from __future__ import annotations

import argparse
import html
import inspect
import pathlib
import re
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import tilewright as tw

from .. import _core
from ..base.docstrings import markdown
from ..schedule.commands import ScheduleCommands
from ..schedule.function_commands import FunctionCommands
from ..schedule.loop_commands import LoopCommands
from ..schedule.scheduled_functions import ScheduledFunction

__all__ = ["commands", "entry", "main", "page"]


@dataclass(frozen=True)
class Example:
    """A program on which a command is shown.

    Attributes:
        program: the Python that declares it, with the function named f.
        prepared: commands that are given first.
    """

    program: str
    prepared: str = ""


_POINTWISE = """
N = tw.param("N")
i = tw.iter("i")
A = tw.input("A", [N], tw.float32)
C = tw.computation("C", {i: N}, 2 * A[i])
f = tw.function("f", outputs=[C], default_schedule=False)
"""
_POINTWISE_2D = """
N, M = tw.params("N M")
i, j = tw.iters("i j")
A = tw.input("A", [N, M], tw.float32)
C = tw.computation("C", {i: N, j: M}, 2 * A[i, j])
f = tw.function("f", outputs=[C], default_schedule=False)
"""
_OF_THREE = """
N = tw.param("N")
i, j = tw.iters("i j")
A = tw.input("A", [N, 3], tw.float32)
C = tw.computation("C", {i: N, j: 3}, 2 * A[i, j])
f = tw.function("f", outputs=[C], default_schedule=False)
"""
_PAIR = """
N = tw.param("N")
i = tw.iter("i")
A = tw.input("A", [N], tw.float32)
B = tw.computation("B", {i: N}, A[i] + 1)
C = tw.computation("C", {i: N}, 2 * B[i])
f = tw.function("f", outputs=[C], default_schedule=False)
"""
_CHAIN = """
N = tw.param("N")
i = tw.iter("i")
A = tw.input("A", [N], tw.float32)
B = tw.computation("B", {i: N}, A[i] + 1)
C = tw.computation("C", {i: N}, 2 * B[i])
D = tw.computation("D", {i: N}, C[i] - 1)
f = tw.function("f", outputs=[D], default_schedule=False)
"""
_PAIR_BACKWARDS = """
N = tw.param("N")
i = tw.iter("i")
A = tw.input("A", [N], tw.float32)
C = tw.computation("C", {i: N}, A[i] + 1)
B = tw.computation("B", {i: N}, 2 * C[i])
f = tw.function("f", outputs=[B], default_schedule=False)
"""
_PAIR_AB = """
N = tw.param("N")
i = tw.iter("i")
X = tw.input("X", [N], tw.float32)
A = tw.computation("A", {i: N}, X[i] + 1)
B = tw.computation("B", {i: N}, 2 * A[i])
f = tw.function("f", outputs=[B], default_schedule=False)
"""
_PAIR_2D = """
N, M = tw.params("N M")
i, j = tw.iters("i j")
A = tw.input("A", [N, M], tw.float32)
B = tw.computation("B", {i: N, j: M}, A[i, j] + 1)
C = tw.computation("C", {i: N, j: M}, 2 * B[i, j])
f = tw.function("f", outputs=[C], default_schedule=False)
"""
_RATES = """
N = tw.param("N")
i = tw.iter("i")
A = tw.input("A", [N], tw.float32)
B = tw.computation("B", {i: N}, A[i] / 2)
C = tw.computation("C", {i: 2 * N}, B[i // 2] + 1)
f = tw.function("f", outputs=[C], default_schedule=False)
"""
_WINDOW = """
N = tw.param("N")
i = tw.iter("i")
A = tw.input("A", [N + 1], tw.float32)
B = tw.computation("B", {i: N + 1}, 2 * A[i])
C = tw.computation("C", {i: N}, B[i] + B[i + 1])
f = tw.function("f", outputs=[C], default_schedule=False)
"""
_STENCIL = """
N = tw.param("N")
i = tw.iter("i")
A = tw.input("A", [N + 1], tw.float32)
C = tw.computation("C", {i: N}, A[i] + A[i + 1])
f = tw.function("f", outputs=[C], default_schedule=False)
"""
_MATMUL = """
N, M, K = tw.params("N M K")
i, j, k = tw.iters("i j k")
A = tw.input("A", [N, K], tw.float32)
B = tw.input("B", [K, M], tw.float32)
C = tw.computation("C", {i: N, j: M}, tw.sum(A[i, k] * B[k, j], over={k: K}))
f = tw.function("f", outputs=[C], default_schedule=False)
"""
_TILES = """
i, j, k = tw.iters("i j k")
A = tw.input("A", [32, 32], tw.float16)
B = tw.input("B", [32, 16], tw.float16)
term = tw.cast(A[i, k], tw.float32) * tw.cast(B[k, j], tw.float32)
C = tw.computation("C", {i: 32, j: 16}, tw.sum(term, over={k: 32}))
f = tw.function("f", outputs=[C], default_schedule=False)
"""
_TIME = """
T, N = tw.params("T N")
t, i = tw.iters("t i")
A = tw.input("A", [T, N], tw.float32)
C = tw.computation("C", {t: T, i: N}, 2 * A[t, i])
f = tw.function("f", outputs=[C], default_schedule=False)
"""
_STEPS = """
T, N = tw.params("T N", "T >= 1")
t, i = tw.iters("t i")
A = tw.input("A", [N], tw.float32)
B = tw.computation("B", {t: T, i: N}, lambda B: [(t == 0, A[i]), (t > 0, 2 * B[t - 1, i])],
                   dtype=tw.float32)
C = tw.computation("C", {i: N}, B[T - 1, i])
f = tw.function("f", outputs=[C], default_schedule=False)
"""
_SUM = """
K = tw.param("K")
k = tw.iter("k")
A = tw.input("A", [K], tw.float32)
C = tw.computation("C", {}, tw.sum(A[k], over={k: K}))
f = tw.function("f", outputs=[C], default_schedule=False)
"""
_ROWS = """
N, K = tw.params("N K")
i, k = tw.iters("i k")
A = tw.input("A", [N, K], tw.float32)
C = tw.computation("C", {i: N}, tw.sum(A[i, k], over={k: K}))
f = tw.function("f", outputs=[C], default_schedule=False)
"""

_GATHER = """
N = tw.param("N")
i = tw.iter("i")
A = tw.input("A", [N], tw.float32)
idx = tw.input("idx", [N], tw.int64)
B = tw.computation("B", {i: N}, A[i] + 1)
C = tw.computation("C", {i: N}, 2 * B[idx[i]])
f = tw.function("f", outputs=[C], default_schedule=False)
"""
_DATA_ROWS = """
N, P = tw.params("N P")
i, p = tw.iters("i p")
row = tw.input("row", [N + 1], tw.int32)
A = tw.input("A", [P], tw.float32)
B = tw.computation("B", {i: N, p: (row[i], row[i + 1])}, 2 * A[p])
C = tw.computation("C", {i: N}, tw.sum(B[i, p], over={p: (row[i], row[i + 1])}))
f = tw.function("f", outputs=[C], default_schedule=False)
"""
_ROW_SUMS = """
N, K = tw.params("N K")
i, k = tw.iters("i k")
A = tw.input("A", [N, K], tw.float32)
C = tw.computation("C", {i: N}, tw.sum(A[i, k], over={k: K}))
f = tw.function("f", outputs=[C], default_schedule=False)
"""
_SHIFTED = """
N, K = tw.params("N K")
i, k = tw.iters("i k")
A = tw.input("A", [K], tw.float32)
m = tw.input("m", [], tw.float32)
B = tw.input("B", [N, K], tw.float32)
C = tw.computation("C", {i: N}, tw.sum((A[k] - m) * B[i, k], over={k: K}))
f = tw.function("f", outputs=[C], default_schedule=False)
"""
_SLICES = """
T, N = tw.params("T N")
t, i = tw.iters("t i")
A = tw.input("A", [T, N + 1], tw.float32)
C = tw.computation("C", {t: T, i: N}, A[t, i] + A[t, i + 1])
f = tw.function("f", outputs=[C], default_schedule=False)
"""
_TRIANGLES = """
N = tw.param("N")
i, j = tw.iters("i j")
A = tw.input("A", [N, N], tw.float32)
B = tw.computation("B", {i: N, j: N}, A[i, j] + A[j, i], where=j <= i)
C = tw.computation("C", {i: N, j: N}, 2 * B[i, j], where=j <= i)
f = tw.function("f", outputs=[C], default_schedule=False)
"""
_IN_BLOCKS = 'C.split(i, 32).reorder("i0", t, "i1").gpu_block("i0").gpu_thread("i1")'

# The programs on which the commands of the docstrings are given.
EXAMPLES = {
    "split": Example(_POINTWISE),
    "join": Example(_OF_THREE),
    "tile": Example(_POINTWISE_2D),
    "interchange": Example(_POINTWISE_2D),
    "reverse": Example(_POINTWISE),
    "shift": Example(_POINTWISE),
    "scale": Example(_RATES),
    "skew": Example(_POINTWISE_2D),
    "after": Example(_PAIR),
    "before": Example(_PAIR_BACKWARDS),
    "then": Example(_PAIR_AB),
    "parallelize": Example(_POINTWISE),
    "stream": Example(_POINTWISE),
    "prefetch": Example(_POINTWISE_2D),
    "vectorize": Example(_POINTWISE),
    "gpu": Example(_POINTWISE_2D),
    "gpu_tile": Example(_POINTWISE),
    "gpu_block": Example(_POINTWISE, "C.split(i, 64)"),
    "gpu_thread": Example(_POINTWISE, 'C.split(i, 64).gpu_block("i0")'),
    "gpu_mma": Example(
        _TILES,
        'C.tile(i, j, 16, 8).split(k, 16).reorder("i0", "j0", "k0", "i1", "j1", "k1")\n'
        'C.gpu_block("i0", "j0")',
    ),
    "gpu_spread": Example(_STENCIL, 'C.gpu_tile(i, 64)\nA_cache = C.cache(A, "i0")'),
    "unroll": Example(_POINTWISE),
    "set_schedule": Example(_POINTWISE_2D),
    "apply_schedule": Example(_POINTWISE_2D),
    "f.set_schedule": Example(_PAIR),
    "f.transaction": Example(_PAIR, "C.after(B, i)"),
    "f.nest": Example(_PAIR_2D, "C.after(B, j)"),
    "store_in": Example(_PAIR_2D),
    "reorder": Example(_MATMUL),
    "transform": Example(_TIME),
    "fuse_with": Example(_PAIR),
    "fission": Example(_PAIR, "C.fuse_with(B)"),
    "compute_at": Example(_WINDOW, "C.split(i, 32)"),
    "store_at": Example(_WINDOW, 'C.split(i, 32)\nB.compute_at(C, "i0")'),
    "private": Example(_PAIR_2D, "C.fuse_with(B, i)"),
    "cache": Example(_STENCIL, "C.split(i, 32)"),
    "inline": Example(_PAIR),
    "rfactor": Example(_SUM, "C.split(k, 64)"),
    "independent": Example(_GATHER, "C.assume(idx[i] <= i).fuse_with(B)"),
    "assume": Example(_GATHER),
    "atomic": Example(_ROW_SUMS),
    "set_access": Example(_PAIR_2D, "C.fuse_with(B)"),
    "storage_fold": Example(_STEPS),
    "fix": Example(_POINTWISE, "C.split(i, 32)"),
    "specialize": Example(_POINTWISE, "C.split(i, 8)"),
    "when_work": Example(_POINTWISE_2D, "C.parallelize(i).vectorize(j, 16)"),
    "auto_allocate_map": Example(_PAIR, 'C.fuse_with(B)\nB.store_in("buffer[i % 2]")'),
}

# Those of the second and later pairs of loops in one docstring.
FURTHER: dict[str, tuple[Example, ...]] = {
    "after": (Example(_CHAIN, "D.after(C, i)"),),
    "fuse_with": (Example(_CHAIN, "D.after(C, i)"),),
    "independent": (Example(_DATA_ROWS),),
    "parallelize": (Example(_SUM),),
    "vectorize": (Example(_SUM),),
    "cache": (
        Example(_ROWS, "C.split(i, 4)"),
        Example(_SHIFTED, "C.split(i, 32)"),
        Example(_SLICES, _IN_BLOCKS),
    ),
    "split": (Example(_POINTWISE),),
    "join": (Example(_POINTWISE_2D),),
    "store_in": (Example(_TRIANGLES), Example(_POINTWISE_2D)),
    "set_schedule": (Example(_POINTWISE_2D), Example(_POINTWISE)),
}

_AFTER = re.compile(r"^After ``(?P<command>.+)``(?P<condition>.*)::$")
_BEFORE = re.compile(r"^Before::$")


@dataclass
class Shown:
    """The loops before and after one command, as a docstring promises them and as they are.

    Attributes:
        before: the loops before, in the docstring.
        after: the loops after, in the docstring.
        command: the command that the docstring gives.
        condition: when the loops after look so: ", when N is even", or nothing.
        example: the program and the commands given first.
        real_before: the loops of the example before the command.
        real_after: those after it.
    """

    before: str
    after: str
    command: str
    condition: str
    example: Example
    real_before: str
    real_after: str


@dataclass
class Entry(Shown):
    """A command as its docstring describes it, and as it is.

    Attributes:
        name: its name.
        signature: how it is called.
        description: what the docstring says beside the loops, as Markdown.
        further: the command's other forms, where the docstring shows several.
    """

    name: str
    signature: str
    description: str
    further: tuple[Shown, ...]


def commands() -> list[str]:
    """The names of all commands: those of loops first, then class by class, as they are declared, and
    those of the whole function last."""
    declared: dict[str, None] = {}
    for owner in [LoopCommands, *ScheduleCommands.__mro__, FunctionCommands]:
        for name, value in vars(owner).items():
            if inspect.isfunction(value) and not name.startswith("_"):
                declared[name] = None
    return list(declared)


def function_commands() -> list[str]:
    """The names of what is given to a whole function, as it is called: "f.transaction"."""
    return ["f.set_schedule", "f.transaction", "f.nest"]


def entry(name: str) -> Entry:
    """One command; of a whole function where its name begins with "f.".

    Raises:
        ValueError: its docstring has no loops before and after, or they have no example.
    """
    if name.startswith("f."):
        method = getattr(ScheduledFunction, name.removeprefix("f."))
    else:
        method = getattr(ScheduleCommands, name, None) or getattr(FunctionCommands, name)
    text, pairs = _parts(inspect.getdoc(method) or "")
    if not pairs or not all(pair.before and pair.after for pair in pairs):
        raise ValueError(f"the docstring of {name} must show the loops before and after")
    first = EXAMPLES.get(name)
    if first is None:
        raise ValueError(f"{name} needs a program in tilewright.reference.EXAMPLES")
    examples = [first, *FURTHER.get(name, ())]
    if len(examples) != len(pairs):
        raise ValueError(
            f"{name} shows {len(pairs)} pairs of loops and has {len(examples)} programs in "
            "tilewright.reference.EXAMPLES and FURTHER"
        )
    shown = [_shown(pair, example) for pair, example in zip(pairs, examples, strict=True)]
    for number, pair in enumerate(pairs[1:], 1):
        text = text.replace(_mark(number), _pair_text(pair))
    return Entry(
        **{field.name: getattr(shown[0], field.name) for field in fields(Shown)},
        name=name,
        signature=_signature(name, method),
        description=text,
        further=tuple(shown[1:]),
    )


@dataclass
class _Pair:
    """Loops before and after a command in a docstring."""

    before: str
    after: str = ""
    command: str = ""
    condition: str = ""


def _shown(pair: _Pair, example: Example) -> Shown:
    real_before, real_after = _loops(example, pair.command)
    return Shown(
        before=pair.before,
        after=pair.after,
        command=pair.command,
        condition=pair.condition,
        example=example,
        real_before=real_before,
        real_after=real_after,
    )


def _mark(number: int) -> str:
    """Where the text of a docstring shows its pair of loops of this number."""
    return f"@loops{number}@"


def _parts(doc: str) -> tuple[str, list[_Pair]]:
    """A docstring's text, with marks for all loops but the first, and its loops."""
    text: list[str] = []
    pairs: list[_Pair] = []
    lines = doc.split("\n")
    position = 0
    while position < len(lines):
        line = lines[position]
        position += 1
        after, before = _AFTER.match(line), _BEFORE.match(line)
        if after is None and before is None:
            text.append(line)
            continue
        block: list[str] = []
        while position < len(lines) and (not lines[position] or lines[position].startswith(" ")):
            block.append(lines[position])
            position += 1
        loops = textwrap.dedent("\n".join(block)).strip("\n")
        if after is None:
            if pairs:
                text += [_mark(len(pairs)), ""]
            pairs.append(_Pair(loops))
        elif pairs:
            pairs[-1].after = loops
            pairs[-1].command, pairs[-1].condition = after["command"], after["condition"]
    return markdown(text), pairs


def _signature(name: str, method: Any) -> str:
    parameters = list(inspect.signature(method).parameters.values())[1:]
    texts = []
    for parameter in parameters:
        prefix = ""
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            prefix = "*"
        elif parameter.kind is inspect.Parameter.VAR_KEYWORD:
            prefix = "**"
        default = "" if parameter.default is parameter.empty else f"={parameter.default!r}"
        texts.append(f"{prefix}{parameter.name}{default}")
    return f"{name}({', '.join(texts)})"


def _loops(example: Example, command: str) -> tuple[str, str]:
    """The loops of a fresh example before and after a command."""
    names: dict[str, Any] = {"tw": tw}
    exec(f"{example.program}\n{example.prepared}", names)
    function: tw.Function = names["f"]
    before = str(function.loops)
    exec(command, names)
    return before, str(function.loops)


# ---- the page ----


_HEAD = """# Commands

<!-- Written by `python -m tilewright.reference` from the docstrings of the commands. Do not edit. -->

A command changes how one computation of a function is run or where it is stored. Commands are
methods of computations (`C.split(i, 32)`) and of the handles `f["C"]`; loops are given by an iterator
or by name. `fix`, `specialize` and `when_work` are of the whole function (`f.fix(N=1024)`). Each
command is checked at once: one that would change a result raises `tw.IllegalScheduleError` and
changes nothing. Commands that are legal only together are given to the whole function: as the times
of all computations (`f.set_schedule(...)`), or one by one in a transaction
(`with f.transaction(): ...`).

Each entry shows the loops before and after in general, and then what the library makes of the
command for a small program: `print(f.loops)` before and after it. Commands start from the loops as
they are declared; `default_schedule=False` shows these before there is a command.
"""


def page() -> str:
    """The whole page, as Markdown."""
    entries = [entry(name) for name in [*commands(), *function_commands()]]
    lines = [_HEAD]
    lines.append(" ".join(f"[{e.name}](#{e.name.replace('.', '')})" for e in entries) + "\n")
    lines += [_entry_text(e) for e in entries]
    return "\n".join(lines)


def _block(text: str, language: str = "python") -> str:
    return f"```{language}\n{text.strip()}\n```\n"


def _entry_text(e: Entry) -> str:
    summary, _, rest = e.description.partition("\n\n")
    parts = [f"## {e.name}\n", f"`{e.signature}`\n", f"{' '.join(summary.split())}\n"]
    parts += [_pair_text(e), ""]
    if rest.strip():
        parts.append(f"{rest.strip()}\n")
    for shown in (e, *e.further):
        program = shown.example.program.strip()
        if shown.example.prepared:
            program += f"\n{shown.example.prepared}"
        parts += [
            f"<details><summary>What the library makes of {_html(shown.command)}</summary>\n"
            if e.further
            else "<details><summary>What the library makes of it</summary>\n",
            _block(program),
            "`print(f.loops)`:\n",
            _block(shown.real_before),
            f"After `{shown.command}`:\n",
            _block(shown.real_after),
            "</details>\n",
        ]
    return "\n".join(parts)


def _pair_text(pair: _Pair | Shown) -> str:
    after = f"After `{pair.command}`{pair.condition}:\n"
    return "\n".join(["Before:\n", _block(pair.before), after, _block(pair.after)]).rstrip()


def _html(text: str) -> str:
    return f"<code>{html.escape(text, quote=False)}</code>"


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="tilewright.reference", description="Writes the reference page of all commands."
    )
    parser.add_argument(
        "path",
        type=pathlib.Path,
        nargs="?",
        default=pathlib.Path("docs/commands.md"),
        help="where to write it (default: %(default)s)",
    )
    parser.add_argument("--check", action="store_true", help="only compare; status 1 when stale")
    options = parser.parse_args(arguments)
    text = page()
    path: pathlib.Path = options.path
    if options.check:
        if path.is_file() and path.read_text(encoding="utf-8") == text:
            return 0
        print(f"{path} is not up to date: run python -m tilewright.reference", file=sys.stderr)
        return 1
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    print(f"written: {path}, {len(commands())} commands of {len(_core.command_names())}")
    return 0
