"""Functions of NumPy that are written as people would write them: with loops, and translated so.

Each takes NumPy's arguments by NumPy's names. What an `assert` says of an argument that is known while
translating is what this form of the function needs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["OUTSIDE", "WRITTEN"]


def var(a: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> Any:
    """np.var: the mean of the squared distances from the mean."""
    mean = np.mean(a, axis=axis, keepdims=True)
    distance = a - mean
    return np.sum(distance * distance, axis=axis, keepdims=keepdims) / (a.size // mean.size - ddof)


def std(a: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> Any:
    """np.std."""
    return np.sqrt(var(a, axis, ddof, keepdims))


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """np.linalg.norm: Euclid's of vectors, Frobenius' of matrices."""
    assert ord is None
    size = np.abs(x)
    return np.sqrt(np.sum(size * size, axis=axis, keepdims=keepdims))


def trace(a: Any) -> Any:
    """np.trace of a square matrix."""
    assert a.shape[0] == a.shape[1]
    total = a[0, 0]
    for i in range(1, a.shape[0]):
        total = total + a[i, i]
    return total


def eye(N: int, M: Any = None, k: int = 0, dtype: Any = float) -> Any:
    """np.eye."""
    columns = N if M is None else M
    made = np.zeros((N, columns), dtype)
    for i in range(N):
        for j in range(columns):
            if j == i + k:
                made[i, j] = 1
    return made


def identity(n: int, dtype: Any = float) -> Any:
    """np.identity."""
    return eye(n, None, 0, dtype)


def diag(v: Any) -> Any:
    """np.diag: the matrix of a vector, the diagonal of a square matrix."""
    n = v.shape[0]
    if v.ndim == 1:
        made = np.zeros((n, n), v.dtype)
        for i in range(n):
            made[i, i] = v[i]
    else:
        assert v.shape[0] == v.shape[1]
        made = np.empty(n, v.dtype)
        for i in range(n):
            made[i] = v[i, i]
    return made


def linspace(start: Any, stop: Any, num: int = 50) -> Any:
    """np.linspace with its end."""
    made = np.empty(num)
    step = (stop - start) / max(num - 1, 1)
    for i in range(num):
        made[i] = i * step + start
    if num > 1:
        made[num - 1] = stop
    return made


def argmax(a: Any, axis: Any = None) -> Any:
    """np.argmax: the first of the largest, or the first NaN."""
    return _extrema(a, axis, True)


def argmin(a: Any, axis: Any = None) -> Any:
    """np.argmin: the first of the smallest, or the first NaN."""
    return _extrema(a, axis, False)


def _extrema(a: Any, axis: Any, largest: bool) -> Any:
    assert a.ndim == 1 or (a.ndim == 2 and axis is not None)
    if a.ndim == 2:
        if axis % 2 == 1:
            found = np.empty(a.shape[0], np.int64)
            for i in range(a.shape[0]):
                found[i] = _first(a[i], largest)
        else:
            found = np.empty(a.shape[1], np.int64)
            for i in range(a.shape[1]):
                found[i] = _first(a[:, i], largest)
    else:
        found = _first(a, largest)
    return found


def _first(a: Any, largest: bool) -> Any:
    at = 0
    best = a[0]
    for i in range(1, a.shape[0]):
        if best == best and not (a[i] <= best if largest else a[i] >= best):
            best = a[i]
            at = i
    return np.int64(at)


def cumsum(a: Any, axis: Any = None) -> Any:
    """np.cumsum of a vector, or along an axis."""
    assert a.ndim == 1 or axis is not None
    along = 0 if axis is None else axis % a.ndim
    made = np.empty(a.shape, np.sum(a[:0]).dtype)
    if along == 0:
        made[:1] = a[:1]
        for i in range(1, a.shape[0]):
            made[i] = made[i - 1] + a[i]
    else:
        assert along == a.ndim - 1
        made[..., :1] = a[..., :1]
        for i in range(1, a.shape[a.ndim - 1]):
            made[..., i] = made[..., i - 1] + a[..., i]
    return made


def cumprod(a: Any, axis: Any = None) -> Any:
    """np.cumprod of a vector, or along an axis."""
    assert a.ndim == 1 or axis is not None
    along = 0 if axis is None else axis % a.ndim
    made = np.empty(a.shape, np.prod(a[:0]).dtype)
    if along == 0:
        made[:1] = a[:1]
        for i in range(1, a.shape[0]):
            made[i] = made[i - 1] * a[i]
    else:
        assert along == a.ndim - 1
        made[..., :1] = a[..., :1]
        for i in range(1, a.shape[a.ndim - 1]):
            made[..., i] = made[..., i - 1] * a[..., i]
    return made


def diff(a: Any, n: int = 1, axis: int = -1) -> Any:
    """np.diff of numbers."""
    assert n == 1
    assert axis % a.ndim == 0 or axis % a.ndim == a.ndim - 1
    if axis % a.ndim == a.ndim - 1:
        made = a[..., 1:] - a[..., :-1]
    else:
        made = a[1:] - a[:-1]
    return made


def roll(a: Any, shift: int, axis: Any = None) -> Any:
    """np.roll of a vector, or along the first or last axis, by fewer than the extent."""
    assert a.ndim == 1 or axis is not None
    along = 0 if axis is None else axis % a.ndim
    assert along == 0 or along == a.ndim - 1
    n = a.shape[along]
    by = shift if shift >= 0 else n + shift
    made = np.empty_like(a)
    if along == 0:
        made[by:] = a[: n - by]
        made[:by] = a[n - by :]
    else:
        made[..., by:] = a[..., : n - by]
        made[..., :by] = a[..., n - by :]
    return made


def ptp(a: Any, axis: Any = None) -> Any:
    """np.ptp: the largest less the smallest."""
    return np.max(a, axis=axis) - np.min(a, axis=axis)


def repeat(a: Any, repeats: int) -> Any:
    """np.repeat of a vector."""
    assert a.ndim == 1
    made = np.empty(a.shape[0] * repeats, a.dtype)
    for i in range(a.shape[0]):
        for k in range(repeats):
            made[i * repeats + k] = a[i]
    return made


def meshgrid(x: Any, y: Any) -> Any:
    """np.meshgrid of two vectors."""
    across = np.empty((y.shape[0], x.shape[0]), x.dtype)
    down = np.empty((y.shape[0], x.shape[0]), y.dtype)
    across[:] = x
    down[:] = y[:, np.newaxis]
    return across, down


def average(a: Any, axis: Any = None, weights: Any = None) -> Any:
    """np.average; weights have the shape of the array."""
    if weights is None:
        made = np.mean(a, axis=axis)
    else:
        made = np.sum(a * weights, axis=axis) / np.sum(weights, axis=axis)
    return made


def count_nonzero(a: Any) -> Any:
    """np.count_nonzero, Python's int."""
    return int(np.sum(a != 0))


def triu(m: Any, k: int = 0) -> Any:
    """np.triu of a matrix."""
    made = np.zeros_like(m)
    for i in range(m.shape[0]):
        for j in range(m.shape[1]):
            if j - i >= k:
                made[i, j] = m[i, j]
    return made


def tril(m: Any, k: int = 0) -> Any:
    """np.tril of a matrix."""
    made = np.zeros_like(m)
    for i in range(m.shape[0]):
        for j in range(m.shape[1]):
            if j - i <= k:
                made[i, j] = m[i, j]
    return made


WRITTEN: dict[Any, Any] = {
    np.var: var, np.std: std, np.linalg.norm: norm, np.trace: trace, np.eye: eye,
    np.identity: identity, np.diag: diag, np.linspace: linspace, np.argmax: argmax,
    np.argmin: argmin, np.cumsum: cumsum, np.cumprod: cumprod, np.diff: diff, np.roll: roll, np.ptp: ptp,
    np.repeat: repeat, np.meshgrid: meshgrid, np.average: average, np.count_nonzero: count_nonzero, np.triu: triu,
    np.tril: tril,
}  # fmt: skip
OUTSIDE = {
    name: f"call {name} outside of the function, between two with @tw.jit"
    for name in (
        "solve inv det eig eigh eigvals eigvalsh svd qr cholesky lstsq pinv matrix_rank sort argsort "
        "lexsort median percentile quantile unique searchsorted histogram interp fft ifft"
    ).split()
}
OUTSIDE["print"] = "print outside of the function; return what it shows"
OUTSIDE["nonzero"] = OUTSIDE["flatnonzero"] = "use the mask itself, or a loop"
"""What to write instead of functions that are not translated, by their names."""

WRITTEN.update({_first: _first, _extrema: _extrema})
WRITTEN.update({function: function for function in list(WRITTEN.values())})
