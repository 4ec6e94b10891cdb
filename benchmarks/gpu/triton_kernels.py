"""Triton's kernels; imported only where Triton is. Its decorator needs them at a module's level,
and takes annotations for names of Triton's own: they have none but `constexpr`."""

from __future__ import annotations

import triton
import triton.language as tl

__all__ = ["add_one", "copy", "sgemm", "softmax"]


@triton.jit  # type: ignore[untyped-decorator]
def add_one(x, y, size: tl.constexpr):
    at = tl.arange(0, size)
    tl.store(y + at, tl.load(x + at) + 1)


@triton.jit  # type: ignore[untyped-decorator]
def copy(a, c, n, block: tl.constexpr):
    at = tl.program_id(0) * block + tl.arange(0, block)
    tl.store(c + at, tl.load(a + at, mask=at < n), mask=at < n)


@triton.jit  # type: ignore[untyped-decorator]
def softmax(a, y, m, block: tl.constexpr):
    at = tl.program_id(0) * m + tl.arange(0, block)
    inside = tl.arange(0, block) < m
    row = tl.load(a + at, mask=inside, other=-float("inf"))
    powers = tl.exp(row - tl.max(row, axis=0))
    tl.store(y + at, powers / tl.sum(powers, axis=0), mask=inside)


@triton.jit  # type: ignore[untyped-decorator]
def sgemm(
    a,
    b,
    c,
    n,
    m,
    depth,
    rows: tl.constexpr,
    columns: tl.constexpr,
    step: tl.constexpr,
):
    i = tl.program_id(0) * rows + tl.arange(0, rows)
    j = tl.program_id(1) * columns + tl.arange(0, columns)
    k = tl.arange(0, step)
    sums = tl.zeros((rows, columns), dtype=tl.float32)
    for k0 in range(0, depth, step):
        left = (i[:, None] < n) & (k0 + k[None, :] < depth)
        right = (k0 + k[:, None] < depth) & (j[None, :] < m)
        own = tl.load(a + i[:, None] * depth + k0 + k[None, :], mask=left, other=0.0)
        other = tl.load(b + (k0 + k[:, None]) * m + j[None, :], mask=right, other=0.0)
        sums += tl.dot(own, other, input_precision="ieee")
    tl.store(c + i[:, None] * m + j[None, :], sums, mask=(i[:, None] < n) & (j[None, :] < m))
