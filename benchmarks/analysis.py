"""Time of declaration, legality and compilation by the number of statements, and for a stencil
tiled at three levels. Milliseconds, minima of `--repeats` runs; the kernel cache is empty.
"""

from __future__ import annotations

import argparse
import os
import tempfile

import numpy as np

import tilewright as tw
from common import milliseconds, report


def chain(length: int) -> list[float]:
    """`length` computations, each reading the one before: declare, legality, one command, compile."""
    n = tw.param("N")
    i = tw.iter("i")
    data = tw.input("data", [n], tw.float64)

    def declare() -> tw.Function:
        last: tw.Computation | tw.Input = data
        for number in range(length):
            last = tw.computation(f"c{number}", {i: n}, last[i] + 1.0)
        return tw.function(f"chain{length}", outputs=[last])

    declared, function = milliseconds(declare)
    checked, _ = milliseconds(lambda: function.dependences)
    command, _ = milliseconds(lambda: function[f"c{length - 1}"].parallelize(i))
    compiled, _ = milliseconds(function.compile)
    values = np.arange(5.0)
    np.testing.assert_array_equal(function(values), values + length)
    return [declared, checked, command, compiled]


def stencil() -> list[float]:
    """A 7-point stencil in three dimensions, tiled three times."""
    n = tw.param("N", "N >= 2")
    i, j, k = tw.iters("i j k")
    data = tw.input("data", [n, n, n], tw.float64)

    def declare() -> tw.Function:
        value = data[i, j, k] * 2.0
        for di, dj, dk in ((1, 0, 0), (0, 1, 0), (0, 0, 1)):
            value = value + data[i + di, j + dj, k + dk] + data[i - di, j - dj, k - dk]
        inside = dict.fromkeys((i, j, k), (1, n - 1))
        out = tw.computation("out", inside, value, shape=[n, n, n])
        return tw.function("stencil", outputs=[out])

    declared, function = milliseconds(declare)
    checked, _ = milliseconds(lambda: function.dependences)

    def schedule() -> None:
        out = function["out"]
        out.tile(i, j, k, 64, 64, 64, "i0", "j0", "k0", "i", "j", "k")
        out.tile("i", "j", "k", 16, 16, 16, "i1", "j1", "k1", "i", "j", "k")
        out.tile("i", "j", "k", 4, 4, 8, "i2", "j2", "k2", "i", "j", "k")
        out.parallelize("i0").vectorize("k")

    commands, _ = milliseconds(schedule)
    compiled, _ = milliseconds(function.compile)
    values = np.random.default_rng(0).random((21, 21, 21))
    np.testing.assert_array_equal(function(values), function.evaluate(values))
    return [declared, checked, commands, compiled]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--statements", type=int, nargs="*", default=[1, 10, 100, 500])
    options = parser.parse_args()
    rows = []
    for name, work in [
        *(
            (f"{length} statements", lambda length=length: chain(length))
            for length in options.statements
        ),
        ("tiled 3-D stencil", stencil),
    ]:
        runs = []
        for _ in range(options.repeats):
            with tempfile.TemporaryDirectory() as empty:
                os.environ["TILEWRIGHT_CACHE_DIR"] = empty
                tw.cache.clear()
                runs.append(work())
        rows.append([name, *(min(run[column] for run in runs) for column in range(4))])
    report("analysis", ["program", "declare", "legality", "command(s)", "compile"], rows)


if __name__ == "__main__":
    main()
