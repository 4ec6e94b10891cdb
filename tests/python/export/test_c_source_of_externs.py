"""C source of functions that call functions of C, and of iterations until data say so."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

import tilewright as tw
from compiled_c import COMPILERS, check

pytestmark = pytest.mark.skipif(not COMPILERS, reason="no C compiler on PATH")

N = tw.param("N")
i, k, t = tw.iters("i k t")


def extern_ffs():
    function = ctypes.CDLL("libc.so.6").ffs
    function.argtypes, function.restype = [ctypes.c_int], ctypes.c_int
    return tw.extern("ffs", function)


def test_functions_of_c_are_declared_and_called(tmp_path):
    x, named = tw.input("x", [N], tw.int32), tw.input("other", [N], tw.int32)
    lowest = tw.select(x[i] > 3, extern_ffs()(x[i]) + 1, named[i])
    f = tw.function("f", inputs=[x, named], outputs=[tw.computation("y", {i: N}, lowest)])
    given = np.arange(-8, 24, dtype=np.int32)
    check(f, tmp_path, x=given, other=given[::-1].copy(), N=given.size)
    assert "extern int32_t ffs(int32_t);" in f.c
    assert "link what defines them:\n *   int32_t ffs(int32_t);" in f.c
    with pytest.raises(tw.ExportError, match="calls a function of C that is named ffs, too"):
        f.export_source(tmp_path / "named", name="ffs")
    alike = tw.input("ffs", [N], tw.int32)
    y = tw.computation("y", {i: N}, extern_ffs()(alike[i]))
    h = tw.function("h", outputs=[y], default_schedule=False)
    assert "const int32_t *restrict ffs_," in h.c and "= ffs(ffs_[i]);" in h.c


def test_iterations_until_a_condition_holds(tmp_path):
    T = tw.param("T", minimum=1)
    x = tw.input("x", [N], tw.float64)
    y = tw.computation(
        "y",
        {t: T, i: N},
        lambda y: [(t == 0, x[i]), (t > 0, (y[t - 1, i] + x[i] / y[t - 1, i]) / 2)],
        dtype=tw.float64,
    )
    off = tw.computation(
        "off", {t: T}, tw.max(tw.abs(y[t, k] * y[t, k] - x[k]), over={k: N}, initial=0.0)
    )
    done = tw.computation("done", {t: T}, off[t] < 1e-9)
    root = tw.computation("root", {i: N}, y[T - 1, i])
    f = tw.function("roots", outputs=[root, tw.computation("n", {}, T)], until={T: done})
    for schedule in (False, True):
        found = check(
            f, tmp_path / str(schedule), flags=("-fopenmp",), x=np.arange(1.0, 30), T=100, N=29
        )
        assert 5 < found[1] < 12
        f["y"].parallelize(i)
    check(f, tmp_path / "limited", x=np.arange(1.0, 30), T=3, N=29)
