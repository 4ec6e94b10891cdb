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
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np

import tilewright as tw

from ... import _core
from ...base import notes
from ...base.errors import ArgumentTypeError, DeclarationError
from .. import constants, kept

if TYPE_CHECKING:
    from ..translated import TranslatedFunction
    from ..tree import Program
    from .functions import Loops, Outside
    from .kernels import Kernel
    from .signatures import Signature

__all__ = ["LoopFunction", "jit"]

_Made = TypeVar("_Made")


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
        self._loops: Loops | None = None
        self._signature = inspect.signature(function)
        self._outside: dict[Outside, str] = {}  # arrays that are no arguments, and their names here
        self._made: dict[Signature, list[Kernel]] = {}
        self._unmade: list[Callable[[], list[Any]]] = []  # arguments of kept kernels
        self._lock = threading.RLock()
        text = constants.text_of(function)
        key = notes.identity("Python loops", text, np.__version__) if text else ""
        self._keeper = kept.Keeper(
            self, key, options, lambda said: constants.resolved(function, said)
        )
        self._check_definition(key)
        parameters = self._signature.parameters.values()
        if all(each.kind is each.POSITIONAL_OR_KEYWORD for each in parameters):
            defaults = [(each.default is not each.empty, each.default) for each in parameters]
            self._describe([each.name for each in parameters], defaults)

    def _check_definition(self, key: str) -> None:
        """Refuses what is wrong whatever the arguments are; asked once for a text."""
        if key and notes.load(f"{key}\ndefinition") is True:
            return
        self.__tilewright_loops__.check_definition()
        if key:
            notes.store(f"{key}\ndefinition", True)

    @property
    def __tilewright_loops__(self) -> Loops:
        """What other translations need of the function."""
        if self._loops is None:
            from .functions import Loops

            self._loops = Loops(self.py_func)
        return self._loops

    def _call_anew(self, /, *arguments: Any, **keywords: Any) -> Any:
        """Runs the function on the caller's arrays, of a call like none before."""
        threads = {}
        if "threads" in keywords and "threads" not in self._signature.parameters:
            threads["threads"] = keywords.pop("threads")
        given = self._named(arguments, keywords)
        kernel, signature, values = self._kernel_of(given)
        results = kernel(values, threads)
        kernel.remember(self, tuple(given.values()), signature, values)
        if kernel.function.function._version() == kernel.version:
            self._keeper.keep_latest(lambda: kernel.constants(self.__tilewright_loops__))
        return results

    def _ask_kept(self) -> bool:
        """Whether there are calls now that were kept."""
        return self._keeper.take()

    def _function_of(self, /, *given: Any) -> Any:
        """The function that such a call runs: a kept kernel of it has failed."""
        return self._kernel_of(self._named(given, {}))[0].function.function

    def _note_kept(self, /, *given: Any) -> None:
        """A call that was kept was made: what else is asked of the function is about such calls."""
        self._unmade.append(_likeness(given))

    @property
    def _kernels(self) -> dict[Signature, list[Kernel]]:
        """The kernels of the calls that were made, to be scheduled."""
        self._keeper.forget()
        while self._unmade:
            with self._lock:
                if self._unmade:
                    self._kernel_of(self._named(tuple(self._unmade.pop(0)()), {}))
        return self._made

    def _named(self, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> dict[str, Any]:
        try:
            bound = self._signature.bind(*arguments, **keywords)
        except TypeError as error:
            raise ArgumentTypeError(f"{self.__name__}(): {error}") from None
        bound.apply_defaults()
        return bound.arguments

    def _bound(self, given: dict[str, Any]) -> tuple[Signature, dict[str, Any]]:
        """The signature of these arguments, and the values of the program's."""
        from .signatures import signature_of

        outside = {own: array.now() for array, own in self._outside.items()}
        there = {own: array for own, array in outside.items() if array is not None}
        return signature_of(self.__name__, given, there)

    def _kernel_of(self, given: dict[str, Any]) -> tuple[Kernel, Signature, dict[str, Any]]:
        """The kernel for these arguments, and for arrays outside that it turns out to use."""
        return self._with_arrays(given, lambda signature, values: self._kernel(signature, values))

    def _with_arrays(
        self, given: dict[str, Any], make: Callable[[Signature, dict[str, Any]], _Made]
    ) -> tuple[_Made, Signature, dict[str, Any]]:
        """What is made for these arguments, asked again with each array outside that it needs."""
        from .context import NeedsArray

        while True:
            signature, values = self._bound(given)
            try:
                return make(signature, values), signature, values
            except NeedsArray as needs:
                with self._lock:
                    own = needs.outside.name
                    while own in given or own in self._outside.values():
                        own += "_"
                    self._outside.setdefault(needs.outside, own)

    def _kernel(self, signature: Signature, values: dict[str, Any]) -> Kernel:
        kernel = self._known_or_made(signature, values)
        kernel.require_apart(self.__name__, signature)
        return kernel

    def _known_or_made(self, signature: Signature, values: dict[str, Any]) -> Kernel:
        for kernel in self._made.get(signature, ()):
            if kernel.holds(values):
                return kernel
        from .kernels import made_kernel

        with self._lock:  # threads that come together make one kernel
            for kernel in self._made.get(signature, ()):
                if kernel.holds(values):
                    return kernel
            loops = self.__tilewright_loops__
            kernel = made_kernel(loops, signature, values, self._outside, self._options)
            self._keeper.made()
            self._made.setdefault(signature, []).append(kernel)
        return kernel

    def translate(self, *arguments: Any, **keywords: Any) -> Program:
        """The statement tree of the function for such arguments; nothing is compiled."""
        from .kernels import translated
        from .translation import Translation

        def made(signature: Signature, values: dict[str, Any]) -> Program:
            translation = Translation(self.__name__)
            translation.outside = self._outside
            loops = self.__tilewright_loops__
            return translated(translation, loops, signature, values, {}).program

        return self._with_arrays(self._named(arguments, keywords), made)[0]

    def inspect(self, *arguments: Any, **keywords: Any) -> TranslatedFunction:
        """The kernel for such arguments, to schedule and to look at; nothing runs.

        Args:
            arguments, keywords: as of a call; the arrays are not changed.

        Returns:
            what `tw.function` gives, in place on the caller's arrays.
        """
        self._keeper.forget()
        return self._kernel_of(self._named(arguments, keywords))[0].function

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
        self._keeper.forget()
        kernel, _, values = self._kernel_of(self._named(arguments, keywords))
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

    def wait_optimized(self, timeout: float | None = None) -> bool:
        """Waits until all kernels that have run so far are as fast as they will be.

        Args:
            timeout: seconds for each of them; None for as long as it takes.

        Returns:
            Whether all of them are.
        """
        kernels = [kernel for many in self._kernels.values() for kernel in many]
        waited = [kernel.function.wait_optimized(timeout) for kernel in kernels]
        return all(waited)

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
        from ..translated import TranslatedFunction

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


def _likeness(given: tuple[Any, ...]) -> Callable[[], list[Any]]:
    """What makes arguments of the same types, shapes and layouts, the elements of whose arrays are
    nobody's."""
    firsts: dict[tuple[Any, ...], int] = {}
    said: list[Any] = []
    for at, value in enumerate(given):
        if type(value) is not np.ndarray:
            said.append((None, value))
            continue
        layout = value.dtype, value.shape, value.strides
        first = firsts.setdefault((value.__array_interface__["data"][0], layout), at)
        said.append((layout, first if value.size else at))

    def make() -> list[Any]:
        made: list[Any] = []
        for at, (layout, value) in enumerate(said):
            made.append(value if layout is None else made[value] if value < at else _array(*layout))
        return made

    return make


def _array(dtype: np.dtype, shape: tuple[int, ...], strides: tuple[int, ...]) -> np.ndarray:
    if 0 in shape:
        return np.empty(shape, dtype)
    reach = [(extent - 1) * stride for extent, stride in zip(shape, strides, strict=True)]
    first = -sum(each for each in reach if each < 0)
    memory = np.zeros(first + sum(each for each in reach if each > 0) + dtype.itemsize, np.uint8)
    made: np.ndarray = np.ndarray(shape, dtype, memory.data, first, strides)
    return made


def _again(function: types.FunctionType, options: dict[str, Any]) -> LoopFunction:
    return LoopFunction(function, options)


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
