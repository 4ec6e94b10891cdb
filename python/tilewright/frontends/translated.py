"""A translated program: called on the caller's arrays, in place, and scheduled like any function."""

from __future__ import annotations

import copy
import inspect
import keyword
from collections.abc import Callable, Sequence
from typing import Any

import tilewright as tw

from .. import _core
from ..base.display import Text
from ..base.plurals import counted
from ..schedule.automatic import automatic_target
from . import in_place, tree
from .interpreter import most_iterations
from .whiles import LIMIT

__all__ = ["TranslatedFunction"]


class TranslatedFunction:
    """A function over the caller's arrays that a program of loops was translated to.

    A call takes the program's arguments in its order, or by name: integers for parameters, arrays
    for arrays. Arrays that the program writes are changed in place; nothing is returned. Which
    sizes and arrays fit is asked as for every function (`tw.Function`).

    Attributes:
        name: the program's name.
        function: the `tw.Function` that it is. Its schedule is the program's order at first.
        arguments: the names of the arguments, in order.
        statements: where each computation stands in the program, by its name.
        knows_sizes: whether the function itself asks for everything that the program takes for granted
            of its parameters.
    """

    def __init__(
        self,
        program: tree.Program,
        function: tw.Function,
        names: dict[str, str],
        results: dict[str, str],
        statements: dict[str, tree.Location],
        knows_sizes: bool = False,
        is_free: bool = False,
    ) -> None:
        self.name = program.name
        self.function = function
        self.arguments = program.arguments
        self.statements = statements
        self._names = names
        known = {*function.inputs, *function.parameters}
        self._program = program
        self._used = [(name, names[name]) for name in program.arguments if names[name] in known]
        given = {names[name] for name in (*program.arguments, *program.parameters) if name in names}
        # How often loops run at most that only data end.
        self._limits = {name: LIMIT for name in function.parameters if name not in given}
        self.knows_sizes = knows_sizes
        self._is_free = is_free
        self._all = frozenset(program.arguments)
        self._results = results
        self._places = in_place.places_of(function, [names[array] for array in results])
        self._order = function.schedule
        self.__signature__ = inspect.Signature(
            [
                inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD)
                for name in program.arguments
                if name.isidentifier() and not keyword.iskeyword(name)
            ]
        )

    def __call__(self, *arguments: Any, **keywords: Any) -> None:
        """Runs the program on the caller's arrays.

        Args:
            arguments: in the program's order.
            keywords: arguments by name, and ``threads=`` as of a `tw.Function`.

        Raises:
            ArgumentTypeError: too many or too few arguments, or one of another type.
            ArgumentError: an array of another shape, or one that cannot be used where it is.
        """
        self._run(self.function, self._bound(arguments, keywords))

    def _run(self, function: Any, given: dict[str, Any]) -> Any:
        """Runs the function, or a copy of it under another schedule; its results."""
        results = function(**given)
        elsewhere = self._elsewhere(function)
        if elsewhere:
            outputs = function.outputs
            found = dict(zip(outputs, (results,) if len(outputs) == 1 else results, strict=True))
            for output, array in elsewhere.items():
                given[array][...] = found[output]
        return results

    @property
    def sources(self) -> tuple[list[str], list[str | int]]:
        """What the function's inputs and its parameters are in the program: names, or numbers."""
        names = {shown: name for name, shown in self._names.items()}
        return (
            [names[shown] for shown in self.function.inputs],
            [self._limits.get(shown) or names[shown] for shown in self.function.parameters],
        )

    @property
    def results(self) -> dict[str, str]:
        """The output that each array of the program is that it writes."""
        return self._results

    @property
    def elsewhere(self) -> dict[str, str]:
        """The arrays of the program that their outputs are copied to, by output."""
        own = {shown: name for name, shown in self._names.items()}
        return {output: own[array] for output, array in self._elsewhere(self.function).items()}

    def tune(
        self, /, *arguments: Any, budget: Any = "30s", progress: bool | None = None, **keywords: Any
    ) -> Any:
        """Searches for a fast schedule: `tw.Function.tune`, on the program's arguments.

        The caller's arrays are left as they are.

        Raises:
            ScheduleError: data decide how often the loops run.
        """
        from ..tuning.methods import tune_function

        if self._limits:
            raise tw.ScheduleError(
                f"{self.name}.tune: data decide how often its loops run, so no other order is known "
                "to need less than endless memory; give its loops commands by hand"
            )
        given = self._bound(arguments, keywords)
        return tune_function(
            self.function, self._run, given, budget, progress, False, frozenset(self._written())
        )

    def _written(self) -> list[str]:
        return [self._names[array] for array in self._results]

    def _tuned(self, arguments: Sequence[Any], keywords: dict[str, Any]) -> Any:
        """See `tw.tuned`."""
        from ..tuning.methods import tuned_for

        return tuned_for(self.function, self._bound(arguments, dict(keywords)))

    def evaluate(self, *arguments: Any, **keywords: Any) -> dict[str, Any]:
        """The arrays that the program writes as they are at its end, by the evaluator of Layer I.

        The caller's arrays are left as they are.

        Args:
            arguments, keywords: as of a call.
        """
        given = self._bound(arguments, keywords)
        if self._limits:
            own = {name: given[shown] for name, shown in self._used}
            given.update(dict.fromkeys(self._limits, most_iterations(self._program, own) + 1))
        results = self.function.evaluate(**given)
        outputs = self.function.outputs
        found = dict(zip(outputs, (results,) if len(outputs) == 1 else results, strict=True))
        return {array: found[output] for array, output in self._results.items()}

    def _elsewhere(self, function: Any) -> dict[str, str]:
        """The outputs that commands store in memory of their own, and the arrays that they are of."""
        stored = {output for _, outputs in function._overwritten for output in outputs}
        return {
            output: self._names[array]
            for array, output in self._results.items()
            if output not in stored
        }

    def _bound(self, arguments: Sequence[Any], keywords: dict[str, Any]) -> dict[str, Any]:
        """What the function is called with."""
        if len(arguments) > len(self.arguments):
            raise tw.ArgumentTypeError(
                f"{self.name}() takes {counted(len(self.arguments), 'argument')} "
                f"({', '.join(self.arguments)}), {len(arguments)} were given"
            )
        if not arguments and keywords.keys() == self._all:  # as doors call it
            return {**{name: keywords[key] for key, name in self._used}, **self._limits}
        given = dict(zip(self.arguments, arguments, strict=False))
        own = {key: keywords.pop(key) for key in ("threads",) if key in keywords}
        for name, value in keywords.items():
            if name not in self.arguments:
                raise tw.ArgumentTypeError(
                    f"{self.name}() has no argument {name!r}; it takes {', '.join(self.arguments)}"
                )
            if name in given:
                raise tw.ArgumentTypeError(
                    f"{self.name}() got several values for the argument {name}"
                )
            given[name] = value
        missing = [name for name in self.arguments if name not in given]
        if missing:
            raise tw.ArgumentTypeError(f"{self.name}() misses {', '.join(missing)}")
        return {**{name: given[key] for key, name in self._used}, **self._limits, **own}

    # ---- the schedule ----

    def __getitem__(self, label: str) -> Any:
        """The statement of a label, to schedule it."""
        return self.function[label]

    def auto_schedule(self, *, target: str | None = None) -> Any:
        """Finds better loops for the program, with its values stored where the program stores them.

        It begins with the program's order. An accumulation takes its terms in the order that it had, so
        results keep their bits; elements are summed side by side. Loops are distributed and interchanged
        where that is legal and makes this possible::

            for i in range(0, n):
              for k in range(0, n):
                for j in range(0, n):
                  C[i, j] = C[i, j] + A[i, k] * B[k, j]

        becomes::

            for i0 in range(0, (n + 127) // 128):  # parallel
              for j0 in range(0, (n + 15) // 16):
                for k0 in range(0, (n + 255) // 256):
                  for i10 in range(0, min(16, (n + 7) // 8 - 16 * i0)):
                    for k1 in range(0, min(256, n - 256 * k0)):
                      for i11 in range(0, min(8, n - 128 * i0 - 8 * i10)):  # unroll
                        for j1 in range(0, min(16, n - 16 * j0)):  # vector(16)
                          C[i, j] = C[i, j] + A[i, k] * B[k, j]  # i, k, j of these loops

        Recurrences that can be tiled in time are scheduled as `tw.Function.auto_schedule` does it. If
        data decide so much that no order but the program's is known to be legal, that one stays, with a
        warning. Loops that data end stay in their order, since memory for all iterations that there might
        be would be endless; what stands inside or beside them does not. Facts and promises (`fix`,
        `specialize`, `assume`, `independent`) stay.

        For a GPU the loops are found anew. Those that may run at the same time become blocks and threads of
        kernels; loops around them, such as time steps or wavefronts, run on the host::

            for t in range(0, steps):
              kernel:  # 32 x 8 threads a block
                for i0 in range(0, (n + 7) // 8):  # gpu_block_y
                  ...

        Args:
            target: "cuda" or "gpu-emulator" for a GPU's, "cpu" for the processor's loops; the function's
                target changes, too. Without it, a GPU's for functions whose target is "gpu-emulator".

        Returns:
            the schedule that the function has now; its comments, which `explain` shows, say why.

        Raises:
            ScheduleError: in a transaction; another target.
        """
        where = automatic_target(self.function, target)
        if target is not None:
            self.function.target = target
        if where != "cpu":
            self._for_gpu()
        elif self._is_free:
            facts = _core.facts(self.function)
            order = tw.Schedule([*facts, *self._order.commands], self._order.comments)
            order.apply_to(self.function)
        else:
            in_place.auto_schedule(
                self.function, self._order, self._places, endless=list(self._limits)
            )
        return self.function.schedule

    def _for_gpu(self) -> None:
        if self._limits:
            in_place.keep_order(self.function, "data decide how often its loops run")
        elif self._is_free:
            tw.Schedule(_core.facts(self.function)).apply_to(self.function)
            self.function.gpu()
        else:
            in_place.for_gpu(self.function, self._order)

    def better_nests(self) -> None:
        """The part of `auto_schedule` that keeps the order of the program's nests, in less time."""
        in_place.auto_schedule(
            self.function, self._order, self._places, in_time=False, endless=list(self._limits)
        )

    def with_better_nests(self, stands_for: TranslatedFunction) -> TranslatedFunction:
        """The same function with `better_nests`, for calls of a function that nobody has scheduled.

        Args:
            stands_for: that function. Once somebody schedules it, calls that are known to be for this
                one (`_core.KnownCalls`) are not any more.
        """
        other = self.copy()
        other.better_nests()
        other.function._stand_for(stands_for.function)
        return other

    def copy(self) -> TranslatedFunction:
        """The same function, whose schedule changes on its own."""
        other = copy.copy(self)
        other.function = self.function.copy()
        return other

    def explain(self) -> Any:
        """What `auto_schedule` decides for the program: a sentence for each decision.

        Nothing changes.
        """
        said = self.copy().auto_schedule().comments
        return Text("\n".join(f"{about}: {text}" if about else text for about, text in said))

    @property
    def schedule(self) -> Any:
        """The schedule, which begins with the order of the program."""
        return self.function.schedule

    @property
    def loops(self) -> Any:
        """The loops that the schedule makes."""
        return self.function.loops

    @property
    def layers(self) -> Any:
        """The three layers as text."""
        return self.function.layers

    @property
    def dependences(self) -> Any:
        """The dependences of the function, and what each loop does for them."""
        return self.function.dependences

    def __getattr__(self, name: str) -> Any:
        """Everything else that a `tw.Function` has."""
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        return getattr(self.function, name)

    def __repr__(self) -> str:
        return f"<{self.name}({', '.join(self.arguments)}): {self.function.signature}>"


Maker = Callable[..., TranslatedFunction]
