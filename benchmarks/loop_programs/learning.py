"""Statistics and learning: functions with loops as people write them, each with arguments for a call."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from loop_programs.catalogue import Catalogue

PROGRAMS = Catalogue()


@PROGRAMS.enter(lambda r: (r.random((2000, 2)), r.random((16, 2)), np.zeros(2000, np.int64)))
def nearest_centres(X: Any, C: Any, lab: Any) -> Any:
    for i in range(X.shape[0]):
        best = 1e300
        b = 0
        for k in range(C.shape[0]):
            d = 0.0
            for j in range(X.shape[1]):
                d += (X[i, j] - C[k, j]) ** 2
            if d < best:
                best = d
                b = k
        lab[i] = b


@PROGRAMS.enter(
    lambda r: (r.random((2000, 2)), r.integers(0, 16, 2000), np.zeros((16, 2)), np.zeros(16))
)
def centres_of_clusters(X: Any, lab: Any, C: Any, cnt: Any) -> Any:
    for k in range(C.shape[0]):
        cnt[k] = 0
        for j in range(C.shape[1]):
            C[k, j] = 0
    for i in range(X.shape[0]):
        cnt[lab[i]] += 1
        for j in range(X.shape[1]):
            C[lab[i], j] += X[i, j]
    for k in range(C.shape[0]):
        if cnt[k] > 0:
            for j in range(C.shape[1]):
                C[k, j] /= cnt[k]


@PROGRAMS.enter(lambda r: (r.random(500), r.random(400), 0.1, np.zeros(400)))
def kernel_density(x: Any, g: Any, h: Any, out: Any) -> Any:
    for i in range(len(g)):
        s = 0.0
        for j in range(len(x)):
            u = (g[i] - x[j]) / h
            s += math.exp(-0.5 * u * u)
        out[i] = s / (len(x) * h * 2.5066282746310002)


@PROGRAMS.enter(
    lambda r: (
        r.random((2000, 3)),
        r.random((8, 3)),
        r.random((8, 3)) + 0.1,
        r.random(8),
        np.zeros((2000, 8)),
    )
)
def responsibilities(X: Any, mu: Any, var: Any, w: Any, R: Any) -> Any:
    for i in range(X.shape[0]):
        t = 0.0
        for k in range(mu.shape[0]):
            q = 0.0
            for d in range(X.shape[1]):
                q += (X[i, d] - mu[k, d]) ** 2 / var[k, d] + math.log(var[k, d])
            R[i, k] = w[k] * math.exp(-0.5 * q)
            t += R[i, k]
        for k in range(mu.shape[0]):
            R[i, k] /= t


@PROGRAMS.enter(
    lambda r: (
        r.random((64, 128)),
        r.random((128, 256)),
        r.random((64, 256)),
        r.random(256),
        r.random((32, 128)),
        r.random((32, 64)),
        r.random((32, 64)),
    )
)
def lstm_cell(Wh: Any, Wx: Any, _a: Any, b: Any, x: Any, h: Any, c: Any) -> Any:
    B = x.shape[0]
    H = h.shape[1]
    z = np.zeros((B, 4 * H))
    for i in range(B):
        for j in range(4 * H):
            s = b[j]
            for k in range(x.shape[1]):
                s += x[i, k] * Wx[k, j]
            z[i, j] = s
    for i in range(B):
        for j in range(H):
            ig = 1 / (1 + math.exp(-z[i, j]))
            fg = 1 / (1 + math.exp(-z[i, j + H]))
            gg = math.tanh(z[i, j + 2 * H])
            og = 1 / (1 + math.exp(-z[i, j + 3 * H]))
            c[i, j] = fg * c[i, j] + ig * gg
            h[i, j] = og * math.tanh(c[i, j])


@PROGRAMS.enter(
    lambda r: (r.random((1000, 20)), r.integers(0, 2, 1000).astype(float), np.zeros(20), 0.1)
)
def logistic_descent(X: Any, y: Any, w: Any, lr: Any) -> Any:
    for i in range(X.shape[0]):
        s = 0.0
        for j in range(X.shape[1]):
            s += X[i, j] * w[j]
        g = 1 / (1 + math.exp(-s)) - y[i]
        for j in range(X.shape[1]):
            w[j] -= lr * g * X[i, j]


@PROGRAMS.enter(
    lambda r: (
        r.random((4, 8, 32, 32)),
        r.random((16, 8, 3, 3)),
        r.random(16),
        np.zeros((4, 16, 30, 30)),
    )
)
def convolution_of_batches(x: Any, w: Any, b: Any, o: Any) -> Any:
    for n in range(o.shape[0]):
        for f in range(o.shape[1]):
            for y in range(o.shape[2]):
                for z in range(o.shape[3]):
                    s = b[f]
                    for c in range(x.shape[1]):
                        for dy in range(3):
                            for dx in range(3):
                                s += x[n, c, y + dy, z + dx] * w[f, c, dy, dx]
                    o[n, f, y, z] = max(s, 0.0)


@PROGRAMS.enter(
    lambda r: (r.random((128, 32)), r.random((128, 32)), r.random((128, 32)), np.zeros((128, 32)))
)
def attention_loops(q: Any, k: Any, v: Any, o: Any) -> Any:
    n, d = q.shape
    s = np.zeros(n)
    for i in range(n):
        m = -1e300
        for j in range(n):
            t = 0.0
            for c in range(d):
                t += q[i, c] * k[j, c]
            s[j] = t / math.sqrt(d)
            m = max(m, s[j])
        z = 0.0
        for j in range(n):
            s[j] = math.exp(s[j] - m)
            z += s[j]
        for c in range(d):
            t = 0.0
            for j in range(n):
                t += s[j] * v[j, c]
            o[i, c] = t / z


@PROGRAMS.enter(
    lambda r: (
        r.random((400, 10)),
        r.integers(0, 3, 400),
        r.random((100, 10)),
        np.zeros(100, np.int64),
    )
)
def nearest_neighbour(X: Any, y: Any, Q: Any, o: Any) -> Any:
    for i in range(Q.shape[0]):
        best = 1e300
        b = -1
        for j in range(X.shape[0]):
            d = 0.0
            for k in range(X.shape[1]):
                d += (Q[i, k] - X[j, k]) ** 2
            if d < best:
                best = d
                b = y[j]
        o[i] = b


@PROGRAMS.enter(lambda r: (r.random((50, 200)), r.random((50, 200)), np.zeros((50, 50))))
def rbf_kernel(X: Any, Y: Any, K: Any) -> Any:
    for i in range(X.shape[0]):
        for j in range(Y.shape[0]):
            s = 0.0
            for k in range(X.shape[1]):
                d = X[i, k] - Y[j, k]
                s += d * d
            K[i, j] = math.exp(-0.1 * s)


@PROGRAMS.enter(lambda r: (r.random((500, 3)), np.zeros((3, 3))))
def covariance_of_points(p: Any, C: Any) -> Any:
    n = p.shape[0]
    m = np.zeros(3)
    for i in range(n):
        for k in range(3):
            m[k] += p[i, k]
    for k in range(3):
        m[k] /= n
    for a in range(3):
        for b in range(3):
            s = 0.0
            for i in range(n):
                s += (p[i, a] - m[a]) * (p[i, b] - m[b])
            C[a, b] = s / (n - 1)
