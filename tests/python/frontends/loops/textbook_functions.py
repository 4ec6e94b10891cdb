"""Functions of textbooks: dynamic programming, graphs, sorting, filters, transforms."""

from __future__ import annotations

import math

import numpy as np

from .cases import case


@case(
    lambda r: (
        r.random((6, 2)),
        np.eye(4) + 0.1 * np.eye(4, k=2),
        np.eye(2, 4),
        0.01 * np.eye(4),
        0.1 * np.eye(2),
    ),
    tolerant=True,
)
def kalman_2d(zs, F, H, Q, R):
    x = np.zeros(4)
    P = np.eye(4)
    out = np.zeros((zs.shape[0], 4))
    for t in range(zs.shape[0]):
        x = F @ x
        P = F @ P @ F.T + Q
        y = zs[t] - H @ x
        S = H @ P @ H.T + R
        K = P @ H.T @ np.linalg.inv(S)
        x = x + K @ y
        P = (np.eye(4) - K @ H) @ P
        out[t] = x
    return out


@case(lambda r: (r.integers(0, 3, 6), r.random(4), r.random((4, 4)), r.random((4, 3))))
def viterbi(obs, start_p, trans_p, emit_p):
    T = len(obs)
    S = len(start_p)
    V = np.zeros((T, S))
    ptr = np.zeros((T, S), dtype=np.int64)
    for s in range(S):
        V[0, s] = start_p[s] * emit_p[s, obs[0]]
    for t in range(1, T):
        for s in range(S):
            best = -1.0
            arg = 0
            for p in range(S):
                prob = V[t - 1, p] * trans_p[p, s] * emit_p[s, obs[t]]
                if prob > best:
                    best = prob
                    arg = p
            V[t, s] = best
            ptr[t, s] = arg
    path = np.zeros(T, dtype=np.int64)
    path[T - 1] = np.argmax(V[T - 1])
    for t in range(T - 2, -1, -1):
        path[t] = ptr[t + 1, path[t + 1]]
    return path


@case(lambda r: (r.integers(0, 4, 6), r.integers(0, 4, 6 + 2)))
def levenshtein_swap(s, t):
    m, n = len(s), len(t)
    prev = np.arange(n + 1)
    cur = np.zeros(n + 1, dtype=np.int64)
    for i in range(1, m + 1):
        cur[0] = i
        for j in range(1, n + 1):
            if s[i - 1] == t[j - 1]:
                cur[j] = prev[j - 1]
            else:
                cur[j] = 1 + min(prev[j], cur[j - 1], prev[j - 1])
        prev, cur = cur, prev
    return prev[n]


@case(lambda r: (r.integers(1, 9, 6), r.integers(1, 9, 6), 2 * 6))
def knapsack_1d(w, v, W):
    dp = np.zeros(W + 1, dtype=np.int64)
    for i in range(len(w)):
        for c in range(W, w[i] - 1, -1):
            dp[c] = max(dp[c], dp[c - w[i]] + v[i])
    return dp[W]


@case(lambda r: (np.where(r.random((6, 6)) < 0.4, r.random((6, 6)), np.inf), 0))
def dijkstra_dense(graph, src):
    n = graph.shape[0]
    dist = np.full(n, np.inf)
    done = np.zeros(n, dtype=np.bool_)
    dist[src] = 0.0
    for _ in range(n):
        u = -1
        best = np.inf
        for v in range(n):
            if not done[v] and dist[v] < best:
                best = dist[v]
                u = v
        if u == -1:
            break
        done[u] = True
        for v in range(n):
            if dist[u] + graph[u, v] < dist[v]:
                dist[v] = dist[u] + graph[u, v]
    return dist


@case(lambda r: ((r.random((6, 6)) < 0.4).astype(np.uint8),))
def life_mod(g):
    n, m = g.shape
    new = np.zeros_like(g)
    for i in range(n):
        for j in range(m):
            s = 0
            for di in (-1, 0, 1):
                for dj in (-1, 0, 1):
                    if di == 0 and dj == 0:
                        continue
                    s += g[(i + di) % n, (j + dj) % m]
            if g[i, j] == 1 and (s == 2 or s == 3):
                new[i, j] = 1
            elif g[i, j] == 0 and s == 3:
                new[i, j] = 1
    return new


@case(lambda r: ((r.random(16) + 1j * r.random(16)),), tolerant=True)
def fft_radix2(x):
    n = len(x)
    j = 0
    for i in range(1, n):
        bit = n >> 1
        while j & bit:
            j ^= bit
            bit >>= 1
        j ^= bit
        if i < j:
            x[i], x[j] = x[j], x[i]
    length = 2
    while length <= n:
        ang = -2.0 * np.pi / length
        wl = complex(math.cos(ang), math.sin(ang))
        for i in range(0, n, length):
            w = 1.0 + 0.0j
            for k in range(length // 2):
                u = x[i + k]
                v = x[i + k + length // 2] * w
                x[i + k] = u + v
                x[i + k + length // 2] = u - v
                w *= wl
        length <<= 1


@case(lambda r: (r.integers(0, 100, 6),))
def bubble_swapped(a):
    n = len(a)
    swapped = True
    while swapped:
        swapped = False
        for i in range(n - 1):
            if a[i] > a[i + 1]:
                a[i], a[i + 1] = a[i + 1], a[i]
                swapped = True
        n -= 1


@case(lambda r: (r.integers(0, 99, 6),))
def heap_sort(a):
    n = len(a)
    for start in range((n - 2) // 2, -1, -1):
        root = start
        while root * 2 + 1 < n:
            child = root * 2 + 1
            if child + 1 < n and a[child] < a[child + 1]:
                child += 1
            if a[root] < a[child]:
                a[root], a[child] = a[child], a[root]
                root = child
            else:
                break
    for end in range(n - 1, 0, -1):
        a[end], a[0] = a[0], a[end]
        root = 0
        while root * 2 + 1 < end:
            child = root * 2 + 1
            if child + 1 < end and a[child] < a[child + 1]:
                child += 1
            if a[root] < a[child]:
                a[root], a[child] = a[child], a[root]
                root = child
            else:
                break


@case(
    lambda r: (r.random((6, 3)), r.random((4, 3)), r.random((4, 4)), r.random(4), r.random((2, 4))),
    tolerant=True,
)
def rnn(xs, Wx, Wh, b, Wy):
    h = np.zeros(4)
    ys = np.zeros((xs.shape[0], 2))
    for t in range(xs.shape[0]):
        h = np.tanh(Wx @ xs[t] + Wh @ h + b)
        ys[t] = Wy @ h
    return ys, h


@case(lambda r: (r.random((6, 6)), 3, 2))
def maxpool_loops(x, k, stride):
    h = (x.shape[0] - k) // stride + 1
    w = (x.shape[1] - k) // stride + 1
    out = np.zeros((h, w))
    for i in range(h):
        for j in range(w):
            m = -np.inf
            for a in range(k):
                for b in range(k):
                    v = x[i * stride + a, j * stride + b]
                    if v > m:
                        m = v
            out[i, j] = m
    return out


@case(lambda r: (r.random(32), 3))
def haar(x, levels):
    n = len(x)
    out = x.copy()
    tmp = np.zeros(n)
    h = n
    for _ in range(levels):
        h = h // 2
        for i in range(h):
            tmp[i] = (out[2 * i] + out[2 * i + 1]) / 2
            tmp[h + i] = (out[2 * i] - out[2 * i + 1]) / 2
        for i in range(2 * h):
            out[i] = tmp[i]
    return out


@case(lambda r: (r.random((6, 6)) < 0.55,))
def percolation(grid):
    n = grid.shape[0]
    parent = np.arange(n * n)
    for i in range(n):
        for j in range(n):
            if not grid[i, j]:
                continue
            if i > 0 and grid[i - 1, j]:
                a = i * n + j
                while parent[a] != a:
                    a = parent[a]
                b = (i - 1) * n + j
                while parent[b] != b:
                    b = parent[b]
                parent[a] = b
            if j > 0 and grid[i, j - 1]:
                a = i * n + j
                while parent[a] != a:
                    a = parent[a]
                b = i * n + j - 1
                while parent[b] != b:
                    b = parent[b]
                parent[a] = b
    return parent


@case(lambda r: (r.integers(0, 2, 11), r.integers(0, 2, 3)))
def kmp(text, pat):
    m = len(pat)
    fail = np.zeros(m, dtype=np.int64)
    k = 0
    for i in range(1, m):
        while k > 0 and pat[k] != pat[i]:
            k = fail[k - 1]
        if pat[k] == pat[i]:
            k += 1
        fail[i] = k
    k = 0
    hits = 0
    for i in range(len(text)):
        while k > 0 and pat[k] != text[i]:
            k = fail[k - 1]
        if pat[k] == text[i]:
            k += 1
        if k == m:
            hits += 1
            k = fail[k - 1]
    return hits


@case(lambda r: ((r.random((6, 6)) < 0.7).astype(np.int64),))
def flood_fill(g):
    n, m = g.shape
    qx = np.zeros(n * m, dtype=np.int64)
    qy = np.zeros(n * m, dtype=np.int64)
    dist = np.full((n, m), -1)
    head = 0
    tail = 1
    dist[0, 0] = 0
    dx = np.array([1, -1, 0, 0])
    dy = np.array([0, 0, 1, -1])
    while head < tail:
        x = qx[head]
        y = qy[head]
        head += 1
        for k in range(4):
            nx = x + dx[k]
            ny = y + dy[k]
            if 0 <= nx < n and 0 <= ny < m and g[nx, ny] == 1 and dist[nx, ny] < 0:
                dist[nx, ny] = dist[x, y] + 1
                qx[tail] = nx
                qy[tail] = ny
                tail += 1
    return dist


@case(lambda r: (r.integers(0, 10, 6),))
def remove_duplicates(a):
    k = 0
    for i in range(len(a)):
        seen = False
        for j in range(k):
            if a[j] == a[i]:
                seen = True
                break
        if not seen:
            a[k] = a[i]
            k += 1
    return k


@case(lambda r: (r.random(11),))
def merge_sort_bottom_up(a):
    n = len(a)
    b = np.empty_like(a)
    width = 1
    while width < n:
        for i in range(0, n, 2 * width):
            left = i
            mid = min(i + width, n)
            right = min(i + 2 * width, n)
            p = left
            q = mid
            for k in range(left, right):
                if p < mid and (q >= right or a[p] <= a[q]):
                    b[k] = a[p]
                    p += 1
                else:
                    b[k] = a[q]
                    q += 1
        for k in range(n):
            a[k] = b[k]
        width *= 2


@case(lambda r: (6,))
def spiral(n):
    out = np.zeros((n, n), dtype=np.int64)
    top, bottom, left, right = 0, n - 1, 0, n - 1
    k = 0
    while top <= bottom and left <= right:
        for j in range(left, right + 1):
            out[top, j] = k
            k += 1
        top += 1
        for i in range(top, bottom + 1):
            out[i, right] = k
            k += 1
        right -= 1
        if top <= bottom:
            for j in range(right, left - 1, -1):
                out[bottom, j] = k
                k += 1
            bottom -= 1
        if left <= right:
            for i in range(bottom, top - 1, -1):
                out[i, left] = k
                k += 1
            left += 1
    return out


@case(lambda r: (min(6, 9),))
def n_queens(n):
    pos = np.full(n, -1)
    count = 0
    row = 0
    while row >= 0:
        pos[row] += 1
        while pos[row] < n:
            ok = True
            for k in range(row):
                if pos[k] == pos[row] or abs(pos[k] - pos[row]) == row - k:
                    ok = False
                    break
            if ok:
                break
            pos[row] += 1
        if pos[row] < n:
            if row == n - 1:
                count += 1
            else:
                row += 1
                pos[row] = -1
        else:
            row -= 1
        if count > 3:
            break
    return count


@case(lambda r: (r.integers(0, 3, 11),))
def run_length(a):
    n = len(a)
    vals = np.zeros(n, dtype=a.dtype)
    lens = np.zeros(n, dtype=np.int64)
    k = 0
    i = 0
    while i < n:
        j = i
        while j < n and a[j] == a[i]:
            j += 1
        vals[k] = a[i]
        lens[k] = j - i
        k += 1
        i = j
    return vals, lens, k


@case(lambda r: (r.random(6) - 0.5,))
def left_tuple(x):
    k = -1
    s = 0.0
    for d in (0, 1, 2):
        s += x[d]
        if x[d] > 0:
            k = d
            break
    return k, s


@case(lambda r: (r.random(6) - 0.5,))
def left_and_continued(x):
    k = -1
    s = 0.0
    for d in (0, 1, 2, 3):
        if x[d] < -0.3:
            continue
        if x[d] > 0:
            k = d
            break
        s += x[d]
    return k, s


@case(lambda r: (r.random(6) - 0.5,))
def continued_in_a_branch(x):
    s = 0.0
    for d in (0, 1, 2, 3):
        if x[d] > 0:
            if x[d] > 0.2:
                continue
            s += 1
        s += x[d]
    return s


@case(lambda r: (r.random(6) - 0.5,))
def tuple_in_a_loop(x):
    out = np.zeros(len(x))
    for i in range(len(x)):
        for d in (0, 1, 2, 3):
            if d == 1:
                continue
            if x[(i + d) % len(x)] > 0.3:
                break
            out[i] += x[(i + d) % len(x)]
        out[i] *= 2
    return out


@case(lambda r: (r.random(6) - 0.5,))
def tuple_with_else(x):
    out = np.zeros(len(x))
    for i in range(len(x)):
        for d in (0, 2):
            if x[(i + d) % len(x)] > 0.3:
                out[i] = d
                break
        else:
            out[i] = -1
    return out


# ---- loops whose bounds data decide ----


@case(lambda r: (r.integers(0, 4, 6), r.integers(0, 50, 40)))
def steps_of_data(low, x):
    s = 0
    for i in range(len(low)):
        for c in range(len(x) - 1, low[i], -2):
            s = 3 * s + x[c]
        for c in range(1, low[i] + 5, 3):
            s = 5 * s - x[c]
        for c in range(low[i], len(x), 3):
            s = 7 * s - x[c]
        for c in range(low[i] + 7, 1, -1):
            s = 11 * s + x[c - 1]
        for c in range(low[i] + 9, low[i] - 1, -3):
            s = 13 * s + x[c]
    return s


@case(lambda r: (r.integers(0, 4, 6), r.integers(0, 50, (6, 30))))
def ends_of_data(count, x):
    s = 0
    for i in range(len(count)):
        for j in range(count[i]):
            if x[i, 2 * j + i] > x[i, j + 1]:
                x[i, j + 3] += 1
            s = 3 * s + x[i, 2 * j]
    return s
