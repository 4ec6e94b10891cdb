"""A loop that ends when its data say so, as one expression: `tw.while_loop`.

The loop is a macro-statement of the polyhedral model: for dependences, schedules and storage it is
one computed value whose reads may happen; inside, it runs as long as its condition holds. Its
state lives in registers, so it is nothing that other iterations could see.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, overload

from .. import _core
from ..base.checks import DECLARATION, a_callable
from ..base.errors import DeclarationError, DeclarationTypeError
from .expressions import Expression, ExpressionLike, Operand, operand
from .states import declared_states

__all__ = ["while_loop"]


@overload
def while_loop(
    condition: Callable[..., ExpressionLike],
    body: Callable[..., Sequence[ExpressionLike]],
    initial: tuple[ExpressionLike, ...] | list[ExpressionLike],
    limit: ExpressionLike | None = None,
) -> tuple[Expression, ...]: ...


@overload
def while_loop(
    condition: Callable[..., ExpressionLike],
    body: Callable[..., ExpressionLike],
    initial: ExpressionLike,
    limit: ExpressionLike | None = None,
) -> Expression: ...


def while_loop(
    condition: Callable[..., ExpressionLike],
    body: Callable[..., Any],
    initial: Any,
    limit: ExpressionLike | None = None,
) -> Any:
    """The final state of a loop: `while condition(*state): state = body(*state)`.

    Example::

        n = tw.input("n", [N], tw.int64)
        _, steps = tw.while_loop(
            lambda x, steps: x > 1,
            lambda x, steps: (tw.select(x % 2 == 0, x // 2, 3 * x + 1), steps + 1),
            initial=(n[i], 0),
        )
        collatz = tw.computation("collatz", {i: N}, steps)

    Both functions are called with expressions while the computation is declared, to learn what
    they say; they never see a value. All states change at once. What they read may depend on the
    state (`a[(low + high) // 2]`): such subscripts are checked when the kernel runs. Arguments and
    results follow jax.lax.while_loop.

    Args:
        condition: of the states; an expression of type bool. It is asked before each iteration.
        body: of the states; the next states, as many as there are.
        initial: the first states, a tuple, or a single one. A state has the type to which the
            initial value and what the body gives promote; a Python number does not widen floats
            (0 is int64 among integers).
        limit: the most iterations that are made, an integer; at the limit the loop ends with the
            state that it has. Without one, it is the caller's promise that the loop ends (the
            evaluator gives up after 2**24 iterations).

    Returns:
        The final states: a tuple for a tuple, one expression for a single state.

    Raises:
        DeclarationTypeError: for a condition that is not bool, a body that gives another number of
            states, or a limit that is no integer.
    """
    a_callable(condition, "the condition of tw.while_loop", DECLARATION)
    a_callable(body, "the body of tw.while_loop", DECLARATION)
    is_single = not isinstance(initial, tuple | list)
    values = [operand(value) for value in ([initial] if is_single else initial)]
    if not values:
        raise DeclarationError("tw.while_loop needs at least one state in initial=")
    with declared_states(
        "the body of tw.while_loop", body, (condition,), values, is_single
    ) as states:
        test = operand(condition(*states.arguments))
    asked = _core.strengthen(test)
    if asked.type != "bool":
        raise DeclarationTypeError(
            f"the condition of tw.while_loop must be an expression of type bool such as x > 1, "
            f"but {asked} is of type {asked.type}"
        )
    results = _core.while_loop(
        states.variables, states.initial, asked, states.following, _limit_operand(limit)
    )
    final = tuple(Expression(result) for result in results)
    return final[0] if is_single else final


def _limit_operand(limit: ExpressionLike | None) -> Operand | None:
    if limit is None:
        return None
    value = _core.strengthen(operand(limit))
    if not value.type.startswith(("int", "uint")):
        raise DeclarationTypeError(
            f"limit= of tw.while_loop must be an integer, but {limit!r} is of type {value.type}"
        )
    return value
