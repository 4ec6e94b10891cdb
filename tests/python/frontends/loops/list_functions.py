"""Functions that make lists, take arrays apart, put them into other shapes, and read iterators behind their loops."""

from __future__ import annotations

import numpy as np

from .cases import case


@case(lambda r: (r.random((5, 4)),), tolerant=True)
def lists_of_rows(A):
    rows = []
    for i in range(A.shape[0]):
        rows.append(A[i] * i)
    columns = []
    for j in range(A.shape[1] - 1, 0, -1):
        s = A[:, j].sum()
        columns.append(s)
    return np.array(rows), np.array(columns), np.stack(rows, axis=1), np.vstack(rows)


@case(lambda r: (r.random((5, 4)) - 0.5, r.random(7) - 0.5), tolerant=True)
def lists_of_some(A, x):
    ups = []
    for k in range(1, len(x)):
        if x[k] > x[k - 1]:
            ups.append(x[k])
    least = np.array([v for v in A[0] if v > 0]).sum()
    y, smooth = 0.0, []
    for v in x:
        y = 0.9 * y + 0.1 * v
        smooth.append(y)
    return np.array(ups).sum(), len(ups), least, np.array(smooth)


@case(lambda r: (r.random((5, 4)),), tolerant=True)
def lists_of_lists(A):
    whole = np.array([[A[i, j] + j for j in range(4)] for i in range(5)])
    far = np.mean([np.abs(A[i] - A[j]).max() for i in range(5) for j in range(5)])
    total = sum(A[i, j] * i for i in range(5) for j in range(A.shape[1]))
    return whole, far, total, sum(np.roll(A, k, axis=0) for k in range(3)), sum(A)


@case(lambda r: (r.random((5, 4)),), tolerant=True)
def lists_put_together(A):
    parts = [A[i] * i for i in range(5)]
    columns = np.column_stack([A[:, j] for j in range(3)])
    start = sum((A[i] for i in range(5)), np.ones(4))
    return np.concatenate(parts), np.hstack(parts), columns, start, np.concatenate(A[:2])


@case(lambda r: (r.random((4, 6)), r.random((6, 2, 4))))
def parts(A, B):
    left, right = np.split(A, 2, axis=1)
    first, second, rest = np.array_split(A, 3)
    a, b, c = np.split(A[0], [1, -2])
    low, high = np.vsplit(A, 2)
    front, back = np.dsplit(B, 2)
    halves = np.hsplit(A[0], 2)
    left[0] = 7
    return left * right, first, second + rest, a, b, c, low - high, front + back, halves[1]


@case(lambda r: (r.random((2, 3)), r.random((2, 3))))
def blocks(A, B):
    C = np.block([[A, B], [B, A]])
    turned = np.rot90(A), np.rot90(A, 2), np.rot90(A, -1), np.rot90(A, 4)
    return C, np.block([A[0], B[1]]), turned[0], turned[1], turned[2], turned[3]


@case(lambda r: (r.random((3, 4)) - 0.5, r.random(6) - 0.5), tolerant=True)
def methods_of_ufuncs(A, x):
    running = np.maximum.accumulate(x), np.minimum.accumulate(A, axis=1), np.add.accumulate(A)
    sums = np.add.reduce(A), np.multiply.reduce(A, axis=1), np.maximum.reduce(A, axis=-1)
    return (*running, *sums, np.logical_or.reduce(A > 0), np.minimum.reduce(x))


@case(lambda r: (np.array([1.0, np.nan, np.inf, -np.inf]), r.random((3, 4)) - 0.5), tolerant=True)
def limits(x, A):
    eps, most = np.finfo(x.dtype).eps, np.iinfo(np.int32).max
    norms = np.linalg.norm(A, 1, axis=1), np.linalg.norm(A[0], np.inf), np.linalg.norm(A[0], 2)
    return np.nan_to_num(x), np.nan_to_num(x, nan=2.0, posinf=5.0), eps, most, *norms


@case(lambda r: (r.random((2, 3, 4)), r.random((3, 4))), tolerant=True)
def other_shapes(A, B):
    S = A * 2
    joined = S.transpose(1, 0, 2).reshape(3, 8)
    S[:] = 0
    columns = B.T.reshape(-1)
    B[0] = 5
    flat = (A + 1).flatten()
    return joined, columns, flat, np.ravel(A * 2), (A[:, 1:] + 1).reshape(2, -1), S


@case(lambda r: (r.random((6, 8)),), tolerant=True)
def heads(x):
    T, D = x.shape
    H = 2
    q = (x @ x.T @ x).reshape(T, H, -1).transpose(1, 0, 2)
    s = q @ q.transpose(0, 2, 1)
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    p = e / e.sum(axis=-1, keepdims=True)
    return (p @ q).transpose(1, 0, 2).reshape(T, D)


@case(lambda r: (r.random(7), 0.4))
def last_iterators(x, least):
    for i in range(len(x)):
        if x[i] < least:
            break
    for k in range(9, 2, -3):
        x[0] += k
    for t in range(50):  # noqa: B007 - what it is behind the loop is the point
        x[1] *= 0.5
        if x[1] < 0.01:
            break
    return i, k, t


@case(lambda r: (r.random(7),))
def last_numbers(x):
    for i in range(4):
        twice = 2 * i
    for i in (1, 2):
        chosen = i
    x[chosen] = 9
    return twice, x[twice]


@case(lambda r: (r.random(7),))
def last_numbers_of_nested_loops(x):
    for i in range(3):
        for j in range(4):
            product = i * j
            for part in range(2):
                inner = i + part
    x[inner] = 9
    return product, x[product]


@case(lambda r: (r.random((3, 3)) + 3 * np.eye(3),), tolerant=True)
def parts_for_blocks(A):
    corner = np.linalg.inv(A[:2, :2])
    return corner, np.kron(A[:2, :2], A[:1, :1]), np.linalg.solve(A[:2, :2].copy(), np.ones(2))


@case(lambda r: (r.random((4, 3, 5)), r.random((2, 3, 5)), 2), tolerant=True)
def grouped_heads(q, k, g):
    out = np.empty_like(q)
    for h in range(len(q)):
        out[h] = (q[h] @ k[h // g].T) @ k[h // (len(q) // len(k))]
    return out


@case(lambda r: (r.random((4, 3)) - 0.5, r.integers(-9, 9, 5)), tolerant=True)
def lists_and_copies(A, k):
    some = sum([A[i] for i in range(4) if A[i, 0] > -1])
    within = 0.0
    for t in range(2):
        r = []
        for i in range(4):
            r.append(A[i, 0] * t)
        within += sum(r)
    alone = np.block([[A]])
    alone[0, 0] = 9
    same = np.asarray(A)
    same[1] = 3
    norms = np.linalg.norm(k, 1), np.linalg.norm(k, np.inf)
    return some, within, alone, np.nan_to_num(k), *norms


@case(lambda r: (r.random((2, 3)),))
def views_of_one_row(A):
    x = A + 0
    b = x[1:].T.reshape(-1)
    b[0] = 9
    return x, b


@case(
    lambda r: (
        r.random((7, 5)),
        r.integers(-9, 9, (4, 6)),
        r.random((3, 5)) + 1j * r.random((3, 5)),
    ),
    tolerant=True,
)
def products_with_their_transposes(A, K, Z):
    x = A - A.mean(axis=0)
    covariance = x.T @ x / (A.shape[0] - 1)
    changing = np.zeros((7, 7))
    for t in range(3):
        A[t] += t
        changing += A @ A.T
    own = A.T @ A
    own[0, 1] = 9
    return covariance, changing, own, K @ K.T, K.T @ K, Z.T @ Z, np.dot(A[:2], A[:2].T), A[0] @ A[0]
