"""Functions of NumPy that are written as people would write them: with loops, and translated so.

Each takes NumPy's arguments by NumPy's names. What an `assert` says of an argument that is known while
translating is what this form of the function needs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["WRITTEN"]


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


def argmax(a: Any) -> Any:
    """np.argmax of a vector: the first of the largest, or the first NaN."""
    assert a.ndim == 1
    at = 0
    best = a[0]
    for i in range(1, a.shape[0]):
        if best == best and not a[i] <= best:
            best = a[i]
            at = i
    return np.int64(at)


def argmin(a: Any) -> Any:
    """np.argmin of a vector."""
    assert a.ndim == 1
    at = 0
    best = a[0]
    for i in range(1, a.shape[0]):
        if best == best and not a[i] >= best:
            best = a[i]
            at = i
    return np.int64(at)


def cumsum(a: Any) -> Any:
    """np.cumsum of a vector."""
    assert a.ndim == 1
    made = np.empty(a.shape[0], np.sum(a[:0]).dtype)
    total = np.sum(a[:0])
    for i in range(a.shape[0]):
        total = total + a[i]
        made[i] = total
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
    np.argmin: argmin, np.cumsum: cumsum, np.count_nonzero: count_nonzero, np.triu: triu,
    np.tril: tril,
}  # fmt: skip
WRITTEN.update({function: function for function in list(WRITTEN.values())})
