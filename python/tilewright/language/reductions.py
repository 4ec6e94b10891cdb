"""Reductions are expressions: `tw.sum(A[i, k] * B[k, j], over={k: K})`.

The ranges may be half-open pairs, or triples with a step, and their bounds may use outer iterators
and earlier reduced ones; `where` adds a condition, which may read arrays as np.sum's may. As the person wrote a
reduction, its elements may be combined in any order, unless `ordered` says otherwise, and products
may be added by fused multiply-add; sums and products of bool and narrow integers are kept in
(u)int64, as NumPy does.
"""

from __future__ import annotations

import builtins
import functools
import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any, SupportsIndex, TypeAlias

from .. import _core
from .._core import Op
from ..base.checks import DECLARATION, a_boolean, a_list
from ..base.errors import DeclarationError, DeclarationTypeError
from .elementary import maximum, minimum
from .expressions import Expression, ExpressionLike, Operand, condition_operand, operand
from .names import Iterator

__all__ = ["all", "any", "argmax", "argmin", "max", "min", "prod", "sum"]

RangeLike: TypeAlias = (
    ExpressionLike
    | tuple[ExpressionLike, ExpressionLike]
    | tuple[ExpressionLike, ExpressionLike, int]
    | range
    | slice
)
Ranges: TypeAlias = Mapping[Iterator, RangeLike] | Iterable[tuple[Iterator, RangeLike]]


#: The name of an iterator, its bounds, and the step.
RangeOperands: TypeAlias = tuple[str, Operand, Operand, int]

#: The largest step of a range, as the core has it.
_LARGEST_STEP = 1_000_000_000


def range_operands(
    iterator: object, bounds: object, what: str
) -> tuple[str, Operand, Operand, int]:
    """(name, lower, upper, step) of one half-open range, given as an upper bound, a pair, a triple
    with a step, a Python range or a slice.

    Raises:
        DeclarationError: when a bound is missing, or the step is none of a range.
        DeclarationTypeError: when the iterator is none, or the bounds are not of a form above.
    """
    if isinstance(iterator, str):
        iterator = Iterator(iterator)
    if not isinstance(iterator, Iterator):
        raise DeclarationTypeError(
            f"{what} is given by iterators and their ranges, {{i: N}} or {{i: (1, N)}}; "
            f"{iterator!r} is no iterator (make one with tw.iter)"
        )
    name = iterator.name
    lower: object
    upper: object
    step: object = 1
    if isinstance(bounds, range | slice):
        lower, upper, step = bounds.start, bounds.stop, bounds.step
        if isinstance(bounds, slice):
            lower, step = (0 if lower is None else lower), (1 if step is None else step)
    elif isinstance(bounds, tuple | list):
        if len(bounds) not in (2, 3):
            raise DeclarationTypeError(
                f"the range of {name} in {what} must be an upper bound, a pair (lower, upper) or "
                f"a triple (lower, upper, step), not {bounds!r}"
            )
        lower, upper, *steps = bounds
        step = steps[0] if steps else 1
    else:
        lower, upper = 0, bounds
    if lower is None or upper is None or upper is Ellipsis:
        side = "lower" if lower is None else "upper"
        raise DeclarationError(
            f"{what} is unbounded: {name} has no {side} bound; "
            f"give both as {{{name}: (lower, upper)}}"
        )
    step = _step(step, name, what)
    return name, _bound(lower, name, what), _bound(upper, name, what), step


def _step(value: object, name: str, what: str) -> int:
    if isinstance(value, Expression):
        raise DeclarationTypeError(
            f"the step of {name} in {what} must be a number, not {value!r}: kernels are made for "
            f"one step; declare the function for each, or run over the number of the value and "
            f"compute it where it is used"
        )
    if isinstance(value, bool) or not isinstance(value, SupportsIndex):
        raise DeclarationTypeError(
            f"the step of {name} in {what} must be an integer such as 2, not {value!r}"
        )
    step = operator.index(value)
    if step < 0:
        raise DeclarationError(
            f"the step of {name} in {what} must be positive, not {step}: a range is a set of "
            f"values, given upwards, and reverse({name!r}) runs its loop backwards"
        )
    if not 1 <= step <= _LARGEST_STEP:
        raise DeclarationError(
            f"the step of {name} in {what} must be 1 to {_LARGEST_STEP}, not {step}"
        )
    return step


def _bound(value: object, name: str, what: str) -> Operand:
    bound = operand(value)
    kind = bound.type if isinstance(bound, _core.Expr) else type(bound).__name__
    if not kind.startswith(("int", "uint")):
        raise DeclarationTypeError(
            f"a bound of {name} in {what} must be an integer, but {value!r} is of type {kind}"
        )
    return bound


#: What combines a reduction with an initial value.
_COMBINERS: dict[Op, Callable[[Any, Any], Expression]] = {
    Op.ReduceSum: operator.add,
    Op.ReduceProd: operator.mul,
    Op.ReduceMin: minimum,
    Op.ReduceMax: maximum,
}


def reduced_ranges(
    over: Ranges | None, name: str, example: str
) -> list[tuple[str, Operand, Operand, int]]:
    """The ranges of `over=` of the reduction tw.`name`, outermost first.

    Raises:
        DeclarationError: when a range has no bound.
        DeclarationTypeError: when there are no ranges, or they are not of a form of `Ranges`.
    """
    what = f"the reduction tw.{name}"
    if over is None:
        raise DeclarationTypeError(f"tw.{name} needs the iterators that it reduces: {example}")
    if isinstance(over, Iterator):
        over = [over]  # type: ignore[list-item]  # refused below, with its name
    pairs = (
        over.items()
        if isinstance(over, Mapping)
        else a_list(over, f"over= of tw.{name}", DECLARATION, "iterators with ranges, {k: K}")
    )
    ranges = []
    for pair in pairs:
        is_pair = isinstance(pair, tuple) and len(pair) == 2
        iterator, bounds = pair if is_pair else (pair, None)
        ranges.append(range_operands(iterator, bounds, what))
    return ranges


def _reduce(
    op: Op,
    name: str,
    value: ExpressionLike,
    over: Ranges | None,
    where: ExpressionLike | None,
    ordered: bool = False,
    initial: ExpressionLike | None = None,
) -> Expression:
    ranges = reduced_ranges(over, name, f"tw.{name}(x[k], over={{k: K}})")
    condition = condition_operand(where, f"where= of tw.{name}")
    in_order = a_boolean(ordered, f"ordered= of tw.{name}", DECLARATION)
    if initial is None:
        return Expression(_core.reduce(op, ranges, operand(value), condition, in_order))
    combine = _COMBINERS[op]
    if not in_order:
        reduced = _core.reduce(op, ranges, operand(value), condition, False)
        return combine(Expression(reduced), initial)
    # The first term is combined with the initial value, not all of them.
    term = _core.reduce(op, ranges, operand(value), None, True).type
    both = operand(combine(Expression(_core.state(name, term)), initial))
    kind = _core.strengthen(both).type
    state = _core.state(name, kind)
    following = _core.cast(operand(combine(Expression(state), value)), kind)
    first = _core.cast(_core.strengthen(operand(initial)), kind)
    return Expression(_core.fold([state], [first], ranges, [following], condition)[0])


def sum(
    value: ExpressionLike,
    *,
    over: Ranges | None = None,
    where: ExpressionLike | None = None,
    ordered: bool = False,
    initial: ExpressionLike | None = None,
) -> Expression:
    """The sum over all points of `over` where `where` holds; 0 over none.

    Args:
        value: the expression that is summed.
        over: {k: K} for 0 <= k < K, {k: (1, K)} for 1 <= k < K, {k: (1, K, 2)} for the odd ones of
            these; several iterators, outermost first. Bounds may read integer arrays,
            {p: (row[i], row[i + 1])}, where `value` reads some array at p itself: as in a slice,
            what lies beyond that array's extent is left out. Bounds of inner iterators are read
            where those of outer ones hold.
        where: a condition, such as `(k < i) & (mask[k] > 0)`. What is affine in it bounds the
            domain; what reads arrays is asked of each of its points, and the value is computed
            (and read) only where it holds. Its parts are asked in order, as by Python's `and`:
            of `(at[k] < M) & (x[at[k]] > 0)`, x is read where the first one holds. Comparisons of
            an iterator with values that stay the same in its loop become the bounds of that loop:

                y = tw.computation("y", {i: N}, tw.sum(val[p] * x[col[p]], over={p: NNZ},
                                   where=(row[i] <= p) & (p < row[i + 1])))

            is a sparse matrix (CSR) times a vector, without a test in its inner loop.
        ordered: add the terms one after the other in the order of `over` and in no other: schedules
            that change it are refused. (`fast_math` of a function allows the compiler more.)
        initial: what the terms are added to, as np.sum has it (0); if `ordered`, first.
    """
    return _reduce(Op.ReduceSum, "sum", value, over, where, ordered, initial)


def prod(
    value: ExpressionLike,
    *,
    over: Ranges | None = None,
    where: ExpressionLike | None = None,
    ordered: bool = False,
    initial: ExpressionLike | None = None,
) -> Expression:
    """The product over all points of `over`; 1 over none. Arguments as of `sum`."""
    return _reduce(Op.ReduceProd, "prod", value, over, where, ordered, initial)


def min(
    value: ExpressionLike,
    *others: ExpressionLike,
    over: Ranges | None = None,
    where: ExpressionLike | None = None,
    initial: ExpressionLike | None = None,
) -> Expression:
    """The smallest value over all points of `over`; NaN if any is. Over none, the type's largest
    value.

    `initial` counts as one value more: over none, it is the result.

    With several values and no `over`, their minimum: `tw.min(a, b)`.
    """
    if others:
        _no_ranges("min", over, where, initial)
        return functools.reduce(minimum, others[1:], minimum(value, others[0]))
    return _reduce(Op.ReduceMin, "min", value, over, where, initial=initial)


def max(
    value: ExpressionLike,
    *others: ExpressionLike,
    over: Ranges | None = None,
    where: ExpressionLike | None = None,
    initial: ExpressionLike | None = None,
) -> Expression:
    """The largest value over all points of `over`; NaN if any is. Over none, the type's smallest
    value.

    `initial` counts as one value more: over none, it is the result.

    With several values and no `over`, their maximum: `tw.max(a, b)`.
    """
    if others:
        _no_ranges("max", over, where, initial)
        return functools.reduce(maximum, others[1:], maximum(value, others[0]))
    return _reduce(Op.ReduceMax, "max", value, over, where, initial=initial)


def _no_ranges(name: str, *given: object) -> None:
    if builtins.any(one is not None for one in given):
        raise DeclarationTypeError(
            f"tw.{name} takes either several values or one value with over=, not both"
        )


def any(
    value: ExpressionLike, *, over: Ranges | None = None, where: ExpressionLike | None = None
) -> Expression:
    """Whether the value is true (not 0) at any point of `over`; False over none."""
    return _reduce(Op.ReduceAny, "any", value, over, where)


def all(
    value: ExpressionLike, *, over: Ranges | None = None, where: ExpressionLike | None = None
) -> Expression:
    """Whether the value is true (not 0) at every point of `over`; True over none."""
    return _reduce(Op.ReduceAll, "all", value, over, where)


def _position(
    op: Op,
    name: str,
    value: ExpressionLike,
    over: Ranges | None,
    where: ExpressionLike | None,
) -> Any:
    ranges = reduced_ranges(over, name, f"tw.{name}(x[k], over={{k: K}})")
    if len(ranges) < 2:
        return _reduce(op, name, value, over, where)
    condition = condition_operand(where, f"where= of tw.{name}")
    found = _core.position_of_extremum(op, ranges, operand(value), condition)
    return tuple(Expression(position) for position in found)


def argmin(
    value: ExpressionLike, *, over: Ranges | None = None, where: ExpressionLike | None = None
) -> Any:
    """Where the first smallest value, or the first NaN, lies: the value of the reduced iterator; of
    several iterators, a tuple with the value of each. Over none, -1 of each.

    First is what comes first in lexicographic order of `over`, as in np.argmin:

        row, column = tw.argmin(A[i, j], over={i: N, j: M})

    is np.unravel_index(A.argmin(), A.shape). It is an associative fold of the extremum and its
    position (`tw.fold`): a loop that takes commands, `rfactor` among them.
    """
    return _position(Op.ReduceArgMin, "argmin", value, over, where)


def argmax(
    value: ExpressionLike, *, over: Ranges | None = None, where: ExpressionLike | None = None
) -> Any:
    """Where the first largest value, or the first NaN, lies; the rest is as of `argmin`."""
    return _position(Op.ReduceArgMax, "argmax", value, over, where)
