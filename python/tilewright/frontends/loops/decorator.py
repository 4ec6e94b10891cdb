"""`@tw.jit`: a Python function with loops over NumPy arrays, as a function of tilewright.

A call finds the kernel of its signature, or translates the function for it: through the statement tree
and exact dataflow, with the order of the program as the first schedule. Nothing falls back to the
interpreter: what has no translation is an error at its line.
"""

from __future__ import annotations

import functools
import inspect
import sys
import threading
import types
from collections.abc import Callable
from dataclasses import replace
from typing import Any, overload

import numpy as np

import tilewright as tw

from ... import _core
from ...base.errors import ArgumentError, ArgumentTypeError, DeclarationError, SubscriptError
from .. import known_calls
from ..dataflow import to_function
from ..refusals import refuse
from ..translated import TranslatedFunction
from ..tree import Expression, Program
from .checks import Checks, FactError, OutsideError
from .context import NeedsNumbers
from .definitions import find_webs
from .facts import value_of
from .functions import Loops
from .signatures import Signature, alike, signature_of
from .sources import Source
from .translation import Translated, Translation

__all__ = ["LoopFunction", "jit"]


class _Kernel:
    """A function translated for a signature."""

    def __init__(
        self, translated: Translated, values: dict[str, Any], options: dict[str, Any]
    ) -> None:
        self.translated = translated
        self.checks = Checks(translated.program)
        self.checks(values)
        self.region = self.checks.region(values)
        context = translated.program.context
        if self.region is not None:
            context = (*context, self.region)
        self.program: Program = replace(translated.program, context=context)
        self.function: TranslatedFunction = to_function(self.program, keeps_order=False, **options)

    def holds(self, values: dict[str, Any]) -> bool:
        """Whether it is for such sizes, and the constants that it was made with are today's."""
        if not self.has_its_numbers(values):
            return False
        try:
            self.checks(values)
        except OutsideError:
            return False  # one that lets subscripts count from the end may do
        except FactError as error:
            if error.place in self.translated.cases:
                return False
            raise self.translated.error_of(error) from None
        if self.region is not None and not value_of(self.region, values):
            return False
        return self.has_its_constants()

    def has_its_numbers(self, values: dict[str, Any]) -> bool:
        """Whether the sizes that are numbers in it are those of the call."""
        return all(int(values[name]) == n for name, n in self.translated.numbers.items())

    def has_its_constants(self) -> bool:
        """Whether the constants that it was made with are today's."""
        for lookup, name, value in self.translated.constants:
            try:
                found = lookup(name)
            except NameError:
                return False
            if found is not value and not _equal(found, value):
                return False
        return True

    def arrays_for(self, values: dict[str, Any]) -> dict[str, Any]:
        """The program's arguments, in order: those of the call, and memory for what it returns."""
        given = {}
        for name in self.program.arguments:
            value = values.get(name)
            if value is None:
                array = self.program.arrays[name]
                shape = tuple(_size(each, values) for each in array.shape)
                value = np.zeros(shape, array.dtype)
            given[name] = value
        for name in self.translated.contiguous:
            if name in values and not values[name].flags.c_contiguous:
                raise ArgumentError(
                    f"{self.program.name}(): {name} is given another shape in the function, so its "
                    "elements must lie without gaps; pass np.ascontiguousarray of it"
                )
        return given

    def __call__(self, values: dict[str, Any], threads: dict[str, Any]) -> Any:
        given = self.arrays_for(values)
        self.function(**given, **threads)
        return _returned(self.translated, given)

    def remember(
        self,
        door: _core.KnownCalls,
        given: tuple[Any, ...],
        signature: Signature,
        values: dict[str, Any],
    ) -> None:
        """Lets calls like this one come here without Python."""
        contiguous = self.translated.contiguous
        is_general = (
            self.function.knows_sizes
            and (self.region is not None or not self.checks.wrong)
            and not self.translated.numbers
        )
        arguments, origins = alike(signature, values, contiguous, is_general)
        constants = [
            place
            for lookup, name, value in self.translated.constants
            for place in lookup.__self__.places(name)
        ]
        results = self.translated.results
        known_calls.remember(
            door,
            given,
            arguments,
            self.function,
            origins,
            constants,
            None
            if results is None
            else [(each.array, each.kind is not None and each.kind.weak) for each in results],
            self.translated.is_tuple,
        )


def _equal(a: Any, b: Any) -> bool:
    if type(a) is not type(b) or isinstance(a, np.ndarray):
        return False
    try:
        return bool(a == b) and (not isinstance(a, float) or np.signbit(a) == np.signbit(b))
    except Exception:  # an object of the person's own: whatever its comparison raises
        return False


def _size(extent: Expression, values: dict[str, Any]) -> int:
    return int(value_of(extent, values))


def _returned(translated: Translated, given: dict[str, Any]) -> Any:
    if translated.results is None:
        return None
    parts = []
    for result in translated.results:
        array = given[result.array]
        if result.kind is None:
            parts.append(array)
        else:
            parts.append(array.item() if result.kind.weak else array[()])
    return tuple(parts) if translated.is_tuple else parts[0]


class LoopFunction(_core.KnownCalls):
    """A Python function that was given to `tw.jit`.

    Calls take the arguments of the function; arrays are changed in place, and what the function
    returns is returned. Each signature (types, ranks, equal extents) has a kernel of its own.

    Attributes:
        py_func: the function as it was written, which Python itself runs.

    Raises:
        TranslationError: (at the first call of a signature) something in the function has no
            translation; the message shows the line, and what to write instead.
        ArgumentTypeError: (at a call) an argument is no array or number, or missing.
        SubscriptError: (at a call) a subscript is outside its array for these sizes.
    """

    def __init__(self, function: types.FunctionType, options: dict[str, Any]) -> None:
        super().__init__()
        functools.update_wrapper(self, function)
        self.py_func = function
        self._options = options
        self.__tilewright_loops__ = Loops(function)
        self._signature = inspect.signature(function)
        self._kernels: dict[Signature, list[_Kernel]] = {}
        self._lock = threading.RLock()
        _check_definition(self.__tilewright_loops__.source)
        parameters = self._signature.parameters.values()
        if all(each.kind is each.POSITIONAL_OR_KEYWORD for each in parameters):
            defaults = [(each.default is not each.empty, each.default) for each in parameters]
            self._describe([each.name for each in parameters], defaults)

    def _call_anew(self, /, *arguments: Any, **keywords: Any) -> Any:
        """Runs the function on the caller's arrays, of a call like none before."""
        threads = {}
        if "threads" in keywords and "threads" not in self._signature.parameters:
            threads["threads"] = keywords.pop("threads")
        given = self._named(arguments, keywords)
        signature, values = signature_of(self.__name__, given)
        kernel = self._kernel(signature, values)
        results = kernel(values, threads)
        kernel.remember(self, tuple(given.values()), signature, values)
        return results

    def _named(self, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> dict[str, Any]:
        try:
            bound = self._signature.bind(*arguments, **keywords)
        except TypeError as error:
            raise ArgumentTypeError(f"{self.__name__}(): {error}") from None
        bound.apply_defaults()
        return bound.arguments

    def _bound(
        self, arguments: tuple[Any, ...], keywords: dict[str, Any]
    ) -> tuple[Signature, dict[str, Any]]:
        return signature_of(self.__name__, self._named(arguments, keywords))

    def _kernel(self, signature: Signature, values: dict[str, Any]) -> _Kernel:
        for kernel in self._kernels.get(signature, ()):
            if kernel.holds(values):
                return kernel
        with self._lock:  # threads that come together make one kernel
            for kernel in self._kernels.get(signature, ()):
                if kernel.holds(values):
                    return kernel
            kernel = self._made(signature, values)
            self._kernels.setdefault(signature, []).append(kernel)
        return kernel

    def _made(self, signature: Signature, values: dict[str, Any]) -> _Kernel:
        """A new kernel; subscripts that turn out to be below 0 count from the end."""
        wrapping: set[Any] = set()
        residues: dict[Any, int] = {}
        numbers: dict[str, int] = {}
        while True:
            translation = Translation(self.__name__)
            translation.wrapping = wrapping
            translation.residues = residues
            translated = self._translated(translation, signature, values, numbers)
            try:
                return _Kernel(translated, values, self._options)
            except OutsideError as error:
                if error.place in wrapping:
                    raise SubscriptError(error.plain, error.location) from None
                wrapping.add(error.place)
            except FactError as error:
                residue = residues.get(error.place, 0) + 1
                if residue >= translation.cases.get(error.place, 0):
                    raise translated.error_of(error) from None
                residues[error.place] = residue

    def _translated(
        self,
        translation: Translation,
        signature: Signature,
        values: dict[str, Any],
        numbers: dict[str, int],
    ) -> Translated:
        """The function's statement tree; sizes of which products are taken become numbers in it."""
        while True:
            translation.numbers = numbers
            try:
                return translation.run(self.__tilewright_loops__, signature)
            except NeedsNumbers as needs:
                numbers.update({name: int(values[name]) for name in needs.names})

    def translate(self, *arguments: Any, **keywords: Any) -> Program:
        """The statement tree of the function for such arguments; nothing is compiled."""
        signature, values = self._bound(arguments, keywords)
        return self._translated(Translation(self.__name__), signature, values, {}).program

    def inspect(self, *arguments: Any, **keywords: Any) -> TranslatedFunction:
        """The kernel for such arguments, to schedule and to look at; nothing runs.

        Args:
            arguments, keywords: as of a call; the arrays are not changed.

        Returns:
            what `tw.function` gives, in place on the caller's arrays.
        """
        return self._kernel(*self._bound(arguments, keywords)).function

    def tune(
        self, /, *arguments: Any, budget: Any = "30s", progress: bool | None = None, **keywords: Any
    ) -> Any:
        """Searches for a fast schedule of the kernel for such arguments, which are left as they are.

        Args:
            arguments, keywords: as of a call.
            budget, progress: as of `tw.Function.tune`.

        Returns:
            the fastest schedule, a `tw.TunedSchedule`. The kernel has it from now on.
        """
        function, given = self._given(arguments, keywords)
        return function.tune(*given, budget=budget, progress=progress)

    def _given(
        self, arguments: tuple[Any, ...], keywords: dict[str, Any]
    ) -> tuple[TranslatedFunction, list[Any]]:
        """The kernel for such arguments, and its own."""
        signature, values = self._bound(arguments, keywords)
        kernel = self._kernel(signature, values)
        return kernel.function, list(kernel.arrays_for(values).values())

    def _tuned(self, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """See `tw.tuned`."""
        function, given = self._given(arguments, keywords)
        return function._tuned(given, {})

    @property
    def signatures(self) -> list[str]:
        """The signatures that have a kernel."""
        return [str(signature) for signature in self._kernels]

    def _only(self, what: str) -> TranslatedFunction:
        kernels = [kernel for many in self._kernels.values() for kernel in many]
        if len(kernels) == 1:
            return kernels[0].function
        name = self.__name__
        if not kernels:
            raise DeclarationError(
                f"{name} has no {what} yet: types and ranks come from the arguments of a call; call "
                f"it, or {name}.inspect(...) with arguments"
            )
        raise DeclarationError(
            f"{name} has {len(kernels)} kernels, {', '.join(self.signatures)}: take one by "
            f"{name}.inspect(...) with arguments"
        )

    @property
    def schedule(self) -> Any:
        """The schedule of the only kernel."""
        return self._only("schedule").schedule

    @property
    def loops(self) -> Any:
        """The loops of the only kernel."""
        return self._only("loops").loops

    def __getitem__(self, label: str) -> Any:
        """The statement of that name, to schedule it."""
        return self._only("statements")[label]

    def __getattr__(self, name: str) -> Any:
        """Everything else that the only kernel has, such as `auto_schedule`."""
        if name.startswith("_") or not (
            hasattr(TranslatedFunction, name) or hasattr(tw.Function, name)
        ):
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        return getattr(self._only(name), name)

    def __reduce__(self) -> Any:
        """By its name, where that is found in its module; else by the function that it is of."""
        found: Any = sys.modules.get(self.__module__)
        for part in self.__qualname__.split("."):
            found = getattr(found, part, None)
        return self.__qualname__ if found is self else (_again, (self.py_func, self._options))

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        """As a method: the object is the first argument, which has no translation."""
        return self if instance is None else types.MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<tw.jit function {self.__name__}, {len(self.signatures)} signatures>"


def _again(function: types.FunctionType, options: dict[str, Any]) -> LoopFunction:
    return LoopFunction(function, options)


def _check_definition(source: Source) -> None:
    """What is wrong whatever the arguments are."""
    arguments = source.tree.args
    for star in (arguments.vararg, arguments.kwarg):
        if star is not None:
            refuse(
                source.location(star),
                "a variable number of arguments has no translation",
                "name the arguments",
            )
    find_webs(source.tree)


_core.answer_known_calls(LoopFunction)


@overload
def jit(function: Callable[..., Any], /) -> LoopFunction: ...
@overload
def jit(*, fast_math: bool = ...) -> Callable[[Callable[..., Any]], LoopFunction]: ...


def jit(
    function: Callable[..., Any] | None = None, /, *, fast_math: bool = False
) -> LoopFunction | Callable[[Callable[..., Any]], LoopFunction]:
    """Makes a function of tilewright from a Python function with loops over NumPy arrays.

    It is called as the function is, with arrays that are changed in place::

        @tw.jit
        def scale(A, s):
            for i in range(A.shape[0]):
                A[i] = A[i] * s

        scale(a, 2.0)

    Args:
        function: a function written with `def`. Types and ranks come from the arguments of a call.
        fast_math: whether floating-point sums may be reordered (`tw.function`).

    Raises:
        TranslationError: the function has no source, or a form that has no translation.
        DeclarationTypeError: it is no Python function.
    """

    if not isinstance(fast_math, bool):
        raise tw.DeclarationTypeError(
            f"fast_math= of tw.jit must be True or False, not {type(fast_math).__name__}"
        )

    def decorate(given: Callable[..., Any]) -> LoopFunction:
        if not isinstance(given, types.FunctionType):
            raise tw.DeclarationTypeError(
                f"tw.jit takes a Python function written with def, not {type(given).__name__}"
            )
        return LoopFunction(given, {"fast_math": True} if fast_math else {})

    return decorate if function is None else decorate(function)
