"""How many threads parallel loops run on.

The threads are the library's own: they sleep when there is nothing to do, and starting a parallel
loop costs well under a microsecond while they are awake. Where a program wants its loops on the
threads of OpenMP (for their places and binding), ``TILEWRIGHT_THREADS=openmp`` in the environment
takes the OpenMP library that the process has, else LLVM's.
"""

from __future__ import annotations

from . import _core
from .errors import ArgumentError, ArgumentTypeError

__all__ = ["get_num_threads", "set_num_threads"]


def set_num_threads(threads: int) -> None:
    """Sets the number of threads of parallel loops, for all functions of this process.

    Without it, the number is that of ``OMP_NUM_THREADS``, else of the processors that this process
    may use.

    Raises:
        ValueError: for a number below 1.
    """
    if isinstance(threads, bool) or not isinstance(threads, int):
        raise ArgumentTypeError(
            f"the number of threads must be an integer, got {type(threads).__name__}"
        )
    if threads < 1:
        raise ArgumentError(f"the number of threads must be at least 1, got {threads}")
    _core.set_num_threads(threads)


def get_num_threads() -> int:
    """The number of threads that parallel loops run on."""
    return _core.get_num_threads()
