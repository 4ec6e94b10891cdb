"""Python functions with loops, `@tw.jit`, beside NumPy and, where it is installed, Numba.

The function that is timed is the same text for everybody; Numba compiles it with ``parallel=True`` and
without fast-math, as we do, and NumPy's column is what people write without loops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

import peers
import tilewright as tw
from harness import Case, Context, Missing

TITLE = "Python functions with loops"
THREADS = (1, 2)


def gemm(alpha: float, beta: float, C: Any, A: Any, B: Any) -> None:
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            C[i, j] *= beta
        for k in range(A.shape[1]):
            for j in range(C.shape[1]):
                C[i, j] += alpha * A[i, k] * B[k, j]


def gemm_numpy(alpha: float, beta: float, C: Any, A: Any, B: Any) -> None:
    C[:] = alpha * (A @ B) + beta * C


def jacobi_2d(steps: int, A: Any, B: Any) -> None:
    for _t in range(steps):
        B[1:-1, 1:-1] = 0.2 * (
            A[1:-1, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:] + A[2:, 1:-1] + A[:-2, 1:-1]
        )
        A[1:-1, 1:-1] = 0.2 * (
            B[1:-1, 1:-1] + B[1:-1, :-2] + B[1:-1, 2:] + B[2:, 1:-1] + B[:-2, 1:-1]
        )


def seidel_2d(steps: int, A: Any) -> None:
    for _t in range(steps):
        for i in range(1, A.shape[0] - 1):
            for j in range(1, A.shape[1] - 1):
                A[i, j] = (A[i - 1, j] + A[i, j - 1] + A[i, j] + A[i, j + 1] + A[i + 1, j]) / 5.0


def floyd_warshall(path: Any) -> None:
    n = path.shape[0]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                path[i, j] = min(path[i, j], path[i, k] + path[k, j])


def floyd_warshall_numpy(path: Any) -> None:
    for k in range(path.shape[0]):
        path[:] = np.minimum(path, np.add.outer(path[:, k], path[k, :]))


def pairwise(X: Any, D: Any) -> None:
    for i in range(X.shape[0]):
        for j in range(X.shape[0]):
            d = 0.0
            for k in range(X.shape[1]):
                d += (X[i, k] - X[j, k]) * (X[i, k] - X[j, k])
            D[i, j] = np.sqrt(d)


def pairwise_numpy(X: Any, D: Any) -> None:
    D[:] = np.sqrt(((X[:, None, :] - X[None, :, :]) ** 2).sum(axis=2))


def mandelbrot(limit: int, image: Any) -> None:
    h, w = image.shape
    for y in range(h):
        for x in range(w):
            cr = -2.0 + 3.0 * x / w
            ci = -1.0 + 2.0 * y / h
            zr = 0.0
            zi = 0.0
            n = 0
            while n < limit and zr * zr + zi * zi < 4.0:
                t = zr * zr - zi * zi + cr
                zi = 2.0 * zr * zi + ci
                zr = t
                n += 1
            image[y, x] = n


def spmv(row: Any, col: Any, val: Any, x: Any, y: Any) -> None:
    for i in range(y.shape[0]):
        s = 0.0
        for p in range(row[i], row[i + 1]):
            s += val[p] * x[col[p]]
        y[i] = s


def histogram(values: Any, counts: Any) -> None:
    for i in range(values.shape[0]):
        counts[values[i]] += 1


def bubble_sort(a: Any) -> None:
    for end in range(a.shape[0] - 1, 0, -1):
        for i in range(end):
            if a[i] > a[i + 1]:
                t = a[i]
                a[i] = a[i + 1]
                a[i + 1] = t


def searchsorted(a: Any, xs: Any, out: Any) -> None:
    for i in range(xs.shape[0]):
        low = 0
        high = a.shape[0]
        while low < high:
            middle = (low + high) // 2
            if a[middle] < xs[i]:
                low = middle + 1
            else:
                high = middle
        out[i] = low


def searchsorted_numpy(a: Any, xs: Any, out: Any) -> None:
    out[:] = np.searchsorted(a, xs)


def histogram_numpy(values: Any, counts: Any) -> None:
    counts += np.bincount(values, minlength=counts.shape[0])


Arguments = tuple[Any, ...]


def problems(
    quick: bool,
) -> Iterator[tuple[Callable[..., None], Callable[..., None] | None, Arguments]]:
    """The functions, what NumPy does instead, and arguments."""
    r = np.random.default_rng(0)
    n = 24 if quick else 400

    def square() -> Any:
        return r.random((n, n))

    yield gemm, gemm_numpy, (1.5, 0.5, square(), square(), square())
    yield jacobi_2d, jacobi_2d, (4 if quick else 50, square(), square())
    yield seidel_2d, None, (2 if quick else 10, square())
    yield floyd_warshall, floyd_warshall_numpy, (r.integers(1, 99, (n // 2, n // 2)),)
    yield pairwise, pairwise_numpy, (r.random((n, 8)), np.zeros((n, n)))
    yield mandelbrot, None, (50, np.zeros((n, n), np.int64))
    counts = r.integers(0, 20, n * 20)
    row = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    col = r.integers(0, n * 20, row[-1]).astype(np.int32)
    yield spmv, None, (row, col, r.random(row[-1]), r.random(n * 20), np.zeros(n * 20))
    yield histogram, histogram_numpy, (r.integers(0, 256, n * 500), np.zeros(256, np.int64))
    yield bubble_sort, None, (r.random(n * 2),)
    xs = r.random(n * 20)
    yield searchsorted, searchsorted_numpy, (np.sort(xs), r.random(n * 20), np.zeros(n * 20, int))


def _run(function: Callable[..., Any], arguments: Arguments) -> Callable[[], Any]:
    """Calls it on arrays of its own, which begin as they were given each time."""
    own = tuple(each.copy() if isinstance(each, np.ndarray) else each for each in arguments)

    def call() -> Any:
        for mine, given in zip(own, arguments, strict=True):
            if isinstance(mine, np.ndarray):
                mine[...] = given
        function(*own)
        return tuple(each for each in own if isinstance(each, np.ndarray))

    return call


def cases(context: Context) -> Iterator[Case]:
    numba = peers.module("numba")
    if not isinstance(numba, Missing):
        numba.set_num_threads(min(context.threads, numba.config.NUMBA_NUM_THREADS))
    for function, by_numpy, arguments in problems(context.quick):
        others: dict[str, Any] = {}
        if by_numpy is not None:
            others["NumPy"] = _run(by_numpy, arguments)
        others["numba"] = (
            numba
            if isinstance(numba, Missing)
            else _run(numba.njit(parallel=context.threads > 1)(function), arguments)
        )
        ours = tw.jit(function)
        found: Mapping[str, Any] = others
        yield Case(function.__name__, _run(ours, arguments), peers=found, rtol=1e-9)
        scheduled = tw.jit(function)
        try:
            scheduled.inspect(*arguments).auto_schedule()
        except tw.TilewrightError:
            continue
        yield Case(
            f"{function.__name__}, auto_schedule",
            _run(scheduled, arguments),
            peers=found,
            rtol=1e-9,
        )
