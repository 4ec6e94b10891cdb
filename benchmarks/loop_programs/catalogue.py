"""Functions, each with what makes arguments for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

__all__ = ["Catalogue"]

Function = Callable[..., Any]
Arguments = Callable[[np.random.Generator], tuple[Any, ...]]


class Catalogue:
    """The functions of one field, in the order in which they are entered."""

    def __init__(self) -> None:
        self._entries: list[tuple[Function, Arguments]] = []

    def enter(self, arguments: Arguments) -> Callable[[Function], Function]:
        """Enters the function below."""

        def entered(function: Function) -> Function:
            self._entries.append((function, arguments))
            return function

        return entered

    def __iter__(self) -> Iterator[tuple[Function, tuple[Any, ...]]]:
        """The functions, each with arguments of its own that are the same each time."""
        for function, arguments in self._entries:
            yield function, arguments(np.random.default_rng(0))
