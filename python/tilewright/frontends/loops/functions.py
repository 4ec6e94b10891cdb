"""What a translation needs of a Python function: its source, and the names that it sees."""

from __future__ import annotations

import builtins
import types
from typing import Any

from ..constants import Constant, places_of
from .local_functions import without_local_functions
from .sources import Source, read_source
from .sugar import without_sugar

__all__ = ["Loops", "ModuleNames"]


class Loops:
    """What other translations need of a function: its source and the names that it sees."""

    def __init__(self, function: types.FunctionType) -> None:
        self.name = function.__name__
        self.function = function
        self.source: Source = read_source(function)
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
