"""A function of a C file: called with numbers and NumPy arrays, which it changes in place, and
scheduled like any function of this library."""

from __future__ import annotations

import operator
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import _core
from ...base.errors import ArgumentError, ArgumentTypeError, DomainError, ScheduleError
from .. import tree
from .arguments import bind, remember
from .bodies import Body
from .c_types import ArrayOf, CType
from .programs import Translated
from .refusals import refuse

if TYPE_CHECKING:
    from ...sets.values import Set
    from ..accesses import AccessRelations
    from ..translated import TranslatedFunction

__all__ = ["CFunction"]


class CFunction(_core.KnownCalls):
    """A function, or a scop, of a C file; `tw.c.load` makes it.

    It is called as C calls it, with numbers and arrays in the order of the declaration or by their
    names. Arrays are NumPy arrays of the declared type and shape, changed in place; arrays of
    structures are structured arrays, laid out as C has them. Variables of the file scope that it uses
    are given by name. What C returns is returned::

        m.kernel_gemm(1000, 1000, 1000, 1.5, 1.2, C, A, B)

    Everything else is that of the `tw.Function` behind it: `schedule`, `loops`, `auto_schedule`, ...
    """

    def __init__(
        self,
        translated: Translated,
        again: Callable[[Sequence[Body]], Translated] | None = None,
        bodies: Sequence[Body] = (),
    ) -> None:
        super().__init__()
        self._translated = translated
        self._again = again
        self._bodies = tuple(bodies)
        self._function: TranslatedFunction | None = None
        self._lock = threading.Lock()
        self._describe(self.arguments, [(False, None)] * len(self.arguments))

    @property
    def name(self) -> str:
        """The name in the file; of one of several scops, with its number."""
        return self._translated.program.name

    @property
    def program(self) -> tree.Program:
        """What the C says, as a statement tree."""
        return self._translated.program

    @property
    def arguments(self) -> tuple[str, ...]:
        """The names of the arguments, in order."""
        return tuple(each.name for each in self._translated.arguments)

    @property
    def function(self) -> TranslatedFunction:
        """The function that the dataflow makes of the program, when it is first asked for.

        Raises:
            TranslationError: for what the dataflow refuses, with its place in the C file.
        """
        made = self._function
        if made is None:
            with self._lock:
                made = self._function = self._function or self._made()
        return made

    def _made(self) -> TranslatedFunction:
        from ..dataflow import to_function

        try:
            return to_function(self.program)
        except (DomainError, ScheduleError) as error:  # of what the C does not have
            where = error.location
            here = self.program.location
            if where is not None and where.file == here.file:
                here = tree.Location(where.file, where.line, 1)
            refuse(
                here,
                f"it is not seen that this stays within its array: {error.message}",
                "say what is known of sizes by __pencil_assume(...)",
            )

    def _call_anew(self, /, *given: Any, **named: Any) -> Any:
        """Runs the function on the caller's arrays, in place.

        Args:
            given: the arguments in C's order.
            named: arguments by name.

        Returns:
            What the C function returns, as a NumPy number; None of a void one.

        Raises:
            ArgumentTypeError: for arguments of another number or type.
            ArgumentError: for arrays of another shape, not contiguous, read-only if they are changed, or
                that share memory with one that is changed.
            TranslationError: for what the dataflow refuses.
        """
        bound = self.bind(*given, **named)
        result = self._translated.result
        own = dict(bound)
        if result:
            own[result] = np.zeros((), self.program.arrays[result].dtype)
        self.function(**{name: own[name] for name in self.program.arguments})
        remember(self, self._translated, self.function, given, named, bound)
        return own[result][()] if result else None

    def tune(
        self, /, *given: Any, budget: Any = "30s", progress: bool | None = None, **named: Any
    ) -> Any:
        """Searches for a fast schedule on such arguments, which are left as they are.

        Args:
            given, named: as of a call.
            budget, progress: as of `tw.Function.tune`.

        Returns:
            the fastest schedule, a `tw.TunedSchedule`. The function has it from now on.
        """
        own = self._own(given, named)
        return self.function.tune(*own, budget=budget, progress=progress)

    def _tuned(self, given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """See `tw.tuned`."""
        return self.function._tuned(self._own(given, named), {})

    def _own(self, given: tuple[Any, ...], named: dict[str, Any]) -> list[Any]:
        """The arguments of the program, in order."""
        own = dict(self.bind(*given, **named))
        result = self._translated.result
        if result:
            own[result] = np.zeros((), self.program.arrays[result].dtype)
        return [own[name] for name in self.program.arguments]

    def bind(self, *given: Any, **named: Any) -> Mapping[str, Any]:
        """The program's parameters and arrays by name, of a call's arguments: checked, and without
        copies.

        Raises:
            ArgumentTypeError, ArgumentError: as for a call.
        """
        return bind(self._translated, given, named)

    @property
    def statements(self) -> tuple[str, ...]:
        """The labels of the statements, in the order of the text."""
        return tuple(self._assigned())

    def _assigned(self) -> dict[str, tree.Assign]:
        found = (each for each in tree.walk(self.program.body) if isinstance(each, tree.Assign))
        return {each.label: each for each in found}

    def _label(self, label: object) -> str:
        """A label, or the label at a position."""
        names = self.statements
        if isinstance(label, str):
            return label
        try:
            at = None if isinstance(label, bool | np.bool_ | type) else operator.index(label)  # type: ignore[arg-type]
        except TypeError:
            at = None
        if at is None:
            raise ArgumentTypeError(
                f"{self.name}[...] takes the label of a statement or its position, not {label!r}"[
                    :200
                ]
            )
        if not -len(names) <= at < len(names):
            raise ArgumentError(
                f"{self.name} has {len(names)} statements ({', '.join(names)}), and no position {at}"
            )
        return names[at]

    def __getitem__(self, label: str | int) -> Any:
        """A statement, to schedule it: by its label, or by a counted name (S1, S2, ...), or by its
        position in the text, from 0.

        Raises:
            ArgumentError, ArgumentTypeError: there is no such statement.
        """
        name = self._label(label)
        try:
            return self.function[name]
        except KeyError as error:
            known = ", ".join(self.statements)
            raise ArgumentError(f"{error.args[0]}; the statements are {known}") from None

    @property
    def context(self) -> Set:
        """What is known of the parameters: sizes are not negative, accesses stay within arrays,
        assumptions hold (PENCIL report, section 3.4). A call asks for it.

        Raises:
            TranslationError: for what the dataflow refuses.
        """
        from ..accesses import context_of

        return context_of(self.program)

    @property
    def access_relations(self) -> AccessRelations:
        """What the statements read, may write, must write and kill (PENCIL report, section 3.1)::

            f.access_relations.must_writes    # { S1[i] -> B[i] : 0 <= i < n }
            print(f.access_relations)         # one by one, with their reference identifiers

        Raises:
            TranslationError: for what the dataflow refuses.
        """
        from ..accesses import access_relations

        return access_relations(self.program)

    def with_body(self, label: str | int, body: str) -> CFunction:
        """The same function with another body of one statement.

        Before::

            for (i = 1; i < n - 1; i++)
            S1: B[i] = (A[i - 1] + A[i + 1]) / 2;

        After ``f.with_body("S1", "fmax(A[i - 1], A[i + 1])")``::

            for (i = 1; i < n - 1; i++)
            S1: B[i] = fmax(A[i - 1], A[i + 1]);

        Args:
            label: the label of an assignment, or its position.
            body: C: the new right-hand side, or a whole assignment. It may name what the old one
                could.

        Returns:
            a new function, in the program's order; this one stays as it is.

        Raises:
            ArgumentError: there is no such assignment, or the body is no C.
            TranslationError: for what has no translation, at the statement.
        """
        if not isinstance(body, str):
            raise ArgumentTypeError(
                f"the body of a statement is C as text, not {type(body).__name__}"
            )
        name = self._label(label)
        known = self._assigned()
        if name not in known or self._again is None:
            raise ArgumentError(
                f"{self.name} has no statement {name!r}: its statements are "
                f"{', '.join(known) or 'none'}"
            )
        bodies = (*self._bodies, Body(name, known[name].location, body))
        return CFunction(self._again(bodies), self._again, bodies)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        return getattr(self.function, name)

    def __repr__(self) -> str:
        parts = []
        for each in self._translated.arguments:
            dimensions = "".join(f"[{_shown(extent)}]" for extent in each.extents)
            parts.append(f"{_element(each.type)} {each.name}{dimensions}")
        return f"<C function {self.name}({', '.join(parts)})>"


_core.answer_known_calls(CFunction)


def _element(of: CType) -> CType:
    while isinstance(of, ArrayOf):
        of = of.element
    return of


def _shown(expression: tree.Expression) -> str:
    """An extent as text."""
    match expression:
        case tree.Literal():
            return str(expression.value)
        case tree.Variable():
            return expression.name
        case tree.Convert():
            return _shown(expression.value)
        case tree.Operation() if len(expression.operands) == 2:
            return f" {expression.name} ".join(map(_shown, expression.operands))
    return "..."
