"""What a translation needs of a Python function: its source, and the names that it sees."""

from __future__ import annotations

import builtins
import types
from typing import Any

from .sources import Source, read_source

__all__ = ["Loops"]


class Loops:
    """What other translations need of a function: its source and the names that it sees."""

    def __init__(self, function: types.FunctionType) -> None:
        self.name = function.__name__
        self.function = function
        self.source: Source = read_source(function)

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
