"""Forms of NumPy and Python that people use besides plain loops: masks, zip, lists, shapes."""

from __future__ import annotations

import numpy as np

from .cases import case


@case(lambda r, n=8: (r.random((n, n)), 0.0))
def mask_zero(A, t):
    A[A < 0.5] = t
    A[A > 0.9] *= 2.0
    A[(A > 0.6) & (A < 0.7)] += 1.0


@case(lambda r, n=8: (r.random(n), r.random(n)))
def enumerate_zip(a, b, strict=False):
    s = 0.0
    for i, x in enumerate(a):
        s += i * x
    for x, y in zip(a, b, strict=False):
        s += x * y
    return s


@case(lambda r, n=8: (n, n, 30))
def mandel_numba(w, h, iters):
    image = np.zeros((h, w), dtype=np.uint8)
    for x in range(w):
        for y in range(h):
            c = complex(-2.0 + 3.0 * x / w, -1.0 + 2.0 * y / h)
            z = 0.0j
            color = iters
            for i in range(iters):
                z = z * z + c
                if (z.real * z.real + z.imag * z.imag) >= 4:
                    color = i
                    break
            image[y, x] = color
    return image


@case(lambda r, n=8: (r.random(n),))
def argmax_cumsum(x):
    return np.argmax(x), np.argmin(x), np.cumsum(x)


@case(lambda r, n=8: (r.random((n, n)),), tolerant=True)
def trace_diag(A):
    return (
        np.trace(A),
        np.diag(A),
        np.eye(3),
        np.sum(A, axis=0),
        A.max(axis=1),
        A.min(),
        A.mean(axis=0),
    )


@case(lambda r, n=8: (r.random(n), r.random(n)), tolerant=True)
def linspace_stack(x, y):
    t = np.linspace(0.0, 1.0, 11)
    return t, np.abs(x - y).max(), np.sign(x - 0.5), np.sqrt(x), np.hypot(x, y), np.floor(10 * x)


@case(lambda r, n=8: (r.random(n), 3))
def neg_index(x, k):
    y = np.zeros(3)
    y[0] = x[-1]
    y[1] = x[-k]
    y[-1] = x[len(x) - 1]
    return y


@case(lambda r, n=8: (r.random(n),))
def neg_loop(x):
    s = 0.0
    for i in range(1, 4):
        s += x[-i]
    return s


@case(lambda r, n=8: (r.random(n), r.random(n)))
def periodic(x, y):
    n = len(x)
    for i in range(n):
        y[i] = x[(i + 1) % n] - x[i - 1]


@case(lambda r, n=8: (r.random(n),))
def local_list(x):
    w = [0.25, 0.5, 0.25]
    out = np.zeros_like(x)
    for i in range(1, len(x) - 1):
        for k in range(3):
            out[i] += w[k] * x[i + k - 1]
    return out


@case(lambda r, n=8: (r.random(n),))
def listcomp(x):
    return np.array([x[0], x[1], 3.0])


@case(lambda r, n=8: (r.random((n, n)), r.random(n)), tolerant=True)
def power_iteration(A, x):
    for _t in range(5):
        y = A @ x
        x[:] = y / np.linalg.norm(y)
    return x @ A @ x


@case(lambda r, n=8: (r.random((n, n)),))
def rows_loop(A):
    s = np.zeros(A.shape[1])
    for row in A:
        s += row
    return s


@case(lambda r, n=8: (r.integers(0, 100, n), 7))
def reversed_loop(x, m):
    for i in reversed(range(len(x) - 1)):
        x[i] = (x[i] + x[i + 1]) % m


@case(lambda r, n=8: (r.random(n), r.random(n)), tolerant=True)
def divmod_pow(x, y):
    q, r = divmod(17, 5)
    return q, r, x**y, x**3, np.power(x, 0.5), 2**5


@case(
    lambda r, n=8: (r.random((n, 1)), r.random((n, 3)), r.random((n, 3)), 3, 0.01, 1.0, 0.1),
    tolerant=True,
)
def nbody(mass, pos, vel, Nt, dt, G, softening):
    acc = np.zeros_like(pos)
    for _i in range(Nt):
        vel += acc * dt / 2.0
        pos += vel * dt
        x = pos[:, 0:1]
        y = pos[:, 1:2]
        z = pos[:, 2:3]
        dx = x.T - x
        dy = y.T - y
        dz = z.T - z
        inv_r3 = dx**2 + dy**2 + dz**2 + softening**2
        inv_r3[inv_r3 > 0] = inv_r3[inv_r3 > 0] ** (-1.5)
        ax = G * (dx * inv_r3) @ mass
        ay = G * (dy * inv_r3) @ mass
        az = G * (dz * inv_r3) @ mass
        acc[:, 0:1] = ax
        acc[:, 1:2] = ay
        acc[:, 2:3] = az
        vel += acc * dt / 2.0
    KE = 0.5 * np.sum(np.sum(mass * vel**2))
    return KE


@case(lambda r, n=8: (-2.0, 0.5, -1.25, 1.25, n, n, 20, 2.0), tolerant=True)
def mandelbrot1(xmin, xmax, ymin, ymax, xn, yn, maxiter, horizon):
    X = np.linspace(xmin, xmax, xn)
    Y = np.linspace(ymin, ymax, yn)
    C = X + Y[:, None] * 1j
    N = np.zeros(C.shape, dtype=np.int64)
    Z = np.zeros(C.shape, dtype=np.complex128)
    for n in range(maxiter):
        I = np.less(abs(Z), horizon)
        N[I] = n
        Z[I] = Z[I] ** 2 + C[I]
    N[N == maxiter - 1] = 0
    return Z, N


@case(lambda r, n=8: (float(n), r.random((n + 3, n))), tolerant=True)
def correlation(float_n, data):
    M = data.shape[1]
    mean = np.mean(data, axis=0)
    stddev = np.std(data, axis=0)
    stddev[stddev <= 0.1] = 1.0
    data -= mean
    data /= np.sqrt(float_n) * stddev
    corr = np.eye(M, dtype=data.dtype)
    for i in range(M - 1):
        corr[i + 1 :, i] = corr[i, i + 1 :] = data[:, i] @ data[:, i + 1 :]
    return corr


@case(lambda r, n=8: (r.integers(1, 50, (n, n)).astype(np.int32),))
def floyd_warshall_again(path):
    for k in range(path.shape[0]):
        path[:] = np.minimum(path[:], np.add.outer(path[:, k], path[k, :]))


@case(lambda r, n=8: (r.random(n) / n,), tolerant=True)
def durbin_again(r):
    y = np.empty_like(r)
    alpha = -r[0]
    beta = 1.0
    y[0] = -r[0]
    for k in range(1, r.shape[0]):
        beta *= 1.0 - alpha * alpha
        alpha = -(r[k] + np.dot(np.flip(r[:k]), y[:k])) / beta
        y[:k] += alpha * np.flip(y[:k])
        y[k] = alpha
    return y


@case(lambda r, n=8: (r.random((n, n)), r.random(n), r.random(n)), tolerant=True)
def layer_norm(x, g, b):
    mean = np.mean(x, axis=-1, keepdims=True)
    var = np.var(x, axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(var + 1e-5) * g + b


@case(lambda r: (30, r.random(9)))
def loops_with_else(n, x):
    found = np.zeros(n, dtype=np.int64)
    for k in range(2, n):
        for d in range(2, k):
            if k % d == 0:
                break
        else:
            found[k] = 1
    i = 0
    while i < len(x):
        if x[i] > 0.99:
            break
        i += 1
    else:
        i = -1
    return found, i


def _words(r, n=12):
    return r.integers(0, 3, n), np.zeros(n, np.int64), np.zeros(n, bool)


@case(_words)
def runs_of_values(x, starts, peaks):
    """What is read behind `or`, and in the branch where `and` does not hold, is read as Python does."""
    runs = 0
    for i in range(len(x)):
        if i == 0 or x[i] != x[i - 1]:
            starts[runs] = i
            runs += 1
    same = 0
    for i in range(len(x)):
        if i > 0 and x[i] == x[i - 1]:
            same += 1
        else:
            same += 100
    for i in range(len(x)):
        higher = i == 0 or x[i] > x[i - 1]
        peaks[i] = higher and (i == len(x) - 1 or x[i] > x[i + 1])
    return runs, same


@case(_words)
def run_lengths(x, lengths, inner):
    k = -1
    for i in range(len(x)):
        if i == 0 or not (x[i] == x[i - 1]):
            k += 1
            lengths[k] = 0
        lengths[k] += 1
    for i in range(len(x)):
        if not (i > 0 and x[i - 1] == 1) and (i + 1 == len(x) or (i < 7 and x[i + 1] > 0)):
            inner[i] = True
    return k + 1


@case(lambda r: (r.random(4), 3.0))
def values_of_loops_that_run(a, t):
    """What each iteration of a loop over range(3) assigns has a value behind it."""
    for i in range(3):
        b = a * i
        a = b + 1
    for k in (2, 3):
        w = t * k
    for j in range(4, 0, -1):
        if a[j - 1] > 2:
            v = a[j - 1]
        else:
            v = t + j
    return b, w, v


@case(_words)
def many_alternatives(x, out, ends):
    """Each part of a condition is translated once, however many there are before it."""
    for i in range(len(x)):
        if (
            i == 0
            or x[i - 1] == 2
            or x[i - 1] == 3
            or x[i - 1] == 4
            or x[i - 1] == 5
            or x[i - 1] == 6
            or x[i - 1] == 7
            or x[i - 1] == 8
            or x[i - 1] == 9
            or x[i - 1] == 10
            or x[i - 1] == 11
            or x[i - 1] == 12
            or x[i - 1] == 13
            or x[i - 1] == 14
            or x[i - 1] == 15
            or x[i - 1] == 16
            or x[i - 1] == 17
            or x[i - 1] == 18
            or x[i - 1] == 19
            or x[i - 1] == 20
            or x[i - 1] == 21
            or x[i - 1] == 22
            or x[i - 1] == 23
        ):
            out[i] = 1
        ends[i] = not (i > 0 and x[i - 1] > 0 and x[i] > 0 and x[i] < 9 and x[i] < 8 and x[i] < 7)
