"""`continue` and `break` in a loop over the parts of a tuple, of which there is a body for each part.

What follows a jump runs where it was not taken, so that nothing has to be remembered::

    for d in (-1, 1):                      if x[i - 1] < 0:
        if x[i + d] < 0:                       k = -1
            k = d                          else:
            break                              s += x[i - 1]
        s += x[i + d]                          if x[i + 1] < 0:
                                                   k = 1
                                               else:
                                                   s += x[i + 1]

Statements have one place each. Where two ways lead to what follows, a loop of one turn around it is what
the jump leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from ..tree import Break, Continue, If, Return, Statement

__all__ = ["jumps_of", "one_after_another"]

Statements = tuple[Statement, ...]


def jumps_of(statements: Statements) -> Iterator[Statement]:
    """The jumps that leave the statements for the loop around them."""
    for one in statements:
        if isinstance(one, Break | Continue):
            yield one
        elif isinstance(one, If):
            yield from jumps_of((*one.body, *one.otherwise))


def one_after_another(
    bodies: Sequence[Statements], once: Callable[[Statements], Statement]
) -> Statements | None:
    """The bodies of a loop's turns as statements without its jumps.

    Args:
        bodies: of each turn.
        once: a loop of one turn around statements.

    Returns:
        None if a turn has jumps of both kinds that no conditions express.
    """
    all_: list[Statement] = []
    for body in bodies:
        plain = _without(Continue, body)
        if plain is None:
            if any(isinstance(each, Break) for each in jumps_of(body)):
                return None
            plain = (once(body),)
        all_ += plain
    joined = _without(Break, tuple(all_))
    return (once(tuple(all_)),) if joined is None else joined


def _without(kind: type, statements: Statements) -> Statements | None:
    """The statements without jumps of a kind to their end; None if conditions do not do."""
    for at, one in enumerate(statements):
        rest = statements[at + 1 :]
        if isinstance(one, kind):
            return statements[:at]
        if not isinstance(one, If) or not any(isinstance(each, kind) for each in jumps_of((one,))):
            continue
        first, second = one.body, one.otherwise
        if _ends(first):
            second = (*second, *rest)
        elif _ends(second):
            first = (*first, *rest)
        elif rest:
            return None
        body, otherwise = _without(kind, first), _without(kind, second)
        if body is None or otherwise is None:
            return None
        return (*statements[:at], replace(one, body=body, otherwise=otherwise))
    return statements


def _ends(statements: Statements) -> bool:
    """Whether control never reaches what follows."""
    return any(
        isinstance(one, Break | Continue | Return)
        or (isinstance(one, If) and _ends(one.body) and _ends(one.otherwise))
        for one in statements
    )
