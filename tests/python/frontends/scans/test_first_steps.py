"""Recurrences whose first iterations need some, but not all, of the values that the others need; and members whose
values an output only shows the last of."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw

HEAD = """affine s {N | N>3} input long A {i | 0<=i<N}; output long X {i | 0<=i<N};
let X[i] = case """
SECOND = "{| i==0} : A[i]; {| i==1} : A[i] + X[i-1]; {| i>=2} : A[i] + X[i-1] - 2*X[i-2]; esac; ."
THIRD = """{| i==0} : A[i]; {| i==1} : A[i] + X[i-1]; {| i==2} : X[i-1] - X[i-2];
{| i>=3} : A[i] + X[i-1] - 2*X[i-3]; esac; ."""
BACKWARDS = (
    "{| i==N-1} : A[i]; {| i==N-2} : A[i] + X[i+1]; {| i<N-2} : A[i] + X[i+1] - 2*X[i+2]; esac; ."
)
MUTUAL = """affine s {N | N>3} input long A {i | 0<=i<N}; output long X, Y {i | 0<=i<N};
let X[i] = case {| i==0} : A[i]; {| i==1} : A[i] + Y[i-1]; {| i>=2} : A[i] + Y[i-1] - 2*X[i-2]; esac;
    Y[i] = case {| i==0} : 1; {| i==1} : X[i-1] + Y[i-1]; {| i>1} : X[i-1] + Y[i-2]; esac; ."""
PASSED_ON = """affine s {N | N>3} input long A {i | 0<=i<N}; output long X, Y {i | 0<=i<N};
let X[i] = case {| i==0} : A[i]; {| i==1} : A[i] + Y[i-1]; {| i>=2} : A[i] + Y[i-1] - 2*X[i-2]; esac;
    Y[i] = X[i] * 3; ."""
TEXTS = {
    "second order": HEAD + SECOND,
    "third order": HEAD + THIRD,
    "backwards": HEAD + BACKWARDS,
    "mutual": MUTUAL,
    "through another variable": PASSED_ON,
}


def agree(function: tw.Function, name: str, size: int, *arrays: np.ndarray) -> None:
    found, expected = function[name].scan_blocks(size)(*arrays), function(*arrays)
    assert isinstance(found, tuple) == isinstance(expected, tuple)
    np.testing.assert_array_equal(np.stack([found]), np.stack([expected]))


@pytest.mark.parametrize("size", [6, 7, 16])
@pytest.mark.parametrize("name", TEXTS)
def test_first_iterations_that_need_some_earlier_ones(name: str, size: int) -> None:
    function = tw.alpha.load(TEXTS[name])["s"]
    for length in (4, size, size + 1, 41):
        agree(function, "X", size, np.random.default_rng(length).integers(-9, 9, length))


@pytest.mark.parametrize("size", [4, 5])
def test_first_iterations_within_other_loops(size: int) -> None:
    rows = (HEAD + SECOND).replace("{i |", "{i,j | 0<=j<M &&").replace("N |", "N, M |")
    for distance in ("", "-1", "-2"):
        rows = rows.replace(f"[i{distance}]", f"[i{distance},j]")
    function = tw.alpha.load(rows)["s"]
    agree(function, "X", size, np.random.default_rng(2).integers(-9, 9, (13, 4)))


@pytest.mark.parametrize("size", [2, 3, 8])
def test_partial_sums_of_which_the_last_is_shown(size: int) -> None:
    function = tw.alpha.load("""affine s {N | 0<N}
      input long A, B {i,j | 0<=(i,j)<N}; output long C {i,j | 0<=(i,j)<N}; local long T {i,j,k | 0<=(i,j,k)<N};
      let C[i,j] = T[i,j,N-1];
          T[i,j,k] = case {| k==0} : A[i,k]*B[k,j]; {| k>0} : A[i,k]*B[k,j] + T[i,j,k-1]; esac; .
    """)["s"]
    a, b = np.random.default_rng(3).integers(-9, 9, (2, 7, 7))
    np.testing.assert_array_equal(function["T"].scan_blocks(size)(a, b), a @ b)
