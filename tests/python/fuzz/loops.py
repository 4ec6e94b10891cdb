"""Does isl make loops of whatever is accepted? Triangles in two pieces under random loops of a few commands.

    scripts/fuzz loops --cases 3000                # each schedule is lowered
    scripts/fuzz loops --cases 500 --values        # and compiled, and compared with the evaluator
    scripts/fuzz loops --case 1089                 # one of them, printed

The sets that come of it are what isl's separation of loops fails at now and then ("some src divs are unknown"); it is
asked for other loops then. Without that, case 1089 is refused with an internal error.
"""

from __future__ import annotations

import argparse
import random
import sys
from typing import Any

import numpy as np

import tilewright as tw

N, M = tw.params("N M")
i, j = tw.iters("i j")


def comparison(rng: random.Random) -> Any:
    return rng.choice(
        [
            i < rng.randint(1, 4),
            j > i,
            j < M,
            i < M,
            j > rng.randint(0, 3),
            i + j < M,
            2 * i < j + 1,
            i > j,
            i < N - 2,
            i + j < N - 1,
        ]
    )


def draw_command(rng: random.Random, position: int, loops: list[str]) -> tuple[str, list[Any]]:
    """Two commands that move loops, a tile, and more that move them."""
    kinds = (["reverse", "shift", "interchange"], ["reverse", "shift", "skew"], ["tile"])
    name = rng.choice(kinds[position] if position < len(kinds) else ["interchange", "reverse"])
    if name == "reverse":
        return name, [rng.choice(loops)]
    if name == "shift":
        return name, [rng.choice(loops), rng.choice((-2, -1, 1, 2))]
    if name == "tile":
        return name, [*loops, rng.choice((2, 3, 4)), rng.choice((2, 3, 4))]
    if name == "skew":
        return name, [*loops, rng.choice((1, -1, 2))]
    return name, rng.sample(loops, 2)


def draw_function(case: int) -> tuple[tw.Function, list[str]]:
    """The scheduled function of a case, and its commands."""
    rng = random.Random(case)
    x = tw.input("x", [N + 2], tw.float64)
    condition = comparison(rng) & comparison(rng) & comparison(rng)
    domain = rng.choice([{i: N, j: N - i}, {i: N, j: (i, N)}, {i: N, j: i + 1}, {i: N, j: N}])
    b = tw.computation("B", domain, [(condition, x[j] + 1), (~condition, x[j])])
    f = tw.function("f", inputs=[x], outputs=[b])
    given = []
    for position in range(rng.randint(3, 4)):
        name, arguments = draw_command(rng, position, list(f["B"].loops))
        try:
            getattr(f["B"], name)(*arguments)
        except tw.AnalysisLimitError:
            break
        given.append(f"B.{name}({', '.join(map(repr, arguments))})")
    return f, given


def run_case(case: int, values: bool = False) -> bool:
    """Raises AssertionError where there are no loops, or wrong values; False: the operation limit was reached."""
    f, given = draw_function(case)
    try:
        loops = str(f.loops)
    except tw.AnalysisLimitError:
        return False
    except tw.TilewrightError as error:
        raise AssertionError(f"accepted, yet there are no loops: {error}\n{given}") from error
    assert "for " in loops
    if values:
        for n, m in ((0, 0), (1, 3), (7, 4)):
            a = np.arange(n + 2.0)
            sizes = {name: m for name in f.parameters if name == "M"}
            got, expected = f(a, **sizes), f.evaluate(a, **sizes)
            assert np.array_equal(got, expected), f"N = {n}, M = {m}: {got}\n{expected}\n{given}"
    return True


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--case", type=int, help="one case, printed")
    parser.add_argument("--values", action="store_true", help="compiled, and compared")
    options = parser.parse_args()
    if options.case is not None:
        f, given = draw_function(options.case)
        print(*given, f.loops, sep="\n")
        run_case(options.case, values=True)
        return 0
    failures = limits = 0
    for case in range(options.start, options.start + options.cases):
        try:
            limits += not run_case(case, options.values)
        except AssertionError as error:
            failures += 1
            print(f"FAILED: scripts/fuzz loops --case {case}: {error}", flush=True)
    print(f"{options.cases} cases, {failures} failures, {limits} at the operation limit")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
