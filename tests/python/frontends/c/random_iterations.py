"""Random C nests whose iterations have scalars and small arrays of their own: stencils, exchanges, sums.

    python tests/python/frontends/c/random_iterations.py 0 500     # seeds

Each is run in the program's order and as `auto_schedule` has it; the bits are compared.
"""

from __future__ import annotations

import random
import sys
from typing import Any

import numpy as np

import tilewright as tw

TYPES = {
    "float": np.float32,
    "double": np.float64,
    "int": np.int32,
    "unsigned char": np.uint8,
}


class Nest:
    """The text of a nest over i and j."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.type = rng.choice(["float", "float", "double", "int", "unsigned char"])
        self.own = self.type if self.type in ("float", "double") else "int"
        self.scalars: list[str] = []
        self.elements = 0  # of the array
        self.lines: list[str] = []
        if rng.random() < 0.4:
            elements = rng.choice((3, 4, 9))
            value = rng.choice(("a[i][j] * (q + 1) + a[i-1][j+1]", "q"))
            self.lines += [
                f"{self.own} p[{elements}];",
                f"for (int q = 0; q < {elements}; q++) p[q] = {value};",
            ]
            self.elements = elements
        names = [f"t{k}" for k in range(rng.randint(1, 4))]
        self.lines.append(
            f"{self.own} " + ", ".join(f"{name} = {self.value(1)}" for name in names) + ";"
        )
        self.scalars = names
        for _ in range(rng.randint(2, 7)):
            self.lines.append(self.statement())
        self.lines.append(f"c[i][j] = {self.value()};")
        if rng.random() < 0.25:
            self.lines.append(f"a[i][j] = {self.value(1)};")
        if rng.random() < 0.3:
            self.lines.append(f"d[j] = {self.value(1)};")

    @property
    def text(self) -> str:
        body = "\n      ".join(self.lines)
        rows = f"{self.type} a[restrict n][m], {self.type} b[restrict m][m]"
        others = (
            f"{self.type} w[restrict m], {self.type} c[restrict n][m], {self.type} d[restrict m]"
        )
        return f"""void f(int n, int m, {rows}, {others}) {{
#pragma scop
  for (int i = 1; i < n - 1; i++)
    for (int j = 1; j < m - 1; j++) {{
      {body}
    }}
#pragma endscop
}}"""

    def leaf(self, inner: tuple[str, ...]) -> str:
        rng = self.rng
        kinds = ["input", "input", "number"]
        kinds += ["scalar"] * 2 * bool(self.scalars) + ["element"] * bool(self.elements)
        kind = rng.choice(kinds)
        if kind == "number":
            return str(rng.randint(1, 5))
        if kind == "element":
            return f"p[{rng.randrange(self.elements)}]"
        if kind == "scalar":
            return rng.choice(self.scalars)
        row, column = rng.choice(("", "+1", "-1")), rng.choice(("", "+1", "-1"))
        if inner and rng.random() < 0.8:
            row = f"+{inner[0]}"
            column = f"+{inner[1]}" if len(inner) > 1 else column
        return f"a[i{row}][j{column}]"

    def value(self, depth: int = 2, inner: tuple[str, ...] = ()) -> str:
        if depth == 0 or self.rng.random() < 0.25:
            return self.leaf(inner)
        operator = self.rng.choice("+-*?+")
        one, other = self.value(depth - 1, inner), self.value(depth - 1, inner)
        if operator == "?":
            return f"({one} < {other} ? {one} : {other})"
        return f"({one} {operator} {other})"

    def statement(self) -> str:
        rng = self.rng
        scalar = rng.choice(self.scalars)
        draw = rng.random()
        if draw < 0.25:
            return f"{scalar} = {self.value()};"
        if draw < 0.4:
            return f"if ({self.value(1)} > {self.value(1)}) {scalar} = {self.value(1)};"
        if draw < 0.5 and len(self.scalars) > 1:
            x, y = rng.sample(self.scalars, 2)
            return f"if ({x} > {y}) {{ {self.own} z = {x}; {x} = {y}; {y} = z; }}"
        if draw < 0.6:
            return f"for (int u = -1; u <= 1; u++) {scalar} += {self.value(1, ('u',))};"
        if draw < 0.75:
            sums = [scalar, rng.choice(self.scalars)][: rng.randint(1, 2)]
            terms = " ".join(f"{each} += {self.value(1, ('u', 'v'))};" for each in sums)
            end = rng.choice((0, 1))
            return f"for (int u = -1; u <= 1; u++) for (int v = -1; v <= {end}; v++) {{ {terms} }}"
        if draw < 0.85 and self.elements:
            return f"p[{rng.randrange(self.elements)}] = {self.value(1)};"
        if draw < 0.93:
            return f"for (int k = 0; k < m; k++) {scalar} += w[k] * b[k][j];"
        return f"c[i][j] = {self.value(1)};"


def check(seed: int) -> tw.Schedule:
    """Compares a nest as scheduled with its own order; the schedule."""
    rng = random.Random(seed)
    nest = Nest(rng)
    function: Any = tw.c.load(nest.text).f
    dtype = TYPES[nest.type]
    draw = np.random.default_rng(seed)
    n, m = rng.choice(((9, 21), (5, 40), (30, 70)))
    given = [
        (draw.integers(0, 4, shape) if np.issubdtype(dtype, np.integer) else draw.random(shape))
        for shape in ((n, m), (m, m), (m,), (n, m), (m,))
    ]
    before, after = ([each.astype(dtype) for each in given] for _ in range(2))
    function(n, m, *before)
    schedule = function.auto_schedule()
    function(n, m, *after)
    for name, one, other in zip("abwcd", before, after, strict=True):
        np.testing.assert_array_equal(one, other, err_msg=f"{name} of seed {seed}:\n{nest.text}")
    return schedule


if __name__ == "__main__":
    first, count = map(int, sys.argv[1:])
    private = 0
    for number in range(first, first + count):
        private += ".private(" in str(check(number))
    print(f"{count} nests with the same bits, {private} with private buffers")
