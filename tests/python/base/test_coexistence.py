"""Other libraries' threads in one process: NumPy's OpenBLAS, and Numba and PyTorch where they are
installed. Each runs parallel code before, between and beside ours, from several Python threads and in
a child of fork."""

from __future__ import annotations

import importlib.util

import pytest

from children import run_python

PROGRAM = """
import os, sys, threading
import numpy as np
import tilewright as tw

i, j, k = tw.iters("i j k")
N, M, K = tw.params("N M K")
a, b = tw.input("A", [N, K], tw.float64), tw.input("B", [K, M], tw.float64)
c = tw.computation("C", {i: N, j: M}, tw.sum(a[i, k] * b[k, j], over={k: K}))
f = tw.function("matmul", outputs=[c])
c.parallelize(i)

x = np.random.default_rng(3).integers(-9, 9, (130, 120)).astype(np.float64)
y = np.random.default_rng(4).integers(-9, 9, (120, 140)).astype(np.float64)
expected = sum(x[:, [n]] * y[[n], :] for n in range(120))

def ours():
    assert (f(x, y) == expected).all()

def numpy():
    assert (x @ y == expected).all()
"""

THEIRS = {
    "numpy": "theirs = numpy",
    "numba": """
import numba

@numba.njit(parallel=True)
def product(x, y):
    out = np.zeros((x.shape[0], y.shape[1]))
    for n in numba.prange(x.shape[0]):
        for m in range(y.shape[1]):
            for l in range(x.shape[1]):
                out[n, m] += x[n, l] * y[l, m]
    return out

lock = threading.Lock()  # Numba's own threads may not be started from two at once

def theirs():
    with lock:
        assert (product(x, y) == expected).all()
""",
    "torch": """
import torch

def theirs():
    out = torch.empty(130, 140, dtype=torch.float64)
    f(torch.from_numpy(x), torch.from_numpy(y), out=out)
    assert (out.numpy() == expected).all()
    assert (torch.matmul(torch.from_numpy(x), torch.from_numpy(y)).numpy() == expected).all()
""",
}

RUN = """
for _ in range(5):
    theirs()
    ours()
    numpy()

failures = []

def mixed(first, second):
    try:
        for _ in range(10):
            first()
            second()
    except BaseException as error:
        failures.append(error)

pairs = [(ours, theirs), (theirs, numpy), (numpy, ours)]
threads = [threading.Thread(target=mixed, args=pair) for pair in pairs * 2]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert not failures, failures

child = os.fork()
if child == 0:
    try:
        ours()
        numpy()
        os._exit(0)
    finally:
        os._exit(1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
ours()
theirs()
"""


@pytest.mark.parametrize("ours_first", [True, False])
@pytest.mark.parametrize("threads", ["threads", "openmp"])
@pytest.mark.parametrize("library", THEIRS)
def test_one_process(library, threads, ours_first):
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    first = "ours()\n" if ours_first else ""
    program = PROGRAM + first + THEIRS[library] + RUN
    run_python(
        *("-W", "ignore", "-c", program),
        TILEWRIGHT_THREADS=threads,
        TILEWRIGHT_LEAST_PARALLEL_WORK="0",
        OMP_NUM_THREADS="3",
        NUMBA_NUM_THREADS="3",
    )


def test_names_that_are_loaded_when_they_are_first_used_are_completed() -> None:
    import tilewright

    assert {*tilewright.__all__} <= {*dir(tilewright)}
    assert {"stream", "jit", "alpha", "forever"} <= {*dir(tilewright)}
