"""Commands of a whole function: what is known of its parameters, and when which loops run.

They stand in the schedule like commands of computations, where they are printed with `f` for the
function: ``f.fix(N=1024)``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, cast

from .. import _core
from ..base.checks import SCHEDULE, a_mapping, a_string, an_integer, described
from ..base.errors import IllegalScheduleError, ScheduleError, ScheduleTypeError
from ..base.source import caller_location
from ..language.expressions import Expression
from ..language.names import Parameter
from .command_arguments import integer, isl_text

__all__ = ["FunctionCommands"]

Self = TypeVar("Self", bound="FunctionCommands")


class FunctionCommands:
    """The commands of this page; mixed into functions."""

    __slots__ = ()

    def fix(
        self: Self, parameters: Mapping[Parameter | str, int] | None = None, /, **sizes: int
    ) -> Self:
        """Gives parameters a value that is known when kernels are compiled.

        Bounds of loops, strides and sizes of buffers become numbers, so that compilers have no
        remainders to think of, buffers fit into registers, and what is legal for these sizes alone
        is legal. Sizes that follow from them through the function's context are known, too.

        Before::

            for i0 in range(0, ceil(N / 32)):
                for i1 in range(0, min(32, N - 32 * i0)):
                    C[32 * i0 + i1] = ...

        After ``f.fix(N=1024)``::

            for i0 in range(0, 32):
                for i1 in range(0, 32):
                    C[32 * i0 + i1] = ...

        A call of another size raises a ValueError, which names the array, its axis, and both
        lengths. A call need not give a parameter that no array says. Loops keep their names and tags.

        Args:
            parameters: values by parameter or by its name, ``{N: 1024}``.
            sizes: values by name, ``N=1024``.

        Raises:
            ScheduleError: no such parameter; it is fixed at another value already; no call can have
                such parameters, by the function's context.
        """
        pairs: list[str | int] = []
        for name, value in _values(parameters, sizes).items():
            pairs += [name, value]
        self._give_to_function("fix", pairs)
        return self

    def specialize(self: Self, condition: Expression | str) -> Self:
        """Compiles a version for parameters that meet a condition, beside the one for all others.

        Both have the same loops; in the version the condition is known, so that loops need no
        remainders and tests go away. A call asks once which version runs; both are one kernel.
        Each call of `specialize` gives one more version: the first whose condition holds runs.

        Before::

            for i0 in range(0, ceil(N / 8)):
                for i1 in range(0, min(8, N - 8 * i0)):
                    C[8 * i0 + i1] = ...

        After ``f.specialize(N % 8 == 0)``::

            if N % 8 == 0:
                for i0 in range(0, N / 8):
                    for i1 in range(0, 8):
                        C[8 * i0 + i1] = ...
            else:
                for i0 in range(0, ceil(N / 8)):
                    for i1 in range(0, min(8, N - 8 * i0)):
                        C[8 * i0 + i1] = ...

        Args:
            condition: comparisons of parameters, their multiples, sums and remainders by numbers,
                joined by ``&``: ``(N % 8 == 0) & (M >= N)``; or the same in isl's notation,
                ``"N mod 8 = 0 and M >= N"``.

        Raises:
            ScheduleError: the condition reads an array or depends on an iterator; it is not affine;
                it holds never, always, or only where an earlier one does; it is one of several
                cases (``|``), which are given one by one.

        Source: Halide's ``specialize`` (Ragan-Kelley et al., PLDI 2013).
        """
        if isinstance(condition, str):
            text = isl_text(condition, "the condition of specialize")
        elif isinstance(condition, Expression):
            text = _core.parameter_condition(condition._handle, caller_location())
        else:
            raise ScheduleTypeError(
                f"specialize takes a condition on parameters such as N % 8 == 0, got "
                f"{described(condition)}"
            )
        self._give_to_function("specialize", [text])
        return self

    def when_work(self: Self, n: int, threads: int = 0, around: int = 0) -> Self:
        """Runs the loops as they are declared where there is less work than `n`.

        Tiles, vectors and threads cost some time before they save any. A kernel can count its work
        when it is called, and choose.

        Before::

            for i in range(0, N):  # parallel
                for j0 in range(0, ceil(M / 16)):
                    for j1 in range(0, min(16, M - 16 * j0)):  # vector(16)
                        C[i, 16 * j0 + j1] = ...

        After ``f.when_work(1500)``::

            # work < 1500: loops as declared
            for i in range(0, N):  # parallel
                for j0 in range(0, ceil(M / 16)):
                    for j1 in range(0, min(16, M - 16 * j0)):  # vector(16)
                        C[i, 16 * j0 + j1] = ...

        Work is an estimate from the sizes of a call, in operations of a processor on one register:
        a load, store, conversion or operation counts 1, a division 8, a call of a function such as
        ``exp`` 20, index arithmetic nothing, and a loop whose bounds are data 16 iterations. 60,000
        is some ten microseconds.

        It is a command of the whole function, as one call is what is little or much: versions of
        single computations would each ask, and could not share loops.

        Args:
            n: less work than this runs as declared; 0: nothing does. A later `when_work` replaces
                an earlier one.
            threads: parallel loops of less work than this run in the thread that meets them; 0: all
                are shared out.
            around: `n` is work in one iteration of so many outermost loops, of one product of a
                batch; with `threads`, the declared loops then run only where all is less work than
                that, too.

        Raises:
            ScheduleError: `n` is not 0, and loops are over a GPU's blocks and threads, or a
                computation is stored in the array of an input: loops as declared cannot stand in.
        """
        given = [
            integer(n, "the least work"),
            integer(threads, "the least work of threads"),
            integer(around, "the number of loops around"),
        ]
        while len(given) > 1 and given[-1] == 0:
            given.pop()
        self._give_to_function("when_work", given)
        return self

    def _give_to_function(self, command: str, arguments: Sequence[Any]) -> None:
        function = cast(_core.Function, self)
        try:
            function._apply("", command, list(arguments), caller_location())
        except IllegalScheduleError as error:
            error.function = cast(Any, self)  # a tw.Function, above this wing
            raise


def _values(
    parameters: Mapping[Parameter | str, int] | None, sizes: Mapping[str, int]
) -> dict[str, int]:
    """A value for each parameter that is given one."""
    asked = (
        {} if parameters is None else a_mapping(parameters, "what fix takes", SCHEDULE, "{N: 4}")
    )
    values: dict[str, int] = {}
    for key, value in [*asked.items(), *sizes.items()]:
        name = a_string(getattr(key, "name", key), "a parameter of fix", SCHEDULE)
        if name in values:
            raise ScheduleError(f"fix is given two values for {name}")
        values[name] = an_integer(value, f"the value of {name}", SCHEDULE, bits=64)
    if not values:
        raise ScheduleError("fix takes a value for at least one parameter: f.fix(N=1024)")
    return values
