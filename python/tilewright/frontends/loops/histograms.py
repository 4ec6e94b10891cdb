"""`np.histogram` of many elements: NumPy's edges and NumPy's answers, with kernels of ours for the counting.

NumPy finds the place of each element in several passes over arrays. Here one vector loop does, and another
loop adds up. The elements come in blocks as they do in NumPy, so that weighted sums have the same terms in the same
order.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

import tilewright as tw

__all__ = ["histogram"]

#: NumPy adds up so many elements before it goes on.
_BLOCK = 65536
#: Of fewer elements NumPy needs no more time than a call takes that compiles.
_FEWEST = 100_000


def histogram(
    a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> tuple[np.ndarray, np.ndarray]:
    """What `np.histogram` gives, to the bit."""
    if not _is_plain(a, bins, range, weights):
        return np.histogram(a, bins, range, density, weights)
    edges = np.histogram_bin_edges(a, bins)  # and NumPy's errors
    first, span = float(edges[0]), float(edges[-1] - edges[0])
    step = span / bins
    if not np.array_equal(np.arange(bins) * step + first, edges[:-1]):
        return np.histogram(a, bins, range, density, weights)
    place, counted, summed = _kernels()
    values = np.ravel(a)
    where = np.empty(_BLOCK, np.int32)
    if weights is None:
        found = np.zeros(bins, np.int64)
    else:
        found = np.zeros(bins, np.float64)
        weighted = np.ravel(weights)
    for begin in np.arange(0, len(values), _BLOCK):
        block = values[begin : begin + _BLOCK]
        place(block, first, span, step, bins, where)
        if weights is None:
            counted(where, len(block), found)
        else:
            part = np.zeros(bins)
            summed(where, weighted[begin : begin + _BLOCK], part)
            found += part
    if density:
        return found / np.diff(edges) / found.sum(), edges
    return found, edges


def _is_plain(a: Any, bins: Any, range: Any, weights: Any) -> bool:
    """Whether the kernels are for these: elements that are surely within the edges, equal bins."""
    if type(a) is not np.ndarray or a.size < _FEWEST or range is not None:
        return False
    if not isinstance(bins, int) or isinstance(bins, bool) or not 0 < bins < 2**31 - 1:
        return False
    if a.dtype not in (np.float64, np.uint8, np.int16, np.uint16, np.int32):
        return False
    if weights is None:
        return True
    return type(weights) is np.ndarray and weights.dtype == np.float64 and weights.shape == a.shape


@functools.cache
def _kernels() -> tuple[Any, Any, Any]:
    return tw.jit(_place), tw.jit(_counted), tw.jit(_summed)


def _place(a: Any, first: Any, span: Any, step: Any, bins: Any, where: Any) -> None:
    """The bin of each element. The quotient may be off by one at an edge; the edges themselves decide."""
    for i in range(len(a)):
        x = float(a[i])
        at = min(max(int((x - first) / span * bins), 0), bins - 1)
        down = 1 if x < at * step + first else 0
        up = 1 if (x >= (at + 1) * step + first) & (at < bins - 1) else 0
        where[i] = at - down + up


def _counted(where: Any, n: Any, found: Any) -> None:
    for i in range(n):
        found[where[i]] += 1


def _summed(where: Any, weights: Any, found: Any) -> None:
    for i in range(len(weights)):
        found[where[i]] += weights[i]
