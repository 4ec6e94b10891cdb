"""State variables of loops, as expressions: what `tw.while_loop` and `tw.fold` share.

The functions that a person gives for a loop's body are called with expressions while the
computation is declared, to learn what they say.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Sequence
from typing import Any

from .. import _core
from ..base.errors import DeclarationTypeError
from .expressions import Expression, Operand, operand

__all__ = ["States", "bring", "declared_states", "type_of"]

_WEAK = {bool: "weak bool", int: "weak int", float: "weak float", complex: "weak complex"}


class _Active(threading.local):
    """The state variables of the loops that this thread is declaring, outermost first."""

    def __init__(self) -> None:
        self.names: list[str] = []


_active = _Active()


class States:
    """The states of one loop, with the types to which they were promoted, and what follows them."""

    def __init__(
        self,
        variables: list[_core.Expr],
        types: list[str],
        initial: list[Operand],
        following: list[Operand],
        what: str,
        is_single: bool,
    ) -> None:
        self.variables = variables
        self.types = types
        self._initial = initial
        self._following = following
        self._what = what
        self._is_single = is_single

    def __enter__(self) -> States:
        return self

    def __exit__(self, *error: object) -> None:
        del _active.names[-len(self.variables) :]

    @property
    def arguments(self) -> list[Expression]:
        """What the functions of the loop are called with."""
        return [Expression(variable) for variable in self.variables]

    def of_two_results(
        self, combine: Callable[..., Any]
    ) -> tuple[list[_core.Expr], list[_core.Expr]]:
        """The states of another result, and what `combine` makes of both."""
        others = [
            _core.state(f"other_{variable}", kind)
            for variable, kind in zip(self.variables, self.types, strict=True)
        ]
        given = combine(*self.arguments, *(Expression(other) for other in others))
        values = _next_states(self._what, given, len(others), self._is_single)
        return others, [bring(value, kind) for value, kind in zip(values, self.types, strict=True)]

    @property
    def initial(self) -> list[_core.Expr]:
        """The first values, of the states' types."""
        return [bring(value, kind) for value, kind in zip(self._initial, self.types, strict=True)]

    @property
    def following(self) -> list[_core.Expr]:
        """The next values, of the states' types."""
        return [bring(value, kind) for value, kind in zip(self._following, self.types, strict=True)]


def declared_states(
    what: str,
    body: Callable[..., Any],
    others: Sequence[Callable[..., Any]],
    values: list[Operand],
    is_single: bool,
    arguments: Sequence[Expression] = (),
) -> States:
    """The states of the loop `what` ("the body of tw.while_loop") that begin as `values`.

    They are to be used in a ``with`` block, in which loops that are declared name their states
    differently. A state has the type to which its initial value and what the body gives promote; a
    Python number does not widen floats.

    Args:
        what: the function that gives the next states, for messages.
        body: called with the states and `arguments`; gives the next states.
        others: further functions of the states, whose parameters may name them.
        values: the initial values.
        is_single: whether there is one state, which is no tuple.
        arguments: what `body` is called with besides.
    """
    names = _state_names(body, others, len(values), len(arguments))
    outer = len(_active.names)
    _active.names.extend(names)

    def attempt(kinds: list[str]) -> States:
        """With states of at least these types: promotion goes up only, so this ends."""
        while True:
            states = [_core.state(name, kind) for name, kind in zip(names, kinds, strict=True)]
            given = body(*(Expression(state) for state in states), *arguments)
            following = _next_states(what, given, len(values), is_single)
            wider = [
                _core.promote(kind, type_of(value))
                for kind, value in zip(kinds, following, strict=True)
            ]
            if wider == kinds:
                return States(states, kinds, values, following, what, is_single)
            kinds = wider

    try:
        return attempt(_first_types(values, attempt))
    except BaseException:
        del _active.names[outer:]
        raise


def _first_types(values: list[Operand], attempt: Callable[[list[str]], States]) -> list[str]:
    """The types in which states begin. A Python number is as weak as beside an operand: it takes
    the type of what the body gives, and is int64 or float64 if that has none of its own."""
    kinds = [_core.strengthen(value).type for value in values]
    integers = [k for k, value in enumerate(values) if type(value) is int]
    floats = [k for k, value in enumerate(values) if isinstance(value, float)]
    if not integers and not floats:
        return kinds
    for k in floats:
        kinds[k] = "float16"
    found = attempt(kinds).types
    inexact = [k for k in integers if not found[k].startswith(("int", "uint"))]
    if inexact:  # among floats, or among uint64, which int64 does not hold
        unsigned = [k for k in inexact if isinstance(n := values[k], int) and n >= 0]
        found = attempt(["uint64" if k in unsigned else kind for k, kind in enumerate(kinds)]).types
        for k in inexact:
            kinds[k] = "uint64" if k in unsigned and found[k] == "uint64" else "float16"
    floats += [k for k in inexact if kinds[k] == "float16"]
    if not floats:
        return kinds
    # Neither of the narrow types holds the other: what follows the one is not the body's own.
    first = attempt(kinds).types
    second = attempt(["bfloat16" if k in floats else kind for k, kind in enumerate(kinds)]).types
    for k in floats:
        if (first[k], second[k]) == ("float16", "bfloat16"):
            kinds[k] = "float64"
        elif second[k] == "bfloat16":
            kinds[k] = "bfloat16"
    return kinds


def _state_names(
    body: Callable[..., Any], others: Sequence[Callable[..., Any]], count: int, further: int
) -> list[str]:
    """The names of the states: those of the body's parameters, and different from those of the
    loops around."""
    names = [f"state{k}" for k in range(count)]
    for function, expected in (*((other, count) for other in others), (body, count + further)):
        try:
            parameters = list(inspect.signature(function).parameters.values())
        except (TypeError, ValueError):
            continue
        positional = (
            inspect.Parameter.POSITIONAL_ONLY,
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
        )
        if len(parameters) == expected and all(p.kind in positional for p in parameters):
            names = [p.name for p in parameters[:count]]
    unique: list[str] = []
    for name in names:
        new = name
        number = 2
        while new in _active.names or new in unique:
            new = f"{name}_{number}"
            number += 1
        unique.append(new)
    return unique


def type_of(value: Operand) -> str:
    """The type of an operand; of a Python number, that it has none yet."""
    return value.type if isinstance(value, _core.Expr) else _WEAK[type(value)]


def bring(value: Operand, kind: str) -> _core.Expr:
    """An operand as an expression; a Python number takes the type `kind`."""
    if isinstance(value, _core.Expr):
        return value
    return _core.constant(value, kind)


def _next_states(what: str, result: object, count: int, is_single: bool) -> list[Operand]:
    if is_single:
        if isinstance(result, tuple | list):
            raise DeclarationTypeError(
                f"{what} must give one state, as initial= is one, not {len(result)} of them"
            )
        return [operand(result)]
    if not isinstance(result, tuple | list) or len(result) != count:
        given = f"{len(result)} of them" if isinstance(result, tuple | list) else f"{result!r}"
        raise DeclarationTypeError(
            f"{what} must give a tuple of {count} states, as initial= does, not {given}"
        )
    return [operand(value) for value in result]
