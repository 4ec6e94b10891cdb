"""``tilewright translate``: a C program with its scops replaced by scheduled C, and compared with it.

::

    tilewright translate gemm.c -o gemm.tw.c -I utilities -D LARGE_DATASET
    tilewright translate gemm.c --tile 32,64 --check --link utilities/polybench.c
    tilewright translate gemm.c --target cuda

docs/c.md has the options as a table.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import tilewright as tw

from ..base.errors import TilewrightError
from ..base.source import printable

__all__ = ["add_arguments", "main"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("file", help="the C file, with #pragma scop and #pragma endscop in it")
    parser.add_argument("-o", "--output", help="the new file; FILE.tw.c if it is left out")
    parser.add_argument("-D", "--define", action="append", default=[], metavar="NAME[=VALUE]")
    parser.add_argument("-I", "--include", action="append", default=[], metavar="DIR")
    parser.add_argument(
        "--schedule",
        default="auto",
        metavar="FILE",
        help="auto: what auto_schedule finds; program: the order of the file; or a file of schedules, "
        "as --save-schedule writes it",
    )
    parser.add_argument(
        "--tile", metavar="SIZES", help="32,64: tiles of the outermost loops instead"
    )
    parser.add_argument("--save-schedule", metavar="FILE", help="writes the schedules as JSON")
    parser.add_argument(
        "--target",
        choices=["cpu", "cuda"],
        default="cpu",
        help="cpu: C with OpenMP; cuda: host code with kernels for an NVIDIA GPU as PTX",
    )
    parser.add_argument(
        "--check", action="store_true", help="builds both programs, runs them, and compares"
    )
    parser.add_argument("--cc", default="gcc", help="the compiler of --check, with its flags")
    parser.add_argument(
        "--link", action="append", default=[], metavar="FILE", help="what --check compiles along"
    )
    parser.add_argument(
        "--arguments", default="", metavar="TEXT", help="the arguments that --check runs both with"
    )
    parser.add_argument(
        "--timeout", type=float, default=600, help="seconds for each run of --check"
    )


def main(options: argparse.Namespace) -> int:
    """Runs the command; returns the process's status.

    0: everything went well; 1: the file is refused, or the programs of ``--check`` differ; 2: files
    cannot be read or written, or an option makes no sense; 3: ``--check`` has no GPU to run kernels.
    """
    try:
        return _translate(options)
    except TilewrightError as error:
        print(printable(str(error)), file=sys.stderr)
        return 1
    except (OSError, _WrongOptionError) as error:
        print(f"tilewright translate: {error}", file=sys.stderr)
        return 2


class _WrongOptionError(Exception):
    """An option that makes no sense."""


def _translate(options: argparse.Namespace) -> int:
    from ..frontends.c import replacing

    source = pathlib.Path(options.file)
    output = pathlib.Path(options.output) if options.output else source.with_suffix(".tw.c")
    if output.resolve() == source.resolve():
        raise _WrongOptionError(f"{output} is the file itself; name another output")
    text = source.read_text(encoding="utf-8", errors="surrogateescape").removeprefix("\ufeff")
    schedules = _Schedules(options)
    made, replaced = replacing.translate_text(
        text,
        options.file,
        _macros(options.define),
        options.include,
        schedules.give,
        libm=options.target != "cuda",
    )
    output.write_text(made, encoding="utf-8", errors="surrogateescape")
    for each in replaced:
        print(f"{each.location}: {each.name}")
        if options.target == "cuda" and not each.on_device:
            schedules.notes.append(
                f"{each.name}: no loop of it can run on a GPU; it is C with OpenMP"
            )
    for line in schedules.notes:
        print(f"note: {line}", file=sys.stderr)
    print(f"written: {output}")
    if options.save_schedule:
        path = pathlib.Path(options.save_schedule)
        path.write_text(json.dumps(schedules.made, indent=2) + "\n", encoding="utf-8")
        print(f"written: {path}")
    return _check(options, source, output) if options.check else 0


def _macros(given: Sequence[str]) -> dict[str, str]:
    found = {}
    for each in given:
        name, equals, value = each.partition("=")
        if not name.replace("_", "a").isalnum() or name[:1].isdigit():
            raise _WrongOptionError(f"-D {each} names no macro: write -D NAME or -D NAME=VALUE")
        found[name] = value if equals else "1"
    return found


# ---- schedules ----


class _Schedules:
    """What each scop's function is told."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.kind = options.schedule
        self.target: str = options.target
        self.sizes = _sizes(options.tile)
        self.given: dict[str, str] = {}
        self.made: dict[str, Any] = {}
        self.notes: list[str] = []
        if self.sizes and self.kind != "auto":
            raise _WrongOptionError("--tile and --schedule both say how to run: give one of them")
        if self.target == "cuda" and (self.sizes or self.kind == "program"):
            raise _WrongOptionError(
                "--target cuda needs loops over blocks and threads: what auto_schedule finds, or a file "
                "of schedules that map some with gpu"
            )
        if not self.sizes and self.kind not in ("auto", "program"):
            self.given = _read(pathlib.Path(self.kind))

    def give(self, function: Any) -> None:
        """Schedules a `tw.c` function."""
        if self.sizes:
            self.notes += [f"{function.name}: {line}" for line in _tiled(function, self.sizes)]
        elif self.given:
            text = self.given.get(function.name, self.given.get(""))
            if text is None:
                known = ", ".join(self.given)
                raise _WrongOptionError(
                    f"{self.kind} has no schedule for {function.name}; it has {known}"
                )
            made = function.function.function
            if self.target == "cuda":
                made.target = "cuda"
            tw.Schedule.from_json(text).apply_to(made)
            if self.target == "cuda" and not made._on_device:
                raise _WrongOptionError(
                    f"{self.kind}: the schedule of {function.name} maps no loops to blocks and threads of "
                    "a GPU, which --target cuda needs"
                )
        elif self.kind == "auto":
            function.auto_schedule(target="cuda" if self.target == "cuda" else None)
        self.made[function.name] = json.loads(function.schedule.to_json())


def _sizes(text: str | None) -> list[int]:
    if text is None:
        return []
    parts = text.split(",")
    if not all(part.strip().isdigit() and int(part) > 0 for part in parts):
        raise _WrongOptionError(f"--tile {text}: sizes are whole numbers above 0, such as 32,64")
    return [int(part) for part in parts]


def _read(path: pathlib.Path) -> dict[str, str]:
    """Schedules by function; one alone stands for all, under ""."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise _WrongOptionError(f"{path} is no JSON: {error}") from None
    if not isinstance(content, dict):
        raise _WrongOptionError(f"{path} holds no schedules: write it with --save-schedule")
    if "format" in content:
        return {"": json.dumps(content)}
    return {name: json.dumps(each) for name, each in content.items()}


@dataclass(frozen=True)
class _Group:
    """Statements that share their outermost loop."""

    statements: tuple[str, ...]
    loops: tuple[str, ...]  # that all of them have, outermost first


def _tiled(function: Any, sizes: Sequence[int]) -> list[str]:
    """Tiles as many of each nest's outermost loops as there are sizes, and as is legal."""
    notes = []
    made = function.function.function
    for group in _groups(function):
        error: TilewrightError | None = None
        for count in range(min(len(sizes), len(group.loops)), 0, -1):
            error = _tile(made, group, sizes[:count])
            if error is None:
                break
        if error is not None:
            first = error.message.splitlines()[0]
            notes.append(f"the loops {', '.join(group.loops)} are not tiled: {first}")
    return notes


def _groups(function: Any) -> list[_Group]:
    """The nests of a program: statements by the loop of the program around them."""
    from ..frontends import tree

    groups = []
    there = set(function.function.function.computations)
    for outer in function.program.body:
        if not isinstance(outer, tree.For):
            continue
        labels = [each.label for each in tree.walk((outer,)) if isinstance(each, tree.Assign)]
        statements = tuple(label for label in labels if label in there)
        loops = []
        inner: Any = outer
        while True:
            loops.append(inner.iterator.name)
            below = [each for each in inner.body if not isinstance(each, tree.Kill)]
            if len(below) != 1 or not isinstance(below[0], tree.For):
                break
            (inner,) = below
        if statements:
            groups.append(_Group(statements, tuple(loops)))
    return groups


def _tile(function: Any, group: _Group, sizes: Sequence[int]) -> TilewrightError | None:
    """Tiles the nest, and runs the loop over tiles in parallel if that is legal; or says why not."""
    loops = group.loops[: len(sizes)]
    names = [f"{loop}_tile" for loop in loops]
    inside = [f"{loop}_in" for loop in loops]
    try:
        with function.transaction():
            for statement in group.statements:
                handle = function[statement]
                _neighbours(handle, loops)
                if len(sizes) == 1:
                    handle.split(loops[0], sizes[0], names[0], inside[0])
                else:
                    handle.tile(*loops, *sizes, *names, *inside)
    except tw.ScheduleError as error:
        return error
    for name in names:
        try:
            with function.transaction():
                for statement in group.statements:
                    function[statement].parallelize(name)
            break
        except tw.ScheduleError:
            continue
    return None


def _neighbours(handle: Any, loops: Sequence[str]) -> None:
    """Brings loops together that only constants stand between."""
    order = list(handle.loops)
    first = order.index(loops[0])
    rest = [each for each in order[first:] if each not in loops]
    wanted = [*order[:first], *loops, *rest]
    if wanted != order:
        handle.reorder(*wanted)


# ---- checking ----


def _check(options: argparse.Namespace, source: pathlib.Path, output: pathlib.Path) -> int:
    """Builds and runs both programs, and compares what they print and return."""
    from ..frontends.c.replacing import NO_KERNELS, STRICT

    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "program"
        try:
            theirs = _run(options, source, source, program, [])
            ours = _run(options, source, output, program, [f"-D{STRICT}"])
            if NO_KERNELS.encode() in ours[2]:
                said = ours[2].decode(errors="replace").strip()
                print(f"check: no kernel ran, and nothing is compared. {said}", file=sys.stderr)
                return 3
            if b"pointers overlap, or sizes do not fit" in ours[2]:
                print(f"note: {ours[2].decode(errors='replace').strip()}: it runs as written")
                ours = _run(options, source, output, program, [])
        except _FailedError as error:
            print(f"check: {error}", file=sys.stderr)
            return 1
    for what, new, old in zip(("status", "output", "error output"), ours, theirs, strict=True):
        if new != old:
            print(f"check: the {what} differs{_difference(new, old)}", file=sys.stderr)
            return 1
    print(f"check: both programs print the same {len(theirs[1]) + len(theirs[2])} bytes")
    return 0


class _FailedError(Exception):
    """A program that is not built, or does not end."""


def _run(
    options: argparse.Namespace,
    source: pathlib.Path,
    file: pathlib.Path,
    program: pathlib.Path,
    flags: Sequence[str],
) -> tuple[int, bytes, bytes]:
    """Builds a file and runs the program: its status, its output, its error output."""
    command = [*shlex.split(options.cc), str(file), *options.link, "-o", str(program), *flags]
    command += [f"-D{each}" for each in options.define]
    command += [f"-I{each}" for each in (*options.include, source.parent)]
    command += ["-fopenmp", "-ldl", "-lm"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise _FailedError(f"{shlex.join(command)} fails:\n{done.stderr}")
    try:
        run = subprocess.run(
            [str(program), *shlex.split(options.arguments)],
            capture_output=True,
            check=False,
            timeout=options.timeout,
        )
    except subprocess.TimeoutExpired:
        raise _FailedError(f"{file} runs longer than {options.timeout} s") from None
    return run.returncode, run.stdout, run.stderr


def _difference(ours: Any, theirs: Any) -> str:
    """Where two outputs differ first."""
    if isinstance(ours, int):
        return f": {theirs} in C as it was, {ours} scheduled"
    lines = zip(theirs.split(b"\n"), ours.split(b"\n"), strict=False)
    for number, (old, new) in enumerate(lines, 1):
        if old != new:
            return (
                f" in line {number}: {old[:80].decode(errors='replace')!r} in C as it was, "
                f"{new[:80].decode(errors='replace')!r} scheduled"
            )
    return f": {len(theirs)} bytes in C as it was, {len(ours)} scheduled"
