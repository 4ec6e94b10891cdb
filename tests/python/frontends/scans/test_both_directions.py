"""Recurrences of a function in both directions: each in blocks, one after the other, in any order."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

import tilewright as tw

APART = """affine s {N|N>0} input long a,b {i|0<=i<N}; output long X,Y {i|0<=i<N}; let
  X[i]=case {|i==0}: b[i]; {|i>0}: X[i-1]+a[i]; esac;
  Y[i]=case {|i==N-1}: b[i]; {|i<N-1}: Y[i+1]+a[i]; esac; ."""
CHAINED = """affine s {N|N>0} input long a,b {i|0<=i<N}; output long X {i|0<=i<N}; local long Z {i|0<=i<N}; let
  Z[i]=case {|i==N-1}: b[i]; {|i<N-1}: max(Z[i+1],a[i]); esac;
  X[i]=case {|i==0}: Z[i]; {|i>0}: Z[i]+X[i-1]; esac; ."""
SIZES = (1, 2, 3, 4, 5, 7, 8, 9, 16, 33)


def apart(a: np.ndarray, b: np.ndarray) -> list[np.ndarray]:
    x, y = a.copy(), a.copy()
    x[0], y[-1] = b[0], b[-1]
    return [np.cumsum(x), np.cumsum(y[::-1])[::-1]]


def chained(a: np.ndarray, b: np.ndarray) -> list[np.ndarray]:
    z = a.copy()
    z[-1] = b[-1]
    return [np.cumsum(np.maximum.accumulate(z[::-1])[::-1])]


CASES = {"apart": (APART, apart, "XY"), "chained": (CHAINED, chained, "XZ")}


def compare(function: tw.Function, expected: object) -> None:
    for n in SIZES:
        a, b = np.random.default_rng(n).integers(-9, 9, (2, n))
        found = function(a, b)
        found = found if isinstance(found, tuple) else (found,)
        for own, right in zip(found, expected(a, b), strict=True):  # type: ignore[operator]
            np.testing.assert_array_equal(own, right)


@pytest.mark.parametrize("case", CASES)
def test_each_in_blocks_and_both(case: str) -> None:
    text, expected, names = CASES[case]
    system = tw.alpha.load(text)["s"]
    for name in names:
        one = system[name].scan_blocks(4)
        assert f"{name}.parallelize" in str(one.schedule)
        compare(one, expected)
    for first, second in itertools.permutations(names):
        both = system[first].scan_blocks(4)[second].scan_blocks(4)
        assert all(f"{name}.parallelize" in str(both.schedule) for name in names)
        compare(both, expected)


@pytest.mark.parametrize("case", CASES)
def test_c_of_scans(case: str, tmp_path: Path) -> None:
    program = tw.alpha.load(CASES[case][0])
    text = Path(tw.alpha.generateScanC(program, "s", str(tmp_path))).read_text()
    assert text.count("#pragma omp parallel for") >= 2


@pytest.mark.parametrize("time", ["1, floor(i/2), i", "1, i, 0"])
def test_what_somebody_has_said_of_the_recurrence_is_not_lost(time: str) -> None:
    f = tw.alpha.load(CHAINED)["s"]
    f.set_schedule("{ Z[i] -> [0, -i, 0]; X[i] -> [" + time + "] }")
    if "floor" not in time:
        compare(f["X"].scan_blocks(4), chained)  # there is nothing to lose
        f["X"].split("i", 8)
    with pytest.raises(
        tw.ScheduleError, match="has commands already for what scan_blocks rewrites"
    ):
        f["X"].scan_blocks(4)
