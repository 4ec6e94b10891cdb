"""Compiling ahead and beside: `Function.compile_async`, and `compile_all` for a list to warm up."""

from __future__ import annotations

import os
import sys
import threading
import weakref
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from typing import TYPE_CHECKING, Any

from ..base.errors import ArgumentTypeError
from ..base.source import caller_location, located_at

if TYPE_CHECKING:
    from .functions import Function

__all__ = ["compile_all", "submit"]

_lock = threading.Lock()
_executor: ThreadPoolExecutor | None = None


class _Compilation(Future[dict[str, Any]]):
    """A compilation on one of the threads. A child of fork, which has none of them, does it when it
    is asked for the result."""

    def __init__(self, work: Callable[[], dict[str, Any]]) -> None:
        super().__init__()
        self._work: Callable[[], dict[str, Any]] | None = work  # until it is done
        self._where = caller_location()
        self._is_lost = False

    def run(self) -> None:
        """Does the work; its errors are those of the line that asked for it."""
        if self._work is None or not self.set_running_or_notify_cancel():
            return
        try:
            with located_at(self._where):
                info = self._work()
        except BaseException as error:
            self._work = None
            self.set_exception(error)
        else:
            self._work = None
            self.set_result(info)

    def lose(self) -> None:
        """In a child of fork: what the threads of the parent may hold is made anew."""
        if self._work is not None:
            Future.__init__(self)
            self._is_lost = True

    def result(self, timeout: float | None = None) -> dict[str, Any]:
        self._catch_up()
        return super().result(timeout)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        self._catch_up()
        return super().exception(timeout)

    def _catch_up(self) -> None:
        if self._is_lost:
            self._is_lost = False
            self.run()


_asked: weakref.WeakSet[_Compilation] = weakref.WeakSet()


def _forget() -> None:
    """In a child of fork: the threads are gone."""
    global _executor, _lock
    _executor, _lock = None, threading.Lock()
    for compilation in list(_asked):
        compilation.lose()


os.register_at_fork(after_in_child=_forget)


def submit(work: Callable[[], dict[str, Any]]) -> Future[dict[str, Any]]:
    """Does `work` on one of the threads that compile."""
    global _executor
    compilation = _Compilation(work)
    with _lock:
        if _executor is None:
            workers = max(1, min(4, len(os.sched_getaffinity(0))))
            _executor = ThreadPoolExecutor(workers, thread_name_prefix="tilewright-compile")
        _asked.add(compilation)
        _executor.submit(compilation.run)
    return compilation


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
    from .functions import Function

    calls: list[tuple[Function, tuple[Any, ...]]] = []
    for position, request in enumerate(requests):
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
