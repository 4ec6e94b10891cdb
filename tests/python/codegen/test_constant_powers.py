"""float32 to small constant powers: products in float64, rounded once, the same in C source."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import numpy as np
import pytest

import tilewright as tw

N = tw.param("N")
i = tw.iter("i")


@pytest.mark.parametrize("exponent", [3, 4, 5, 6, 7, 8, -2, -3, -8])
def test_are_rounded_once(exponent: int, tmp_path: Path) -> None:
    x = tw.input("x", [N], tw.float32)
    f = tw.function("power", outputs=[tw.computation("y", {i: N}, x[i] ** exponent)])
    random = np.random.default_rng(exponent + 9)
    given = np.concatenate(
        [
            random.standard_normal(1000) * 10.0 ** random.uniform(-4, 4, 1000),
            [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 3e38, -3e38, 1e-44, -1e-44],
        ]
    ).astype(np.float32)
    with np.errstate(all="ignore"):
        exact = np.float64(given) ** exponent
        expected = exact.astype(np.float32)
    found = f(given)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    rounded = np.isfinite(expected) & (expected != 0)
    error = np.abs(found[rounded] - exact[rounded]) / np.spacing(np.abs(expected[rounded]))
    assert error.max() <= 0.5 + 1e-6
    np.testing.assert_array_equal(found[~rounded], expected[~rounded])
    np.testing.assert_array_equal(
        np.signbit(found[~np.isnan(found)]), np.signbit(expected[~np.isnan(found)])
    )
    source, library = tmp_path / "power.c", tmp_path / "power.so"
    source.write_text(f.c)
    flags = ["-std=c99", "-O2", "-ffp-contract=off", "-fopenmp", "-shared", "-fPIC"]
    subprocess.run(["gcc", *flags, str(source), "-o", str(library), "-lm"], check=True)
    again = np.empty_like(given)
    pointers = [ctypes.c_void_p(each.ctypes.data) for each in (given, again)]
    assert ctypes.CDLL(str(library)).power(ctypes.c_int64(len(given)), *pointers) == 0
    assert found.tobytes() == again.tobytes()
