"""A loop that ends when its data say so, as one expression: `tw.while_loop`.

The loop is a macro-statement of the polyhedral model: for dependences, schedules and storage it is
one computed value whose reads may happen; inside, it runs as long as its condition holds. Its
state lives in registers, so it is nothing that other iterations could see.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Sequence
from typing import Any, overload

from .. import _core
from ..base.checks import DECLARATION, a_callable
from ..base.errors import DeclarationError, DeclarationTypeError
from .expressions import Expression, ExpressionLike, Operand, operand

__all__ = ["while_loop"]

_WEAK = {bool: "weak bool", int: "weak int", float: "weak float", complex: "weak complex"}


class _Active(threading.local):
    """The state variables of the loops that this thread is declaring, outermost first."""

    def __init__(self) -> None:
        self.names: list[str] = []


_active = _Active()


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
            initial value and what the body gives promote; a Python float takes the body's type.
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
    names = _state_names(body, condition, len(values))
    # Promotion goes up only, so this ends.
    types = [_first_type(value) for value in values]
    outer = len(_active.names)
    _active.names.extend(names)
    try:
        while True:
            states = [_core.state(name, kind) for name, kind in zip(names, types, strict=True)]
            arguments = [Expression(state) for state in states]
            following = _next_states(body(*arguments), len(values), is_single)
            wider = [
                _core.promote(kind, _type_of(value))
                for kind, value in zip(types, following, strict=True)
            ]
            if wider == types:
                wider = [
                    "float64" if kind == "float16" and isinstance(value, float) else kind
                    for kind, value in zip(types, values, strict=True)
                ]
            if wider == types:
                break
            types = wider
        test = operand(condition(*arguments))
    finally:
        del _active.names[outer:]
    asked = _core.strengthen(test)
    if asked.type != "bool":
        raise DeclarationTypeError(
            f"the condition of tw.while_loop must be an expression of type bool such as x > 1, "
            f"but {asked} is of type {asked.type}"
        )
    results = _core.while_loop(
        states,
        [_bring(value, kind) for value, kind in zip(values, types, strict=True)],
        asked,
        [_bring(value, kind) for value, kind in zip(following, types, strict=True)],
        _limit_operand(limit),
    )
    final = tuple(Expression(result) for result in results)
    return final[0] if is_single else final


def _state_names(body: Callable[..., Any], condition: Callable[..., Any], count: int) -> list[str]:
    """The names of the states: those of the body's parameters, and different from those of the
    loops around."""
    names = [f"state{k}" for k in range(count)]
    for function in (condition, body):
        try:
            parameters = list(inspect.signature(function).parameters.values())
        except (TypeError, ValueError):
            continue
        positional = (
            inspect.Parameter.POSITIONAL_ONLY,
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
        )
        if len(parameters) == count and all(p.kind in positional for p in parameters):
            names = [p.name for p in parameters]
    unique: list[str] = []
    for name in names:
        new = name
        number = 2
        while new in _active.names or new in unique:
            new = f"{name}_{number}"
            number += 1
        unique.append(new)
    return unique


def _type_of(value: Operand) -> str:
    return value.type if isinstance(value, _core.Expr) else _WEAK[type(value)]


def _first_type(value: Operand) -> str:
    """The type of a first state; a Python float is as narrow as the body lets it be."""
    if isinstance(value, float):
        return "float16"
    return _core.strengthen(value).type


def _bring(value: Operand, kind: str) -> _core.Expr:
    if isinstance(value, _core.Expr):
        return value
    return _core.constant(value, kind)


def _next_states(result: object, count: int, is_single: bool) -> list[Operand]:
    if is_single:
        if isinstance(result, tuple | list):
            raise DeclarationTypeError(
                f"the body of tw.while_loop must give one state, as initial= is one, "
                f"not {len(result)} of them"
            )
        return [operand(result)]
    if not isinstance(result, tuple | list) or len(result) != count:
        given = f"{len(result)} of them" if isinstance(result, tuple | list) else f"{result!r}"
        raise DeclarationTypeError(
            f"the body of tw.while_loop must give a tuple of {count} states, as initial= does, "
            f"not {given}"
        )
    return [operand(value) for value in result]


def _limit_operand(limit: ExpressionLike | None) -> Operand | None:
    if limit is None:
        return None
    value = _core.strengthen(operand(limit))
    if not value.type.startswith(("int", "uint")):
        raise DeclarationTypeError(
            f"limit= of tw.while_loop must be an integer, but {limit!r} is of type {value.type}"
        )
    return value
