"""Printed loops, run with arrays that know their extents and what was written: no loop may touch
what lies outside of an array, or read an element that nothing has written.

Values do not matter here: what is read from an array is `DATA`, and so is what is made of it. Loops
in which data decide what runs are left off where they do.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NoReturn

import tilewright as tw
from tilewright import _core

#: More iterations than these are not looked at.
LIMIT = 100_000


class OutOfPlace(Exception):
    """An access outside of an array, or of an element without a value."""


class Undecided(Exception):
    """Data decide what runs next, or there is too much of it."""


class Data:
    """What an array's elements are, and all that is made of them."""

    def _same(self, *_: Any) -> Data:
        return self

    def _undecided(self) -> NoReturn:
        raise Undecided("data decide")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _same
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = _same
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = __pow__ = __rpow__ = _same
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = __invert__ = __neg__ = __pos__ = _same
    __lt__ = __le__ = __gt__ = __ge__ = _same
    __eq__ = __ne__ = _same  # type: ignore[assignment]
    __hash__ = None  # type: ignore[assignment]
    __bool__ = __index__ = __float__ = _undecided

    def __getattr__(self, _: str) -> Data:
        return self


DATA = Data()


class Array:
    """An array's extents, and which of its elements have a value."""

    def __init__(self, name: str, extents: Sequence[int], is_written: bool = False) -> None:
        self.name = name
        self.extents = tuple(int(extent) for extent in extents)
        if any(extent < 0 for extent in self.extents):
            raise OutOfPlace(f"{name} has the extents {self.extents}")
        self.is_written = is_written
        self.written: set[tuple[int, ...]] = set()

    def _place(self, given: Any) -> tuple[int, ...] | None:
        """None if data decide about it."""
        place = given if isinstance(given, tuple) else (given,)
        if any(isinstance(at, Data) for at in place):
            return None
        inside = len(place) == len(self.extents) and all(
            0 <= at < extent for at, extent in zip(place, self.extents, strict=True)
        )
        if not inside:
            raise OutOfPlace(f"{self.name}{list(place)} lies outside of {list(self.extents)}")
        return place

    def __getitem__(self, given: Any) -> Data:
        place = self._place(given)
        if place is not None and not self.is_written and place not in self.written:
            raise OutOfPlace(f"{self.name}{list(place)} is read, and nothing has written it")
        return DATA

    def __setitem__(self, given: Any, _: Any) -> None:
        place = self._place(given)
        if place is None:
            self.is_written = True
        else:
            self.written.add(place)


def _of_numbers(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*given: Any) -> Any:
        return DATA if any(isinstance(one, Data) for one in given) else function(*given)

    return call


class _Names(dict[str, Any]):
    """The names of printed loops; functions that are not known here make data."""

    def __missing__(self, name: str) -> Any:
        if not name.startswith(_CALLED):
            raise NameError(name)
        return lambda *_: DATA


#: In front of the name of what is called: a local value may be called `max` as well.
_CALLED = "function "


class _Told(ast.NodeTransformer):
    """`A = empty(...)` tells the array its name, and functions are told from values."""

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        value = node.value
        if isinstance(value, ast.Call) and ast.unparse(value.func) == "empty":
            value.args[1] = ast.Constant(ast.unparse(node.targets[0]))
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if isinstance(node.func, ast.Name):
            node.func.id = _CALLED + node.func.id
        return self.generic_visit(node)


class CheckedLoops:
    """Loops as `str(f.loops)` prints them, ready to run.

    Args:
        text: The loops.
    """

    def __init__(self, text: str) -> None:
        tree = ast.fix_missing_locations(_Told().visit(ast.parse(text)))
        self._code = compile(tree, "<loops>", "exec")

    def run(
        self, parameters: Mapping[str, int], arguments: Mapping[str, tuple[Sequence[int], bool]]
    ) -> None:
        """Runs them once.

        Args:
            parameters: The value of each parameter.
            arguments: Extents of each input and output, and whether it comes with values.

        Raises:
            OutOfPlace: An access is outside of its array, or reads what nothing has written.
            Undecided: Data decide what runs, or there are more than `LIMIT` iterations.
        """
        left = LIMIT

        def counted(*bounds: int) -> Iterator[int]:
            nonlocal left
            if any(isinstance(bound, Data) for bound in bounds):
                raise Undecided("data decide")
            for at in range(*bounds):
                left -= 1
                if left < 0:
                    raise Undecided("too many iterations")
                yield at

        names = _Names(parameters)
        names.update((name, Array(name, *known)) for name, known in arguments.items())
        names.update(inf=DATA, nan=DATA)
        functions = {
            "range": counted,
            "empty": lambda extents, name: Array(name, extents),
            "min": _of_numbers(min),
            "max": _of_numbers(max),
            "abs": _of_numbers(abs),
            "int64": _of_numbers(int),
        }
        names.update((_CALLED + name, called) for name, called in functions.items())
        exec(self._code, {"__builtins__": {}}, names)


def arguments_of(
    function: tw.Function, sizes: Mapping[str, int]
) -> dict[str, tuple[list[int], bool]]:
    """Extents of each argument at these sizes, and whether it comes with values."""
    known: dict[str, Any] = {"maximum": max, "minimum": min, **sizes}
    known["select"] = lambda condition, a, b: a if condition else b
    computed = _core.describe_mapping(function)["computations"]
    found: dict[str, tuple[list[int], bool]] = {}
    for name, _, extents, is_output in function._arguments:
        # An output may lie in memory of another name, or in the array of an input.
        own = computed[name]["buffer"] if is_output and name in computed else name
        numbers = [eval(str(e), {"__builtins__": {}}, known) for e in extents]
        found.setdefault(own or name, (numbers, not is_output))
    return found


def run_loops(function: tw.Function, *sizes: Mapping[str, int]) -> None:
    """Runs the loops of a function at all of these sizes."""
    loops = CheckedLoops(str(function.loops))
    for known in sizes:
        loops.run(known, arguments_of(function, known))
