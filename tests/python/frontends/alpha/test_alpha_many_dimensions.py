"""Orders of variables with more dimensions than are tried one by one (CSU TR CS12-101, section 7)."""

from __future__ import annotations

import numpy as np

import tilewright as tw

alpha = tw.alpha
RNG = np.random.default_rng(5)

BACKWARD = """affine t {N | N>0}
  input long A {i,j,k,l | 0<=(i,j,k,l)<N};
  output long X {i,j,k,l | 0<=(i,j,k,l)<N};
  local long L {i,j,k,l | 0<=(i,j,k,l)<N};
  let
    L[i,j,k,l] = case {| l==N-1} : A[i,j,k,l]; {| l<N-1} : L[i,j,k,l+1] + A[i,j,k,l]; esac;
    X = L;
."""
MANY_WAYS = """affine t {N | N>0}
  input long A {i,j,k,l,m | 0<=(i,j,k,l,m)<N};
  output long X {i,j,k,l,m | 0<=(i,j,k,l,m)<N};
  local long L {i,j,k,l,m | 0<=(i,j,k,l,m)<N};
  let
    L[i,j,k,l,m] = case
      {| m==N-1 || k==0} : A[i,j,k,l,m];
      {| m<N-1 && k>0} : L[N-1-i,j,k-1,N-1-l,m] + L[j,i,k,l,m+1] + A[i,j,k,l,m];
    esac;
    X = L;
."""


def test_variables_of_many_dimensions_turn_their_indices() -> None:
    p = alpha.load(BACKWARD)
    assert alpha.verify(p)
    a = RNG.integers(0, 9, (3, 3, 3, 3))
    wanted = np.flip(np.cumsum(np.flip(a, 3), 3), 3)
    mapped = alpha.SetSTMap(p, "t", "X", "(e,f,i,j -> e,f,i,j)")
    for each in (p, mapped):
        np.testing.assert_array_equal(each["t"](a), wanted)


def test_an_order_is_found_index_by_index() -> None:
    p = alpha.load(MANY_WAYS)
    assert alpha.verify(p)  # k forwards, then m backwards; others may stand anywhere behind
    a = RNG.integers(0, 9, (3,) * 5)
    wanted = np.zeros_like(a)
    for i, j, k, l, m in sorted(np.ndindex(a.shape), key=lambda at: (at[2], -at[4])):
        wanted[i, j, k, l, m] = a[i, j, k, l, m]
        if m < 2 and k > 0:
            wanted[i, j, k, l, m] += wanted[2 - i, j, k - 1, 2 - l, m] + wanted[j, i, k, l, m + 1]
    mapped = alpha.SetSTMap(p, "t", "X", "(i,j,k,l,m -> i,j,k,l,m)")
    np.testing.assert_array_equal(mapped["t"](a), wanted)
    none = MANY_WAYS.replace("L[j,i,k,l,m+1]", "L[j,i,k+1,l,m]").replace(
        "m<N-1 && k>0", "m<N-1 && k>0 && k<N-1"
    )
    none = none.replace("m==N-1 || k==0", "m==N-1 || k==0 || k==N-1")
    assert not alpha.verify(alpha.load(none))
