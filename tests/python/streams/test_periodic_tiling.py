"""Periodic tiling and storage: the figures and tables of Leben and Tzanetakis, ACM TACO 16(3), 2019, and what
its definitions say, asked of points one by one."""

from __future__ import annotations

import itertools
import random

import pytest

import tilewright as tw
from tilewright.streams.periodic import UnboundedProgram
from tilewright.streams.storage import StorageSize, buffer_of


def figure3(points: int, schedule: str = "") -> UnboundedProgram:
    """Figure 3(a) with the schedule of Figure 3(b), or another one."""
    last, middle = points - 1, points // 2
    text = schedule or (
        f"{{ s1[n] -> [n, n + 1, 1]; s2[n] -> [n + 1, n + 2, 2]; s3[n] -> [n + 1, n + {last}, 0];"
        f" s4[i] -> [0, i, 4]; s5[n, i] -> [n, n + i, 3]; s6[m] -> [2m, 2m + {middle}, 5] }}"
    )
    domain = (
        f"{{ s1[n] : n >= 0; s2[n] : n >= 0; s3[n] : n >= 0; s4[i] : 0 < i < {last};"
        f" s5[n, i] : 0 < n and 0 < i < {last}; s6[m] : m >= 0 }}"
    )
    return UnboundedProgram(
        tw.Map(text).intersect_domain(domain),
        tw.Map(
            f"{{ s1[n] -> x[n]; s2[n] -> u[n, 0]; s3[n] -> u[n, {last}]; s4[i] -> u[0, i];"
            " s5[n, i] -> u[n, i]; s6[m] -> y[m] }"
        ),
        tw.Map(
            "{ s4[i] -> x[0]; s5[n, i] -> x[n]; s5[n, i] -> u[n - 1, i]; s5[n, i] -> u[n - 1, i - 1];"
            f" s5[n, i] -> u[n - 1, i + 1]; s6[m] -> u[2m, {middle}] }}"
        ),
    )


def tiled(program: UnboundedProgram, tiles: str) -> UnboundedProgram:
    return UnboundedProgram(program.schedule.then(tiles), program.writes, program.reads)


def test_figure_3() -> None:
    program = figure3(7)
    tiling = program.periodic()
    assert (tiling.direction, tiling.offset, tiling.size) == ((1, 0, 0), 1, 2)
    assert tiling.ray == (2, 2, 0)
    assert program.buffers(tiling) == {"x": (1,), "u": (2, 6), "y": (1,)}
    # Figure 3(d).
    rays = {(one.statement, one.array, one.elements): one.times for one in program.accesses}
    assert rays["s5", "u", (1, 0)] == (1, 1, 0)
    assert rays["s6", "u", (2, 0)] == (2, 2, 0)
    assert not any(one.statement == "s4" for one in program.accesses)
    # Figure 3(c).
    times = program.schedule.then(tiling.prefix)
    assert times("s4[3]") == tw.Set("{ [-1, 0, 3, 4] }")
    assert times("s6[5]") == tw.Set("{ [4, 10, 13, 5] }")


@pytest.mark.parametrize(
    ("tiles", "direction", "size", "expected"),
    [
        ("[floor(a/4), floor(b/4), a, b, c]", (1,), None, (1, 1)),
        ("[floor(a/4) + floor(b/4), floor(a/4), floor(b/4), a, b, c]", (1,), None, (6, 2)),
        ("[floor(a/4) + floor(b/4), floor(a/4), floor(b/4), a, b, c]", (0, 1), None, (1, 1)),
        ("[floor(a/4) + floor(b/4), floor(a/4), floor(b/4), a, b, c]", (0, 1), 2, (1, 2)),
    ],
)
def test_figure_5(
    tiles: str, direction: tuple[int, ...], size: int | None, expected: tuple[int, int]
) -> None:
    """(a) tiles, (b) a wavefront, (c) periods along the second dimension, of the smallest size and of 2."""
    tiling = tiled(figure3(24), f"{{ [a, b, c] -> {tiles} }}").periodic(direction, size)
    assert (tiling.offset, tiling.size) == expected


def test_figure_5_diamonds() -> None:
    diamonds = (
        "{ s1[n] -> [n + 1, n - 22, 1]; s2[n] -> [n, n, 2]; s3[n] -> [n + 23, n - 23, 0];"
        " s4[i] -> [i, -i, 4]; s5[n, i] -> [n + i, n - i, 3]; s6[m] -> [2m + 12, 2m - 12, 5] }"
    )
    program = tiled(figure3(24, diamonds), "{ [a, b, c] -> [floor(a/4), floor(b/4), a, b, c] }")
    tiling = program.periodic((1, 1))
    assert (tiling.offset, tiling.size) == (1, 2)


def test_figure_1() -> None:
    """Four channels; b is what comes in, c what is added up, two elements at a time."""
    program = UnboundedProgram(
        "{ in[n] -> [0, n, 0] : n >= 0; c[n, i] -> [1 + i, n, 1] : n >= 0 and 0 <= i < 4;"
        " y[m, i] -> [1 + i, 2m + 1, 2] : m >= 0 and 0 <= i < 4 }",
        "{ in[n] -> b[n, i] : 0 <= i < 4; c[n, i] -> c[n, i]; y[m, i] -> y[m, i] }",
        "{ c[n, i] -> b[n, i]; y[m, i] -> c[2m, i]; y[m, i] -> c[2m + 1, i] }",
    )
    tiling = program.periodic()
    assert (tiling.direction, tiling.size) == ((0, 1, 0), 2)  # (1, 0, 0) is infeasible: Figure 1(a)
    assert program.buffers(tiling) == {"b": (2, 4), "c": (2, 1), "y": (1, 1)}
    with pytest.raises(tw.DeclarationError, match="periods without end"):
        program.periodic((1, 0, 0))


def test_the_offset_of_the_paper_is_one_short() -> None:
    """first[] runs at time 0 and never again: a period that begins there is unlike the next one. The
    largest d . v of all vertices is 0, and the least offset that is right is 1."""
    program = UnboundedProgram(
        "{ x[n] -> [n, 0] : n >= 0; first[i] -> [0, 1] : i = 0; y[n] -> [n, 2] : n >= 0 }",
        "{ x[n] -> x[n]; first[i] -> z[i]; y[n] -> y[n] }",
        "{ first[i] -> x[i]; y[n] -> x[n] }",
    )
    assert program.periodic().offset == 1
    # What is read counts, too: from 3 on, all of x[n], x[n - 3] is there.
    program = UnboundedProgram(
        "{ x[n] -> [n, 0] : n >= 0; y[n] -> [n, 2] : n >= 0 }",
        "{ x[n] -> x[n]; y[n] -> y[n] }",
        "{ y[n] -> x[n]; y[n] -> x[n - 3] : n >= 3 }",
    )
    assert program.periodic().offset == 3


def fir(size: int, channels: bool, tiles: str) -> UnboundedProgram:
    """y[n, i] as a sum over k of x[n + k]: filter-bank, and with channels max-filter."""
    n, all_channels = size - 1, f"0 <= i < {size}"
    x = "x[n, i]" if channels else "x[n]"
    read = "x[n + k, i]" if channels else "x[n + k]"
    program = UnboundedProgram(
        f"{{ in[n] -> [n, -1, -1, 0] : n >= 0; out[n] -> [n + {n}, {n}, {size}, 2] : n >= 0;"
        f" s[n, i, k] -> [n + k, k, i, 1] : n >= 0 and {all_channels} and 0 <= k < {size} }}",
        f"{{ in[n] -> {x} : {all_channels if channels else 'true'}; s[n, i, k] -> y[n, i, k] }}",
        f"{{ s[n, i, k] -> {read}; s[n, i, k] -> y[n, i, k - 1] : k >= 1;"
        f" out[n] -> y[n, i, {n}] : {all_channels} }}",
    )
    return tiled(program, f"{{ [a, b, c, d] -> [{tiles}, a, b, c, d] }}")


def megabytes(*extents: tuple[int, ...]) -> float:
    total = 0
    for each in extents:
        elements = 1
        for extent in each:
            elements *= extent
        total += elements
    return total * 8 / 2**20


def test_tables_3_and_4_filter_bank() -> None:
    program = fir(2000, False, "floor(a/128), floor(b/32), floor(c/64)")
    tiling = program.periodic(dimensions=3)
    assert program.input_offset(tiling, "in", "out") - 1999 == 127
    coefficients = (2000, 2000)
    assert megabytes(coefficients, *program.buffers(tiling).values()) <= 64.9


def test_tables_3_and_4_max_filter() -> None:
    program = fir(2000, True, "floor(a/256), floor(b/64)")
    tiling = program.periodic(dimensions=2)
    assert program.input_offset(tiling, "in", "out") - 1999 == 255
    assert megabytes(*program.buffers(tiling).values()) <= 38.4


def test_tables_3_and_4_wave_equation() -> None:
    """Figure 5(c) with tiles of 256 x 1024. A period is a multiple of four tiles, since 1024 elements of
    n make up a tile along n + i, so that the latency is 1023 for four tiles in parallel; the paper
    reports 1537 for six."""
    points = 2000 * 2000
    program = UnboundedProgram(
        f"{{ in[n] -> [n, n, 0] : n >= 0; u[n, i] -> [n, n + i, 1] : n >= 0 and 0 <= i < {points};"
        f" out[n] -> [n, n + {points // 2}, 2] : n >= 0 }}",
        "{ in[n] -> x[n]; u[n, i] -> u[n, i] }",
        "{ u[n, i] -> x[n]; u[n, i] -> u[n - 2, i] : n >= 2; u[n, i] -> u[n - 1, i] : n >= 1;"
        " u[n, i] -> u[n - 1, i - 1] : n >= 1 and i >= 1;"
        f" u[n, i] -> u[n - 1, i + 1] : n >= 1 and i < {points - 1}; out[n] -> u[n, {points // 2}] }}",
    )
    program = tiled(
        program,
        "{ [a, b, c] -> [floor(a/256) + floor(b/1024), floor(a/256), floor(b/1024), a, b, c] }",
    )
    tiling = program.periodic((0, 1))
    assert (tiling.offset, tiling.size) == (1, 4)
    assert program.input_offset(tiling, "in", "out") == 1023
    sizes = program.buffers(tiling, parallel=[1])
    assert sizes["u"] == (2, points)
    assert megabytes(*sizes.values()) <= 61.1


def test_tables_3_and_4_autocorrelation() -> None:
    """Windows of 10000 elements, each 2500 after the one before, in tiles of 2500 x 1 x 50: 0.46 MB and no
    latency in the paper. Three windows are being added up at a time."""
    window, hop = 5 * 2000, 5 * 2000 // 4
    late, below = window - 1, f"0 <= l < {window}"
    program = UnboundedProgram(
        f"{{ in[t] -> [t - {late}, t - {late + window}, 0, 0] : t >= 0;"
        f" s[n, l, k] -> [{hop} * n + k, {hop} * n, l, 1] : n >= 0 and {below} and 0 <= k < {window};"
        f" out[n] -> [{hop} * n + {late}, {hop} * n, {window}, 2] : n >= 0 }}",
        "{ in[t] -> x[t]; s[n, l, k] -> y[n, l, k] }",
        f"{{ s[n, l, k] -> x[{hop} * n + k]; s[n, l, k] -> x[{hop} * n + k + l];"
        f" s[n, l, k] -> y[n, l, k - 1] : k >= 1; out[n] -> y[n, l, {late}] : {below} }}",
    )
    program = tiled(program, f"{{ [a, b, c, d] -> [floor(a/{hop}), b, floor(c/50), a, b, c, d] }}")
    tiling = program.periodic(dimensions=1)
    assert tiling.size == 1  # tile: a window
    assert program.input_offset(tiling, "in", "out") - 2 * late == 0
    sizes = program.buffers(tiling)
    assert sizes["y"] == (3, window, 1)
    assert megabytes(*sizes.values()) <= 0.46


def test_tables_3_and_4_wave_equation_in_two_dimensions() -> None:
    """Figure 5(c) with tiles of 32 x 32 x 256: a period is eight tiles along n, since 256 elements of n
    make up one along n + j, and the latency 255; the paper reports 550 for six threads."""
    points = 2000
    middle, box = points // 2, f"0 <= i < {points} and 0 <= j < {points}"
    program = UnboundedProgram(
        f"{{ in[n] -> [n, n, n, 0] : n >= 0; u[n, i, j] -> [n, n + i, n + j, 1] : n >= 0 and {box};"
        f" out[n] -> [n, n + {middle}, n + {middle}, 2] : n >= 0 }}",
        "{ in[n] -> x[n]; u[n, i, j] -> u[n, i, j] }",
        "{ u[n, i, j] -> x[n]; u[n, i, j] -> u[n - 2, i, j] : n >= 2; u[n, i, j] -> u[n - 1, i, j] : n >= 1;"
        " u[n, i, j] -> u[n - 1, i - 1, j] : n >= 1 and i >= 1;"
        f" u[n, i, j] -> u[n - 1, i + 1, j] : n >= 1 and i < {points - 1};"
        " u[n, i, j] -> u[n - 1, i, j - 1] : n >= 1 and j >= 1;"
        f" u[n, i, j] -> u[n - 1, i, j + 1] : n >= 1 and j < {points - 1};"
        f" out[n] -> u[n, {middle}, {middle}] }}",
    )
    fronts = "floor(a/32) + floor(b/32), floor(a/32), floor(b/32), floor(c/256)"
    program = tiled(program, f"{{ [a, b, c, d] -> [{fronts}, a, b, c, d] }}")
    tiling = program.periodic((0, 1))
    assert (tiling.offset, tiling.size) == (1, 8)
    assert program.input_offset(tiling, "in", "out") == 255
    sizes = program.buffers(tiling, parallel=[1])
    assert sizes["u"] == (2, points, points)
    assert megabytes(*sizes.values()) <= 61.1


def test_periods_are_equal() -> None:
    """Lemma 4.4, point by point: each period has the same points, moved on by the tile distance; no
    smaller offset does that."""
    program = figure3(9)
    tiling = program.periodic()
    times = program.schedule.range & tw.Set("{ [a, b, c] : a <= 14 }")
    tiles: dict[int, set[tuple[int, ...]]] = {}
    for point in times.points():
        number = (point.coordinates[0] - tiling.offset) // tiling.size
        tiles.setdefault(number, set()).add(point.coordinates)
    moved = [
        {tuple(a - k * b for a, b in zip(point, tiling.ray, strict=True)) for point in tiles[k]}
        for k in range(5)
    ]
    assert all(each == moved[0] for each in moved)
    early = {
        tuple(a + b for a, b in zip(point.coordinates, tiling.ray, strict=True))
        for point in times.points()
        if (point.coordinates[0] - tiling.offset + 1) // tiling.size == 0
    }
    late = {
        point.coordinates
        for point in times.points()
        if (point.coordinates[0] - tiling.offset + 1) // tiling.size == 1
    }
    assert early != late


def alive_together(
    program: UnboundedProgram, tiling: object, array: str, until: int
) -> set[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Storage conflicts by definition, of the first elements: a simulation in the order of the schedule."""
    written: dict[tuple[int, ...], tuple[int, ...]] = {}
    last: dict[tuple[int, ...], tuple[int, ...]] = {}
    times = program.schedule.then(tiling.prefix)  # type: ignore[attr-defined]
    domain = times.range & tw.Set(
        f"{{ [{', '.join(f't{d}' for d in range(len(times.range.sample().coordinates)))}] : t0 <= {until} }}"
    )
    when = {a: b.coordinates for a, b in times.intersect_range(domain).pairs()}
    for relation, is_write in ((program.writes, True), (program.reads, False)):
        for instance, element in relation.intersect_domain(
            times.intersect_range(domain).domain
        ).pairs():
            if element.name != array:
                continue
            time, place = when[instance], element.coordinates
            if is_write:
                written[place] = time
            last[place] = max(last.get(place, time), time)
    return {
        (a, b)
        for a, b in itertools.permutations(written, 2)
        if written[a] < last[b] and written[b] < last[a]
    }


@pytest.mark.parametrize("seed", range(12))
def test_buffers_keep_elements_that_are_alive_apart(seed: int) -> None:
    """Random stencils with random skews and tiles: no two elements that are alive at one time share
    a place, and one row less would not do along the first dimension."""
    rng = random.Random(seed)
    points, back = rng.randint(3, 6), rng.randint(1, 3)
    shifts = [(rng.randint(1, back), rng.randint(-1, 1)) for _ in range(rng.randint(1, 3))]
    reads = "; ".join(
        f"s[n, i] -> u[n - {a}, i + {b}] : n >= {a} and 0 <= i + {b} < {points}" for a, b in shifts
    )
    program = UnboundedProgram(
        f"{{ s[n, i] -> [n, n + i] : n >= 0 and 0 <= i < {points} }}",
        "{ s[n, i] -> u[n, i] }",
        f"{{ {reads} }}",
    )
    if rng.random() < 0.5:
        t, w = rng.randint(1, 3), rng.randint(1, 3)
        program = tiled(program, f"{{ [a, b] -> [floor(a/{t}), floor(b/{w}), a, b] }}")
    tiling = program.periodic(size=None)
    (extents,) = program.buffers(tiling).values()
    pairs = alive_together(program, tiling, "u", 8)
    assert pairs or extents == (1, 1)
    for a, b in pairs:
        assert any((p - q) % e for p, q, e in zip(a, b, extents, strict=True)), (a, b, extents)


def test_kinds_of_buffers() -> None:
    """Never more than twice the memory of a modulo buffer, unless it is asked for."""
    for extent, move, other in itertools.product(range(1, 40), range(1, 12), (1, 5)):
        size = StorageSize((extent, other), (move, 0))
        chosen = buffer_of("a", size, 0, extent + move)
        assert chosen.elements <= 2 * chosen.least and chosen.extents[0] >= extent
        if chosen.kind == "mask":
            assert chosen.extents[0].bit_count() == 1
    assert buffer_of("a", StorageSize((1, 7), (1, 0)), 0, 2).kind == "one"
    assert buffer_of("a", StorageSize((5,), (1,)), 0, 6, "mask").extents == (8,)
    assert buffer_of("a", StorageSize((5,), (1,)), 0, 600, "shift").extents == (600,)
    with pytest.raises(tw.DeclarationError, match="got 'ring'"):
        buffer_of("a", StorageSize((5,), (1,)), 0, 6, "ring")


@pytest.mark.parametrize(
    ("schedule", "writes", "reads", "match"),
    [
        (
            "{ a[n, m] -> [n, m] : n >= 0 and m >= 0 }",
            "{ a[n, m] -> a[n, m] }",
            "{ }",
            r"2 infinite directions, n and m.*a\[",
        ),
        (
            "{ x[n] -> [n, 0] : n >= 0; y[n] -> [n, 1] : n >= 0 }",
            "{ x[n] -> x[n]; y[n] -> y[n] }",
            "{ y[n] -> x[i] : 0 <= i <= n }",
            r"unboundedly many elements of x: y\[1000\] accesses 1001, from x\[0\] and x\[1000\]",
        ),
        (
            "{ x[n] -> [n, 0] : n >= 0; y[n] -> [n, 1] : n >= 0 }",
            "{ x[n] -> x[n]; y[n] -> y[n] }",
            "{ y[n] -> y[n - 1] : n > 0 }",
            "have nothing to do with each other",
        ),
        (
            "{ x[n] -> [2n, 0] : n >= 0; y[n] -> [2n, 1] : n >= 0 }",
            "{ x[n] -> x[n]; y[n] -> y[n] }",
            "{ y[n] -> x[n]; y[n] -> x[floor(n / 2)] }",
            r"not rate-consistent: .*y\[1000\] accesses x\[500\] and x\[1000\]",
        ),
        (
            "{ x[n] -> [n, 0] : n >= 0; y[n] -> [n, 1] : n >= 0 }",
            "{ x[n] -> x[n]; y[n] -> y[n] }",
            "{ y[n] -> x[n + 1] }",
            r"not valid: \[x\[1\] -> y\[0\]\]",
        ),
    ],
)
def test_programs_that_are_not_admissible(
    schedule: str, writes: str, reads: str, match: str
) -> None:
    with pytest.raises(tw.DeclarationError, match=match):
        UnboundedProgram(schedule, writes, reads)


def test_schedules_without_a_period() -> None:
    """All of row i before row i + 1, and a row needs the row before it later: dependences that go back."""
    program = UnboundedProgram(
        "{ x[n, i] -> [i, n] : n >= 0 and 0 <= i < 4 }",
        "{ x[n, i] -> x[n, i] }",
        "{ x[n, i] -> x[n + 5, i - 1] : i >= 1 }",
    )
    tiling = program.periodic()
    assert tiling.direction[1] > 0 and tiling.direction[0] >= 5 * tiling.direction[1]
    with pytest.raises(
        tw.DeclarationError, match=r"splits dependences: one has the distance \(1, -5\)"
    ):
        program.periodic((0, 1))
    with pytest.raises(tw.DeclarationError, match="must be at least 1, got 0"):
        program.periodic(tiling.direction, size=0)
    with pytest.raises(tw.DeclarationError, match="a multiple of 2"):
        figure3(7).periodic(size=3)


def test_arguments_that_make_no_sense() -> None:
    program = figure3(7)
    tiling = program.periodic()
    other = fir(4, False, "floor(a/2)").periodic(dimensions=1)
    for call, match in (
        (lambda: program.periodic(dimensions=9), "3 dimensions, got dimensions=9"),
        (lambda: program.periodic(dimensions="x"), "must be an integer"),
        (lambda: program.buffers("x"), "a tiling is what periodic"),
        (lambda: program.buffers(other), "tiling is one of 5 dimensions"),
        (lambda: program.buffers(tiling, [7]), r"got the parallel ones \[7\]"),
        (lambda: program.buffers(tiling, 1.5), "parallel dimensions"),
        (lambda: program.input_offset(tiling, "s4", "s6"), "'s4' is no statement with infinitely"),
        (lambda: program.input_offset(tiling, [], "s6"), "the statement source"),
        (
            lambda: UnboundedProgram("{ x[n] -> [n] : 0 <= n < N }", "{ }", "{ }"),
            "has parameters, N",
        ),
        (lambda: UnboundedProgram("{ }", "{ }", "{ }"), "is empty"),
        (lambda: UnboundedProgram("{ x[n] -> [n]; y[n] -> [n, 0] }", "{ }", "{ }"), "one number"),
    ):
        with pytest.raises(tw.DeclarationError, match=match):
            call()
