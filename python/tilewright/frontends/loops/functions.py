"""What a translation needs of a Python function: its source, and the names that it sees."""

from __future__ import annotations

import builtins
import functools
import pathlib
import sysconfig
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from ..constants import Constant, places_of
from ..depth import many_levels
from ..refusals import refuse
from .definitions import find_webs
from .last_values import with_last_values
from .local_functions import without_local_functions
from .sources import Source, read_source
from .sugar import without_sugar

__all__ = ["Loops", "ModuleNames", "Outside", "undecorated"]


class Loops:
    """What other translations need of a function: its source and the names that it sees."""

    def __init__(self, function: types.FunctionType) -> None:
        self.name = "anonymous" if function.__name__ == "<lambda>" else function.__name__
        self.function = function
        self.source: Source = read_source(function)
        with many_levels(self.source.location(self.source.tree)):
            with_last_values(self.source.tree)
            without_sugar(self.source.tree)
            without_local_functions(self.source.tree)

    def check_definition(self) -> None:
        """Refuses what is wrong whatever the arguments are."""
        arguments = self.source.tree.args
        for star in (arguments.vararg, arguments.kwarg):
            if star is not None:
                refuse(
                    self.source.location(star),
                    "a variable number of arguments has no translation",
                    "name the arguments",
                )
        with many_levels(self.source.location(self.source.tree)):
            find_webs(self.source.tree)

    def lookup(self, name: str) -> Any:
        """A name that is not the function's own."""
        code = self.function.__code__
        if name in code.co_freevars and self.function.__closure__ is not None:
            try:
                return self.function.__closure__[code.co_freevars.index(name)].cell_contents
            except ValueError:
                raise NameError(name) from None
        if name in self.function.__globals__:
            return self.function.__globals__[name]
        if hasattr(builtins, name):
            return getattr(builtins, name)
        raise NameError(name)

    def places(self, name: str) -> list[Constant]:
        """Where `lookup` finds such a name now."""
        return places_of(self.function, name)


def undecorated(target: Any, caller: str) -> Any:
    """A function that is called and was not given to `tw.jit`, as if it had been: of the caller's own code.

    A function of a library that is installed is none: that its text has a translation would be luck, and what is
    wrong with it would be said about lines that are not the caller's. Nor is one that a decorator has wrapped.

    Args:
        target: what is called: a Python function, or what Numba has made of one.
        caller: the module in which the call stands.

    Returns:
        what has `py_func` and `__tilewright_loops__`, or None.

    Raises:
        TranslationError: its text cannot be found.
    """
    function = target if isinstance(target, types.FunctionType) else _of_numba(target)
    if function is None or hasattr(function, "__wrapped__"):
        return None
    module = str(function.__module__ or "").partition(".")[0]
    if module != caller.partition(".")[0] and _is_installed(function.__code__.co_filename):
        return None
    return _undecorated(function)


def _of_numba(target: Any) -> types.FunctionType | None:
    if type(target).__module__.partition(".")[0] != "numba":
        return None
    function = getattr(target, "py_func", None)
    return function if isinstance(function, types.FunctionType) else None


def _is_installed(file: str) -> bool:
    """Whether a file belongs to Python, or to what was installed for it."""
    path = pathlib.Path(file)
    return any(
        path.is_relative_to(sysconfig.get_path(name)) for name in ("stdlib", "purelib", "platlib")
    )


@functools.lru_cache(maxsize=512)  # closures that are made again and again do not stay forever
def _undecorated(function: types.FunctionType) -> Any:
    return types.SimpleNamespace(py_func=function, __tilewright_loops__=Loops(function))


class Outside:
    """An array outside of the function, by its name: whichever is there at a call is meant.

    Attributes:
        lookup: `lookup` of what has the name.
    """

    def __init__(self, lookup: Callable[[str], Any], name: str) -> None:
        scope = lookup.__self__  # type: ignore[attr-defined]
        self.lookup = lookup
        self.name = name
        self._key = id(scope.names if isinstance(scope, ModuleNames) else scope), name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Outside) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def now(self) -> np.ndarray | None:
        """The array that is there now, if it is one."""
        try:
            found = self.lookup(self.name)
        except NameError:
            return None
        return found if isinstance(found, np.ndarray) and found.ndim else None


class ModuleNames:
    """The names of a module, whose values may change."""

    def __init__(self, module: types.ModuleType) -> None:
        self.names = vars(module)

    def lookup(self, name: str) -> Any:
        """Its value now."""
        if name not in self.names:
            raise NameError(name)
        return self.names[name]

    def places(self, name: str) -> list[Constant]:
        """Where `lookup` finds it now."""
        return [Constant(self.names, name, self.names[name])]
