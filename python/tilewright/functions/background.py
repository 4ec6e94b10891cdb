"""Compiling on threads of its own: what `Function.compile_async` asks for."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from ..base.source import caller_location, located_at

__all__ = ["submit"]

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
