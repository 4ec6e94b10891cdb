"""Random conditions on data, in random schedules, with data at the ends of their types: compiled
code gives what the evaluator gives, errors included."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import tilewright as tw

i, c, j, k, m = tw.iters("i c j k m")
N, K = tw.params("N K")
M = tw.param("M", minimum=1)

COMMANDS: list[str] = [
    "split",
    "interchange",
    "tile",
    "unroll",
    "vectorize",
    "parallelize",
    "reverse",
    "skew",
    "shift",
    "rfactor",
    "cache",
]


class Case:
    """One function and its arrays, all from one seed."""

    def __init__(self, seed: int) -> None:
        self.choose = random.Random(seed)
        self.numbers = np.random.default_rng(seed)
        self.index_type = self.choose.choice([tw.int8, tw.int32, tw.int64, tw.uint16, tw.uint64])
        self.row = tw.input("row", [N + 1], self.index_type)
        self.table = tw.input("table", [K], self.index_type)
        self.v = tw.input("v", [N], self.index_type)
        self.A = tw.input("A", [K, M], tw.float64)
        self.function = self.declare()
        self.schedule()

    def conditions(self, at: tw.Expression, over_m: bool) -> tw.Expression:
        """A conjunction of one to three tests, affine and not."""
        row, v, table, A = self.row, self.v, self.table, self.A
        tests = [
            lambda: row[i] <= at,
            lambda: at < row[i + 1],
            lambda: at == v[i],
            lambda: at != v[i],
            lambda: at > tw.cast(v[i], tw.int64) - 2,
            lambda: v[i] >= at,
            lambda: table[k] > 1,
            lambda: k <= i,
            lambda: (k + i) % 2 == 0,
            lambda: (row[i] > at) | (v[i] < at),
            lambda: A[k, 0] > 0,
            lambda: tw.sum(A[k, m], over={m: M}) > 0,
            lambda: self.halvings(v[i]) < 4,
            lambda: A[table[k], 0] >= 0,
            lambda: (0 <= table[k]) & (table[k] < K) & (v[tw.cast(table[k], tw.int64) % N] > 0),
            lambda: v[i] > 0,
        ]
        if over_m:
            tests += [lambda: j >= k, lambda: j == v[i], lambda: j < row[i]]
        condition = self.choose.choice(tests)()
        for _ in range(self.choose.randrange(3)):
            condition = condition & self.choose.choice(tests)()
        return condition

    def halvings(self, start: tw.Expression) -> tw.Expression:
        """How often a number can be halved, at most eight times."""
        return tw.while_loop(
            lambda left, count: left > 1, lambda left, count: (left // 2, count + 1), (start, 0), 8
        )[1]

    def declare(self) -> tw.Function:
        choose = self.choose
        over_m = choose.random() < 0.4
        at = choose.choice([k, k, k + 1, 2 * k, k - i, i - k, 3 * k - 2, i - 2 * k])
        over = {k: K, j: M} if over_m else {k: K}
        body = self.A[k, j] * (1 + i) if over_m else self.A[k, 0] + tw.cast(self.v[i], tw.float64)
        names = ["sum", "min", "max"] if over_m else ["sum", "min", "max", "prod", "argmax"]
        self.name = choose.choice(names)
        value = getattr(tw, self.name)(body, over=over, where=self.conditions(at, over_m))
        self.is_root = choose.random() < 0.7
        # A loop that no condition depends on.
        self.columns = choose.random() < 0.5
        if not self.is_root:
            value = value * 2 + tw.cast(self.halvings(self.v[i]), tw.float64)
        C = tw.computation("C", {i: N, c: M} if self.columns else {i: N}, value)
        return tw.function("f", inputs=[self.row, self.table, self.v, self.A], outputs=[C])

    def schedule(self) -> None:
        """Commands as they come; those that are refused leave everything as it was."""
        C = self.function["C"]
        for _ in range(self.choose.randrange(4)):
            loops = [i.name]
            if self.columns:
                loops += [c.name]
            if self.is_root and self.name != "argmax":
                loops += [k.name]
            loops += [f"{name}{half}" for name in loops for half in (0, 1)]
            one, other = self.choose.choice(loops), self.choose.choice(loops)
            arguments: dict[str, tuple[Any, ...]] = {
                "split": (one, self.choose.choice([2, 3, 4])),
                "interchange": (one, other),
                "tile": (one, other, 2, 4),
                "unroll": (one, self.choose.choice([2, 4])),
                "vectorize": (one, self.choose.choice([2, 4])),
                "parallelize": (one,),
                "reverse": (one,),
                "skew": (one, other, 1),
                "shift": (one, self.choose.choice([-1, 2])),
                "rfactor": (one,),
                "cache": (self.choose.choice(["row", "table", "v", "A"]), one),
            }
            command = self.choose.choice(COMMANDS)
            try:
                getattr(C, command)(*arguments[command])
            except tw.ScheduleError:
                continue

    def arrays(self, rows: int, points: int, columns: int) -> list[np.ndarray[Any, Any]]:
        low = 0 if np.dtype(self.index_type).kind == "u" else -2
        draw = self.numbers.integers
        row = draw(low, points + 3, rows + 1)
        if self.choose.random() < 0.6:
            row = np.sort(row)
        row, v = row.astype(self.index_type), draw(low, points + 2, rows).astype(self.index_type)
        if rows and self.choose.random() < 0.2:
            ends = np.iinfo(np.dtype(self.index_type))
            row[0], v[-1] = ends.min, ends.max
        table = draw(low, 4, points).astype(self.index_type)
        return [row, table, v, draw(-3, 4, (points, columns)).astype(np.float64)]


def outcome(call: Any, arrays: list[np.ndarray[Any, Any]]) -> Any:
    try:
        return call(*arrays)
    except tw.TilewrightError as error:
        return type(error)


@pytest.mark.parametrize("seed", range(30))
def test_random_conditions(seed: int) -> None:
    case = Case(seed)
    for sizes in [(4, 7, 3), (1, 1, 1), (3, 0, 2), (0, 3, 2), (6, 9, 4)]:
        arrays = case.arrays(*sizes)
        expected = outcome(case.function.evaluate, arrays)
        found = outcome(case.function, arrays)
        np.testing.assert_array_equal(found, expected, err_msg=f"{case.function.layers}")
