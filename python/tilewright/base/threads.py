"""How many threads parallel loops run on.

The first of these that says: ``threads=`` of a call, `Function.threads`, `set_num_threads`,
``TILEWRIGHT_NUM_THREADS`` and ``OMP_NUM_THREADS`` in the environment, and the processors that this
process may use (its affinity mask, and the limit of its control group, rounded up).

The threads are the library's own: they sleep when there is nothing to do, and starting a parallel
loop costs well under a microsecond while they are awake. Where a program wants its loops on the
threads of OpenMP (for their places and binding), ``TILEWRIGHT_THREADS=openmp`` in the environment
takes the OpenMP library that the process has, else LLVM's.
"""

from __future__ import annotations

from .. import _core
from .checks import an_integer

__all__ = ["get_num_threads", "set_num_threads"]

_MOST = 1 << 20  # more make no difference


def checked_threads(threads: object) -> int:
    """A number of threads that somebody gave."""
    return min(an_integer(threads, "the number of threads", minimum=1), _MOST)


def set_num_threads(threads: int) -> None:
    """Sets the number of threads of parallel loops, for all functions of this process that have no
    number of their own.

    Raises:
        ArgumentTypeError: not an integer; a TypeError.
        ArgumentError: a number below 1; a ValueError.
    """
    _core.set_num_threads(checked_threads(threads))


def get_num_threads() -> int:
    """The number of threads that parallel loops run on."""
    return _core.get_num_threads()
