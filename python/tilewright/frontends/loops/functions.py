"""What a translation needs of a Python function: its source, and the names that it sees."""

from __future__ import annotations

import builtins
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from ..constants import Constant, places_of
from .last_values import with_last_values
from .local_functions import without_local_functions
from .sources import Source, read_source
from .sugar import without_sugar

__all__ = ["Loops", "ModuleNames", "Outside"]


class Loops:
    """What other translations need of a function: its source and the names that it sees."""

    def __init__(self, function: types.FunctionType) -> None:
        self.name = function.__name__
        self.function = function
        self.source: Source = read_source(function)
        with_last_values(self.source.tree)
        without_sugar(self.source.tree)
        without_local_functions(self.source.tree)

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
