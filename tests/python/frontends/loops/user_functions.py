"""Functions of graphs, sparse matrices, tables and sorting as people write them: bounds, subscripts and
loops that data decide about, several statements in each."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .cases import case


def graph(r: Any, n: int = 9, degree: int = 3) -> tuple[Any, ...]:
    """Rows, columns, weights."""
    return np.arange(n + 1) * degree, r.integers(0, n, n * degree), r.integers(1, 20, n * degree)


@case(lambda r: (*graph(r)[:2], 0))
def breadth_first(row, col, src):
    n = len(row) - 1
    dist = np.full(n, -1)
    queue = np.empty(n, np.int64)
    head = 0
    tail = 1
    queue[0] = src
    dist[src] = 0
    while head < tail:
        u = queue[head]
        head += 1
        for e in range(row[u], row[u + 1]):
            v = col[e]
            if dist[v] < 0:
                dist[v] = dist[u] + 1
                queue[tail] = v
                tail += 1
    return dist


@case(lambda r: (*graph(r), 0))
def bellman_ford(row, col, wgt, src):
    n = len(row) - 1
    dist = np.full(n, 10**9)
    dist[src] = 0
    for _ in range(n - 1):
        changed = False
        for u in range(n):
            for e in range(row[u], row[u + 1]):
                if dist[u] + wgt[e] < dist[col[e]]:
                    dist[col[e]] = dist[u] + wgt[e]
                    changed = True
        if not changed:
            break
    return dist


@case(lambda r: (*graph(r)[:2], r.random(27), r.random(9), r.random((9, 3))))
def sparse_products(indptr, indices, data, x, B):
    n = len(indptr) - 1
    y = np.zeros(n)
    Y = np.zeros((n, B.shape[1]))
    for i in range(n):
        for jj in range(indptr[i], indptr[i + 1]):
            j = indices[jj]
            y[i] += data[jj] * x[j]
            for k in range(B.shape[1]):
                Y[i, k] += data[jj] * B[j, k]
    return y, Y


@case(lambda r: (np.arange(9)[::-1].copy(),))
def topological(following):
    n = len(following)
    indegree = np.zeros(n, np.int64)
    for i in range(n):
        if following[i] > i:
            indegree[following[i]] += 1
    stack = np.zeros(n, np.int64)
    top = 0
    for i in range(n):
        if indegree[i] == 0:
            stack[top] = i
            top += 1
    order = np.zeros(n, np.int64)
    k = 0
    while top > 0:
        top -= 1
        u = stack[top]
        order[k] = u
        k += 1
        if following[u] > u:
            indegree[following[u]] -= 1
            if indegree[following[u]] == 0:
                stack[top] = following[u]
                top += 1
    return order, k


@case(lambda r: (np.array([1, 5, 10, 25]), 40))
def change(coins, amount):
    ways = np.zeros(amount + 1, np.int64)
    ways[0] = 1
    best = np.full(amount + 1, amount + 1)
    best[0] = 0
    for c in coins:
        for a in range(c, amount + 1):
            ways[a] += ways[a - c]
            best[a] = min(best[a], best[a - c] + 1)
    return ways[amount], best[amount]


@case(lambda r: (40,))
def totients(n):
    phi = np.arange(n + 1)
    for i in range(2, n + 1):
        if phi[i] == i:
            for j in range(i, n + 1, i):
                phi[j] -= phi[j] // i
    return phi


@case(lambda r: (r.integers(0, 1000, 17),))
def radix_sorted(a):
    n = len(a)
    out = np.zeros(n, a.dtype)
    power = 1
    while a.max() // power > 0:
        count = np.zeros(10, np.int64)
        for i in range(n):
            count[(a[i] // power) % 10] += 1
        for d in range(1, 10):
            count[d] += count[d - 1]
        for i in range(n - 1, -1, -1):
            d = (a[i] // power) % 10
            count[d] -= 1
            out[count[d]] = a[i]
        for i in range(n):
            a[i] = out[i]
        power *= 10


@case(lambda r: (np.round(r.random(25) * 5), 2.0))
def peaks(x, least):
    n = len(x)
    found = np.zeros(n, np.int64)
    k = 0
    i = 1
    while i < n - 1:
        if x[i] > x[i - 1] and x[i] > least:
            j = i
            while j < n - 1 and x[j + 1] == x[i]:
                j += 1
            if j < n - 1 and x[j + 1] < x[i]:
                found[k] = (i + j) // 2
                k += 1
            i = j + 1
        else:
            i += 1
    return found, k


@case(lambda r: (r.integers(0, 1000, 20),))
def quicksorted(a):
    stack = np.zeros(512, np.int64)
    stack[0] = 0
    stack[1] = len(a) - 1
    top = 2
    while top > 0:
        top -= 2
        lo = stack[top]
        hi = stack[top + 1]
        if lo < hi:
            pivot = a[(lo + hi) // 2]
            i = lo
            j = hi
            while i <= j:
                while a[i] < pivot:
                    i += 1
                while a[j] > pivot:
                    j -= 1
                if i <= j:
                    a[i], a[j] = a[j], a[i]
                    i += 1
                    j -= 1
            stack[top] = lo
            stack[top + 1] = j
            stack[top + 2] = i
            stack[top + 3] = hi
            top += 4


@case(lambda r: (r.integers(0, 9, 16), r.integers(0, 9, 16), 9))
def united(us, vs, n):
    parent = np.arange(n)
    parts = n
    for k in range(len(us)):
        a = us[k]
        while parent[a] != a:
            parent[a] = parent[parent[a]]
            a = parent[a]
        b = vs[k]
        while parent[b] != b:
            parent[b] = parent[parent[b]]
            b = parent[b]
        if a != b:
            parent[b] = a
            parts -= 1
    return parts


@case(lambda r: ((r.random((7, 8)) > 0.4).astype(np.int64),))
def components(img):
    h, w = img.shape
    label = np.zeros((h, w), np.int64)
    following = 1
    for y in range(h):
        for x in range(w):
            if img[y, x]:
                label[y, x] = following
                following += 1
    changed = True
    while changed:
        changed = False
        for y in range(h):
            for x in range(w):
                if label[y, x] > 0:
                    m = label[y, x]
                    if y > 0 and label[y - 1, x] > 0:
                        m = min(m, label[y - 1, x])
                    if x > 0 and label[y, x - 1] > 0:
                        m = min(m, label[y, x - 1])
                    if y < h - 1 and label[y + 1, x] > 0:
                        m = min(m, label[y + 1, x])
                    if x < w - 1 and label[y, x + 1] > 0:
                        m = min(m, label[y, x + 1])
                    if m < label[y, x]:
                        label[y, x] = m
                        changed = True
    return label


@case(lambda r: (r.integers(0, 3, 14),))
def palindrome(s):
    n = len(s)
    best = 1
    start = 0
    for c in range(n):
        for odd in range(2):
            i = c
            j = c + odd
            while i >= 0 and j < n and s[i] == s[j]:
                if j - i + 1 > best:
                    best = j - i + 1
                    start = i
                i -= 1
                j += 1
    return start, best


@case(lambda r: (r.integers(0, 3, 14), np.zeros(14)))
def left_before_the_end(s, out):
    for i in range(len(s)):
        if i + 1 >= len(s):
            break
        if s[i] == s[i + 1]:
            out[i] = 1


# ---- values of functions that many iterations share ----


@case(lambda r: (r.random((4, 2)), r.random((9, 2)), np.zeros((4, 9))), tolerant=True)
def great_circles(a, b, D):
    for i in range(a.shape[0]):
        for j in range(b.shape[0]):
            h = math.sin((b[j, 0] - a[i, 0]) / 2) ** 2
            h += math.cos(a[i, 0]) * math.cos(b[j, 0]) * math.sin((b[j, 1] - a[i, 1]) / 2) ** 2
            D[i, j] = 2 * math.asin(math.sqrt(h))


@case(lambda r: (r.random(5), r.random(9), np.zeros((5, 9))), tolerant=True)
def shared_values_that_change(a, b, D):
    for j in range(len(b)):
        b[j] = b[j] * 2
    for i in range(len(a)):
        for j in range(len(b)):
            d = math.cos(a[i]) * math.cos(b[j])
            D[i, j] = D[i, j] + d
        b[0] = i


@case(lambda r: (r.random(5), r.random(9)), tolerant=True)
def shared_values_in_a_chain(a, b):
    for i in range(len(a)):
        s = 0.0
        for j in range(len(b)):
            s += math.cos(a[i]) * math.exp(b[j]) * math.cos(a[0])
        a[i] = s


@case(
    lambda r: (r.random((9, 3)), r.random((4, 3)), r.random((4, 3)) + 0.1, np.zeros((9, 4))),
    tolerant=True,
)
def responsibilities(X, mean, variance, R):
    for i in range(X.shape[0]):
        total = 0.0
        for k in range(mean.shape[0]):
            q = 0.0
            for d in range(X.shape[1]):
                q += (X[i, d] - mean[k, d]) ** 2 / variance[k, d] + math.log(variance[k, d])
            R[i, k] = math.exp(-0.5 * q)
            total += R[i, k]
        for k in range(mean.shape[0]):
            R[i, k] /= total


# ---- the smallest so far, and where it was ----


@case(lambda r: (r.random((21, 2)), r.random((5, 2)), np.zeros(21, np.int64)))
def nearest_centre(X, C, label):
    for i in range(X.shape[0]):
        least = 1e300
        at = 0
        for k in range(C.shape[0]):
            d = 0.0
            for j in range(X.shape[1]):
                d += (X[i, j] - C[k, j]) ** 2
            if d < least:
                least = d
                at = k
        label[i] = at


@case(lambda r: (r.random((9, 30)),))
def largest_of_rows(A):
    at = np.zeros(A.shape[0], np.int64)
    value = np.zeros(A.shape[0])
    for i in range(A.shape[0]):
        m = A[i, 0]
        where = 0
        before = -1
        for j in range(1, A.shape[1]):
            if A[i, j] > m:
                before = j - 1
                m = A[i, j]
                where = j
        at[i] = where + 100 * before
        value[i] = m
    return at, value


@case(lambda r: (r.integers(0, 9, 30),))
def two_smallest(a):
    first = 99
    second = 99
    for i in range(len(a)):
        if a[i] < first:
            second = first
            first = a[i]
        elif a[i] < second:
            second = a[i]
    return first, second


@case(lambda r: (r.integers(-3, 4, 30), r.integers(0, 3, 30)))
def divided_where_it_may_be(a, b):
    best = 0
    at = -1
    for i in range(len(a)):
        if b[i] > best:
            best = b[i]
            at = a[i] // best
    return best, at


@case(lambda r: (np.array([3, 0, 2, 9, 1]), r.random(4)))
def followed_where_there_is_one(following, x):
    best = -1
    value = 0.0
    for i in range(len(following)):
        if (following[i] > best) & (following[i] < 4):
            best = following[i]
            value = x[following[i]]
    return best, value
