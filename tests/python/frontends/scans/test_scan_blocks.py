"""scan_blocks: recurrences as local, carried and seeded phases have the values of the recurrence, for all block
sizes and lengths; what is no scan says why."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilewright as tw

N, M = (tw.param(name, minimum=1) for name in "NM")
i, j, k = tw.iters("i j k")
A, B, C = (tw.input(name, [N], tw.float64) for name in "ABC")
J = tw.input("J", [N], tw.int64)
S = tw.input("S", [N], tw.int32)
F = tw.input("F", [N], tw.bool)
Q = tw.input("Q", [N, N], tw.float64)

SIZES = (1, 2, 3, 5, 8, 17)


def recurrence(
    step: Callable[[Any], Any], dtype: Any = tw.float64, first: Any = None, back: int = 1
) -> tw.Function:
    x = tw.computation("X", {i: N}, dtype=dtype)
    x.define(i < back, A[i] if first is None else first)
    x.define(i >= back, step(x))
    return tw.function("f", outputs=[x])


def arrays_of(function: tw.Function, n: int) -> dict[str, Any]:
    random = np.random.default_rng(n)
    found: dict[str, Any] = {}
    for name, kind, shape, _ in function._arguments:
        if name in function.inputs:
            given = random.integers(-3, 4, [n] * len(shape))
            found[name] = given.astype(kind) if kind != "bool" else given > 0
            if kind.startswith("float"):
                found[name] = random.uniform(-1, 1, [n] * len(shape))
    return found if found else {"N": n}


def compared(function: tw.Function, scanned: tw.Function, n: int, exact: bool) -> None:
    given = arrays_of(function, n)
    expected = function.evaluate(**given)
    for got in (scanned(**given), scanned(**given, threads=3), scanned.evaluate(**given)):
        for one, other in zip(listed(got), listed(expected), strict=True):
            if exact:
                np.testing.assert_array_equal(one, other)
            else:
                np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


def listed(results: Any) -> tuple[Any, ...]:
    return results if isinstance(results, tuple) else (results,)


#: name: (function, whether values are exactly the same without reassociation).
RECURRENCES: dict[str, tuple[Callable[[], tw.Function], bool]] = {
    "sum": (lambda: recurrence(lambda x: x[i - 1] + A[i]), False),
    "product": (lambda: recurrence(lambda x: A[i] * x[i - 1]), False),
    "difference": (lambda: recurrence(lambda x: x[i - 1] - A[i]), False),
    "alternating": (lambda: recurrence(lambda x: A[i] - x[i - 1]), False),
    "maximum": (lambda: recurrence(lambda x: tw.maximum(A[i], x[i - 1])), True),
    "minimum": (lambda: recurrence(lambda x: tw.minimum(x[i - 1], A[i] * B[i])), True),
    "affine": (lambda: recurrence(lambda x: A[i] * x[i - 1] + B[i]), False),
    "quotient": (lambda: recurrence(lambda x: x[i - 1] / (A[i] + 2) + B[i]), False),
    "segment": (lambda: recurrence(lambda x: tw.maximum(x[i - 1] + A[i], A[i])), False),
    "integers": (lambda: recurrence(lambda x: 3 * x[i - 1] + J[i], tw.int64, J[i]), True),
    "narrow": (lambda: recurrence(lambda x: x[i - 1] + S[i], tw.int32, S[i]), True),
    "integer segment": (
        lambda: recurrence(lambda x: tw.maximum(x[i - 1] + J[i], J[i]), tw.int64, J[i]), True),
    "clamped": (
        lambda: recurrence(lambda x: tw.maximum(tw.minimum(x[i - 1], 2), J[i]), tw.int64, J[i]),
        True),
    "parity": (lambda: recurrence(lambda x: x[i - 1] ^ F[i], tw.bool, F[i]), True),
    "any": (lambda: recurrence(lambda x: x[i - 1] | F[i], tw.bool, F[i]), True),
    "bits": (lambda: recurrence(lambda x: (x[i - 1] & J[i]) | 1, tw.int64, J[i]), True),
    "last": (lambda: recurrence(lambda x: tw.select(A[i] > 0, A[i], x[i - 1])), False),
    "fibonacci": (
        lambda: recurrence(lambda x: x[i - 1] + x[i - 2], tw.int64, tw.cast(1, tw.int64), 2), True),
    "third order": (
        lambda: recurrence(lambda x: A[i] * x[i - 1] - x[i - 3] / 2 + B[i], back=3), False),
    "gap": (lambda: recurrence(lambda x: x[i - 2] + A[i], back=2), False),
}  # fmt: skip


@pytest.mark.parametrize("name", RECURRENCES)
def test_recurrences_keep_their_values(name: str) -> None:
    make, exact = RECURRENCES[name]
    function = make()
    if not exact:
        with pytest.raises(tw.DeclarationError, match="reassociate=True"):
            function["X"].scan_blocks(6)
    scanned = function["X"].scan_blocks(6, reassociate=not exact)
    assert "# parallel" in str(scanned.loops)
    for n in SIZES:
        if n >= 3 or name not in ("fibonacci", "third order", "gap"):
            compared(function, scanned, n, exact)


def test_every_block_size() -> None:
    function = recurrence(lambda x: A[i] * x[i - 1] + B[i])
    for size in (2, 3, 4, 7, 100):
        scanned = function["X"].scan_blocks(size, reassociate=True)
        for n in (1, 2, 3, 4, 6, 7, 8, 21):
            compared(function, scanned, n, False)


def test_backwards() -> None:
    x = tw.computation("X", {i: N}, dtype=tw.float64)
    x.define(i == N - 1, A[i])
    x.define(i < N - 1, A[i] * x[i + 1] + B[i])
    y = tw.computation("Y", {i: N}, x[i] * 2)
    function = tw.function("f", outputs=[x, y])
    scanned = function["X"].scan_blocks(4, reassociate=True)
    for n in SIZES:
        compared(function, scanned, n, False)


def test_matrices_do_not_commute() -> None:
    # (x, y) becomes a matrix of the iteration times (x, y), in both directions.
    for backwards in (False, True):
        start, step = (N - 1, 1) if backwards else (0, -1)
        x, y = (tw.computation(name, {i: N}, dtype=tw.float64) for name in "XY")
        inside = i < N - 1 if backwards else i > 0
        x.define(i == start, A[i])
        y.define(i == start, B[i])
        x.define(inside, A[i] * x[i + step] + B[i] * y[i + step] + 1)
        y.define(inside, x[i + step] - C[i] * y[i + step])
        function = tw.function("f", outputs=[x, y])
        scanned = function["X"].scan_blocks(5, reassociate=True)
        for n in SIZES:
            compared(function, scanned, n, False)


def test_max_plus_over_two_values_at_once() -> None:
    # The maximum segment sum as one recurrence of two values: T reads X of the same iteration.
    x, t = (tw.computation(name, {i: N}, dtype=tw.float64) for name in "XT")
    x.define(i == 0, A[i])
    t.define(i == 0, A[i])
    x.define(i > 0, tw.maximum(tw.maximum(x[i - 1] + A[i], A[i]), t[i - 1] + B[i]))
    t.define(i > 0, tw.maximum(t[i - 1], x[i]))
    function = tw.function("f", outputs=[t])
    scanned = function["T"].scan_blocks(4, reassociate=True)
    for n in SIZES:
        compared(function, scanned, n, False)


def test_one_scan_after_the_other() -> None:
    x, t = (tw.computation(name, {i: N}, dtype=tw.int64) for name in "XT")
    x.define(i == 0, J[i])
    t.define(i == 0, x[i])
    x.define(i > 0, tw.maximum(x[i - 1] + J[i], J[i]))
    t.define(i > 0, tw.maximum(t[i - 1], x[i]))
    function = tw.function("mss", outputs=[t])
    scanned = function["X"].scan_blocks(4)["T"].scan_blocks(4)
    assert str(scanned.loops).count("# parallel") >= 4
    values = np.array([1, -3, 4, -1, 2])
    assert (scanned(values) == [1, 1, 4, 4, 5]).all()
    for n in SIZES:
        compared(function, scanned, n, True)


@pytest.mark.parametrize("size", [4, 8192])
def test_a_scan_that_reads_another_is_one_scan_of_two_values(size: int) -> None:
    x, t = (tw.computation(name, {i: N}, dtype=tw.float64) for name in "XT")
    x.define(i == 0, A[i])
    x.define(i > 0, tw.maximum(x[i - 1] + A[i], A[i]))
    t.define(i == 0, x[i])
    t.define(i > 0, tw.maximum(t[i - 1], x[i]))
    function = tw.function("mss", outputs=[t])
    scanned = function["T"].scan_blocks(size, reassociate=True)
    assert {"X_carry", "T_carry", "X_total_3"} <= set(scanned.computations)
    assert "X = empty((max(0, N),)" not in str(scanned.loops) or size == 4
    for n in (*SIZES, 3 * size + 5):
        compared(function, scanned, n, False)


def test_integers_need_no_leave_for_one_scan_of_two_values() -> None:
    x, t = (tw.computation(name, {i: N}, dtype=tw.int64) for name in "XT")
    x.define(i == 0, J[i])
    x.define(i > 0, tw.maximum(x[i - 1] + J[i], J[i]))
    t.define(i == 0, x[i])
    t.define(i > 0, tw.maximum(t[i - 1], x[i]))
    function = tw.function("mss", outputs=[t])
    scanned = function["T"].scan_blocks(4)
    assert {"X_carry", "T_carry"} <= set(scanned.computations)
    for n in SIZES:
        compared(function, scanned, n, True)


def test_a_scan_over_another_of_other_operations_stays_alone() -> None:
    x, t = (tw.computation(name, {i: N}, dtype=tw.float64) for name in "XT")
    x.define(i == 0, A[i])
    x.define(i > 0, x[i - 1] * B[i] + A[i])
    t.define(i == 0, x[i])
    t.define(i > 0, tw.minimum(t[i - 1], x[i]))
    function = tw.function("lows", outputs=[t])
    scanned = function["T"].scan_blocks(4, reassociate=True)
    assert "X_carry" not in scanned.computations
    for n in SIZES:
        compared(function, scanned, n, False)


def test_values_of_one_iteration_in_between() -> None:
    x = tw.computation("X", {i: N}, dtype=tw.float64)
    between = tw.computation("T", {i: (1, N)}, x[i - 1] * A[i])
    x.define(i == 0, A[i])
    x.define(i > 0, between[i] + B[i])
    function = tw.function("f", outputs=[x])
    scanned = function["X"].scan_blocks(4, reassociate=True)
    for n in SIZES:
        compared(function, scanned, n, False)


@pytest.mark.parametrize("axis", [0, 1])
def test_rows_and_columns(axis: int) -> None:
    x = tw.computation("X", {i: N, j: N}, dtype=tw.float64)
    along, before = (i, x[i - 1, j]) if axis == 0 else (j, x[i, j - 1])
    x.define(along == 0, Q[i, j])
    x.define(along > 0, before + Q[i, j])
    twice = tw.computation("Z", {i: N, j: N}, 2 * x[i, j])
    function = tw.function("f", outputs=[twice])
    scanned = function["X"].scan_blocks(4, reassociate=True)
    for n in SIZES:
        compared(function, scanned, n, False)


def test_ranges_that_start_apart() -> None:
    x = tw.computation("X", {j: N, i: (j, N)}, dtype=tw.float64)
    x.define(i == j, Q[j, i])
    x.define(i > j, x[j, i - 1] + Q[j, i])
    square = tw.computation("Z", {j: N, i: N}, [(i >= j, x[j, i]), (i < j, 0.0)])
    function = tw.function("f", outputs=[square])
    scanned = function["X"].scan_blocks(4, reassociate=True)
    for n in SIZES:
        compared(function, scanned, n, False)


def test_several_pieces() -> None:
    x = tw.computation("X", {i: N}, dtype=tw.float64)
    x.define(i == 0, A[i])
    x.define((i > 0) & (i < 5), x[i - 1] * A[i])
    x.define(i >= 5, x[i - 1] + B[i])
    function = tw.function("f", outputs=[x])
    scanned = function["X"].scan_blocks(4, reassociate=True)
    for n in SIZES:
        compared(function, scanned, n, False)


def test_functions_of_the_caller() -> None:
    def join(a: Any, b: Any) -> Any:
        return tw.logaddexp(a, b)

    function = recurrence(lambda x: join(x[i - 1], A[i]))
    scanned = function["X"].scan_blocks(4, reassociate=True, combine=join, of=A[i])
    for n in SIZES:
        compared(function, scanned, n, False)
    with pytest.raises(tw.DeclarationError, match="not what combine= makes"):
        function["X"].scan_blocks(4, reassociate=True, combine=join, of=B[i])

    # Composition of functions of three values: the second operand wins where it is not 0.
    def later(a: Any, b: Any) -> Any:
        return tw.select(b != 0, b, a)

    function = recurrence(lambda x: later(x[i - 1], J[i]), tw.int64, J[i])
    scanned = function["X"].scan_blocks(4, combine=later, of=J[i])
    for n in SIZES:
        compared(function, scanned, n, True)


def test_other_computations_stay_scheduled() -> None:
    x = tw.computation("X", {i: N}, dtype=tw.int64)
    x.define(i == 0, J[i])
    x.define(i > 0, x[i - 1] + J[i])
    y = tw.computation("Y", {i: N}, x[i] * 2)
    function = tw.function("f", outputs=[y])
    function["Y"].split(i, 8, "o", "u")
    scanned = function["X"].scan_blocks(4)
    assert 'Y.split("i", 8, "o", "u")' in str(scanned.schedule)
    for n in SIZES:
        compared(function, scanned, n, True)
    function["X"].split(i, 8)
    with pytest.raises(tw.ScheduleError, match="has commands already"):
        function["X"].scan_blocks(4)


def test_commands_of_the_new_function() -> None:
    function = recurrence(lambda x: x[i - 1] + J[i], tw.int64, J[i])
    scanned = function["X"].scan_blocks(8)
    scanned["X_total"].unroll("i0", 2)
    for n in SIZES:
        compared(function, scanned, n, True)
    assert function.schedule.commands == ()


def test_phases_of_a_group_share_a_loop() -> None:
    function = recurrence(lambda x: x[i - 1] + J[i], tw.int64, J[i])
    scanned = function["X"].scan_blocks(4096)
    assert scanned["X"].loops == ("b_group", "i0", "i1", "chain")
    assert "omp parallel for" in str(scanned.c)
    values = np.random.default_rng(0).integers(-9, 9, 3 * 2**19 + 5)
    np.testing.assert_array_equal(scanned(values), np.cumsum(values))
    whole = function["X"].scan_blocks(2**18)  # too few blocks for a group
    assert whole["X"].loops == ("i0", "i1")
    np.testing.assert_array_equal(whole(values), np.cumsum(values))


def test_a_thread_takes_several_blocks_beside_each_other() -> None:
    function = recurrence(lambda x: tw.maximum(x[i - 1] + J[i], J[i]), tw.int64, J[i])
    scanned = function["X"].scan_blocks(64)
    assert scanned["X_total_0"].loops == ("b_group", "b1", "term", "lane", "one")
    assert scanned["X_total_0"].tags["lane"] == "vector(8)"
    assert scanned["X"].loops == ("b_group", "i0", "i1", "chain")
    assert scanned["X"].tags["chain"] == "unroll(4)"
    wide = function["X"].scan_blocks(
        2**15
    )  # 16 blocks of a group are left to the threads one by one
    assert wide["X"].loops == ("b_group", "i0", "i1")
    for n in (1, 64, 65, 64 * 8, 64 * 8 + 1, 64 * 37 + 11, 2**19 + 64 * 9 + 5):
        values = np.random.default_rng(n).integers(-9, 9, n)
        expected = np.cumsum(values) - np.minimum.accumulate(np.cumsum(values) - values)
        np.testing.assert_array_equal(scanned(values), expected)
        np.testing.assert_array_equal(wide(values), expected)


def test_gpu_threads_take_blocks() -> None:
    function = recurrence(lambda x: x[i - 1] + J[i], tw.int64, J[i])
    scanned = function["X"].scan_blocks(8)
    tw.Schedule().apply_to(scanned)
    scanned.target = "gpu-emulator"
    with scanned.transaction():
        scanned["X_total"].gpu("b")
        scanned["X"].split(i, 8, "i0", "i1").gpu("i0")
    for n in (1, 9, 50):
        values = np.arange(n)
        np.testing.assert_array_equal(scanned(values), np.cumsum(values))


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (lambda x: x[i - 1] * x[i - 1], "linear in no semiring"),
        (lambda x: tw.sqrt(x[i - 1]) + A[i], "linear in no semiring"),
        (lambda x: A[i] / x[i - 1], "linear in no semiring"),
        (lambda x: x[i // 2] + A[i], "which is no earlier iteration"),
        (lambda x: x[0] + A[i], "which is no earlier iteration"),
    ],
)
def test_what_is_no_scan_says_why(step: Callable[[Any], Any], message: str) -> None:
    function = recurrence(step)
    with pytest.raises(tw.DeclarationError, match=message):
        function["X"].scan_blocks(4, reassociate=True)


def test_other_refusals() -> None:
    x = tw.computation("X", {i: N}, A[i])
    function = tw.function("f", outputs=[x])
    with pytest.raises(tw.DeclarationError, match="does not need earlier values"):
        function["X"].scan_blocks(4)
    y = tw.computation("Y", {i: N, j: N}, dtype=tw.float64)
    y.define((i == 0) | (j == 0), Q[i, j])
    y.define((i > 0) & (j > 0), y[i - 1, j] + y[i, j - 1])
    with pytest.raises(tw.DeclarationError, match="several iterators"):
        tw.function("f", outputs=[y])["Y"].scan_blocks(4)
    restarts = tw.computation("X", {i: N}, dtype=tw.float64)
    restarts.define(i % 4 == 0, A[i])
    restarts.define(i % 4 != 0, restarts[i - 1] + A[i])
    with pytest.raises(tw.DeclarationError, match=r"no one polyhedron|starts anew"):
        tw.function("f", outputs=[restarts])["X"].scan_blocks(4)
    scan = recurrence(lambda x: x[i - 1] + A[i])
    for size in (1, 0, -4):
        with pytest.raises(tw.DeclarationError, match="size of scan_blocks"):
            scan["X"].scan_blocks(size)
    with pytest.raises(tw.DeclarationTypeError, match="size of scan_blocks"):
        scan["X"].scan_blocks("many")  # type: ignore[arg-type]
    with pytest.raises(tw.DeclarationTypeError, match="combine= of scan_blocks"):
        scan["X"].scan_blocks(4, combine=3)  # type: ignore[arg-type]
    with pytest.raises(tw.DeclarationTypeError, match="of= of scan_blocks"):
        scan["X"].scan_blocks(4, of=A[i])
    with pytest.raises(tw.DeclarationError, match="at least 6"):
        recurrence(lambda x: x[i - 3] + A[i], back=3)["X"].scan_blocks(4, reassociate=True)


@pytest.mark.parametrize("needed", [False, True])
def test_a_member_that_only_members_need_is_kept_in_blocks(needed: bool) -> None:
    """The sums that end at each element are an array of a few blocks, unless an output shows them."""
    n, t = tw.param("n"), tw.iter("t")
    a = tw.input("a", [n], tw.float64)
    ending = tw.computation("ending", {t: n}, dtype=tw.float64)
    ending.define(t == 0, a[t])
    ending.define(t >= 1, tw.maximum(ending[t - 1] + a[t], a[t]))
    best = tw.computation("best", {t: n}, dtype=tw.float64)
    best.define(t == 0, ending[t])
    best.define(t >= 1, tw.maximum(best[t - 1], ending[t]))
    shown = [tw.view("shown", {t: n}, ending[t])] if needed else []
    scan = tw.function("segment", outputs=[best, *shown])["best"].scan_blocks(64, reassociate=True)
    assert ('ending.private("' in str(scan.schedule)) == (not needed)
    x = np.random.default_rng(4).integers(-9, 9, 3000).astype(np.float64)
    ends = np.array(list(itertools.accumulate(x, lambda before, each: max(before + each, each))))
    found = scan(x)
    np.testing.assert_array_equal(found[0] if needed else found, np.maximum.accumulate(ends))
    if needed:
        np.testing.assert_array_equal(found[1], ends)
