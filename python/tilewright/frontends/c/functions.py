"""A function of a C file: called with numbers and NumPy arrays, which it changes in place, and
scheduled like any function of this library."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import tree
from .arguments import bind
from .c_types import ArrayOf, CType
from .programs import Translated

if TYPE_CHECKING:
    from ..translated import TranslatedFunction

__all__ = ["CFunction"]


class CFunction:
    """A function, or a scop, of a C file; `tw.c.load` makes it.

    It is called as C calls it, with numbers and arrays in the order of the declaration or by their
    names. Arrays are NumPy arrays of the declared type and shape, changed in place; arrays of
    structures are structured arrays, laid out as C has them. Variables of the file scope that it uses
    are given by name. What C returns is returned::

        m.kernel_gemm(1000, 1000, 1000, 1.5, 1.2, C, A, B)

    Everything else is that of the `tw.Function` behind it: `schedule`, `loops`, `auto_schedule`, ...
    """

    def __init__(self, translated: Translated) -> None:
        self._translated = translated
        self._function: TranslatedFunction | None = None
        self._lock = threading.Lock()

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
        with self._lock:
            if self._function is None:
                from ..dataflow import to_function

                self._function = to_function(self.program)
            return self._function

    def __call__(self, *given: Any, **named: Any) -> Any:
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

    def __getitem__(self, label: str) -> Any:
        """The statement of a label, or of a counted name (S1, S2, ...), to schedule it."""
        return self.function[label]

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
