"""simplify_reductions: what the literature reaches is found without help, values stay, and what cannot be
simplified says why (Gupta and Rajopadhye, POPL 2006)."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
from alpha_programs import evaluated, results_of

import tilewright as tw

alpha = tw.alpha

#: name: (text without the heading, parameters at which values are compared, degree before and after).
EXAMPLES: dict[str, tuple[str, dict[str, int], int, int]] = {
    "prefix": (
        """affine prefix {N | N > 0}
        input  long A {i | 0 <= i < N};
        output long S {i | 0 <= i < N};
        let    S[i] = reduce(+, [j], {| 0 <= j <= i} : A[j]); .""",
        {"N": 7}, 2, 1,
    ),
    "suffix_max": (
        """affine suffix_max {N | N > 0}
        input  double A {i | 0 <= i < N};
        output double S {i | 0 <= i < N};
        let    S[i] = reduce(max, [j], {| i <= j < N} : A[j]); .""",
        {"N": 7}, 2, 1,
    ),
    "window": (
        """affine window {N, W | 0 < W < N}
        input  long A {i | 0 <= i < N};
        output long S {i | 0 <= i <= N-W};
        let    S[i] = reduce(+, [j], {| i <= j < i+W} : A[j]); .""",
        {"N": 9, "W": 4}, 2, 1,
    ),
    "box": (
        """affine box {N, W | 0 < W && 2W < N}
        input  long A {i,j | 0 <= (i,j) < N};
        output long S {i,j | 0 <= (i,j) && (i,j) <= N-W};
        let    S[i,j] = reduce(+, [k,l], {| i<=k<i+W && j<=l<j+W} : A[k,l]); .""",
        {"N": 7, "W": 3}, 4, 2,
    ),
    "summed_area": (
        """affine summed_area {N | N > 0}
        input  long A {i,j | 0 <= (i,j) < N};
        output long S {i,j | 0 <= (i,j) < N};
        let    S[i,j] = reduce(+, [k], {| k<=i} : reduce(+, [l], {| l<=j} : A[k,l])); .""",
        {"N": 5}, 4, 2,
    ),
    "rna": (
        """affine rna {N | N > 5}
        input  double E {i | 0 <= i < N}; double V {i,j | 0 <= (i,j) < N};
        output double Y {i,j | 0 <= i && i+3 <= j < N};
        let    Y[i,j] = reduce(min, [k,l], {| i < k < l < j} : E[k-i+j-l] + V[k,l]); .""",
        {"N": 8}, 4, 3,
    ),
    "self": (
        """affine self {N | N > 2}
        input  long A {i | 0 <= i < N};
        output long S {i | 0 <= i < N};
        let    S[i] = case {| i==0} : A[i];
                           {| i>0} : reduce(+, [j], {| 0 <= j < i} : S[j]) + A[i]; esac; .""",
        {"N": 8}, 2, 1,
    ),
    "operands": (
        """affine operands {N | N > 2}
        input  long A, B {i | 0 <= i < N};
        output long S {i | 0 <= i < N};
        let    S[i] = reduce(+, [j], {| 0 <= j <= i} : A[j] - B[i-j]); .""",
        {"N": 8}, 2, 1,
    ),
    "constant": (
        """affine constant {N | N > 2}
        input  long A, B, C {i | 0 <= i < N};
        output long S {i | 0 <= i < N};
        let    S[i] = reduce(+, [j], {| 0 <= j <= i} : A[j] * C[i] * B[j]); .""",
        {"N": 8}, 2, 1,
    ),
    "repeated": (
        """affine repeated {N | N > 2}
        input  double A {i | 0 <= i < N};
        output double S {i | 0 <= i < N};
        let    S[i] = reduce(max, [j,k], {| 0 <= j <= k <= i} : A[j]); .""",
        {"N": 8}, 3, 1,
    ),
    "cases": (
        """affine cases {N | N > 4}
        input  long A, B {i | 0 <= i < N};
        output long S {i | 0 <= i < N};
        let    S[i] = 2 * reduce(+, [j], {| 0<=j<=i} :
                 case {| j<3} : A[j]; {| j>=3} : B[j-3]; esac) - reduce(+, [j], {| j<=i} : A[j]); .""",
        {"N": 8}, 2, 1,
    ),
    "truncated": (
        """affine truncated {N | N > 2}
        input  long A {i | 0 <= i < N};
        output int S {i | 0 <= i < N};
        let    S[i] = reduce(+, [j], {| 0 <= j <= i} : 5000000000 * A[j]); .""",
        {"N": 8}, 2, 1,
    ),
}  # fmt: skip


@functools.cache
def simplified_example(name: str) -> Any:
    return alpha.simplify_reductions(alpha.load(EXAMPLES[name][0]))


def arrays_for(function: tw.Function, parameters: dict[str, int]) -> list[Any]:
    random = np.random.default_rng(3)
    found = []
    for _, kind, shape, _ in function._arguments[: len(function.inputs)]:
        extents = [int(eval(str(extent), {}, parameters)) for extent in shape]
        found.append(random.integers(-9, 9, extents).astype(kind))
    return found


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_reach_the_complexity_of_the_literature(name: str) -> None:
    text, parameters, before, after = EXAMPLES[name]
    program = alpha.load(text)
    simplified, report = simplified_example(name)
    assert (report.before.degree, report.after.degree) == (before, after), report
    assert simplified.rewrites == report.rewrites
    assert report.rewrites.apply_to(program) == simplified
    assert alpha.load(str(simplified)) == simplified == alpha.load(simplified.show())
    arrays = arrays_for(program[name], parameters)
    expected = evaluated(program[name], *arrays, **parameters)
    for found in (
        evaluated(simplified[name], *arrays, **parameters),
        results_of(simplified[name], *arrays, **parameters),
    ):
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other)


def test_operations_are_counted_exactly() -> None:
    program = alpha.load(EXAMPLES["prefix"][0])
    report = alpha.simplify_reductions(program).report
    assert str(report.before) == "[N] -> { (1/2 * N + 1/2 * N^2) : N > 0 }"
    assert report.before(N=100) == 5050
    assert report.after(N=100) == 99
    report = simplified_example("box").report
    n, w = 40, 7
    assert report.before(N=n, W=w) == (n - w + 1) ** 2 * w**2
    assert report.after(N=n, W=w) < 7 * n**2


def test_sums_of_fractions_are_asked_for() -> None:
    program = alpha.load(EXAMPLES["prefix"][0].replace("long", "double"))
    same, report = alpha.simplify_reductions(program)
    assert same is program and not report.rewrites
    (reason,) = report.systems["prefix"].kept["S"]
    assert "reassociate=True" in reason
    simplified, report = alpha.simplify_reductions(program, reassociate=True)
    assert report.after.degree == 1
    values = np.random.default_rng(0).random(50)
    np.testing.assert_allclose(simplified["prefix"](values), np.cumsum(values))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            """affine matmul {N | N > 0}
            input  double A, B {i,j | 0 <= (i,j) < N};
            output double C {i,j | 0 <= (i,j) < N};
            let    C[i,j] = reduce(+, [k], A[i,k] * B[k,j]); .""",
            "which change in every direction",
        ),
        (
            """affine moving_max {N, W | 0 < W < N}
            input  double A {i | 0 <= i < N};
            output double C {i | 0 <= i <= N-W};
            let    C[i] = reduce(max, [j], {| i <= j < i+W} : A[j]); .""",
            "max has no inverse",
        ),
    ],
)
def test_what_has_no_reuse_stays_and_says_why(text: str, reason: str) -> None:
    program = alpha.load(text)
    same, report = alpha.simplify_reductions(program, reassociate=True)
    assert same is program
    assert report.before.degree == report.after.degree
    assert any(reason in each for each in next(iter(report.systems.values())).kept["C"]), report
    assert "C stays as it is" in str(report)


def test_a_vector_that_would_close_a_circle_is_not_taken() -> None:
    program = alpha.load(EXAMPLES["self"][0])
    simplified, _ = alpha.simplify_reductions(program)
    assert "S_reduce[i-1]" in str(simplified)
    assert (simplified["self"](np.arange(5)) == [0, 1, 3, 7, 15]).all()


def test_several_systems_and_use_equations() -> None:
    program = alpha.load(
        EXAMPLES["prefix"][0]
        + """
        affine rows {N | N > 2}
        input  long A {i,j | 0 <= (i,j) < N};
        output long S {i,j | 0 <= (i,j) < N};
        let    use {e | 0<=e<N} prefix[N](A) returns (S); ."""
    )
    simplified, report = alpha.simplify_reductions(program)
    assert report.systems["rows"].before.degree == 3
    assert report.systems["rows"].after.degree == 2
    with pytest.raises(tw.DeclarationError, match="2 systems were looked at"):
        _ = report.before
    values = np.arange(9).reshape(3, 3)
    np.testing.assert_array_equal(simplified["rows"](values), np.cumsum(values, 1))
    only, report = alpha.simplify_reductions(program, "rows")
    assert only is program


def test_the_search_is_bounded() -> None:
    program = alpha.load(EXAMPLES["box"][0])
    simplified, report = alpha.simplify_reductions(program, limit=1)
    assert report.after.degree <= report.before.degree
    assert alpha.load(str(simplified)) == simplified


def test_arguments_are_checked() -> None:
    program = alpha.load(EXAMPLES["prefix"][0])
    with pytest.raises(tw.DeclarationTypeError, match="takes an Alpha program"):
        alpha.simplify_reductions("prefix")  # type: ignore[arg-type]
    with pytest.raises(KeyError, match="there is no system 'other'"):
        alpha.simplify_reductions(program, "other")
    with pytest.raises(tw.DeclarationTypeError, match="reassociate="):
        alpha.simplify_reductions(program, reassociate=1)  # type: ignore[arg-type]
    with pytest.raises(tw.DeclarationError, match="limit="):
        alpha.simplify_reductions(program, limit=0)


# ---- the commands that the search has in addition to the report's ----


def test_reductions_are_composed() -> None:
    program = alpha.load(EXAMPLES["summed_area"][0])
    composed = alpha.ReductionComposition(program, "[0, 0, 0]")
    assert "reduce(+, [k,l], {| k<=i && l<=j} : A[k,l])" in str(composed)
    with pytest.raises(tw.DeclarationError, match="no reduction by"):
        alpha.ReductionComposition(composed, "[0, 0, 0]")


def test_operands_are_distributed() -> None:
    program = alpha.load(EXAMPLES["operands"][0])
    text = str(alpha.DistributeReduction(program, "[0, 0, 0]"))
    assert ": A[j]) - reduce(+, [j], {|" in text
    fractions = alpha.load(EXAMPLES["operands"][0].replace("long", "double"))
    with pytest.raises(tw.DeclarationError, match="reassociate=True"):
        alpha.DistributeReduction(fractions, "[0, 0, 0]")


def test_repetitions_are_dropped() -> None:
    program = alpha.load(EXAMPLES["repeated"][0])
    text = str(alpha.DropRepetitions(program, "repeated", "S", "[0, 0, 1]"))
    assert "k==j" in text or "j==k" in text
    for vector, message in (
        ([0, 1, 0], "changes along"),
        ([1, 0, 0], "the answer changes along"),
        ([0, 0], "must have 3 components"),
    ):
        with pytest.raises(tw.DeclarationError, match=message):
            alpha.DropRepetitions(program, "repeated", "S", vector)
    sums = alpha.load(EXAMPLES["prefix"][0])
    with pytest.raises(tw.DeclarationError, match="counts how often"):
        alpha.DropRepetitions(sums, "prefix", "S", [0, 1])


def test_what_is_reused_is_not_converted_first() -> None:
    text = EXAMPLES["truncated"][0]
    once = alpha.SimplifyingReduction(alpha.load(text), "truncated", "S", "[1, 0]")
    assert "long S_reduce" in str(once)
