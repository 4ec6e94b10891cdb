"""A function of a C file: called with numbers and NumPy arrays, which it changes in place, and
scheduled like any function of this library."""

from __future__ import annotations

import operator
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ... import _core
from ...base.errors import ArgumentError, ArgumentTypeError, DomainError, ScheduleError
from ...schedule.automatic import automatic_target
from .. import kept

if TYPE_CHECKING:
    from ...schedule.schedules import Schedule
    from ...sets.values import Set
    from .. import tree
    from ..accesses import AccessRelations
    from ..translated import TranslatedFunction
    from .bodies import Body
    from .c_types import CType
    from .programs import Translated
    from .running import Running

__all__ = ["CFunction"]

_AUTOMATIC = "of auto_schedule"


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
        name: str,
        arguments: Mapping[str, np.ndarray | None],
        translate: Callable[[Sequence[Body], Mapping[str, int | None]], Translated],
        bodies: Sequence[Body] = (),
        key: str = "",
    ) -> None:
        """What `tw.c.load` makes.

        Args:
            name: in the file.
            arguments: their names, with what they are unless a call gives them.
            translate: the translation, with other bodies of some statements, and numbers for some
                parameters.
            bodies: these.
            key: under which its calls are kept (`..kept`); "": they are not.
        """
        super().__init__()
        self._name = name
        self._arguments = tuple(arguments)
        self._translate = translate
        self._bodies = tuple(bodies)
        self._translation: Translated | None = None
        self._function: TranslatedFunction | None = None
        self._version = -1  # of its schedule as `_keeper` knows it
        self._better: Running | None = None
        self._lock = threading.RLock()
        self._keeper = kept.Keeper(self, key, {}, lambda said: [])
        defaults = [(each is not None, each) for each in arguments.values()]
        self._describe(self._arguments, defaults)

    @classmethod
    def of(cls, translated: Translated) -> CFunction:
        """The function of a translation."""
        made = cls(
            translated.program.name, translated.signature, lambda bodies, numbers: translated
        )
        made._translation = translated
        return made

    @property
    def name(self) -> str:
        """The name in the file; of one of several scops, with its number."""
        return self._name

    @property
    def _translated(self) -> Translated:
        """The program and its arguments, when they are first asked for."""
        with self._lock:
            if self._translation is None:
                self._translation = self._translate(self._bodies, {})
                if _has_blocks(self._translation.program.body):  # whose functions this process has
                    self._keeper = kept.Keeper(self, "", {}, lambda said: [])
            return self._translation

    @property
    def program(self) -> tree.Program:
        """What the C says, as a statement tree."""
        return self._translated.program

    @property
    def arguments(self) -> tuple[str, ...]:
        """The names of the arguments, in order."""
        return self._arguments

    @property
    def function(self) -> TranslatedFunction:
        """The function that the dataflow makes of the program, when it is first asked for.

        Raises:
            TranslationError: for what the dataflow refuses, with its place in the C file.
        """
        if self._function is None:
            with self._lock:
                if self._function is None:
                    made = self._made()
                    if self._keeper.order == _AUTOMATIC:
                        made.auto_schedule()
                    self._version = made.function._version()
                    self._keeper.made()
                    self._keeper.forget()
                    self._function = made
        return self._function

    def auto_schedule(self, *, target: str | None = None) -> Schedule:
        """Finds better loops for the program, with its values stored where the program stores them: see
        `docs/c.md`, Schedules.

        Args:
            target: "cuda" or "gpu-emulator" for kernels of a GPU, "cpu" for loops of the processor; the
                function's target changes, too. Without it, a GPU's if the target is "gpu-emulator".

        Returns:
            the schedule that the function has now; its comments, which `explain` shows, say why.

        Raises:
            ScheduleError: in a transaction; another target.
            TranslationError: for what the dataflow refuses.
        """
        if target is not None:
            found = self.function.auto_schedule(target=target)
            self._version = -1  # calls are not kept for a target of their own
            return cast("Schedule", found)
        if self._function is None:
            before = self._keeper.found_before(_AUTOMATIC)
            if before is not None:
                return before
        function = self.function
        is_plain = self._is_as_kept
        schedule = cast("Schedule", function.auto_schedule())
        if is_plain and not function._limits:  # no facts or promises that others would not have
            self._version = function.function._version()
            self._keeper.keep_schedule(_AUTOMATIC, schedule)
        return schedule

    def _made(self) -> TranslatedFunction:
        from .. import tree
        from ..dataflow import to_function
        from .refusals import refuse

        try:
            return to_function(self.program, leaving_has_no_meaning=True)
        except (DomainError, ScheduleError) as error:  # of what the C does not have
            where = error.location
            here = self.program.location
            if where is not None and where.file == here.file:
                here = tree.Location(where.file, where.line, 1)
            reason = error.message.partition(": if that always holds")[0]  # how Python says it
            refuse(
                here,
                f"it is not seen that this stays within its array: {reason}",
                "say what is known of sizes by __pencil_assume(...), and how many elements a pointer leads to "
                "by its declaration: double x[n]",
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
        from .arguments import bind, remember

        translated, bound = self._translated, self.bind(*given, **named)
        function = self.function
        exact: tuple[str, ...] = ()
        running = self._running
        if running is not None:
            function, exact, other = running.of_call(self.program, bound)
            if other is not None:
                translated, bound = other, bind(other, given, named)
        result = translated.result
        own = dict(bound)
        if result:
            own[result] = np.zeros((), translated.program.arrays[result].dtype)
        function(**{name: own[name] for name in translated.program.arguments})
        remember(self, translated, function, given, named, bound, exact)
        if self._is_as_kept:
            self._keeper.keep_latest(list)
        return own[result][()] if result else None

    @property
    def _is_as_kept(self) -> bool:
        """Whether the function has the schedule under which `_keeper` keeps calls."""
        return self.function.function._version() == self._version

    @property
    def _running(self) -> Running | None:
        """What calls run in the place of the function; None if somebody has scheduled it, or nobody is
        to."""
        from .running import Running

        function = self.function
        if not self._is_as_kept or self._keeper.order == _AUTOMATIC:
            return None
        target = automatic_target(function.function, None)
        if target != "cpu" or not kept.options().default_schedule:
            return None
        if self._better is None:
            with self._lock:
                if self._better is None:
                    self._better = Running(
                        function, lambda numbers: self._translate(self._bodies, numbers)
                    )
        return self._better

    @property
    def default_schedule(self) -> Schedule:
        """What calls run: better nests within the order of the file, with comments that say why; or
        the schedule of the function, if somebody has given it another one than that order.

        Raises:
            TranslationError: for what the dataflow refuses.
        """
        running = self._running
        return cast("Schedule", (self.function if running is None else running.general).schedule)

    def wait_optimized(self, timeout: float | None = None) -> bool:
        """Waits until the background has no better code to make for what calls have run so far.

        Args:
            timeout: the longest wait, in seconds.

        Returns:
            Whether all of that is code that was optimised in full.
        """
        if self._function is None:
            return True  # calls were kept, with their code
        running = self._running
        waits = self._function.function if running is None else running
        return waits.wait_optimized(timeout)

    def _ask_kept(self) -> bool:
        """Whether there are calls now that were kept."""
        return self._keeper.take()

    def _function_of(self, /, *given: Any) -> Any:
        """The function that such a call runs: a kept kernel of it has failed."""
        running = self._running
        if running is None:
            return self.function.function
        return running.of_call(self.program, self.bind(*given))[0].function

    def _note_kept(self, /, *given: Any) -> None:
        """A call that was kept was made."""

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
        from .arguments import bind

        return bind(self._translated, given, named)

    @property
    def statements(self) -> tuple[str, ...]:
        """The labels of the statements, in the order of the text."""
        return tuple(self._assigned())

    def _assigned(self) -> dict[str, tree.Assign]:
        from .. import tree

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
        if name not in known:
            raise ArgumentError(
                f"{self.name} has no statement {name!r}: its statements are "
                f"{', '.join(known) or 'none'}"
            )
        from .bodies import Body

        bodies = (*self._bodies, Body(name, known[name].location, body))
        translated = self._translate(bodies, {})
        made = CFunction(self.name, translated.signature, self._translate, bodies)
        made._translation = translated
        return made

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


def _has_blocks(body: tuple[tree.Statement, ...]) -> bool:
    from ..call_sites import has_blocks

    return has_blocks(body)


def _element(of: CType) -> CType:
    from .c_types import ArrayOf

    while isinstance(of, ArrayOf):
        of = of.element
    return of


def _shown(expression: tree.Expression) -> str:
    """An extent as text."""
    from .. import tree

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
