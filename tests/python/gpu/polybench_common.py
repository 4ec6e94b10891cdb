"""What the kernels of PolyBench share: a list of them, their names, and their arguments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from checks import emulated

import tilewright as tw

__all__ = [
    "KERNELS", "F", "K", "Kernel", "L", "M", "N", "T", "d", "dominant", "emulated", "i", "j", "k", "kernel", "matrix",
    "product_in_tiles", "q", "r", "s", "t",
]  # fmt: skip

N, M, K, L, T = tw.params("N M K L T")
i, j, k, r, q, s, t, d = tw.iters("i j k r q s t d")
F = tw.float64

Arrays = dict[str, Any]


@dataclass
class Kernel:
    """One kernel of the list."""

    name: str
    what: str
    build: Callable[[], tw.Function]
    arguments: Callable[[int], Arrays]
    expected: Callable[..., Any]


KERNELS: list[Kernel] = []


def kernel(
    name: str,
    what: str,
    arguments: Callable[[int], Arrays],
    expected: Callable[..., Any],
) -> Callable[[Callable[[], tw.Function]], Callable[[], tw.Function]]:
    """Puts what is built under it on the list."""

    def add(build: Callable[[], tw.Function]) -> Callable[[], tw.Function]:
        KERNELS.append(Kernel(name, what, build, arguments, expected))
        return build

    return add


def matrix(*shape: int) -> np.ndarray:
    """Numbers between 0.5 and 1.5, the same ones for each shape."""
    return np.random.default_rng(len(shape) + sum(shape)).random(shape) + 0.5


def dominant(n: int) -> np.ndarray:
    """A matrix that can be factored without exchanging rows."""
    return matrix(n, n) + 2 * n * np.eye(n)


def product_in_tiles(C: tw.Computation, steps: tw.Iterator, *inputs: Any, tile: int = 16) -> None:
    """A matrix product: tiles of what it reads in shared memory, 2 x 2 sums in each thread's own."""
    C.tile(i, j, tile, tile).split("i1", 2, "ti", "ri").split("j1", 2, "tj", "rj")
    C.split(steps, 8, "k0", "k1").reorder("i0", "j0", "k0", "ti", "tj", "k1", "ri", "rj")
    C.gpu_block("i0", "j0").gpu_thread("ti", "tj").unroll("ri").unroll("rj")
    own = C.cache(C, "j0", memory="private")
    for read in inputs:
        own.cache(read, "k0", memory="shared")
