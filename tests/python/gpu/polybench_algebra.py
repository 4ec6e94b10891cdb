"""PolyBench's products of matrices and vectors, and its statistics."""

from __future__ import annotations

from typing import Any

import numpy as np
from polybench_common import (
    F,
    K,
    L,
    M,
    N,
    emulated,
    i,
    j,
    k,
    kernel,
    matrix,
    product_in_tiles,
    q,
    r,
    s,
)

import tilewright as tw

# ---- Matrix products ----


@kernel(
    "gemm",
    "C = alpha A B + beta C",
    lambda n: {
        "A": matrix(n, n + 4),
        "B": matrix(n + 4, n + 2),
        "C": matrix(n, n + 2),
        "alpha": 1.5,
        "beta": 1.2,
    },
    lambda A, B, C, alpha, beta: alpha * A @ B + beta * C,
)
def gemm() -> tw.Function:
    A, B = tw.input("A", [N, K], F), tw.input("B", [K, M], F)
    C, alpha, beta = tw.input("C", [N, M], F), tw.input("alpha", [], F), tw.input("beta", [], F)
    AB = tw.computation("AB", {i: N, j: M}, tw.sum(A[i, k] * B[k, j], over={k: K}))
    R = tw.computation("R", {i: N, j: M}, alpha[()] * AB[i, j] + beta[()] * C[i, j])
    f = emulated("gemm", R)
    product_in_tiles(AB, k, A, B)
    R.gpu(i, j)
    return f


@kernel(
    "2mm",
    "D = alpha A B C + beta D",
    lambda n: {
        "A": matrix(n, n + 4),
        "B": matrix(n + 4, n + 2),
        "C": matrix(n + 2, n + 6),
        "D": matrix(n, n + 6),
        "alpha": 1.5,
        "beta": 1.2,
    },
    lambda A, B, C, D, alpha, beta: alpha * A @ B @ C + beta * D,
)
def two_products() -> tw.Function:
    A, B, C = tw.input("A", [N, K], F), tw.input("B", [K, M], F), tw.input("C", [M, L], F)
    D, alpha, beta = tw.input("D", [N, L], F), tw.input("alpha", [], F), tw.input("beta", [], F)
    P = tw.computation("P", {i: N, j: M}, tw.sum(alpha[()] * A[i, k] * B[k, j], over={k: K}))
    Q = tw.computation("Q", {i: N, j: L}, tw.sum(P[i, k] * C[k, j], over={k: M}))
    R = tw.computation("R", {i: N, j: L}, Q[i, j] + beta[()] * D[i, j])
    f = emulated("two_products", R)
    product_in_tiles(P, k, A, B)
    product_in_tiles(Q, k, P, C)
    R.gpu(i, j)
    return f


@kernel(
    "3mm",
    "G = (A B) (C D)",
    lambda n: {
        "A": matrix(n, n + 4),
        "B": matrix(n + 4, n + 2),
        "C": matrix(n + 2, n + 6),
        "D": matrix(n + 6, n + 1),
    },
    lambda A, B, C, D: (A @ B) @ (C @ D),
)
def three_products() -> tw.Function:
    O = tw.param("O")
    A, B = tw.input("A", [N, K], F), tw.input("B", [K, M], F)
    C, D = tw.input("C", [M, L], F), tw.input("D", [L, O], F)
    P = tw.computation("P", {i: N, j: M}, tw.sum(A[i, k] * B[k, j], over={k: K}))
    Q = tw.computation("Q", {i: M, j: O}, tw.sum(C[i, k] * D[k, j], over={k: L}))
    G = tw.computation("G", {i: N, j: O}, tw.sum(P[i, k] * Q[k, j], over={k: M}))
    f = emulated("three_products", G)
    product_in_tiles(P, k, A, B)
    product_in_tiles(Q, k, C, D)
    product_in_tiles(G, k, P, Q)
    return f


@kernel(
    "doitgen",
    "A[r, q, p] = sum over s of A[r, q, s] C[s, p]",
    lambda n: {"A": matrix(5, 7, n), "C": matrix(n, n)},
    lambda A, C: A @ C,
)
def doitgen() -> tw.Function:
    A, C = tw.input("A", [N, M, K], F), tw.input("C", [K, K], F)
    R = tw.computation("R", {r: N, q: M, j: K}, tw.sum(A[r, q, s] * C[s, j], over={s: K}))
    f = emulated("doitgen", R)
    R.tile(q, j, 4, 32).split(s, 8).reorder(r, "q0", "j0", "s0", "q1", "j1", "s1")
    R.gpu_block(r, "q0", "j0").gpu_thread("q1", "j1")
    own = R.cache(R, "j0", memory="private")
    own.cache(A, "s0", memory="shared")
    own.cache(C, "s0", memory="shared")
    return f


def symmetric(A: np.ndarray) -> np.ndarray:
    """The symmetric matrix of which only the lower triangle is stored."""
    return np.tril(A) + np.tril(A, -1).T  # type: ignore[no-any-return]


@kernel(
    "symm",
    "C = alpha A B + beta C, A symmetric, stored below",
    lambda n: {
        "A": matrix(n, n),
        "B": matrix(n, n + 2),
        "C": matrix(n, n + 2),
        "alpha": 1.5,
        "beta": 1.2,
    },
    lambda A, B, C, alpha, beta: alpha * symmetric(A) @ B + beta * C,
)
def symm() -> tw.Function:
    A, B, C = tw.input("A", [N, N], F), tw.input("B", [N, M], F), tw.input("C", [N, M], F)
    alpha, beta = tw.input("alpha", [], F), tw.input("beta", [], F)
    left = tw.sum(A[i, k] * B[k, j], over={k: i + 1})
    right = tw.sum(A[k, i] * B[k, j], over={k: (i + 1, N)})
    R = tw.computation("R", {i: N, j: M}, alpha[()] * (left + right) + beta[()] * C[i, j])
    f = emulated("symm", R)
    R.gpu(i, j)
    f["R_sum"].gpu(i, j)  # the second sum
    return f


@kernel(
    "syrk",
    "C = alpha A A^T + beta C, the lower triangle",
    lambda n: {"A": matrix(n, n + 3), "C": matrix(n, n), "alpha": 1.5, "beta": 1.2},
    lambda A, C, alpha, beta: np.tril(alpha * A @ A.T + beta * C),
)
def syrk() -> tw.Function:
    A, C = tw.input("A", [N, M], F), tw.input("C", [N, N], F)
    alpha, beta = tw.input("alpha", [], F), tw.input("beta", [], F)
    product = tw.sum(A[i, k] * A[j, k], over={k: M})
    R = tw.computation(
        "R", {i: N, j: i + 1}, alpha[()] * product + beta[()] * C[i, j], shape=[N, N]
    )
    f = emulated("syrk", R)
    R.gpu(i, j)
    return f


@kernel(
    "syr2k",
    "C = alpha (A B^T + B A^T) + beta C, the lower triangle",
    lambda n: {
        "A": matrix(n, n + 3),
        "B": matrix(n, n + 3)[::-1].copy(),
        "C": matrix(n, n),
        "alpha": 1.5,
        "beta": 1.2,
    },
    lambda A, B, C, alpha, beta: np.tril(alpha * (A @ B.T + B @ A.T) + beta * C),
)
def syr2k() -> tw.Function:
    A, B, C = tw.input("A", [N, M], F), tw.input("B", [N, M], F), tw.input("C", [N, N], F)
    alpha, beta = tw.input("alpha", [], F), tw.input("beta", [], F)
    products = tw.sum(A[i, k] * B[j, k] + B[i, k] * A[j, k], over={k: M})
    R = tw.computation(
        "R", {i: N, j: i + 1}, alpha[()] * products + beta[()] * C[i, j], shape=[N, N]
    )
    f = emulated("syr2k", R)
    R.gpu(i, j)
    return f


@kernel(
    "trmm",
    "B = alpha A^T B, A lower triangular with ones on its diagonal",
    lambda n: {"A": matrix(n, n), "B": matrix(n, n + 2), "alpha": 1.5},
    lambda A, B, alpha: alpha * (np.tril(A, -1) + np.eye(len(A))).T @ B,
)
def trmm() -> tw.Function:
    A, B, alpha = tw.input("A", [N, N], F), tw.input("B", [N, M], F), tw.input("alpha", [], F)
    below = tw.sum(A[k, i] * B[k, j], over={k: (i + 1, N)})
    R = tw.computation("R", {i: N, j: M}, alpha[()] * (B[i, j] + below))
    f = emulated("trmm", R)
    R.gpu(i, j)
    return f


# ---- Matrices and vectors ----


@kernel(
    "atax",
    "y = A^T (A x)",
    lambda n: {"A": matrix(n, n + 3), "x": matrix(n + 3)},
    lambda A, x: A.T @ (A @ x),
)
def atax() -> tw.Function:
    A, x = tw.input("A", [N, M], F), tw.input("x", [M], F)
    P = tw.computation("P", {i: N}, tw.sum(A[i, j] * x[j], over={j: M}))
    y = tw.computation("y", {j: M}, tw.sum(A[i, j] * P[i], over={i: N}))
    f = emulated("atax", y)
    rows_by_threads(P, "i", "j")
    y.gpu_tile("j", 32)
    return f


def rows_by_threads(C: tw.Computation, row: str, column: str, threads: int = 32) -> None:
    """A sum along each row: a block for each, whose threads put their parts together."""
    C.split(column, threads, "k0", "k1").interchange("k0", "k1").gpu_block(row).gpu_thread("k1")


@kernel(
    "bicg",
    "s = A^T r, q = A p",
    lambda n: {"A": matrix(n, n + 3), "r": matrix(n), "p": matrix(n + 3)},
    lambda A, r, p: (A.T @ r, A @ p),
)
def bicg() -> tw.Function:
    A, r_, p_ = tw.input("A", [N, M], F), tw.input("r", [N], F), tw.input("p", [M], F)
    S = tw.computation("S", {j: M}, tw.sum(A[i, j] * r_[i], over={i: N}))
    Q = tw.computation("Q", {i: N}, tw.sum(A[i, j] * p_[j], over={j: M}))
    f = emulated("bicg", S, Q)
    S.gpu_tile("j", 32)
    rows_by_threads(Q, "i", "j")
    return f


@kernel(
    "mvt",
    "x1 = x1 + A y1, x2 = x2 + A^T y2",
    lambda n: {
        "A": matrix(n, n),
        "x1": matrix(n),
        "y1": matrix(n)[::-1].copy(),
        "x2": matrix(n) + 1,
        "y2": matrix(n) - 1,
    },
    lambda A, x1, y1, x2, y2: (x1 + A @ y1, x2 + A.T @ y2),
)
def mvt() -> tw.Function:
    A = tw.input("A", [N, N], F)
    x1, y1, x2, y2 = (tw.input(name, [N], F) for name in ("x1", "y1", "x2", "y2"))
    R1 = tw.computation("R1", {i: N}, x1[i] + tw.sum(A[i, j] * y1[j], over={j: N}))
    R2 = tw.computation("R2", {i: N}, x2[i] + tw.sum(A[j, i] * y2[j], over={j: N}))
    f = emulated("mvt", R1, R2)
    R1.gpu_tile(i, 32)
    R2.gpu_tile(i, 32)
    R2.after(R1, "i0")
    return f


@kernel(
    "gesummv",
    "y = alpha A x + beta B x",
    lambda n: {
        "A": matrix(n, n),
        "B": matrix(n, n).T.copy(),
        "x": matrix(n),
        "alpha": 1.5,
        "beta": 1.2,
    },
    lambda A, B, x, alpha, beta: alpha * A @ x + beta * B @ x,
)
def gesummv() -> tw.Function:
    A, B, x = tw.input("A", [N, N], F), tw.input("B", [N, N], F), tw.input("x", [N], F)
    alpha, beta = tw.input("alpha", [], F), tw.input("beta", [], F)
    first = tw.sum(A[i, j] * x[j], over={j: N})
    second = tw.sum(B[i, j] * x[j], over={j: N})
    y = tw.computation("y", {i: N}, alpha[()] * first + beta[()] * second)
    f = emulated("gesummv", y)
    y.gpu_tile(i, 32)
    f["y_sum"].gpu_tile(i, 32)  # the second sum
    return f


def gemver_expected(
    A: Any, u1: Any, v1: Any, u2: Any, v2: Any, y: Any, z: Any, alpha: float, beta: float
) -> Any:
    B = A + np.outer(u1, v1) + np.outer(u2, v2)
    x = beta * B.T @ y + z
    return B, x, alpha * B @ x


@kernel(
    "gemver",
    "B = A + u1 v1^T + u2 v2^T, x = beta B^T y + z, w = alpha B x",
    lambda n: {
        "A": matrix(n, n),
        "u1": matrix(n),
        "v1": matrix(n) + 1,
        "u2": matrix(n) - 1,
        "v2": matrix(n)[::-1].copy(),
        "y": matrix(n) * 2,
        "z": matrix(n) / 2,
        "alpha": 1.5,
        "beta": 1.2,
    },
    gemver_expected,
)
def gemver() -> tw.Function:
    A = tw.input("A", [N, N], F)
    u1, v1, u2, v2, y, z = (tw.input(name, [N], F) for name in ("u1", "v1", "u2", "v2", "y", "z"))
    alpha, beta = tw.input("alpha", [], F), tw.input("beta", [], F)
    B = tw.computation("B", {i: N, j: N}, A[i, j] + u1[i] * v1[j] + u2[i] * v2[j])
    x = tw.computation("x", {i: N}, beta[()] * tw.sum(B[j, i] * y[j], over={j: N}) + z[i])
    w = tw.computation("w", {i: N}, alpha[()] * tw.sum(B[i, j] * x[j], over={j: N}))
    f = emulated("gemver", B, x, w)
    B.gpu(i, j)
    x.gpu_tile(i, 32)
    w.gpu_tile(i, 32)
    return f


# ---- Statistics ----


def deviations(x: np.ndarray) -> np.ndarray:
    result = np.sqrt(((x - x.mean(axis=0)) ** 2).mean(axis=0))
    return np.where(result <= 0.1, 1.0, result)


def correlation_expected(X: np.ndarray) -> np.ndarray:
    y = (X - X.mean(axis=0)) / (np.sqrt(len(X)) * deviations(X))
    result = y.T @ y
    np.fill_diagonal(result, 1)
    return result  # type: ignore[no-any-return]


@kernel(
    "correlation",
    "Pearson's correlation of the columns of X",
    lambda n: {"X": matrix(n + 4, n) + np.arange(n) * (np.arange(n) % 3)},
    correlation_expected,
)
def correlation() -> tw.Function:
    X = tw.input("X", [N, M], F)
    size = tw.cast(N, F)
    mean = tw.computation("mean", {j: M}, tw.sum(X[i, j], over={i: N}) / size)
    squares = tw.sum((X[i, j] - mean[j]) * (X[i, j] - mean[j]), over={i: N})
    raw = tw.computation("raw", {j: M}, tw.sqrt(squares / size))
    deviation = tw.computation("deviation", {j: M}, tw.select(raw[j] <= 0.1, 1.0, raw[j]))
    Y = tw.computation("Y", {i: N, j: M}, (X[i, j] - mean[j]) / (tw.sqrt(size) * deviation[j]))
    upper = tw.computation(
        "upper",
        {i: M, j: (i + 1, M)},
        tw.sum(Y[k, i] * Y[k, j], over={k: N}),
        shape=[M, M],
    )
    corr = tw.computation(
        "corr",
        {i: M, j: M},
        tw.select(i < j, upper[i, j], tw.select(i > j, upper[j, i], 1.0)),
    )
    f = emulated("correlation", corr)
    for column in (mean, raw, deviation):
        column.gpu_tile(j, 32)
    raw.after(mean, "j0")
    deviation.after(raw, "j0")
    Y.gpu(i, j)
    upper.gpu(i, j)
    corr.gpu(i, j)
    return f


@kernel(
    "covariance",
    "the covariance of the columns of X",
    lambda n: {"X": matrix(n + 4, n)},
    lambda X: np.cov(X, rowvar=False),
)
def covariance() -> tw.Function:
    X = tw.input("X", [N, M], F)
    mean = tw.computation("mean", {j: M}, tw.sum(X[i, j], over={i: N}) / tw.cast(N, F))
    Y = tw.computation("Y", {i: N, j: M}, X[i, j] - mean[j])
    sums = tw.computation("sums", {i: M, j: M}, tw.sum(Y[k, i] * Y[k, j], over={k: N}))
    cov = tw.computation("cov", {i: M, j: M}, sums[i, j] / tw.cast(N - 1, F))
    f = emulated("covariance", cov, context=[N > 1])
    mean.gpu_tile(j, 32)
    Y.gpu(i, j)
    sums.gpu(i, j)
    cov.gpu(i, j)
    cov.after(sums, "j1")
    return f
