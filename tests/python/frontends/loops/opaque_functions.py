"""Functions that call NumPy's as blocks: linear algebra, sorted arrays, spectra."""

from __future__ import annotations

import numpy as np

from .cases import case


def _dominant(r, n):
    return r.random((n, n)) + n * np.eye(n)


@case(lambda r: (_dominant(r, 5), r.random(5)), tolerant=True)
def solved(A, b):
    x = np.linalg.solve(A.T @ A, A.T @ b)
    return x, np.linalg.det(A), A @ np.linalg.inv(A)


@case(lambda r: (np.stack([_dominant(r, 4) for _ in range(3)]), r.random(4)), tolerant=True)
def solved_in_a_loop(As, b):
    out = np.zeros((As.shape[0], b.shape[0]))
    for i in range(1, As.shape[0]):
        out[i] = np.linalg.solve(As[i], b + i)
    return out


@case(lambda r: (_dominant(r, 4), 3), tolerant=True)
def inverse_iteration(A, n):
    x = np.ones(A.shape[0])
    for _ in range(n):
        x = np.linalg.solve(A, x)
        x /= np.sqrt(np.sum(x * x))
        x = np.sort(x)
    return x


@case(lambda r: (_dominant(r, 4),), tolerant=True)
def factors(A):
    S = A + A.T
    w, V = np.linalg.eigh(S)
    u, s, vt = np.linalg.svd(A, full_matrices=False)
    q, r = np.linalg.qr(A)
    return V @ np.diag(w) @ V.T, (u * s) @ vt, q @ r


@case(lambda r: (r.random(9), r.random((3, 4)), 0.4))
def ordered(x, A, t):
    order = np.argsort(x)
    x[:] = x[order]
    return np.median(x), np.median(A, axis=1), np.sort(A, axis=0), np.searchsorted(x, t)


@case(lambda r: (r.random(8),), tolerant=True)
def filtered(x):
    spectrum = np.fft.fft(x)
    spectrum[3:] = 0
    return np.fft.ifft(spectrum).real, np.abs(np.fft.rfft(x))


@case(lambda r: (r.random(7), np.linspace(0, 1, 5), r.random(5), np.zeros(7)))
def interpolated(x, at, values, out):
    out[:] = 2 * np.interp(x, at, values)
    out[1:].sort()


@case(lambda r: (r.random((5, 6)), r.random((6, 7)), np.zeros(5), np.zeros((6, 7))), tolerant=True)
def middles(rows, image, out, smooth):
    """What a call gives in a loop is a scalar of no loop of its own."""
    for i in range(len(rows)):
        out[i] = np.median(rows[i])
    most = 0.0
    for i in range(len(rows)):
        high = np.percentile(rows[i], 80)
        most = max(most, high * out[i])
    for i in range(1, image.shape[0] - 1):
        for j in range(1, image.shape[1] - 1):
            smooth[i, j] = np.median(image[i - 1 : i + 2, j - 1 : j + 2])
    return most
