"""PolyBench's factorisations, triangular systems, dynamic programs and sweeps along rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from polybench_common import F, M, N, d, dominant, emulated, i, j, k, kernel, matrix, t

import tilewright as tw

# ---- Other recurrences over planes ----


@kernel(
    "floyd-warshall",
    "lengths of shortest paths",
    lambda n: {"W": np.random.default_rng(n).integers(1, 100, (n, n)).astype(np.int32)},
    lambda W: shortest(W),
)
def floyd_warshall() -> tw.Function:
    W = tw.input("W", [N, N], tw.int32)
    D = tw.computation(
        "D",
        {k: N + 1, i: N, j: N},
        lambda x: [
            (k == 0, W[i, j]),
            (k > 0, tw.minimum(x[k - 1, i, j], x[k - 1, i, k - 1] + x[k - 1, k - 1, j])),
        ],
        dtype=tw.int32,
    )
    R = tw.computation("R", {i: N, j: N}, D[N, i, j])
    f = emulated("floyd_warshall", R)
    D.storage_fold(k, 2)
    D.gpu(i, j)
    R.gpu(i, j)
    return f


def shortest(W: np.ndarray) -> np.ndarray:
    W = W.copy()
    for via in range(len(W)):
        W = np.minimum(W, W[:, via, None] + W[None, via, :])
    return W


# ---- Factorisations and triangular systems ----


def factors(A: np.ndarray) -> np.ndarray:
    """L without its diagonal of ones, and U, in one matrix."""
    A = A.copy()
    for step in range(len(A)):
        A[step + 1 :, step] /= A[step, step]
        A[step + 1 :, step + 1 :] -= np.outer(A[step + 1 :, step], A[step, step + 1 :])
    return A


def elimination(A: tw.Input) -> tuple[tw.Computation, tw.Computation]:
    """What is left of A after k steps, and the column of L that step k finds."""
    X = tw.computation("X", {k: N, i: (k, N), j: (k, N)}, dtype=F, shape=[N, N, N])
    C = tw.computation("C", {k: N, i: (k + 1, N)}, dtype=F, shape=[N, N])
    X.define(k == 0, A[i, j])
    X.define(k > 0, X[k - 1, i, j] - C[k - 1, i] * X[k - 1, k - 1, j])
    C.define(None, X[k, i, k] / X[k, k, k])
    return X, C


@kernel("lu", "A = L U", lambda n: {"A": dominant(n)}, factors)
def lu() -> tw.Function:
    A = tw.input("A", [N, N], F)
    X, C = elimination(A)
    LU = tw.computation("LU", {i: N, j: N}, tw.select(j < i, C[j, i], X[i, i, j]))
    f = emulated("lu", LU)
    C.after(X, k)
    X.store_in("A_now[i, j]")
    X.gpu(i, j)
    C.gpu_tile(i, 32)
    LU.gpu(i, j)
    return f


@kernel(
    "ludcmp",
    "A x = b by A = L U",
    lambda n: {"A": dominant(n), "b": matrix(n)},
    lambda A, b: np.linalg.solve(A, b),
)
def ludcmp() -> tw.Function:
    A, b = tw.input("A", [N, N], F), tw.input("b", [N], F)
    X = tw.computation("X", {k: N, i: (k, N), j: (k, N)}, dtype=F, shape=[N, N, N])
    y = tw.computation("y", {k: N, i: (k, N)}, dtype=F, shape=[N, N])
    factor = X[k - 1, i, k - 1] / X[k - 1, k - 1, k - 1]
    X.define(k == 0, A[i, j])
    X.define(k > 0, X[k - 1, i, j] - factor * X[k - 1, k - 1, j])
    # y[k, i]: what is left of b[i] after k steps; z[k, i] of y, from the last one up: of unknown
    # N - 1 - i.
    y.define(k == 0, b[i])
    y.define(k > 0, y[k - 1, i] - factor * y[k - 1, k - 1])
    last = N - 1 - i
    z = tw.computation("z", {k: N, i: (k, N)}, dtype=F, shape=[N, N])
    z.define(k == 0, y[last, last])
    step = z[k - 1, k - 1] / X[N - k, N - k, N - k]
    z.define(k > 0, z[k - 1, i] - X[last, last, N - k] * step)
    solution = tw.computation("solution", {i: N}, z[last, last] / X[i, i, i])
    f = emulated("ludcmp", solution)
    X.store_in("A_now[i, j]")
    y.store_in("y_now[i]")
    z.store_in("z_now[i]")
    X.gpu(i, j)
    for column in (y, z, solution):
        column.gpu_tile(i, 32)
    return f


def positive(n: int) -> np.ndarray:
    root = np.tril(matrix(n, n)) + n * np.eye(n)
    return root @ root.T  # type: ignore[no-any-return]


@kernel("cholesky", "A = L L^T", lambda n: {"A": positive(n)}, lambda A: np.linalg.cholesky(A))
def cholesky() -> tw.Function:
    A = tw.input("A", [N, N], F)
    D = tw.computation("D", {j: N}, dtype=F)
    B = tw.computation("B", {j: N, i: (j + 1, N)}, dtype=F, shape=[N, N])
    D.define(None, tw.sqrt(A[j, j] - tw.sum(B[k, j] * B[k, j], over={k: j})))
    B.define(None, (A[i, j] - tw.sum(B[k, i] * B[k, j], over={k: j})) / D[j])
    R = tw.computation("R", {i: N, j: N}, tw.select(i > j, B[j, i], tw.select(i == j, D[i], 0.0)))
    f = emulated("cholesky", R)
    B.gpu_tile(i, 32)
    R.gpu(i, j)
    return f


@kernel(
    "trisolv",
    "L x = b, L lower triangular",
    lambda n: {"A": np.tril(dominant(n)), "b": matrix(n)},
    lambda A, b: np.linalg.solve(A, b),
)
def trisolv() -> tw.Function:
    A, b = tw.input("A", [N, N], F), tw.input("b", [N], F)
    x = tw.computation("x", {k: N}, dtype=F)
    # What is left of b[i] when the first k unknowns are known.
    y = tw.computation("y", {k: N, i: (k, N)}, dtype=F, shape=[N, N])
    y.define(k == 0, b[i])
    y.define(k > 0, y[k - 1, i] - A[i, k - 1] * x[k - 1])
    x.define(None, y[k, k] / A[k, k])
    f = emulated("trisolv", x)
    y.store_in("y_now[i]")
    y.gpu_tile(i, 32)
    return f


def durbin_expected(r: np.ndarray) -> np.ndarray:
    n = len(r)
    first = np.concatenate([[1.0], r[:-1]])
    toeplitz = first[abs(np.subtract.outer(np.arange(n), np.arange(n)))]
    return np.linalg.solve(toeplitz, -r)  # type: ignore[no-any-return]


@kernel(
    "durbin",
    "the Yule-Walker equations of a symmetric Toeplitz matrix",
    lambda n: {"r": 0.4 ** np.arange(1, n + 1) * matrix(n)},
    durbin_expected,
)
def durbin() -> tw.Function:
    R = tw.input("r", [N], F)
    alpha = tw.computation("alpha", {k: N}, dtype=F)
    beta = tw.computation("beta", {k: N}, dtype=F)
    Y = tw.computation("Y", {k: N, i: k + 1}, dtype=F, shape=[N, N])
    beta.define(k == 0, 1.0)
    beta.define(k > 0, (1 - alpha[k - 1] * alpha[k - 1]) * beta[k - 1])
    alpha.define(k == 0, -R[0])
    alpha.define(k > 0, -(R[k] + tw.sum(R[k - i - 1] * Y[k - 1, i], over={i: k})) / beta[k])
    Y.define(k == 0, alpha[0])
    longer = Y[k - 1, i] + alpha[k] * Y[k - 1, k - 1 - i]
    Y.define(k > 0, tw.select(i < k, longer, alpha[k]))
    y = tw.computation("y", {i: N}, Y[N - 1, i])
    f = emulated("durbin", y, context=[N > 0])
    Y.storage_fold(k, 2)
    Y.gpu_tile(i, 32)
    y.gpu_tile(i, 32)
    return f


def gramschmidt_expected(A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    Q, R = np.linalg.qr(A)
    signs = np.sign(np.diag(R))
    return Q * signs, R * signs[:, None]


@kernel(
    "gramschmidt",
    "A = Q R by modified Gram-Schmidt",
    lambda n: {"A": matrix(n + 3, n) + np.eye(n + 3, n) * n},
    gramschmidt_expected,
)
def gramschmidt() -> tw.Function:
    A = tw.input("A", [N, M], F)
    # X[k]: the columns of A less their parts along the first k of Q.
    X = tw.computation("X", {k: M, i: N, j: (k, M)}, dtype=F, shape=[M, N, M])
    norm = tw.computation("norm", {k: M}, dtype=F)
    Q = tw.computation("Q", {k: M, i: N}, dtype=F)
    P = tw.computation("P", {k: M, j: (k + 1, M)}, dtype=F, shape=[M, M])
    X.define(k == 0, A[i, j])
    X.define(k > 0, X[k - 1, i, j] - Q[k - 1, i] * P[k - 1, j])
    norm.define(None, tw.sqrt(tw.sum(X[k, i, k] * X[k, i, k], over={i: N})))
    Q.define(None, X[k, i, k] / norm[k])
    P.define(None, tw.sum(Q[k, i] * X[k, i, j], over={i: N}))
    q_ = tw.computation("Qt", {i: N, k: M}, Q[k, i])
    r_ = tw.computation(
        "R", {k: M, j: M}, tw.select(j > k, P[k, j], tw.select(j == k, norm[k], 0.0))
    )
    f = emulated("gramschmidt", q_, r_)
    X.store_in("A_now[i, j]")
    X.gpu(i, j)
    Q.gpu_tile(i, 32)
    P.gpu_tile(j, 32)
    q_.gpu(i, k)
    r_.gpu(k, j)
    return f


# ---- Sweeps along rows and columns ----


def thomas(a: float, b: float, c: float, right: np.ndarray) -> np.ndarray:
    """a x[j-1] + b x[j] + c x[j+1] = right[:, j] with x = 1 at both ends of each row."""
    n = right.shape[1]
    system = np.diag([b] * n) + np.diag([a] * (n - 1), -1) + np.diag([c] * (n - 1), 1)
    system[0], system[-1] = np.eye(n)[0], np.eye(n)[-1]
    return np.linalg.solve(system, right.T).T  # type: ignore[no-any-return]


def adi_expected(u: np.ndarray, T: int) -> np.ndarray:
    n = len(u)
    mul1, mul2 = 2 / T * n * n, 1 / T * n * n
    a, b, d_, e = -mul1 / 2, 1 + mul1, -mul2 / 2, 1 + mul2
    for _ in range(T):
        v = np.ones_like(u)
        right = np.ones((n - 2, n))
        right[:, 1:-1] = (-d_ * u[1:-1, :-2] + (1 + 2 * d_) * u[1:-1, 1:-1] - d_ * u[1:-1, 2:]).T
        v[:, 1:-1] = thomas(a, b, a, right).T
        right = np.ones((n - 2, n))
        right[:, 1:-1] = -a * v[:-2, 1:-1] + (1 + 2 * a) * v[1:-1, 1:-1] - a * v[2:, 1:-1]
        u = u.copy()
        u[1:-1] = thomas(d_, e, d_, right)
    return u


@kernel(
    "adi",
    "heat by alternating directions, T steps",
    lambda n: {"u": matrix(n, n), "T": 2},
    adi_expected,
)
def adi() -> tw.Function:
    (T,) = tw.params("T", "T >= 1")
    start = tw.input("u", [N, N], F)
    cells = tw.cast(N, F) * tw.cast(N, F) / tw.cast(T, F)
    a, b, c, e = -cells, 1.0 + 2.0 * cells, -0.5 * cells, 1.0 + cells
    # Step t makes V[t] from U[t - 1] along columns, and U[t] from V[t] along rows. Row i of a
    # sweep is eliminated from its unknown 1 up (P, Q) and solved from the last one down: unknown
    # N - 1 - k of it is V[t, i, k].
    U = tw.computation("U", {t: T, i: (1, N - 1), k: N}, dtype=F, shape=[T, N, N])
    V = tw.computation("V", {t: T, i: (1, N - 1), k: N}, dtype=F, shape=[T, N, N])
    # P is the same in all steps.
    rows = {i: (1, N - 1), j: N - 1}
    P1, P2 = (tw.computation(name, rows, dtype=F, shape=[N, N]) for name in ("P1", "P2"))
    Q1, Q2 = (
        tw.computation(name, {t: T, **rows}, dtype=F, shape=[T, N, N]) for name in ("Q1", "Q2")
    )

    def u(row: Any, column: Any) -> Any:
        return tw.select(t == 0, start[row, column], U[t - 1, row, N - 1 - column])

    def v(row: Any, column: Any) -> Any:
        return V[t, column, N - 1 - row]

    sweeps = (
        (P1, Q1, V, a, b, -c * u(j, i - 1) + (1.0 + 2.0 * c) * u(j, i) - c * u(j, i + 1)),
        (P2, Q2, U, c, e, -a * v(i - 1, j) + (1.0 + 2.0 * a) * v(i, j) - a * v(i + 1, j)),
    )
    for P, Q, X, off, diagonal, right in sweeps:
        P.define(j == 0, 0.0)
        P.define(j > 0, -off / (off * P[i, j - 1] + diagonal))
        Q.define(j == 0, 1.0)
        Q.define(j > 0, (right - off * Q[t, i, j - 1]) / (off * P[i, j - 1] + diagonal))
        X.define((k == 0) | (k == N - 1), 1.0)
        X.define((k > 0) & (k < N - 1), P[i, N - 1 - k] * X[t, i, k - 1] + Q[t, i, N - 1 - k])
    inner = (i > 0) & (i < N - 1)
    R = tw.computation("R", {i: N, j: N}, tw.select(inner, U[T - 1, i, N - 1 - j], start[i, j]))
    f = emulated("adi", R, context=[N > 2])
    for first, second, third, *_ in sweeps:
        for part in (first, second, third):
            part.gpu_tile(i, 32)
        third.after(second, "i1")
    R.gpu(i, j)
    return f


def deriche_coefficients(alpha: float) -> np.ndarray:
    one, two = np.exp(-alpha), np.exp(-2 * alpha)
    k_ = (1 - one) ** 2 / (1 + 2 * alpha * one - two)
    a = [k_, k_ * one * (alpha - 1), k_ * one * (alpha + 1), -k_ * two]
    return np.array([*a, 2**-alpha, -two], np.float32)


def deriche_rows(x: np.ndarray, c: np.ndarray) -> np.ndarray:
    a1, a2, a3, a4, b1, b2 = c
    zero = np.zeros((x.shape[0], 2), x.dtype)
    x_ = np.hstack([zero, x, zero])
    left, right = np.zeros_like(x_), np.zeros_like(x_)
    for place in range(2, x.shape[1] + 2):
        left[:, place] = (
            a1 * x_[:, place]
            + a2 * x_[:, place - 1]
            + b1 * left[:, place - 1]
            + b2 * left[:, place - 2]
        )
    for place in reversed(range(2, x.shape[1] + 2)):
        right[:, place] = (
            a3 * x_[:, place + 1]
            + a4 * x_[:, place + 2]
            + b1 * right[:, place + 1]
            + b2 * right[:, place + 2]
        )
    return (left + right)[:, 2:-2]  # type: ignore[no-any-return]


@kernel(
    "deriche",
    "a recursive filter along rows and columns, both ways",
    lambda n: {"x": matrix(n, n + 2).astype(np.float32), "c": deriche_coefficients(0.25)},
    lambda x, c: deriche_rows(deriche_rows(x, c).T, c).T,
)
def deriche() -> tw.Function:
    x, c = tw.input("x", [N, M], tw.float32), tw.input("c", [6], tw.float32)

    def both_ways(name: str, row: Any, column: Any, rows: Any, columns: Any, at: Any) -> Any:
        """What is filtered forwards and, in reversed columns, backwards."""
        domain, shape = {row: rows, column: columns}, [rows, columns]
        y = tw.computation(f"{name}_forwards", domain, dtype=tw.float32, shape=shape)
        z = tw.computation(f"{name}_backwards", domain, dtype=tw.float32, shape=shape)
        y.define(column == 0, c[0] * at(row, column))
        new = c[0] * at(row, column) + c[1] * at(row, column - 1)
        y.define(column == 1, new + c[4] * y[row, column - 1])
        y.define(column > 1, new + c[4] * y[row, column - 1] + c[5] * y[row, column - 2])
        z.define(column == 0, 0.0)
        place = columns - 1 - column
        z.define(column == 1, c[2] * at(row, place + 1) + c[4] * z[row, column - 1])
        new = c[2] * at(row, place + 1) + c[3] * at(row, place + 2)
        z.define(column > 1, new + c[4] * z[row, column - 1] + c[5] * z[row, column - 2])
        return y, z

    y1, z1 = both_ways("rows", i, j, N, M, lambda row, column: x[row, column])
    H = tw.computation("H", {i: N, j: M}, y1[i, j] + z1[i, M - 1 - j])
    y2, z2 = both_ways("columns", j, i, M, N, lambda row, column: H[column, row])
    R = tw.computation("R", {i: N, j: M}, y2[j, i] + z2[j, N - 1 - i])
    f = emulated("deriche", R, context=[N > 1, M > 1])
    for row, passes in ((i, (y1, z1)), (j, (y2, z2))):
        for part in passes:
            part.gpu_tile(row, 32)
        passes[1].after(passes[0], f"{row}0")
    H.gpu(i, j)
    R.gpu(i, j)
    return f


def nussinov_expected(seq: np.ndarray) -> np.ndarray:
    n = len(seq)
    table = np.zeros((n, n), np.int32)
    for row in reversed(range(n)):
        for column in range(row + 1, n):
            values = [table[row, column - 1], table[row + 1, column], table[row + 1, column - 1]]
            if row < column - 1:
                values[2] += seq[row] + seq[column] == 3
            splits = range(row + 1, column)
            values += [table[row, at] + table[at + 1, column] for at in splits]
            table[row, column] = max(values)
    return table


@kernel(
    "nussinov",
    "the most base pairs that an RNA folds into",
    lambda n: {"seq": np.random.default_rng(n).integers(0, 4, n).astype(np.int32)},
    nussinov_expected,
)
def nussinov() -> tw.Function:
    seq = tw.input("seq", [N], tw.int32)
    # S[d, i] is entry (i, i + d) of the table: diagonal by diagonal.
    S = tw.computation("S", {d: N, i: N - d}, dtype=tw.int32, shape=[N, N])
    S.define(d < 2, 0)
    pair = tw.select(seq[i] + seq[i + d] == 3, 1, 0)
    split = tw.max(S[k, i] + S[d - k - 1, i + k + 1], over={k: (1, d)})
    sides = tw.maximum(S[d - 1, i], S[d - 1, i + 1])
    S.define(d > 1, tw.maximum(tw.maximum(sides, S[d - 2, i + 1] + pair), split))
    R = tw.computation("R", {i: N, j: N}, tw.select(i <= j, S[j - i, i], 0))
    f = emulated("nussinov", R)
    S.gpu_tile(i, 32)
    R.gpu(i, j)
    return f
