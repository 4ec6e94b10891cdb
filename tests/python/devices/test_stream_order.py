"""Work on several streams and in several threads, at random: whatever two pieces of it use the same memory, one of them
waits for the other, also for memory that is given back and used again. The test double of libcuda keeps clocks."""

from __future__ import annotations

import pytest

from fake_cuda import run

PROGRAM = """
import ctypes, os
from concurrent.futures import ThreadPoolExecutor
N = tw.param("N"); i = tw.iter("i")
x = tw.input("x", [N], tw.float32)
kept = tw.computation("kept", {i: N}, x[i] * 2)
y = tw.computation("y", {i: N}, kept[N - 1 - i] + 1)        # a temporary, and two kernels
f = tw.function("f", outputs=[y], target="cuda")
kept.gpu_tile(i, 32); y.gpu_tile(i, 32)
host = np.ones(16, np.float32)
double = ctypes.CDLL(os.environ["TILEWRIGHT_CUDA_DRIVER"])
double.fake_cuda_unordered.restype = ctypes.c_char_p
"""

RANDOM = """
rng = np.random.default_rng(SEED)
streams = [tw.cuda.Stream(non_blocking=k % 2 == 1) for k in range(4)] + [None, 1, 2]
threads = [ThreadPoolExecutor(1) for _ in range(2)]
live = [tw.to_device(host) for _ in range(4)]

def one_of(values):
    return values[rng.integers(len(values))]

def work():
    a, b = one_of(live), one_of(live)
    kind = rng.integers(0, 12)
    if kind == 0: live.append(f(a))
    elif kind == 1: f(a, out=b)
    elif kind == 2: a.numpy()
    elif kind == 3: a.copy_from(b)
    elif kind == 4 and len(live) > 4: del live[rng.integers(len(live))]
    elif kind == 5: live.append(tw.to_device(host))
    elif kind == 6: live.append(a.copy())
    elif kind == 7: a[1:].copy_from(b[:-1])
    elif kind == 8: f(a[::-1], out=b)
    elif kind == 9: f(host, out=a)
    elif kind == 10: a[::2].copy_from(host[:8])
    elif kind == 11:
        with tw.cuda.stream(one_of(streams)): live.append(f(a))
    if len(live) > 12: del live[:6]

def some_work():
    with tw.cuda.stream(one_of(streams)):
        for _ in range(rng.integers(1, 5)):
            work()

for _ in range(600):
    where = rng.integers(0, 4)
    threads[where].submit(some_work).result() if where < 2 else some_work()
print(double.fake_cuda_unordered().decode())
"""


@pytest.mark.parametrize("settings", ["", "pools=0"], ids=["pools", "no pools"])
@pytest.mark.parametrize("seed", range(3))
def test_all_work_is_ordered(seed: int, settings: str) -> None:
    assert run(PROGRAM + RANDOM.replace("SEED", str(seed)), settings) == "\n"


def test_the_clocks_see_what_is_not() -> None:
    # Another library's view of the memory: what is done with it does not order what is done with ours.
    printed = run(
        PROGRAM
        + """
class View:
    def __init__(self, array):
        self.array, self.__cuda_array_interface__ = array, array.__cuda_array_interface__
ours = tw.to_device(host)
theirs = View(ours)
stream = tw.cuda.Stream(non_blocking=True)
with tw.cuda.stream(stream):
    f(theirs)                          # waits for what was done with ours
print(double.fake_cuda_unordered().decode() == "")
f(ours)
print(double.fake_cuda_unordered().decode())
"""
    )
    first, second, *_ = printed.splitlines()
    assert first == "True"
    assert second.startswith("a kernel on stream 0 does not wait for a kernel on stream ")
