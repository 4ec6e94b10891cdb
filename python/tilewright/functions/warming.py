"""Compiling a list of functions ahead: `tw.compile_all`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ..base.checks import a_boolean, a_list
from ..base.errors import ArgumentTypeError
from .functions import Function

if TYPE_CHECKING:
    from concurrent.futures import Future

__all__ = ["compile_all"]


def _shows_progress(progress: bool | None) -> bool:
    return sys.stderr.isatty() if progress is None else progress


def compile_all(
    requests: Iterable[Function | Sequence[Any]], *, progress: bool | None = None
) -> list[dict[str, Any]]:
    """Compiles a list of functions, several at a time, so that later calls start at once.

    Args:
        requests: functions, to be compiled for row-major arrays, or ``(f, array, ...)``, to be
            compiled for arrays like these.
        progress: whether to show a progress bar on stderr (of tqdm, where it is installed, else
            lines); None shows one on a terminal.

    Returns:
        What `Function.compile` says of each, in order.

    Raises:
        TypeError: a request is neither.
        Exception: the first error of a compilation; the others are finished before.

    Example:
        >>> compiled = tw.compile_all([matmul, (blur, image)])
        >>> [len(each["key"]) for each in compiled]
        [64, 64]
    """
    if progress is not None:
        progress = a_boolean(progress, "progress")
    calls: list[tuple[Function, tuple[Any, ...]]] = []
    for position, request in enumerate(a_list(requests, "requests", of="functions")):
        parts: tuple[Any, ...] = (request,)
        if isinstance(request, Sequence):
            parts = tuple(request)
        if not parts or not isinstance(parts[0], Function):
            raise ArgumentTypeError(
                f"requests[{position}] must be a function or (function, array, ...), "
                f"got {type(request).__name__}"
            )
        calls.append((parts[0], parts[1:]))
    futures = [f.compile_async(*arrays) for f, arrays in calls]
    from concurrent.futures import as_completed  # imported by the first compile_async

    done: Iterable[Future[dict[str, Any]]] = as_completed(futures)
    if _shows_progress(progress):
        done = _with_progress(done, len(futures))
    for _ in done:
        pass
    return [future.result() for future in futures]


def _with_progress(
    done: Iterable[Future[dict[str, Any]]], total: int
) -> Iterable[Future[dict[str, Any]]]:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return _with_lines(done, total)
    bar: Iterable[Future[dict[str, Any]]] = tqdm(
        done, total=total, desc="compiling", unit="kernel", file=sys.stderr
    )
    return bar


def _with_lines(
    done: Iterable[Future[dict[str, Any]]], total: int
) -> Iterable[Future[dict[str, Any]]]:
    for count, future in enumerate(done, 1):
        print(f"compiling: {count}/{total}", file=sys.stderr)
        yield future
