"""Reductions that combine by a function of the caller: `tw.fold`.

AlphaZ: reductions with user-defined operators (TR 12-101, section 3.1); Tiramisu and Halide write
them as updates of tuples. A fold has one or several values of state, which all change at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, overload

from .. import _core
from ..base.checks import DECLARATION, a_boolean, a_callable
from ..base.errors import DeclarationError
from .expressions import Expression, ExpressionLike, condition_operand, operand
from .reductions import Ranges, reduced_ranges
from .states import declared_states

__all__ = ["fold"]


@overload
def fold(
    combine: Callable[..., Sequence[ExpressionLike]],
    initial: tuple[ExpressionLike, ...] | list[ExpressionLike],
    of: ExpressionLike | tuple[ExpressionLike, ...] | list[ExpressionLike] | None = None,
    *,
    over: Ranges | None = None,
    where: ExpressionLike | None = None,
    associative: bool = False,
    commutative: bool = True,
) -> tuple[Expression, ...]: ...


@overload
def fold(
    combine: Callable[..., ExpressionLike],
    initial: ExpressionLike,
    of: ExpressionLike | tuple[ExpressionLike, ...] | list[ExpressionLike] | None = None,
    *,
    over: Ranges | None = None,
    where: ExpressionLike | None = None,
    associative: bool = False,
    commutative: bool = True,
) -> Expression: ...


def fold(
    combine: Callable[..., Any],
    initial: Any,
    of: Any = None,
    *,
    over: Ranges | None = None,
    where: ExpressionLike | None = None,
    associative: bool = False,
    commutative: bool = True,
) -> Any:
    """What `state = combine(*state, *of)` makes of `initial` over all points of `over`.

    Example: the mean and the variance of each row in one pass (Welford)::

        def add(mean, squares, count, value):
            change = value - mean
            mean = mean + change / (count + 1)
            return mean, squares + change * (value - mean), count + 1

        mean, squares, count = tw.fold(add, (0.0, 0.0, 0), x[i, k], over={k: K})
        variance = tw.computation("variance", {i: N}, squares / count)

    `combine` is called with expressions while the computation is declared, to learn what it says; it
    never sees a value. All states change at once. The points come in lexicographic order of `over`,
    its last iterator fastest, and schedules that change it are refused, unless `associative` says
    that order and grouping do not matter, or, with `commutative=False`, that grouping does not: of
    matrix products, composed functions, the last value. A fold that is computed for every element is a loop that
    takes commands, as `tw.sum` is; several states lie beside each other in memory of their own.

    Args:
        combine: of the states, and of what `of` gives; the next states, as many as there are. It may
            also read arrays at the iterators of `over` itself.
        initial: the first states, a tuple, or a single one; over no points, they are the result. A
            state has the type to which its initial value and what `combine` gives promote; a Python
            number does not widen floats (0 is int64 among integers). They may read arrays (`initial=old[i]`).
        of: the values that are combined, of each point: one expression or a tuple.
        over: iterators with ranges, as of `sum`; bounds may read integer arrays.
        where: a condition, as of `sum`. It cannot use the states.
        associative: the caller's promise that `combine` is associative and commutative and that
            `initial` leaves what it is combined with as it is: combine(combine(a, b), c) is
            combine(a, combine(b, c)), combine(a, b) is combine(b, a), combine(initial, a) is a.
            Terms then come in any order, and `rfactor` combines partial results. `of` has as many
            values as there are states.
        commutative: False if `combine` is associative, but combine(a, b) is not combine(b, a). Terms
            then keep their order, and `rfactor` makes partial results of terms that stand together
            and combines them in order, by threads or in lanes::

                turn = tw.fold(compose, (1.0, 0.0), (a[k], b[k]), over={k: K}, associative=True,
                               commutative=False)
                f["C"].split(k, 1024).rfactor("k0", "blocks")
                f["blocks"].parallelize("k0")

            `initial` must change nothing on either side: combine(a, initial) is a, too.

    Returns:
        The final states: a tuple for a tuple, one expression for a single state.

    Raises:
        DeclarationTypeError: when `combine` gives another number of states, or `over` is missing.
        DeclarationError: for an associative fold whose `of` is not of the states' kind.
    """
    a_callable(combine, "combine of tw.fold", DECLARATION)
    is_single = not isinstance(initial, tuple | list)
    values = [operand(value) for value in ([initial] if is_single else initial)]
    if not values:
        raise DeclarationError("tw.fold needs at least one state in initial=")
    ranges = reduced_ranges(over, "fold", "tw.fold(lambda s, v: s + v, 0.0, x[k], over={k: K})")
    terms = _terms(of)
    condition = condition_operand(where, "where= of tw.fold")
    of_results = a_boolean(associative, "associative= of tw.fold", DECLARATION)
    in_order = not a_boolean(commutative, "commutative= of tw.fold", DECLARATION)
    if of_results and len(terms) != len(values):
        raise DeclarationError(
            f"an associative tw.fold combines two results, so of= must have as many values as there "
            f"are states: {len(values)}, not {len(terms)}"
        )
    others: list[_core.Expr] = []
    combined: list[_core.Expr] = []
    with declared_states("combine of tw.fold", combine, (), values, is_single, terms) as states:
        if of_results:
            others, combined = states.of_two_results(combine)
    results = _core.fold(
        states.variables,
        states.initial,
        ranges,
        states.following,
        condition,
        others,
        combined,
        of_results and in_order,
    )
    final = tuple(Expression(result) for result in results)
    return final[0] if is_single else final


def _terms(of: object) -> list[Expression]:
    """What `combine` is called with beside the states."""
    if of is None:
        return []
    given = of if isinstance(of, tuple | list) else [of]
    return [Expression(_core.strengthen(operand(value))) for value in given]
