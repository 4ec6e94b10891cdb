"""What the person knows and the library cannot see: promises about data, and updates that may meet.

A promise is a command like all others: it stands in the schedule, is printed and replayed with it,
and only takes away dependences that *may* be there. One that a certain dependence contradicts is
refused. They are not checked while a kernel runs: a wrong promise gives wrong results.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from .. import _core
from ..base.checks import described
from ..base.errors import ScheduleError, ScheduleTypeError
from ..language.expressions import Expression
from .command_arguments import isl_text, loop_name, name_of
from .receivers import CommandReceiver, Loop

__all__ = ["PromiseCommands"]

Self = TypeVar("Self", bound="PromiseCommands")

_COMPARISONS = {"<", "<=", ">", ">=", "==", "!="}


class PromiseCommands(CommandReceiver):
    """The commands of this page."""

    __slots__ = ()

    def independent(self: Self, i: Loop, *others: CommandReceiver | str) -> Self:
        """Promises that different iterations of loop `i` never touch one element.

        It concerns what the library can only suppose, because a subscript or a condition depends
        on data; a dependence that is there for certain makes the promise an error.

        Before::

            for i in range(0, N):
                B[i] = ...
                C[i] = ... B[idx[i]] ...

        After ``C.independent(i, B); B.parallelize(i); C.parallelize(i)``::

            for i in range(0, N):  # parallel
                B[i] = ...
                C[i] = ... B[idx[i]] ...

        Of a computation whose elements data choose, it is about memory, too: the rows of a sparse
        matrix, which do not overlap, may lie behind each other.

        Before::

            for i in range(0, N):
                for p in range(row[i], row[i + 1]):
                    B[i, p] = ...
            for i in range(0, N):
                for p in range(row[i], row[i + 1]):
                    C[i] += B[i, p]

        After ``with f.transaction(): B.store_in("buffer[p]"); B.independent(i)``::

            for i in range(0, N):
                for p in range(row[i], row[i + 1]):
                    buffer[p] = ...
            for i in range(0, N):
                for p in range(row[i], row[i + 1]):
                    C[i] += buffer[p]

        That is promised of the elements as they lie when it is given; a later `store_in` is asked
        about without it.

        Args:
            i: a loop of this computation. The promise is about the values that it has now and
                holds through later commands, so its parts may be parallel after a split.
            others: computations with a loop of the same name; the promise then also concerns
                dependences among them and with this one.

        Source: PENCIL (Baghdadi et al., PACT 2015), the ``independent`` pragma.
        """
        self._give("independent", [loop_name(i), *(name_of(o, "a computation") for o in others)])
        return self

    def assume(self: Self, condition: Expression | str) -> Self:
        """Promises what the values of an array that are used as subscripts are.

        Before::

            for i in range(0, N):
                B[i] = ...
            for i in range(0, N):
                C[i] = ... B[idx[i]] ...

        After ``C.assume(idx[i] <= i).fuse_with(B)``::

            for i in range(0, N):
                B[i] = ...
                C[i] = ... B[idx[i]] ...

        Without it, `C` may read any element of `B` and has to wait for all of them.

        Args:
            condition: comparisons of one element of the array with affine expressions of its
                subscripts and of parameters, ``(idx[i] >= 0) & (idx[i] <= i)``; or the same as an
                isl relation, ``"{ idx[i] -> [v] : 0 <= v <= i }"``, which says nothing about
                elements that it gives no value.

        Source: PENCIL (Baghdadi et al., PACT 2015), ``__pencil_assume``.
        """
        relation = condition if isinstance(condition, str) else _relation_text(condition)
        self._give("assume", [isl_text(relation, "the relation of assume")])
        return self

    def atomic(self: Self) -> Self:
        """Lets several threads update one element of this reduction, each in one atomic step.

        Before::

            for i in range(0, N):
                for k in range(0, K):
                    C[i] += A[i, k]

        After ``C.atomic().parallelize(k)``::

            for i in range(0, N):
                for k in range(0, K):  # parallel
                    C[i] += A[i, k]  # atomic

        The terms are combined in the order in which the threads come, so sums of floating-point
        numbers may differ in their last digits from run to run. Where many threads update few
        elements, partial results (`rfactor`) are faster. Refused for ordered reductions and for
        elements that no processor updates in one step (complex numbers). Vector lanes stay refused.
        """
        self._give("atomic", [])
        return self


_LARGEST_RELATION = 10_000
"""Nodes, shared ones counted each time: the relation is text, where nothing is shared."""


def _relation_text(condition: object) -> str:
    """``idx[i] <= i`` as ``{ idx[i] -> [v] : v <= i }``."""
    if not isinstance(condition, Expression):
        raise ScheduleTypeError(
            "assume takes a comparison such as idx[i] < N, or an isl relation as text; got "
            f"{described(condition)}"
        )
    if condition._handle.tree_size > _LARGEST_RELATION:
        raise ScheduleError(
            f"assume: the condition has {condition._handle.tree_size} operations when it is written "
            f"out, more than {_LARGEST_RELATION}; give the relation as text"
        )
    writer = _RelationWriter()
    constraint = writer.text(condition._handle)
    if writer.element is None:
        raise ScheduleError(
            f"assume({condition}) says nothing about an array; conditions on parameters are the "
            "context= of tw.function"
        )
    producer, subscripts = writer.element
    return f"{{ {producer}[{', '.join(subscripts)}] -> [{writer.value}] : {constraint} }}"


def _keeps_values(source: str, target: str) -> bool:
    """Whether a cast changes no value that a subscript can have."""
    kinds = np.dtype(source).kind + np.dtype(target).kind
    if kinds[0] not in "iu" or kinds[1] not in "iuf":
        return False
    return target in ("int64", "uint64", "float64") or np.can_cast(source, target)


def _constant(node: _core.Expr) -> int | None:
    while node.kind == "cast":
        node = node.operands[0]
    value = node.value if node.kind == "constant" else None
    return int(value) if isinstance(value, int | float) and value == int(value) else None


class _RelationWriter:
    """Writes a condition in isl's notation, the one array element in it under a name of its own."""

    def __init__(self) -> None:
        self.element: tuple[str, tuple[str, ...]] | None = None
        self.value = "v"

    def text(self, node: _core.Expr) -> str:
        if node.kind == "access":
            return self._element(node)
        if node.kind == "cast" and _keeps_values(node.operands[0].type, node.type):
            return self.text(node.operands[0])
        if node.kind in ("iterator", "parameter"):
            return self._name(node.name)
        if node.kind == "constant":
            return str(node.value)
        if node.kind == "unary" and node.operation == "-":
            return f"-({self.text(node.operands[0])})"
        if node.kind == "binary":
            written = self._binary(node)
            if written is not None:
                return written
        raise ScheduleError(f"assume: {node} is not affine in the subscripts of the array")

    def _binary(self, node: _core.Expr) -> str | None:
        operation = node.operation
        logical = operation in ("&", "|")
        # isl reads "a < b = c < d" as a chain, and knows no arithmetic of truth values.
        if any((operand.type == "bool") != logical for operand in node.operands):
            return None
        first, second = (self.text(operand) for operand in node.operands)
        if operation in _COMPARISONS:
            return f"{first} {'=' if operation == '==' else operation} {second}"
        if logical:
            return f"({first} {'and' if operation == '&' else 'or'} {second})"
        if operation in ("+", "-", "*"):
            return f"({first} {operation} {second})"
        if operation in ("//", "%"):
            divisor = _constant(node.operands[1])
            if divisor is None or divisor <= 0:
                return None
            return (
                f"floor(({first})/{divisor})" if operation == "//" else f"({first} mod {divisor})"
            )
        return None

    def _name(self, name: str) -> str:
        if name == self.value:
            raise ScheduleError(f"assume: write the relation as text where a name is {name!r}")
        return name

    def _element(self, node: _core.Expr) -> str:
        subscripts = [operand.name for operand in node.operands if operand.kind == "iterator"]
        producer = node.producer
        assert producer is not None  # of every access
        element = (producer.name, tuple(subscripts))
        if len(subscripts) != len(node.operands) or len(set(subscripts)) != len(subscripts):
            raise ScheduleError(
                f"assume: {node} must have one different iterator for each subscript; it is meant "
                "for all of their values"
            )
        if self.element is not None and self.element != element:
            raise ScheduleError(
                f"assume: one element is compared with affine expressions; {node} is a second one"
            )
        self.element = element
        return self.value
