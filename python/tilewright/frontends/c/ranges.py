"""How far the accesses of a program reach in each of its arrays, as C text over its parameters.

Of affine subscripts under loops with affine bounds, each loop is replaced by its first or its last
iteration, innermost first: of ``r[k - i - 1]`` with ``0 <= i < k`` and ``1 <= k < n``, i becomes ``k - 1`` and 0,
so that the ends are 0 and ``n - 2``. Of others, intervals are computed from the bounds of loops,
outermost first. Either way they contain every access. They are asked before a scheduled scop runs in
a translated file: whether two pointers lead to memory that overlaps (see `replacing`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from .. import tree
from ..tree import (
    Convert,
    Expression,
    For,
    If,
    Literal,
    Operation,
    Select,
    Variable,
    While,
    plain,
)

__all__ = ["HELPERS", "ranges_of", "text_of"]

#: What the texts call.
HELPERS = """static inline long long tilewright_least(long long a, long long b) { return a < b ? a : b; }
static inline long long tilewright_most(long long a, long long b) { return a < b ? b : a; }
static inline long long tilewright_floor(long long a, long long b) { return a / b - (a % b < 0); }
"""
_LONGEST = 1500
Interval = tuple[str, str]
Affine = dict[str, int]
"""Multiples of variables; of "", the constant."""


def ranges_of(program: tree.Program) -> dict[str, Interval | None]:
    """The least and the greatest element of each array that the program accesses, counted from its
    first one; None where data decide. Arrays that are not accessed are left out."""
    run = _Ranges(program)
    run.block(program.body, {})
    return {
        name: None if any(each is None for each in found) else _hull(found)  # type: ignore[arg-type]
        for name, found in run.found.items()
    }


def text_of(expression: Expression) -> str | None:
    """The value of an expression of parameters in C; None for what has no text."""
    found = _interval(plain(expression), {}, exact=True)
    return None if found is None or found[0] != found[1] else found[0]


class _Ranges:
    def __init__(self, program: tree.Program) -> None:
        self.program = program
        self.found: dict[str, list[Interval | None]] = {}
        #: The first and the last iteration of each loop around, outermost first.
        self.nest: list[tuple[str, Affine | None, Affine | None]] = []

    def block(self, statements: tuple[tree.Statement, ...], loops: dict[str, Interval]) -> None:
        for each in statements:
            for expression in tree.expressions_of(each):
                for read in tree.reads_of(expression):
                    self.access(read, loops)
            match each:
                case tree.Assign():
                    self.access(each.target, loops)
                case For():
                    start, stop = (_interval(plain(x), loops) for x in (each.start, each.stop))
                    inner = dict(loops)
                    inner.pop(each.iterator.name, None)
                    if start is not None and stop is not None:
                        up = each.step > 0
                        low = start[0] if up else _plus(stop[0], 1)
                        high = _plus(stop[1], -1) if up else start[1]
                        inner[each.iterator.name] = low, high
                    else:
                        inner[each.iterator.name] = "", ""  # data decide
                    self.nest.append((each.iterator.name, *_iterations(each)))
                    self.block(each.body, inner)
                    self.nest.pop()
                case While():
                    self.block(each.body, loops)
                case If():
                    self.block(each.body, loops)
                    self.block(each.otherwise, loops)

    def access(self, read: tree.Read, loops: dict[str, Interval]) -> None:
        array = self.program.arrays[read.array]
        place: Interval | None = ("0", "0")
        for at, (subscript, extent) in enumerate(zip(read.subscripts, array.shape, strict=True)):
            here = self.ends(plain(subscript)) or _interval(plain(subscript), loops)
            if at:
                size = _interval(plain(extent), {})
                place = None if place is None or size is None else _product(place, size)
            place = None if place is None or here is None else _sum(place, here)
        found = self.found.setdefault(read.array, [])
        if place not in found:
            found.append(place)

    def ends(self, subscript: Expression) -> Interval | None:
        """The least and the greatest value of an affine subscript; None where a bound is not affine."""
        form = _affine(subscript)
        if form is None:
            return None
        texts = []
        for takes_last in (False, True):
            value = dict(form)
            for name, first, last in reversed(self.nest):
                multiple = value.pop(name, 0)
                end = last if (multiple > 0) == takes_last else first
                if multiple and end is None:
                    return None
                if multiple and end is not None:
                    _add(value, end, multiple)
            texts.append(_affine_text(value))
        return texts[0], texts[1]


# ---- affine forms ----


def _add(to: Affine, other: Affine, multiple: int) -> None:
    for name, own in other.items():
        to[name] = to.get(name, 0) + multiple * own


def _affine(expression: Expression) -> Affine | None:
    """An integer expression as multiples of variables; None for what is not affine."""
    match expression:
        case Literal() if expression.dtype.kind in "iub":
            return {"": int(expression.value.real)}
        case Variable() if expression.dtype.kind in "iu":
            return {expression.name: 1}
        case Convert() if expression.dtype == np.dtype("int64") or np.can_cast(
            expression.value.dtype, expression.dtype
        ):
            return _affine(plain(expression.value))
        case Operation() if expression.dtype.kind in "iu" and expression.name in (
            "+",
            "-",
            "*",
            "neg",
        ):
            forms = [_affine(plain(each)) for each in expression.operands]
            known = [each for each in forms if each is not None]
            if len(known) < len(forms):
                return None
            result: Affine = {}
            if expression.name == "*":
                numbers = [each.get("", 0) for each in known if not set(each) - {""}]
                others = [each for each in known if set(each) - {""}]
                if len(others) <= 1:
                    _add(result, others[0] if others else {"": 1}, math.prod(numbers))
                    return result
                return None
            signs = {"+": (1, 1), "-": (1, -1), "neg": (-1,)}[expression.name]
            for each, sign in zip(known, signs, strict=True):
                _add(result, each, sign)
            return result
    return None


def _iterations(loop: For) -> tuple[Affine | None, Affine | None]:
    """The least and the greatest value of a loop's iterator, as far as they are affine."""
    start, stop = _affine(plain(loop.start)), _affine(plain(loop.stop))
    if stop is not None:
        _add(stop, {"": 1}, -1 if loop.step > 0 else 1)
    return (start, stop) if loop.step > 0 else (stop, start)


def _affine_text(form: Affine) -> str:
    text = _literal(form.get("", 0))
    for name, multiple in sorted(form.items()):
        if name and multiple:
            text = _added(_times(f"(long long){name}", multiple), text, "+")
    return text


def _hull(found: Iterable[Interval]) -> Interval | None:
    first, *rest = found
    for each in rest:
        first = _either(first, each)
    return first if max(map(len, first)) <= _LONGEST else None


def _either(a: Interval, b: Interval) -> Interval:
    low = a[0] if a[0] == b[0] else f"tilewright_least({a[0]}, {b[0]})"
    high = a[1] if a[1] == b[1] else f"tilewright_most({a[1]}, {b[1]})"
    return low, high


def _number(text: str) -> int | None:
    return int(text.strip("()")) if text.strip("()").lstrip("-").isdigit() else None


def _plus(text: str, number: int) -> str:
    known = _number(text)
    if known is not None:
        return _literal(known + number)
    return f"({text} {'+' if number >= 0 else '-'} {abs(number)})" if number else text


def _literal(value: int) -> str:
    return str(value) if value >= 0 else f"({value})"


def _sum(a: Interval, b: Interval) -> Interval:
    return _added(a[0], b[0], "+"), _added(a[1], b[1], "+")


def _added(a: str, b: str, sign: str) -> str:
    x, y = _number(a), _number(b)
    if x is not None and y is not None:
        return _literal(x + y if sign == "+" else x - y)
    if y == 0:
        return a
    if y is not None and y < 0:
        sign, b = "-" if sign == "+" else "+", str(-y)
    return b if x == 0 and sign == "+" else f"({a} {sign} {b})"


def _product(a: Interval, b: Interval) -> Interval | None:
    for one, other in ((a, b), (b, a)):
        factor = _number(one[0]) if one[0] == one[1] else None
        if factor is not None:
            ends = [_times(each, factor) for each in other]
            return (ends[0], ends[1]) if factor >= 0 else (ends[1], ends[0])
    texts = {f"({x} * {y})" for x in set(a) for y in set(b)}
    low, *rest = sorted(texts)
    high = low
    for each in rest:
        low, high = f"tilewright_least({low}, {each})", f"tilewright_most({high}, {each})"
    return None if len(low) > _LONGEST else (low, high)


def _times(text: str, factor: int) -> str:
    known = _number(text)
    if known is not None:
        return _literal(known * factor)
    return text if factor == 1 else "0" if factor == 0 else f"({text} * {_literal(factor)})"


def _interval(
    expression: Expression, loops: dict[str, Interval], exact: bool = False
) -> Interval | None:
    """The values that an integer expression may have."""
    match expression:
        case Literal() if expression.dtype.kind in "iub":
            text = _literal(int(expression.value.real))
            return text, text
        case Variable():
            if expression.name in loops:
                return loops[expression.name] if loops[expression.name][0] else None
            text = f"(long long){expression.name}"
            return text, text
        case Convert():
            keeps = expression.dtype == np.dtype("int64") or np.can_cast(
                expression.value.dtype, expression.dtype
            )
            return _interval(plain(expression.value), loops, exact) if keeps else None
        case Select() if not exact:
            first, second = (
                _interval(plain(each), loops) for each in (expression.if_true, expression.if_false)
            )
            return None if first is None or second is None else _either(first, second)
        case Operation() if expression.dtype.kind in "iu":
            return _operation(expression, loops, exact)
    return None


def _operation(expression: Operation, loops: dict[str, Interval], exact: bool) -> Interval | None:
    operands = [_interval(plain(each), loops, exact) for each in expression.operands]
    known = [each for each in operands if each is not None]
    if expression.name == "%" and not exact and len(known) == 2:
        size = _number(known[1][0])
        return ("0", _literal(size - 1)) if size and known[1][0] == known[1][1] else None
    if expression.name == "&" and not exact and expression.dtype.kind == "i":
        masks = [_number(each[0]) for each in known if each[0] == each[1]]
        least = min((mask for mask in masks if mask is not None and mask >= 0), default=None)
        return None if least is None else ("0", _literal(least))
    if len(known) != len(operands):
        return None
    match expression.name:
        case "neg":
            return _added("0", known[0][1], "-"), _added("0", known[0][0], "-")
        case "+":
            return _sum(known[0], known[1])
        case "-":
            a, b = known
            return _added(a[0], b[1], "-"), _added(a[1], b[0], "-")
        case "*":
            return _product(known[0], known[1])
        case "minimum" | "maximum":
            word = "least" if expression.name == "minimum" else "most"
            a, b = known
            low, high = (f"tilewright_{word}({a[at]}, {b[at]})" for at in (0, 1))
            return (low, low) if a[0] == a[1] and b[0] == b[1] else (low, high)
        case "//" | "truncated_divide":
            size = _number(known[1][0])
            if size is None or size <= 0 or known[1][0] != known[1][1]:
                return None
            if expression.name == "truncated_divide":
                low, high = (f"({each} / {size})" for each in known[0])
                return low, high
            return _floors(known[0], size)
        case ">>" | "<<":
            bits = _number(known[1][0])
            if bits is None or not 0 <= bits < 62 or known[1][0] != known[1][1]:
                return None
            if expression.name == ">>":
                return _floors(known[0], 1 << bits)
            return _product(known[0], (_literal(1 << bits),) * 2)
    return None


def _floors(values: Interval, size: int) -> Interval:
    """The values divided by a number and rounded down, as C's division does not do it below 0."""
    found = []
    for each in values:
        known = _number(each)
        found.append(
            f"tilewright_floor({each}, {size})" if known is None else _literal(known // size)
        )
    return found[0], found[1]
