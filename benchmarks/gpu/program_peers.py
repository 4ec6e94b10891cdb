"""Peers of programs that the planner maps: PyTorch, also compiled, CuPy, and those of the same kernel by hand.

As in `contenders`, one that is not there is said to be missing, and all work goes to the default stream.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import contenders as known
from contenders import Contender, Peer
from programs import Program

import tilewright as tw
from kernels import KERNELS, Arrays, Kernel, Size

__all__ = ["PEERS", "ours"]


def ours(program: Kernel, size: Size, arrays: Arrays) -> Contender:
    """The program with the schedule that is found."""
    f = program.make("cuda")
    given = [tw.to_device(array, "cuda") for array in arrays]
    found = f(*given)
    if not program.output(size):
        found = tw.empty((), tw.float32, "cuda")
    return Contender(lambda: f(*given, out=found), lambda: found.numpy())


def by_hand(program: Kernel, size: Size, arrays: Arrays) -> Contender | None:
    """Our own kernel with commands by hand, where there is one of the same."""
    same = [kernel for kernel in KERNELS if kernel.name == program.peers]
    return known.ours(same[0], size, arrays) if same else None


def _made(function: Callable[..., Any], given: list[Any], host: Callable[[Any], Any]) -> Contender:
    made: list[Any] = [None]

    def call() -> None:
        made[0] = function(*given)

    return Contender(call, lambda: host(made[0]))


def _torch(program: Kernel, arrays: Arrays, compiled: bool) -> Contender | None:
    if not isinstance(program, Program) or program.torch is None:
        return None
    import torch

    if not torch.cuda.is_available():
        raise known.MissingError("this PyTorch sees no GPU")
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    given = [torch.from_numpy(array).cuda() for array in arrays]
    function = program.torch(torch)
    with torch.no_grad():
        return _made(
            torch.compile(function) if compiled else function,
            given,
            lambda tensor: tensor.cpu().numpy(),
        )


def pytorch(program: Kernel, size: Size, arrays: Arrays) -> Contender | None:
    """What a person writes with PyTorch; float32 without tensor cores."""
    return _torch(program, arrays, False)


def compiled_pytorch(program: Kernel, size: Size, arrays: Arrays) -> Contender | None:
    """The same through torch.compile, where there is something to fuse."""
    if not isinstance(program, Program) or not program.fused:
        return None
    return _torch(program, arrays, True)


def cupy(program: Kernel, size: Size, arrays: Arrays) -> Contender | None:
    """What a person writes with CuPy."""
    if not isinstance(program, Program) or program.cupy is None:
        return None
    import cupy as cp

    given = [cp.asarray(array) for array in arrays]
    return _made(program.cupy(cp), given, cp.asnumpy)


def of_kernels(peer: Peer) -> Peer:
    """A peer of the kernels by hand, for programs that are one of them."""

    def make(program: Kernel, size: Size, arrays: Arrays) -> Contender | None:
        named = {kernel.name for kernel in KERNELS}
        return peer(program, size, arrays) if program.peers in named else None

    return make


PEERS: dict[str, Peer] = {
    "by hand": by_hand,
    "cuBLAS": of_kernels(known.cublas),
    "CUDA C": of_kernels(known.cuda_c),
    "PyTorch": pytorch,
    "compiled": compiled_pytorch,
    "CuPy": cupy,
    "Triton": of_kernels(known.triton),
}
