"""What a call of a GPU function costs the host, beside other libraries: kernels of one block that
write one array, so that the launch is all there is.

    python benchmarks/gpu/launch.py [--csv FILE] [--repeats 30]

The calls of a burst (shorter than a stream's queue) are timed without waiting for the device; the
minimum and the median over the bursts are kept, all contenders' bursts in turn. Without a device it
says so and ends with status 1. Libraries that are not installed are left out by name.
"""

from __future__ import annotations

import argparse
import csv
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import tilewright as tw

SIZE = 128
BURST = 200
GOAL = 4.0  # microseconds for the first of the contenders


def one_block() -> tw.Function:
    n = tw.param("N")
    i = tw.iter("i")
    x = tw.input("x", [n], tw.float32)
    y = tw.computation("y", {i: n}, x[i] + 1)
    f = tw.function("one_block", outputs=[y], target="cuda")
    y.gpu_tile(i, SIZE)
    return f


def ours() -> Callable[[], Any]:
    f = one_block()
    given = tw.to_device(np.zeros(SIZE, np.float32))
    out = tw.empty(SIZE, tw.float32)
    f(given, out=out)
    if not np.array_equal(out.numpy(), np.ones(SIZE, np.float32)):
        raise SystemExit("wrong values")
    return lambda: f(given, out=out)


def ours_with_a_new_array() -> Callable[[], Any]:
    f = one_block()
    given = tw.to_device(np.zeros(SIZE, np.float32))
    return lambda: f(given)


def cupy() -> Callable[[], Any]:
    import cupy as cp

    add = cp.RawKernel(
        'extern "C" __global__ void add(const float *x, float *y) '
        "{ y[threadIdx.x] = x[threadIdx.x] + 1; }",
        "add",
    )
    x, y = cp.zeros(SIZE, cp.float32), cp.zeros(SIZE, cp.float32)
    return lambda: add((1,), (SIZE,), (x, y))


def pytorch() -> Callable[[], Any]:
    import torch

    x, y = torch.zeros(SIZE, device="cuda"), torch.zeros(SIZE, device="cuda")
    return lambda: torch.add(x, 1, out=y)


def triton() -> Callable[[], Any]:
    import torch
    import triton_kernels as written

    x, y = torch.zeros(SIZE, device="cuda"), torch.zeros(SIZE, device="cuda")
    return lambda: written.add_one[(1,)](x, y, size=SIZE)


def numba() -> Callable[[], Any]:
    from numba import cuda

    @cuda.jit  # type: ignore[untyped-decorator]
    def add(x: Any, y: Any) -> None:
        i = cuda.threadIdx.x
        y[i] = x[i] + 1

    x = cuda.to_device(np.zeros(SIZE, np.float32))
    y = cuda.to_device(np.zeros(SIZE, np.float32))
    configured = add[1, SIZE]
    return lambda: configured(x, y)


CONTENDERS: dict[str, Callable[[], Callable[[], Any]]] = {
    "tilewright, out=": ours,
    "tilewright, new array": ours_with_a_new_array,
    "CuPy RawKernel": cupy,
    "PyTorch add": pytorch,
    "Triton": triton,
    "Numba": numba,
}


def judged(name: str, least: float) -> str:
    """Whether the goal is reached; nothing of contenders that have none."""
    if name != next(iter(CONTENDERS)):
        return ""
    return f"   goal <= {GOAL:g}: {'reached' if least <= GOAL else 'MISSED'}"


def microseconds(call: Callable[[], Any]) -> float:
    tw.cuda.synchronize()
    begin = time.perf_counter_ns()
    for _ in range(BURST):
        call()
    end = time.perf_counter_ns()
    tw.cuda.synchronize()
    return (end - begin) / BURST / 1e3


def rows(repeats: int) -> Iterator[tuple[str, float, float]]:
    calls = {}
    for name, make in CONTENDERS.items():
        try:
            call = make()
            microseconds(call)  # the first calls compile
            calls[name] = call
        except ImportError as missing:
            print(f"{name}: {missing.name} is not installed", file=sys.stderr)
        except Exception as error:
            # A library that is there, but was built without CUDA, or does not know this GPU.
            if make in (ours, ours_with_a_new_array):
                raise
            print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr)
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(repeats):
        for name, call in calls.items():
            times[name].append(microseconds(call))
    for name, taken in times.items():
        yield name, min(taken), statistics.median(taken)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--csv", help="write the table to this file, too")
    parser.add_argument("--repeats", type=int, default=30)
    options = parser.parse_args()
    try:
        device = tw.cuda.devices()[0]
    except tw.DeviceError as error:
        print(f"nothing was measured: {error.message}", file=sys.stderr)
        return 1
    print(f"{device.name}, driver of CUDA {device.driver_version[0]}.{device.driver_version[1]}")
    print(f"{'call':24} {'minimum':>10} {'median':>10}   microseconds of the host")
    table = list(rows(options.repeats))
    for name, least, median in table:
        print(f"{name:24} {least:10.2f} {median:10.2f}{judged(name, least)}")
    if options.csv:
        with open(options.csv, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["device", "call", "minimum_us", "median_us"])
            writer.writerows([device.name, *row] for row in table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
