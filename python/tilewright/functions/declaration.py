"""How a function is declared: its outputs, what they need, and its settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from .. import _core
from ..base.checks import (
    DECLARATION,
    a_boolean,
    a_mapping,
    a_string,
    an_integer,
    described,
)
from ..base.configuration import settings
from ..base.errors import DeclarationError, DeclarationTypeError
from ..language.arrays import Array, Input
from ..language.expressions import Expression
from ..language.inputs import StructInput
from ..language.names import Parameter
from ..schedule.computations import Computation
from .automatic_start import begin, checked_start
from .functions import Function
from .structs import StructFunction, StructOutput, flat_inputs, flat_outputs

__all__ = ["function"]

_Kind = TypeVar("_Kind", bound=Array)


def _listed(values: object, kind: type[_Kind], what: str) -> list[_Kind]:
    """A list of arrays of one kind; a single one counts as a list."""
    if isinstance(values, kind):
        return [values]
    noun = "computations" if kind is Computation else "input arrays"
    if not isinstance(values, list | tuple):
        raise DeclarationTypeError(f"{what} must be a list of {noun}, got {_described(values)}")
    for value in values:
        if not isinstance(value, kind):
            raise DeclarationTypeError(f"{what} must be {noun}, got {_described(value)}")
    return list(values)


def _described(value: object) -> str:
    if isinstance(value, Array):
        return f"the {type(value).__name__.lower()} {value.name}"
    return type(value).__name__


def function(
    name: str,
    outputs: Sequence[Computation | StructOutput] | Computation | StructOutput,
    inputs: Sequence[Input | StructInput] | None = None,
    context: Sequence[Expression] | Expression | None = None,
    fast_math: bool | None = None,
    cpu: str | None = None,
    optimize: str | None = None,
    default_schedule: bool | None = None,
    check_bounds: bool | None = None,
    target: str | None = None,
    until: Mapping[Parameter, Computation] | None = None,
    limit: int | None = None,
    schedule: str | None = None,
) -> Function:
    """A callable function of what `outputs` need.

    `fast_math` to `target` are those of `tw.settings` where they are not given.

    Args:
        name: its name.
        outputs: the computations that a call returns; `struct` makes several of them one array.
        inputs: the input arrays in the order in which a call takes them; without it, those that
            are read, in the order in which they were declared.
        context: conditions on parameters that every call keeps, e.g. ``[N > 3]``; checked at each
            call.
        fast_math: allows reassociation, contraction and approximate functions in all arithmetic.
        cpu: which processors the code is for. "native" is the level of this one: "x86-64" (SSE2),
            "x86-64-v2" (SSE4.2), "x86-64-v3" (AVX2, FMA) or "x86-64-v4" (AVX-512), with the
            extensions for narrow types that it has (`Function.cpu` says which), so that machines
            of one level share a cache; it is tuned for the machine that compiles it. A level, or a
            model such as "znver3", can be named.
        optimize: how much LLVM optimises. What schedules ask for (vectors, tiles, unrolling) is done
            before LLVM sees the code, so "light", a short pipeline, is as fast as its long one for
            code that is scheduled, in a fraction of the time. "full" is the long pipeline, which
            the first call waits for. "background" starts with the short one and replaces its code,
            in memory and in the cache, when the long one is done. "auto" does that for kernels
            without vector loops, where it may pay. Under `fast_math` the two may differ in the last
            bits.
        default_schedule: whether the library schedules the function as long as it has no command
            at all: the outermost loop that may be parallel is, where a test at run time finds the
            work worth the threads; the innermost contiguous loop is a vector loop; reductions with
            such a loop are tiled; what is little work altogether runs as it is declared. The first
            command, of whichever computation, starts from the loops as declared, so that what a
            schedule says is all there is. `Function.default_schedule` says what runs.
        check_bounds: whether each read and write is checked against the memory that it goes to, and
            an `OutOfBoundsError` names the access and the instance; `Function.check_bounds` changes
            it.
        target: where loops over the blocks and threads of a GPU run: "cuda" on an NVIDIA GPU,
            "gpu-emulator" on the host, one thread of a block after the other, with every access
            watched (races, bounds and barriers; for finding mistakes, slow), "cpu" as loops of the
            CPU. It changes nothing for functions without such loops.
        until: iterations that go on until data say so, ``{T: done}``: the parameter T is the number
            of iterations, and the computation done[t], a bool, says after which one they end. See
            below.
        limit: the most iterations that are made: T is the limit where none of them says that it is
            the last. Without one they go on until one does, or Ctrl-C; a call may say ``T=100``.
        schedule: "default" (or None) for the default schedule. "auto" for the one that
            `Function.auto_schedule` finds: calls run by the default one until it is found and
            compiled, on another thread, and by the found one from then on (`Function.wait_scheduled`).
            Integers are the same from call to call; sums of floating-point numbers may be added in
            another order, so their last bits may change when the schedule does. The first command
            that is given ends it and starts from the loops as declared. "auto-now" finds it before
            this returns: ``f.auto_schedule()``.

    Iterations until a condition holds: computations over ``{t: T}`` are made by one loop over t,
    which ends behind the first t where ``until`` holds. What reads them at T - 1, or uses T itself,
    comes after it::

        T = tw.param("T", minimum=1)
        x = tw.computation("x", {t: T, i: N}, lambda x: tw.select(
            t == 0, b[i], (x[t - 1, i] + c[i] / x[t - 1, i]) / 2), dtype=tw.float64)
        change = tw.computation("change", {t: (1, T)}, tw.max(abs(x[t, k] - x[t - 1, k]), over={k: N}))
        done = tw.computation("done", {t: (1, T)}, change[t] < 1e-12)
        root = tw.computation("root", {i: N}, x[T - 1, i])
        steps = tw.computation("steps", {}, T)
        roots = tw.function("roots", outputs=[root, steps], until={T: done}, limit=100)

    becomes (of x, only the two latest iterations are kept)::

        last = T - 1                                    # T = 100
        next = 0
        while next <= last and next < T:
            t = next
            for i: x[t % 2, i] = ...
            change[0] = max(...)
            if change[0] < 1e-12: last = t
            next = t + 1
        T = last + 1
        for i: root[i] = x[(T - 1) % 2, i]
        steps = T

    Commands schedule what is in an iteration; those that would run a part of iteration t + 1 before
    it is known whether there is one are refused.

    Raises:
        DeclarationError: a computation is used twice under one name, has no definition, or an input
            is missing.
        DomainError: a computation reads outside the domain of another.
        ArgumentError: a CPU that LLVM does not know, or (at the first call) that this one cannot
            be; a word for `optimize` that is none of these.
        SettingError: a variable of the environment that one of the settings has is not readable.

    Example:
        >>> matmul = tw.function("matmul", outputs=[C])
        >>> c = matmul(a, b)
    """
    a_string(name, "a function's name", DECLARATION)
    options = options_of(
        fast_math=fast_math,
        cpu=cpu,
        optimize=optimize,
        default_schedule=default_schedule,
        check_bounds=check_bounds,
        target=target,
    )
    start = checked_start(schedule)
    if not name.isidentifier():
        raise DeclarationError(f"a function's name must be an identifier, got {described(name)}")
    results: Any = [outputs] if isinstance(outputs, StructOutput) else outputs
    gathered = _listed(flat_outputs(results), Computation, "outputs")
    if not gathered:
        raise DeclarationError(f"the function {name} needs at least one output")
    arrays = None if inputs is None else _listed(flat_inputs(inputs), Input, "inputs")
    conditions = _conditions(context)
    stop = _stop(until, limit)
    result = Function(name, gathered, arrays, conditions, options, stop)
    results = gathered if isinstance(results, Computation) else results
    structured = not all(isinstance(output, Computation) for output in results)
    if structured or any(record for _, record, _ in result._fields):
        result = StructFunction(name, gathered, arrays, conditions, options, stop)
        result._prepare(results)
    if inputs is not None and not arrays and result.inputs:
        needed = ", ".join(result.inputs)
        raise DeclarationError(f"the function {name} reads {needed}, but inputs= is empty")
    begin(result, start)
    return result


def _stop(
    until: Mapping[Parameter, Computation] | None, limit: int | None
) -> tuple[str, _core.Computation, int] | None:
    example = "until={T: done}, a parameter and a bool computation of one iterator"
    if until is None:
        if limit is not None:
            raise DeclarationError(f"limit= is the most iterations of {example}; give it, too")
        return None
    a_mapping(until, "until=", DECLARATION, "{T: done}")
    if len(until) != 1:
        raise DeclarationError(
            f"until= takes one parameter and its condition, got {len(until)} of them: computations "
            "that end apart belong to functions of their own"
        )
    ((count, test),) = until.items()
    if not isinstance(count, Parameter) or not isinstance(test, Computation):
        raise DeclarationTypeError(f"until= must be {example}, got {described(until)}")
    most = 0 if limit is None else an_integer(limit, "limit=", DECLARATION, 1, 41)
    return count.name, test._handle, most


def options_of(**given: Any) -> _core.Options:
    """What was given, and the settings for the rest."""
    names = ("fast_math", "cpu", "optimize", "default_schedule", "check_bounds", "target")
    chosen = {
        name: getattr(settings, name) if given.get(name) is None else given[name] for name in names
    }
    for name in ("cpu", "optimize", "target"):
        a_string(chosen[name], name, DECLARATION)
    for name in ("fast_math", "default_schedule", "check_bounds"):
        a_boolean(chosen[name], name, DECLARATION)
    return _core.Options(**chosen)


def _conditions(context: Sequence[Expression] | Expression | None) -> list[Expression]:
    if context is None:
        return []
    if isinstance(context, Expression):
        context = [context]
    if not isinstance(context, list | tuple):
        raise DeclarationTypeError(
            f"context must be conditions on parameters such as [N > 3], got {context!r}"
        )
    for condition in context:
        if not isinstance(condition, Expression):
            raise DeclarationTypeError(
                f"context must be conditions on parameters such as N > 3, got {condition!r}"
            )
    return list(context)
