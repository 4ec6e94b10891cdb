"""The command line: ``tilewright doctor``, ``explain``, ``settings``, ``cache ...``, ``translate``
and ``alpha``, or ``python -m tilewright ...``.

::

    python -m tilewright doctor              what was found on this machine, and what to do
    python -m tilewright explain TW211       what an error means, and how to mend it
    python -m tilewright settings            every setting, its value and where it comes from
    python -m tilewright cache info          where compiled kernels are kept, and how many
    python -m tilewright cache verify        read every entry; delete those that are damaged
    python -m tilewright cache prune 100M    delete the least recently used, down to a size
    python -m tilewright cache clear         delete all
    python -m tilewright translate gemm.c    scheduled C in place of a program's scops
    python -m tilewright alpha script.cs     run a compiler script of Alpha
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from ..base import caching
from ..base.configuration import settings
from ..base.errors import ArgumentError, TilewrightError
from ..base.source import printable
from . import doctor, error_codes, translate

__all__ = ["main", "parse_size", "size_text"]

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def parse_size(text: str) -> int:
    """Bytes of ``"512"``, ``"100K"``, ``"1.5M"`` or ``"2G"``.

    Raises:
        ValueError: it is none of these.
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMG]?)(?:i?B)?", text.strip(), re.IGNORECASE)
    if match is None:
        raise ValueError(f"a size is a number of bytes such as 512, 100K, 1.5M or 2G, got {text!r}")
    return int(float(match[1]) * _UNITS[match[2].upper()])


def size_text(count: int) -> str:
    """``"1.5 MiB"``."""
    size = float(count)
    for unit in ("bytes", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} GiB"


def _cache(arguments: argparse.Namespace) -> int:
    info = caching.info()
    if info.disabled_reason:
        print(f"nothing is kept on disk: {info.disabled_reason}")
        return 0 if arguments.action == "info" else 1
    if arguments.action == "info":
        directory = printable(str(info.directory))
        print(f"{directory}: {info.entries} kernels, {size_text(info.bytes)}")
    elif arguments.action == "verify":
        check = caching.verify()
        print(f"{check.whole} files are whole, {check.deleted} were damaged and deleted")
    elif arguments.action == "prune":
        print(f"{size_text(caching.prune(arguments.size))} deleted")
    else:
        print(f"{caching.clear()} kernels deleted")
    return 0


def _explain(code: str) -> int:
    try:
        print(error_codes.explain(code), end="")
    except ArgumentError as error:
        print(error.message, file=sys.stderr)
        return 2
    return 0


def _alpha(scripts: Sequence[str]) -> int:
    from ..frontends.alpha.scripts import run_script  # reading Alpha needs lark

    for script in scripts:
        try:
            run_script(Path(script))
        except (TilewrightError, OSError, UnicodeDecodeError, ImportError) as error:
            message = error.message if isinstance(error, TilewrightError) else f"{script}: {error}"
            print(printable(message), file=sys.stderr)
            return 1
    return 0


def _size(text: str) -> int:
    try:
        return parse_size(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tilewright", description="A polyhedral just-in-time compiler for Python."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("doctor", help="what was found on this machine, and what to do about it")
    explain = commands.add_parser("explain", help="what an error means, and how to mend it")
    explain.add_argument("code", help="as the message shows it: TW211")
    commands.add_parser("settings", help="every setting, its value and where it comes from")
    cache = commands.add_parser("cache", help="the compiled kernels on disk")
    actions = cache.add_subparsers(dest="action", required=True)
    actions.add_parser("info", help="where they are, how many, and their size")
    actions.add_parser("verify", help="read every entry and delete those that are damaged")
    prune = actions.add_parser("prune", help="delete the least recently used, down to a size")
    prune.add_argument("size", type=_size, help="bytes that may stay: 512, 100K, 1.5M, 2G")
    actions.add_parser("clear", help="delete all of them")
    translate.add_arguments(
        commands.add_parser("translate", help="scheduled C in place of a program's scops")
    )
    alpha = commands.add_parser("alpha", help="run compiler scripts of Alpha")
    alpha.add_argument("script", nargs="+", help="a .cs file, in which are AlphaZ's commands")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line; returns the process's status.

    Args:
        arguments: without the program's name; None takes those of the process.
    """
    parsed = _parser().parse_args(arguments)
    if parsed.command == "doctor":
        return doctor.main()
    if parsed.command == "translate":
        return translate.main(parsed)
    if parsed.command == "settings":
        print(printable(str(settings)))
        return 0
    if parsed.command == "alpha":
        return _alpha(parsed.script)
    return _explain(parsed.code) if parsed.command == "explain" else _cache(parsed)
