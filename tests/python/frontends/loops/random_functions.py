"""Random Python functions with loops: text, arguments, and what CPython computes.

Programs have nests with positive and negative steps, guards, break and continue, scalars that are
assigned anew, tuple assignments, slices of both signs, masks, subscripts and `while` conditions of data, calls of
another loop function, and augmented assignments. Values are small
integers in float64 and int64 arrays, so no rounding hides an order; all subscripts are inside arrays
because loops run over what subscripts allow.
"""

from __future__ import annotations

import linecache
import random
from typing import Any

import numpy as np

import tilewright as tw

SIZE = 7


def mixed(x, y):
    """What random functions call; for CPython it is a plain function."""
    if x > y:
        return x - y
    return x + y


mixed.__tilewright_loops__ = tw.jit(mixed).__tilewright_loops__  # type: ignore[attr-defined]
mixed.py_func = mixed  # type: ignore[attr-defined]


class Writer:
    """Writes one function."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.iterators: list[tuple[str, int]] = []  # with the largest distance to the ends
        self.floats = ["s"]
        self.loop_count = 0
        self.statements = 0

    def pick(self, *choices: Any) -> Any:
        return self.random.choice(choices)

    def line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def index(self) -> str:
        """A subscript from 0 to n - 1."""
        inner = [name for name, _ in self.iterators]
        if not inner or self.random.random() < 0.1:
            return self.pick("0", "-1", "n - 1", "2", "n // 2", "-2")
        name = self.pick(*inner)
        return self.pick(name, name, f"{name} - 1", f"{name} + 1", f"n - 1 - {name}")

    def number(self, depth: int = 0) -> str:
        kind = self.random.randrange(9 if depth < 2 else 5)
        if kind == 0:
            return str(self.random.randrange(-3, 4))
        if kind == 1:
            return self.pick(*self.floats)
        if kind == 2 and self.iterators:
            return self.pick(*self.iterators)[0]
        if kind < 5:
            return self.element()
        left, right = self.number(depth + 1), self.number(depth + 1)
        if kind == 8 and self.random.random() < 0.3:
            return f"mixed({left}, {right})"
        if kind == 8:
            return f"({left} if {self.condition()} else {right})"
        if kind == 7:
            return self.pick(f"min({left}, {right})", f"max({left}, {right})", f"abs({left})")
        return f"({left} {self.pick('+', '-', '+')} {right})"

    def element(self) -> str:
        if self.random.random() < 0.1:
            return self.pick(f"A[D[{self.index()}]]", f"B[D[{self.index()}], {self.index()}]")
        return self.pick(f"A[{self.index()}]", f"B[{self.index()}, {self.index()}]")

    def condition(self) -> str:
        kind = self.random.randrange(5)
        if self.iterators and kind < 3:
            name = self.pick(*self.iterators)[0]
            return self.pick(
                f"{name} % 2 == 0", f"{name} > 2", f"1 < {name} < n - 2", f"{name} != 3",
                f"not {name} < 3", f"{name} == 1 or {name} == 4", f"{name} > 1 and A[{name}] > 0",
            )  # fmt: skip
        left = self.element()
        return self.pick(f"{left} > 0", f"{left} <= s", f"{left} == 1", f"0 < {left} <= 2")

    def slices(self) -> str:
        """A statement on slices of one length."""
        shape = self.pick(
            ("1:-1", ":-2", "2:"),
            ("1:", ":-1", ":-1"),
            ("::-1", ":", "::-1"),
            ("::2", "::2", "::2"),
            ("2:n - 1", "1:n - 2", "3:n"),
        )
        target, one, two = shape
        value = self.pick(
            f"A[{one}] + A[{two}]",
            f"B[{self.index()}, {one}] - A[{two}]",
            f"A[{two}]",
            f"B[{two}, {self.index()}] + s",
            "s",
            f"-A[{one}]",
        )
        if self.random.random() < 0.3:
            row = self.index()
            return f"B[{row}, {target}] {self.pick('=', '+=')} {value}"
        return f"A[{target}] {self.pick('=', '+=', '-=')} {value}"

    def while_loop(self, depth: int) -> None:
        """At most four iterations, fewer if the data say so."""
        name = f"w{self.loop_count}"
        self.loop_count += 1
        self.line(depth, f"{name} = 0")
        self.line(depth, f"while {name} < {self.pick(2, 4)} and ({self.condition()}):")
        self.simple(depth + 1)
        self.line(depth + 1, f"{name} += 1")
        if self.random.random() < 0.3:
            self.line(depth + 1, f"if {self.condition()}:")
            self.line(depth + 2, "break")
            self.simple(depth + 1)

    def masked(self) -> str:
        """An assignment to what a mask chooses."""
        test = self.pick("A > 0", "A == 1", "(A < 2) & (A > -2)")
        value = self.pick("s", "A[" + test + "] + 1", "0", "-1")
        return f"A[{test}] {self.pick('=', '+=')} {value}"

    def simple(self, depth: int) -> None:
        self.statements += 1
        kind = self.random.randrange(9)
        if kind < 2:
            self.line(depth, f"{self.element()} = {self.number()}")
        elif kind == 2:
            self.line(depth, f"{self.element()} {self.pick('+=', '-=')} {self.number()}")
        elif kind == 3:
            self.line(depth, f"s {self.pick('=', '+=')} {self.number()}")
        elif kind == 4:
            self.line(depth, self.slices())
        elif kind == 5:
            left, right = self.element(), self.element()
            self.line(depth, f"{left}, {right} = {right}, {left}")
        elif kind == 6:
            name = self.pick("t", "u")
            self.line(depth, f"{name} = {self.number()}")
            self.line(depth, f"{self.element()} = {name} + 1")
        elif kind == 8:
            self.line(depth, self.masked())
        else:
            self.line(
                depth, f"s = {self.pick('A.sum()', 'A.max()', 'np.min(B)', 'B[1].sum()')} % 5"
            )

    def loop(self, depth: int) -> None:
        name = f"i{self.loop_count}"
        self.loop_count += 1
        outer = self.pick(*self.iterators)[0] if self.iterators else "1"
        bounds = self.pick(
            "1, n - 1", "n - 2, 0, -1", "1, n - 1, 2", "1, 3", f"{outer}, n - 1", "n - 2, 1, -2"
        )
        if not self.iterators and self.random.random() < 0.1:
            bounds = "2, 2"
        self.line(depth, f"for {name} in range({bounds}):")
        self.iterators.append((name, 1))
        before = len(self.lines)
        self.block(depth + 1)
        if self.random.random() < 0.25:
            self.line(depth + 1, f"if {self.condition()}:")
            self.line(depth + 2, self.pick("break", "continue"))
            self.simple(depth + 1)
        assert len(self.lines) > before
        self.iterators.pop()

    def block(self, depth: int) -> None:
        for _ in range(self.pick(1, 1, 2)):
            kind = self.random.randrange(7)
            if kind == 6 and len(self.iterators) < 2 and self.statements < 8:
                self.while_loop(depth)
            elif kind < 2 and len(self.iterators) < 2 and self.statements < 8:
                self.loop(depth)
            elif kind == 2 and depth < 4:
                self.line(depth, f"if {self.condition()}:")
                self.simple(depth + 1)
                if self.random.random() < 0.5:
                    self.line(depth, "else:")
                    self.simple(depth + 1)
            else:
                self.simple(depth)

    def text(self) -> str:
        self.line(0, "def f(A, B, D, n, s):")
        self.simple(1)
        self.loop(1)
        self.block(1)
        self.line(1, self.pick("return s", "return s, A[1]", "return A + 1", "return None"))
        return "\n".join(self.lines) + "\n"


class FunctionWriter(Writer):
    """Writes functions with values of elementary functions, which fewer iterators may decide about than there are
    loops around, with the least value so far and where it was, and with arrays as long as a loop has come."""

    def number(self, depth: int = 0) -> str:
        """A number; values of functions are whole numbers, too."""
        if depth < 2 and self.random.random() < 0.2:
            of = self.pick(super().number(2), f"{self.element()} + {self.element()}")
            return f"np.round(3 * np.exp(min(max({of}, -2), 2)))"
        return super().number(depth)

    def simple(self, depth: int) -> None:
        """A statement."""
        kind = self.random.randrange(8)
        if kind == 0:
            element = self.element()
            place = self.pick(*self.iterators)[0] if self.iterators else "7"
            self.line(depth, f"if {element} {self.pick('<', '>', '<=')} s:")
            for text in self.pick((f"s = {element}", f"q = {place}"), (f"q = {place}", "s = 1")):
                self.line(depth + 1, text)
        elif kind == 1 and self.iterators:
            name = self.pick(*self.iterators)[0]
            self.line(depth, f"v = np.zeros({self.pick(name, f'n - {name}', f'2 * {name} + 1')})")
            self.line(depth, f"v[:] = {self.number(2)}")
            self.line(depth, f"{self.element()} = v.sum() % 5 + len(v)")
        else:
            super().simple(depth)

    def text(self) -> str:
        """The function."""
        self.line(0, "def f(A, B, D, n, s):")
        self.line(1, "q = -1")
        self.loop(1)
        self.block(1)
        self.line(1, self.pick("return s, q", "return q, A[1]", "return A + q"))
        return "\n".join(self.lines) + "\n"


def made(seed: int, writer: type[Writer] = Writer) -> Any:
    """The function of a seed, undecorated; its text is where `inspect` finds it."""
    text = writer(seed).text()
    file = f"<random function {writer.__name__} {seed}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names: dict[str, Any] = {"np": np, "tw": tw, "mixed": mixed}
    exec(compile(text, file, "exec"), names)
    return names["f"]


def arguments(seed: int) -> tuple[Any, ...]:
    """Arguments for it: small integers."""
    r = np.random.default_rng(seed)
    dtype = [np.float64, np.int64][seed % 2]
    A = r.integers(-3, 4, SIZE).astype(dtype)
    B = r.integers(-3, 4, (SIZE, SIZE)).astype(dtype)
    return A, B, r.integers(0, SIZE, SIZE), SIZE, float(seed % 3)
