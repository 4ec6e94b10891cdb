"""Random Python functions of whole arrays: text, arguments, and what CPython computes.

Statements give names to values of whole arrays (operators, sums along axes, products, other shapes,
elements in other places, choices), change arguments in place, and stand in loops over time at times.
Values are small integers in float64, so that no order of sums shows.
"""

from __future__ import annotations

import linecache
import random
from typing import Any

import numpy as np

ROWS, COLUMNS = 4, 6


class ArrayWriter:
    """Writes one function of a matrix A, its like B, a vector x of its rows' length, and y."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.names = {"matrix": ["A", "B"], "row": ["x"], "column": ["y"], "number": ["s"]}
        self.count = 0

    def pick(self, *choices: Any) -> Any:
        return self.random.choice(choices)

    def value(self, kind: str, depth: int = 0) -> str:
        """An expression of that shape."""
        if depth > 2 or self.random.random() < 0.25:
            return self.pick(*self.names[kind])
        again = self.value(kind, depth + 1)
        plain = [
            f"({again} + {self.value(kind, depth + 1)})",
            f"({again} - {self.value('number', depth + 1)})",
            f"np.where({again} > {self.value(kind, depth + 1)}, {again}, 1.0)",
            f"np.minimum({again}, {self.value(kind, depth + 1)})",
            f"abs({again})",
        ]
        return self.pick(*plain, *self.of_others(kind, depth + 1))

    def of_others(self, kind: str, depth: int) -> list[str]:
        matrix = self.value("matrix", depth)
        axis = {"row": 0, "column": 1}.get(kind)
        if kind == "number":
            return [
                f"{matrix}.sum()", f"np.max({matrix})", f"({self.value('row', depth)} @ x)",
                f"np.min({self.value('column', depth)})", f"len(x[x > {self.pick(0, 1)}])",
            ]  # fmt: skip
        if axis is not None:
            place = "0" if kind == "row" else ":, 1"
            own = self.value(kind, depth)
            return [
                f"{matrix}.sum(axis={axis})", f"np.max({matrix}, axis={axis})", f"{matrix}[{place}]"
                if matrix.isidentifier() else own,
                f"np.roll({own}, {self.pick(1, -1, 2)})", f"{own}[::-1]",
                f"np.pad({own}, 1, mode='{self.pick('edge', 'reflect', 'wrap')}')[2:]",
                f"(y @ {matrix})" if kind == "row" else f"({matrix} @ x)",
                f"np.concatenate(({own}[2:], {own}[:2]))", f"np.cumsum({own})",
            ]  # fmt: skip
        row, column = self.value("row", depth), self.value("column", depth)
        return [
            f"({matrix} * {row})", f"({matrix} - {column}[:, np.newaxis])", f"np.outer({column}, {row})",
            f"np.roll({matrix}, 1, axis={self.pick(0, 1)})", f"({matrix} @ ({matrix}.T @ A))",
            f"np.einsum('ij,kj,kl->il', A, B, {matrix})", f"np.flip({matrix}, axis={self.pick(0, 1)})",
            f"({matrix} - {matrix}.sum(axis=1, keepdims=True))", f"np.tril({matrix})",
            f"np.pad({matrix}, 1)[{self.pick('1:-1', ':-2', '2:')}, {self.pick('1:-1', '2:')}]",
        ]  # fmt: skip

    def small(self, kind: str) -> str:
        return f"{self.value(kind)} % {self.pick(5, 7)}"

    def statement(self, indent: str, in_loop: bool) -> str:
        kind = self.pick("matrix", "row", "column", "number")
        changed = self.pick(0, 1, 2, 3, 4, 5, 6) if kind != "number" else 6
        if changed == 0:
            name = self.pick("A", "B") if kind == "matrix" else "x" if kind == "row" else "y"
            return f"{indent}{name}[:] = {self.small(kind)}"
        if changed == 1 and kind == "matrix":
            return f"{indent}A[1:-1, 1:-1] = (A[:-2, 1:-1] + A[2:, 1:-1] - B[1:-1, 2:]) % 5"
        if changed == 2 and kind == "matrix":
            return f"{indent}B[A > {self.pick(0, 1, 2)}] = {self.value('number')} % 5"
        if changed == 3 and kind == "row":
            return f"{indent}x[1:] = (x[:-1] + {self.pick('A[0, 1:]', 'x[1:]')}) % 7"
        if in_loop:
            name = {"matrix": "B", "row": "x", "column": "y"}.get(kind)
            if name is None:
                return f"{indent}s = {self.small('number')}"
            return f"{indent}{name}[:] = {self.small(kind)}"
        self.count += 1
        line = f"{indent}v{self.count} = {self.small(kind)}"
        self.names[kind].append(f"v{self.count}")
        return line

    def text(self) -> str:
        self.lines = ["def f(A, B, x, y, s, T):"]
        for _ in range(self.random.randrange(1, 5)):
            if self.random.random() < 0.2:
                self.lines.append("    for t in range(T):")
                for _ in range(self.random.randrange(1, 3)):
                    self.lines.append(self.statement("        ", True))
            else:
                self.lines.append(self.statement("    ", False))
        kinds = [self.pick("matrix", "row", "column", "number") for _ in range(2)]
        self.lines.append(f"    return {', '.join(self.small(kind) for kind in kinds)}")
        return "\n".join(self.lines) + "\n"


def made(seed: int) -> Any:
    """The function of a seed, whose text `inspect` finds."""
    name = f"<random arrays {seed}>"
    text = ArrayWriter(seed).text()
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    names: dict[str, Any] = {"np": np}
    exec(compile(text, name, "exec"), names)
    return names["f"]


def arguments(seed: int) -> tuple[Any, ...]:
    r = np.random.default_rng(seed)

    def some(*shape: int) -> Any:
        return r.integers(-2, 3, shape).astype(np.float64)

    return some(ROWS, COLUMNS), some(ROWS, COLUMNS), some(COLUMNS), some(ROWS), 2.0, 3
