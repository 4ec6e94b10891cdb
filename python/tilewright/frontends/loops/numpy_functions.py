"""Functions of NumPy that are written as people would write them: with loops, and translated so.

Each takes NumPy's arguments by NumPy's names. What an `assert` says of an argument that is known while
translating is what this form of the function needs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["OUTSIDE", "WRITTEN", "running_maximum", "running_minimum"]


def var(a: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> Any:
    """np.var: the mean of the squared distances from the mean."""
    mean = np.mean(a, axis=axis, keepdims=True)
    distance = a - mean
    return np.sum(distance * distance, axis=axis, keepdims=keepdims) / (a.size // mean.size - ddof)


def std(a: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> Any:
    """np.std."""
    return np.sqrt(var(a, axis, ddof, keepdims))


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """np.linalg.norm: Euclid's of vectors, Frobenius' of matrices; 1 and np.inf of vectors."""
    size = np.abs(x) * 1.0
    if ord is None:
        made = np.sqrt(np.sum(size * size, axis=axis, keepdims=keepdims))
    else:
        assert x.ndim == 1 or axis is not None
        assert ord == 2 or ord == 1 or ord == np.inf
        if ord == 2:
            made = np.sqrt(np.sum(size * size, axis=axis, keepdims=keepdims))
        elif ord == 1:
            made = np.sum(size, axis=axis, keepdims=keepdims)
        else:
            made = np.max(size, axis=axis, keepdims=keepdims)
    return made


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


def linspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = float
) -> Any:
    """np.linspace of numbers, as floats."""
    made = np.empty(num)
    if endpoint:
        step = (stop - start) / max(num - 1, 1)
    else:
        step = (stop - start) / max(num, 1)
    for i in range(num):
        made[i] = i * step + start
    if endpoint and num > 1:
        made[num - 1] = stop
    return made.astype(dtype)


def argmax(a: Any, axis: Any = None) -> Any:
    """np.argmax: the first of the largest, or the first NaN."""
    return _extrema(a, axis, True)


def argmin(a: Any, axis: Any = None) -> Any:
    """np.argmin: the first of the smallest, or the first NaN."""
    return _extrema(a, axis, False)


def _extrema(a: Any, axis: Any, largest: bool) -> Any:
    """np.argmax and np.argmin of a vector, or of a matrix, along an axis too."""
    assert a.ndim == 1 or a.ndim == 2
    if a.ndim == 2 and axis is None:
        found = _first(a.ravel(), largest)
    elif a.ndim == 2:
        if axis % 2 == 1:
            found = np.empty(a.shape[0], np.int64)
            for i in range(a.shape[0]):
                found[i] = _first(a[i], largest)
        else:
            found = np.zeros(a.shape[1], np.int64)
            best = a[0].copy()
            for k in range(1, a.shape[0]):
                for i in range(a.shape[1]):
                    better = a[k, i] > best[i] if largest else a[k, i] < best[i]
                    if better or (a[k, i] != a[k, i] and best[i] == best[i]):
                        best[i] = a[k, i]
                        found[i] = k
    else:
        found = _first(a, largest)
    return found


def _first(a: Any, largest: bool) -> Any:
    at = 0
    best = a[0]
    for i in range(1, a.shape[0]):
        better = a[i] > best if largest else a[i] < best
        if better or (a[i] != a[i] and best == best):
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


def running_maximum(a: Any, axis: Any = 0) -> Any:
    """np.maximum.accumulate."""
    return _running(a, axis, True)


def running_minimum(a: Any, axis: Any = 0) -> Any:
    """np.minimum.accumulate."""
    return _running(a, axis, False)


def _running(a: Any, axis: Any, largest: bool) -> Any:
    assert axis % a.ndim == 0 or axis % a.ndim == a.ndim - 1
    made = np.empty_like(a)
    if axis % a.ndim == 0:
        made[:1] = a[:1]
        for i in range(1, a.shape[0]):
            made[i] = np.maximum(made[i - 1], a[i]) if largest else np.minimum(made[i - 1], a[i])
    else:
        made[..., :1] = a[..., :1]
        for i in range(1, a.shape[a.ndim - 1]):
            if largest:
                made[..., i] = np.maximum(made[..., i - 1], a[..., i])
            else:
                made[..., i] = np.minimum(made[..., i - 1], a[..., i])
    return made


def diff(a: Any, n: int = 1, axis: int = -1) -> Any:
    """np.diff of numbers, with n = 1 or 2, along the first or last axis."""
    assert n == 1 or n == 2
    assert axis % a.ndim == 0 or axis % a.ndim == a.ndim - 1
    made = _difference(a, axis)
    return made if n == 1 else _difference(made, axis)


def _difference(a: Any, axis: int) -> Any:
    tests = a.dtype == np.bool_
    if axis % a.ndim == a.ndim - 1:
        made = a[..., 1:] != a[..., :-1] if tests else a[..., 1:] - a[..., :-1]
    else:
        made = a[1:] != a[:-1] if tests else a[1:] - a[:-1]
    return made


def ediff1d(ary: Any) -> Any:
    """np.ediff1d of a vector."""
    assert ary.ndim == 1
    return ary[1:] - ary[:-1]


def nan_to_num(
    x: Any, copy: bool = True, nan: float = 0.0, posinf: Any = None, neginf: Any = None
) -> Any:
    """np.nan_to_num of floating-point numbers."""
    assert copy
    largest = np.finfo(x.dtype).max if posinf is None else posinf
    smallest = np.finfo(x.dtype).min if neginf is None else neginf
    number = np.where(np.isnan(x), nan, x)
    made = np.where(number == np.inf, largest, np.where(number == -np.inf, smallest, number))
    return made.astype(x.dtype)


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


def meshgrid(x: Any, y: Any, indexing: str = "xy") -> Any:
    """np.meshgrid of two vectors."""
    if indexing == "xy":
        first = np.empty((y.shape[0], x.shape[0]), x.dtype)
        second = np.empty((y.shape[0], x.shape[0]), y.dtype)
        first[:] = x
        second[:] = y[:, np.newaxis]
    else:
        first = np.empty((x.shape[0], y.shape[0]), x.dtype)
        second = np.empty((x.shape[0], y.shape[0]), y.dtype)
        first[:] = x[:, np.newaxis]
        second[:] = y
    return first, second


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


def nansum(a: Any, axis: Any = None) -> Any:
    """np.nansum."""
    return np.sum(np.where(np.isnan(a), 0.0, a), axis=axis)


def nanmean(a: Any, axis: Any = None) -> Any:
    """np.nanmean."""
    there = ~np.isnan(a)
    return np.sum(np.where(there, a, 0.0), axis=axis) / np.sum(there, axis=axis)


def nanmin(a: Any, axis: Any = None) -> Any:
    """np.nanmin of what is not NaN everywhere."""
    return np.min(np.where(np.isnan(a), np.inf, a), axis=axis)


def nanmax(a: Any, axis: Any = None) -> Any:
    """np.nanmax of what is not NaN everywhere."""
    return np.max(np.where(np.isnan(a), -np.inf, a), axis=axis)


def fill_diagonal(a: Any, val: Any) -> Any:
    """np.fill_diagonal of a matrix."""
    for i in range(min(a.shape[0], a.shape[1])):
        a[i, i] = val


def cross(a: Any, b: Any) -> Any:
    """np.cross of vectors of three numbers, or of rows of them."""
    assert a.shape[a.ndim - 1] == 3 and b.shape[b.ndim - 1] == 3
    made = np.empty_like(a * b)
    made[..., 0] = a[..., 1] * b[..., 2] - a[..., 2] * b[..., 1]
    made[..., 1] = a[..., 2] * b[..., 0] - a[..., 0] * b[..., 2]
    made[..., 2] = a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
    return made


def trapezoid(y: Any, x: Any = None, dx: float = 1.0) -> Any:
    """np.trapezoid of a vector."""
    assert y.ndim == 1
    if x is None:
        made = np.sum(dx * (y[1:] + y[:-1]) / 2.0)
    else:
        made = np.sum((x[1:] - x[:-1]) * (y[1:] + y[:-1]) / 2.0)
    return made


def gradient(f: Any, h: Any = 1.0) -> Any:
    """np.gradient of a vector at places that are `h` apart."""
    assert f.ndim == 1
    made = np.empty(f.shape[0])
    made[0] = (f[1] - f[0]) / h
    made[-1] = (f[-1] - f[-2]) / h
    made[1:-1] = (f[2:] - f[:-2]) / (2.0 * h)
    return made


def cov(m: Any) -> Any:
    """np.cov of variables in the rows of a matrix."""
    assert m.ndim == 2
    away = m - np.mean(m, axis=1)[:, np.newaxis]
    return np.dot(away, np.conj(away.T)) / (m.shape[1] - 1)


def corrcoef(x: Any, y: Any = None) -> Any:
    """np.corrcoef of variables in rows, or of two vectors."""
    rows = x if y is None else np.stack((x, y))
    return _correlation(rows)


def _correlation(rows: Any) -> Any:
    found = cov(rows)
    spread = np.sqrt(np.diag(found))
    return np.clip(found / spread[:, np.newaxis] / spread[np.newaxis, :], -1, 1)


def heaviside(x: Any, half: Any) -> Any:
    """np.heaviside."""
    return np.where(np.isnan(x), x, np.where(x == 0, half, np.where(x < 0, 0.0, 1.0)))


def sinc(x: Any) -> Any:
    """np.sinc."""
    y = np.pi * np.where(x == 0, 1.0e-20, x)
    return np.sin(y) / y


def isclose(a: Any, b: Any, rtol: float = 1.0e-5, atol: float = 1.0e-8) -> Any:
    """np.isclose."""
    return (a == b) | (np.abs(a - b) <= atol + rtol * np.abs(b)) & np.isfinite(b)


def allclose(a: Any, b: Any, rtol: float = 1.0e-5, atol: float = 1.0e-8) -> Any:
    """np.allclose, Python's bool."""
    return bool(np.all(isclose(a, b, rtol, atol)))


def array_equal(a: Any, b: Any) -> Any:
    """np.array_equal of arrays of one shape, Python's bool."""
    return bool(np.all(a == b))


def logaddexp(x: Any, y: Any) -> Any:
    """np.logaddexp of finite numbers."""
    return np.maximum(x, y) + np.log1p(np.exp(-np.abs(x - y)))


def bincount(x: Any, weights: Any = None, minlength: int = 0) -> Any:
    """np.bincount of numbers below minlength, so that this is the length."""
    assert minlength > 0
    if weights is None:
        made = np.zeros(minlength, np.int64)
        np.add.at(made, x, 1)
    else:
        made = np.zeros(minlength, np.float64)
        np.add.at(made, x, weights)
    return made


def around(a: Any, decimals: int = 0) -> Any:
    """np.round."""
    if decimals == 0:
        made = np.rint(a)
    elif decimals > 0:
        made = np.rint(a * 10.0**decimals) / 10.0**decimals
    else:
        made = np.rint(a / 10.0**-decimals) * 10.0**-decimals
    return made


def angle(z: Any, deg: Any = False) -> Any:
    """np.angle."""
    made = np.arctan2(np.imag(z), np.real(z))
    if deg:
        made = np.degrees(made)
    return made


WRITTEN: dict[Any, Any] = {
    np.var: var, np.std: std, np.linalg.norm: norm, np.trace: trace, np.eye: eye,
    np.identity: identity, np.diag: diag, np.linspace: linspace, np.argmax: argmax,
    np.argmin: argmin, np.cumsum: cumsum, np.cumprod: cumprod, np.diff: diff, np.ptp: ptp,
    np.repeat: repeat, np.meshgrid: meshgrid, np.average: average, np.count_nonzero: count_nonzero, np.triu: triu,
    np.tril: tril, np.nansum: nansum, np.nanmean: nanmean, np.nanmin: nanmin, np.nanmax: nanmax,
    np.fill_diagonal: fill_diagonal, np.cross: cross, np.gradient: gradient, np.cov: cov,
    np.corrcoef: corrcoef, np.heaviside: heaviside, np.sinc: sinc, np.isclose: isclose,
    np.allclose: allclose, np.array_equal: array_equal, np.logaddexp: logaddexp,
    np.bincount: bincount, np.round: around, np.angle: angle, np.ediff1d: ediff1d,
    np.nan_to_num: nan_to_num,
}  # fmt: skip
OUTSIDE = {
    name: f"call {name} outside of the function, between two with @tw.jit"
    for name in "eig eigvals lstsq lexsort apply_along_axis".split()
}
OUTSIDE.update(
    dict.fromkeys(
        "seed random random_sample standard_normal exponential poisson integers rand randn randint "
        "uniform normal choice default_rng shuffle permutation".split(),
        "draw the numbers outside of the function, and pass them as an array",
    )
)
OUTSIDE["print"] = "print outside of the function; return what it shows"
OUTSIDE["argwhere"] = "use np.nonzero, the mask itself, or a loop"
"""What to write instead of functions that are not translated, by their names."""

WRITTEN.update({each: each for each in (_first, _extrema, _correlation, _difference, _running)})
WRITTEN.update({each: each for each in (running_maximum, running_minimum)})
if hasattr(np, "trapezoid"):
    WRITTEN[np.trapezoid] = trapezoid
WRITTEN.update({function: function for function in list(WRITTEN.values())})
