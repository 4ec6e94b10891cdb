"""Iterators and parameters: the names that expressions are made of."""

from __future__ import annotations

import re
from typing import ClassVar

from .. import _core
from ..base.checks import DECLARATION, an_integer, an_isl_text, described
from ..base.errors import DeclarationError, DeclarationTypeError
from ..base.source import caller_location
from .expressions import Expression

__all__ = ["Iterator", "Parameter", "check_identifier", "iter", "iters", "param", "params"]


class Iterator(Expression):
    """An iterator of domains and reductions, an int64 value; one object for each name."""

    __slots__ = ("_name",)

    _name: str
    _known: ClassVar[dict[str, Iterator]] = {}

    def __new__(cls, name: str) -> Iterator:
        known = cls._known.get(name) if isinstance(name, str) else None
        if known is None:
            check_identifier(name, "iterator")
            known = super().__new__(cls)
            Expression.__init__(known, _core.iterator(name))
            known._name = name
            cls._known[name] = known
        return known

    def __init__(self, name: str) -> None:
        pass

    @property
    def name(self) -> str:
        """The name."""
        return self._name

    def __reduce__(self) -> tuple[object, ...]:
        return Iterator, (self._name,)


class Parameter(Expression):
    """A size that the arrays' shapes give when the function is called; an int64 value."""

    __slots__ = ("_constraint", "_name")

    _name: str
    _constraint: str

    def __init__(self, name: str, constraint: str = "") -> None:
        check_identifier(name, "parameter")
        an_isl_text(constraint, "the constraint of a parameter", DECLARATION)
        super().__init__(_core.parameter(name, constraint))
        self._name = name
        self._constraint = constraint

    @property
    def name(self) -> str:
        """The name."""
        return self._name

    @property
    def constraint(self) -> str:
        """What is known of the parameter, as isl text; empty for nothing."""
        return self._constraint

    def __reduce__(self) -> tuple[object, ...]:
        return Parameter, (self._name, self._constraint)


def check_identifier(name: object, what: str) -> None:
    """Refuses a name that is no identifier or a word of isl's notation; `what` says whose it is."""
    article = "an" if what[0] in "aeiou" else "a"
    if not isinstance(name, str):
        raise DeclarationTypeError(
            f"the name of {article} {what} must be a str, not {described(name)}"
        )
    if not name.isidentifier() or not _core.is_identifier(name):
        raise DeclarationError(
            f"{described(name)} cannot be the name of {article} {what}: names are letters, digits and _, "
            "do not start with a digit, and are no word of isl's notation (and, mod, exists ...)"
        )


def _split_names(names: tuple[str, ...], what: str) -> list[str]:
    result: list[str] = []
    for text in names:
        if not isinstance(text, str):
            raise DeclarationTypeError(f"names of {what}s must be a str, not {described(text)}")
        result += re.split(r"[\s,]+", text.strip())
    if not any(result):
        example = "tw.iters('i j')" if what == "iterator" else "tw.params('N M')"
        raise DeclarationError(f"give the names of the {what}s: {example}")
    for name in result:
        check_identifier(name, what)
    if len(set(result)) != len(result):
        raise DeclarationError(f"the names {' '.join(result)} contain one twice")
    return result


def iter(name: str) -> Iterator:
    """One iterator."""
    return Iterator(name)


def iters(*names: str) -> tuple[Iterator, ...]:
    """Iterators by name: `i, j = tw.iters("i j")`."""
    return tuple(Iterator(name) for name in _split_names(names, "iterator"))


def params(
    names: str, constraint: str | None = None, *, minimum: int | None = 0
) -> tuple[Parameter, ...]:
    """Parameters by name: `N, M = tw.params("N M", "N > 3 and M >= N")`.

    Args:
        names: names, separated by spaces or commas.
        constraint: what is known of them, as isl text over these names. A call that breaks it is
            refused, and analysis may rely on it.
        minimum: a lower bound of each; None for none.

    Raises:
        DeclarationError: when a name is no identifier, or no values satisfy the constraint.
    """
    split = _split_names((names,), "parameter")
    least = None if minimum is None else an_integer(minimum, "minimum", DECLARATION, bits=64)
    known = [] if least is None else [f"{name} >= {least}" for name in split]
    tuple_text = ", ".join(split)
    if constraint is None:
        return (
            tuple(
                Parameter(name, f"[{name}] -> {{ : {bound} }}")
                for name, bound in zip(split, known, strict=True)
            )
            if known
            else tuple(Parameter(name) for name in split)
        )
    if not isinstance(constraint, str):
        raise DeclarationTypeError(
            "the constraint of parameters must be isl text such as 'N > 3', not "
            f"{described(constraint)}; a comparison of parameters goes into context= of tw.function"
        )
    an_isl_text(constraint, "the constraint of parameters", DECLARATION)
    text = f"[{tuple_text}] -> {{ : {' and '.join([*known, f'({constraint})'])} }}"
    satisfiable = _core.check_constraint(constraint, split, text, caller_location())
    if not satisfiable:
        bounds = "" if minimum is None else f" with minimum={minimum}"
        raise DeclarationError(f"no values of {tuple_text} satisfy {constraint!r}{bounds}")
    return tuple(Parameter(name, text) for name in split)


def param(name: str, constraint: str | None = None, *, minimum: int | None = 0) -> Parameter:
    """One parameter; see `params`."""
    found = params(name, constraint, minimum=minimum)
    if len(found) != 1:
        raise DeclarationError(f"tw.param takes one name, not {name!r}; use tw.params")
    return found[0]
