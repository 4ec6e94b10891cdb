"""Programs of which some variables have a mapping, or parts are variables of their own: as legal, and
with the same values, as before."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from alpha_programs import CompiledSystem

import tilewright as tw

alpha = tw.alpha

GAUSS_SEIDEL = """affine gs {N, T | N > 2 && T > 0}
  input double Ain {i | 0 <= i < N}; output double Aout {i | 0 <= i < N};
  local double A {t, i | 0 <= i < N && 0 <= t <= T};
  let A[t,i] = case {| t == 0} : Ain[i];
      {| t > 0 && 1 <= i < N-1} : (A[t,i-1] + A[t-1,i] + A[t-1,i+1]) / 3.0;
      {| t > 0 && i == 0} || {| t > 0 && i == N-1} : A[t-1,i]; esac;
  Aout[i] = A[T,i]; ."""

PAIRS = """affine pairs {N | N > 0} input int P {i, j | 0 <= (i,j) < N}; output int best;
  local int S {i, j | 0 <= i <= j < N};
  let S[i,j] = case {| i == j} : 0;
      {| i + 1 == j} : P[i,j];
      {| i + 1 < j} : (S[i+1,j-1] + P[i,j]) max reduce(max, [k], {| i <= k < j} : S[i,k] + S[k+1,j]); esac;
  best = S[0,N-1]; ."""


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_tiles_of_a_size_that_the_call_gives(size: int, tmp_path: Path) -> None:
    """The sweep A, which has no map, has no loop without an order."""
    program = alpha.load(GAUSS_SEIDEL)
    mapped = alpha.SetTiling(alpha.SetSTMap(program, "Aout", "(i -> T+1, i)"), "1", "size")
    assert alpha.verify(mapped)
    compiled = CompiledSystem(mapped, "gs", tmp_path, alpha.generateScheduledC)
    for n, steps in ((3, 1), (9, 3)):
        line = np.random.default_rng(n).random(n)
        np.testing.assert_allclose(
            compiled(line, N=n, T=steps)[0], program["gs"](line, T=steps), rtol=1e-13
        )


@pytest.mark.parametrize("part", ["j-i==2", "i==2", "j==3", "i+j==5"])
def test_a_part_of_a_recurrence_over_intervals(part: str, tmp_path: Path) -> None:
    program = alpha.load(PAIRS)
    split = alpha.Split(program, "pairs", "S", f"{{i,j | {part}}}")
    given = np.random.default_rng(7).integers(0, 2, (8, 8)).astype(np.int32)
    assert split["pairs"](given) == split["pairs"].evaluate(given) == program["pairs"](given)
    assert alpha.verify(split)
    assert CompiledSystem(split, "pairs", tmp_path, alpha.generateScheduledC)(given, N=8)[
        0
    ] == program["pairs"](given)
