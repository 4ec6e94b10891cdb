"""Transformations on domains with strides: what is projected out of them is counted in formulas, so that domains
do not grow with each step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.frontends.alpha.rewrites.places import attributes
from tilewright.frontends.alpha.tree import Equation

alpha = tw.alpha
SUMS = """affine rp {N,M | N>0 && M>0} input long A {i | 0<=i<N}; output long X {i | 0<=i<N};
let X[i] = reduce(+, [j], {| 0<=j<N && i-M<=j<=i} : A[j]); ."""
MAXIMA = """affine movmax {N | N>4} input long A {i | 0<=i<N}; output long S {i | 0<=i<N};
let S[i] = reduce(max, [j], {| i-3<=j<=i && 0<=j<N} : A[j]); ."""
PARITY = ("SplitReductionBody", "[0, 0, 0]", "{i,j | j%2==1}")
CHAINS = {
    "inline": (SUMS, [
        ("Normalize",), PARITY, ("NormalizeReduction",),
        ("ReductionDecomposition", "[0, 2, 0]", "(i,j->i)", "(i,j->i,j)"), ("Inline", "rp", "X", "X_reduce_0"),
    ]),
    "serialize": (MAXIMA, [
        PARITY, ("Normalize",), ("SplitReductionBody", "[0, 0, 0, 0, 0, 0]", "{i,j | j==1}"),
        ("SerializeReduction", "[0, 0, 0, 0, 0, 0, 1, 0, 1]", "(i,j->j-i,-i,1)"),
    ]),
}  # fmt: skip


@pytest.mark.parametrize("name", CHAINS)
def test_domains_do_not_grow(name: str) -> None:
    text, chain = CHAINS[name]
    p = before = alpha.load(text)
    for command, *arguments in chain:
        p = getattr(alpha, command)(p, *arguments)
    (system,) = p.tree.systems
    for equation in system.equations:
        assert isinstance(equation, Equation)
        found: Any = attributes(system, equation)
        for domain in (*found.expression.values(), *found.context.values()):
            assert "exists" not in str(domain.points)
            assert sum(map(len, domain.parts)) < 60, domain
    numbers = np.random.default_rng(1).integers(-9, 9, 11)
    sizes = {"M": 3} if name == "inline" else {}
    expected = before[system.name](numbers, **sizes)
    np.testing.assert_array_equal(p[system.name].evaluate(numbers, **sizes), expected)


def test_a_reduction_that_nothing_needs_is_refused() -> None:
    """Its equation's domain is empty: no branch of the case has a place in the sum."""
    p = alpha.load("""affine s {N | N>1} input long A {i | 0<=i<N}; output long X {i | 0<=i<N && i<0};
      let X = reduce(+, (i,j->i), {| 0<=j<N} : case {| j==0} : (i,j->j)@A; {| j>0} : (i,j->j-1)@A; esac); .""")
    with pytest.raises(
        tw.DeclarationError, match=r"line 2, column 15: .*has no points that are needed"
    ):
        alpha.PermutationCaseReduce(p, "s", "X")
    assert alpha.simplify_reductions(p).program["s"](np.arange(3)).shape == (0,)
