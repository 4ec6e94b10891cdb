"""The first half of the catalogue: linear algebra, stencils, learning, as in npbench."""

from __future__ import annotations

import math

import numpy as np

from .cases import case

# ---- linear algebra ----


@case(lambda r: (1.5, 1.2, r.random((5, 6)), r.random((5, 7)), r.random((7, 6))))
def gemm(alpha, beta, C, A, B):
    n, m = C.shape
    for i in range(n):
        for j in range(m):
            C[i, j] *= beta
            for k in range(A.shape[1]):
                C[i, j] += alpha * A[i, k] * B[k, j]


@case(lambda r: (1.5, 1.2, r.random((5, 6)), r.random((5, 7)), r.random((7, 6))), tolerant=True)
def gemm_numpy(alpha, beta, C, A, B):
    C[:] = alpha * A @ B + beta * C


@case(lambda r: (r.random((4, 5)), r.random((5, 6)), r.random((6, 3))), tolerant=True)
def two_products(A, B, D):
    return A @ B @ D


@case(lambda r: (r.random((5, 6)), r.random(6), np.zeros(6)))
def atax(A, x, y):
    for i in range(A.shape[0]):
        t = 0.0
        for j in range(A.shape[1]):
            t += A[i, j] * x[j]
        for j in range(A.shape[1]):
            y[j] = y[j] + A[i, j] * t


@case(lambda r: (r.random((5, 6)), r.random(6), r.random(5)), tolerant=True)
def bicg(A, p, q):
    return q @ A, A @ p


@case(lambda r: (r.random((6, 6)), r.random(6), r.random(6), r.random(6), r.random(6)))
def mvt(A, x1, x2, y1, y2):
    n = len(x1)
    for i in range(n):
        for j in range(n):
            x1[i] += A[i, j] * y1[j]
    for i in range(n):
        for j in range(n):
            x2[i] += A[j, i] * y2[j]


@case(lambda r: (1.1, 0.9, r.random((6, 6)), r.random((6, 6)), r.random(6), np.zeros(6)))
def gesummv(alpha, beta, A, B, x, y):
    for i in range(len(x)):
        t = 0.0
        u = 0.0
        for j in range(len(x)):
            t += A[i, j] * x[j]
            u += B[i, j] * x[j]
        y[i] = alpha * t + beta * u


@case(lambda r: (1.5, 1.2, r.random((6, 6)), r.random((6, 4))))
def syrk(alpha, beta, C, A):
    for i in range(A.shape[0]):
        for j in range(i + 1):
            C[i, j] *= beta
        for k in range(A.shape[1]):
            for j in range(i + 1):
                C[i, j] += alpha * A[i, k] * A[j, k]


@case(lambda r: (1.5, r.random((6, 6)), r.random((6, 4))))
def trmm(alpha, A, B):
    m, n = B.shape
    for i in range(m):
        for j in range(n):
            for k in range(i + 1, m):
                B[i, j] += A[k, i] * B[k, j]
            B[i, j] = alpha * B[i, j]


def _dominant(r, n):
    A = r.random((n, n))
    return A @ A.T + n * np.eye(n)


@case(lambda r: (_dominant(r, 6),))
def lu(A):
    n = A.shape[0]
    for i in range(n):
        for j in range(i):
            for k in range(j):
                A[i, j] -= A[i, k] * A[k, j]
            A[i, j] /= A[j, j]
        for j in range(i, n):
            for k in range(i):
                A[i, j] -= A[i, k] * A[k, j]


@case(lambda r: (_dominant(r, 6),), tolerant=True)
def lu_slices(A):
    for i in range(A.shape[0]):
        for j in range(i):
            A[i, j] -= A[i, :j] @ A[:j, j]
            A[i, j] /= A[j, j]
        for j in range(i, A.shape[0]):
            A[i, j] -= A[i, :i] @ A[:i, j]


@case(lambda r: (_dominant(r, 6),))
def cholesky(A):
    n = A.shape[0]
    for i in range(n):
        for j in range(i):
            for k in range(j):
                A[i, j] -= A[i, k] * A[j, k]
            A[i, j] /= A[j, j]
        for k in range(i):
            A[i, i] -= A[i, k] * A[i, k]
        A[i, i] = np.sqrt(A[i, i])


@case(lambda r: (np.tril(_dominant(r, 6)), np.zeros(6), r.random(6)))
def trisolv(L, x, b):
    for i in range(len(x)):
        x[i] = b[i]
        for j in range(i):
            x[i] -= L[i, j] * x[j]
        x[i] = x[i] / L[i, i]


@case(lambda r: (r.random((6, 4)), np.zeros((4, 4)), np.zeros((6, 4))))
def gramschmidt(A, R, Q):
    m, n = A.shape
    for k in range(n):
        nrm = 0.0
        for i in range(m):
            nrm += A[i, k] * A[i, k]
        R[k, k] = np.sqrt(nrm)
        for i in range(m):
            Q[i, k] = A[i, k] / R[k, k]
        for j in range(k + 1, n):
            for i in range(m):
                R[k, j] += Q[i, k] * A[i, j]
            for i in range(m):
                A[i, j] -= Q[i, k] * R[k, j]


@case(lambda r: (r.random(7), np.zeros(7)))
def durbin(r, y):
    n = len(r)
    z = np.zeros(n)
    y[0] = -r[0]
    beta = 1.0
    alpha = -r[0]
    for k in range(1, n):
        beta = (1.0 - alpha * alpha) * beta
        s = 0.0
        for i in range(k):
            s += r[k - i - 1] * y[i]
        alpha = -(r[k] + s) / beta
        for i in range(k):
            z[i] = y[i] + alpha * y[k - i - 1]
        for i in range(k):
            y[i] = z[i]
        y[k] = alpha


# ---- stencils ----


@case(lambda r: (3, r.random(9), r.random(9)))
def jacobi_1d(T, A, B):
    for _ in range(1, T):
        B[1:-1] = 0.33333 * (A[:-2] + A[1:-1] + A[2:])
        A[1:-1] = 0.33333 * (B[:-2] + B[1:-1] + B[2:])


@case(lambda r: (3, r.random((7, 7)), r.random((7, 7))))
def jacobi_2d(T, A, B):
    for _ in range(1, T):
        B[1:-1, 1:-1] = 0.2 * (
            A[1:-1, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:] + A[2:, 1:-1] + A[:-2, 1:-1]
        )
        A[1:-1, 1:-1] = 0.2 * (
            B[1:-1, 1:-1] + B[1:-1, :-2] + B[1:-1, 2:] + B[2:, 1:-1] + B[:-2, 1:-1]
        )


@case(lambda r: (2, r.random((5, 5, 5)), r.random((5, 5, 5))))
def heat_3d(T, A, B):
    for _ in range(1, T):
        B[1:-1, 1:-1, 1:-1] = (
            0.125 * (A[2:, 1:-1, 1:-1] - 2.0 * A[1:-1, 1:-1, 1:-1] + A[:-2, 1:-1, 1:-1])
            + 0.125 * (A[1:-1, 2:, 1:-1] - 2.0 * A[1:-1, 1:-1, 1:-1] + A[1:-1, :-2, 1:-1])
            + A[1:-1, 1:-1, 1:-1]
        )


@case(lambda r: (2, r.random((6, 6))))
def seidel_2d(T, A):
    n = A.shape[0]
    for _ in range(T):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                A[i, j] = (A[i - 1, j] + A[i, j - 1] + A[i, j] + A[i, j + 1] + A[i + 1, j]) / 5.0


@case(lambda r: (3, r.random((5, 6)), r.random((5, 6)), r.random((5, 6)), r.random(3)))
def fdtd_2d(T, ex, ey, hz, fict):
    for t in range(T):
        ey[0, :] = fict[t]
        ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])


@case(lambda r: (r.random(9),))
def shift_in_place(A):
    A[1:] = A[:-1]
    A[:-2] = A[2:] + A[:-2]
    A[::-1] = A


@case(lambda r: (r.random((6, 6)), 0.1))
def gauss_seidel_red_black(A, w):
    n = A.shape[0]
    for color in range(2):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                if (i + j) % 2 == color:
                    A[i, j] += w * (A[i - 1, j] + A[i + 1, j] - 2.0 * A[i, j])


@case(lambda r: (r.random((6, 7)), r.random((3, 3)), np.zeros((4, 5))))
def conv2d(image, kernel, out):
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            total = 0.0
            for u in range(3):
                for v in range(3):
                    total += image[i + u, j + v] * kernel[u, v]
            out[i, j] = total


@case(lambda r: (r.random((2, 5, 5, 3)), r.random((2, 2, 3, 4)), r.random(4)))
def conv2d_bias(images, weights, bias):
    K = weights.shape[0]
    N, H, W, C = images.shape
    out = np.empty((N, H - K + 1, W - K + 1, weights.shape[3]))
    for n in range(N):
        for i in range(H - K + 1):
            for j in range(W - K + 1):
                for f in range(weights.shape[3]):
                    s = bias[f]
                    for a in range(K):
                        for b in range(K):
                            for c in range(C):
                                s += images[n, i + a, j + b, c] * weights[a, b, c, f]
                    out[n, i, j, f] = s
    return out


# ---- data mining, machine learning ----


@case(lambda r: (r.random((5, 7)),), tolerant=True)
def softmax(x):
    top = np.max(x, axis=-1, keepdims=True)
    e = np.exp(x - top)
    return e / np.sum(e, axis=-1, keepdims=True)


@case(lambda r: (r.random((6, 4)),), tolerant=True)
def covariance(data):
    data -= data.mean(axis=0)
    n, m = data.shape
    cov = np.zeros((m, m))
    for i in range(m):
        for j in range(i, m):
            s = 0.0
            for k in range(n):
                s += data[k, i] * data[k, j]
            cov[i, j] = s / (n - 1.0)
            cov[j, i] = cov[i, j]
    return cov


@case(lambda r: (r.random((4, 5)) - 0.5, r.random((5, 3)), r.random(3)), tolerant=True)
def dense_relu(x, w, b):
    return np.maximum(x @ w + b, 0)


@case(lambda r: (r.random((4, 3)), r.random((5, 3))))
def pairwise_distances(X, Y):
    D = np.empty((X.shape[0], Y.shape[0]))
    for i in range(X.shape[0]):
        for j in range(Y.shape[0]):
            d = 0.0
            for k in range(X.shape[1]):
                t = X[i, k] - Y[j, k]
                d += t * t
            D[i, j] = np.sqrt(d)
    return D


@case(lambda r: (r.random((6, 3)), np.zeros((6, 3)), r.random(6)))
def nbody_forces(p, f, mass):
    n = p.shape[0]
    for i in range(n):
        for j in range(n):
            if i != j:
                dx = p[j, 0] - p[i, 0]
                dy = p[j, 1] - p[i, 1]
                dz = p[j, 2] - p[i, 2]
                d2 = dx * dx + dy * dy + dz * dz + 0.01
                inv = mass[j] / (d2 * np.sqrt(d2))
                f[i, 0] += dx * inv
                f[i, 1] += dy * inv
                f[i, 2] += dz * inv


@case(lambda r: (r.random(20), r.random(20)))
def monte_carlo_pi(x, y):
    acc = 0
    for i in range(len(x)):
        if x[i] * x[i] + y[i] * y[i] < 1.0:
            acc += 1
    return 4.0 * acc / len(x)


@case(lambda r: (r.random(12), r.random(12), 0.03), tolerant=True)
def logistic_loss(x, y, w):
    s = 0.0
    for i in range(len(x)):
        s += math.log1p(math.exp(-y[i] * x[i] * w))
    return s


@case(lambda r: (r.random((8, 2)), r.random(8), r.random(2)), tolerant=True)
def logistic_step(X, y, w):
    w -= np.dot(((1.0 / (1.0 + np.exp(-y * np.dot(X, w))) - 1.0) * y), X)
    return w
