"""independent(), assume() and atomic(): what they make legal, what they cannot, and values."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw

N, M, K = tw.params("N M K")
i, j, k = tw.iters("i j k")


def gather(subscript: str = "idx") -> tuple[tw.Function, dict[str, tw.Computation], tw.Input]:
    """B[i] = 2 * A[i] and C[i] = B[idx[i]] + 1."""
    data = tw.input("A", [N], tw.float64)
    idx = tw.input(subscript, [N], tw.int64)
    b = tw.computation("B", {i: N}, data[i] * 2)
    c = tw.computation("C", {i: N}, b[idx[i]] + 1)
    return tw.function("gather", outputs=[c]), {"B": b, "C": c}, idx


def earlier(n: int) -> np.ndarray:
    return np.array([x // 2 for x in range(n)])


def agree(function: tw.Function, expected: np.ndarray, *arrays: np.ndarray) -> None:
    np.testing.assert_array_equal(function(*arrays), expected)
    np.testing.assert_array_equal(function.evaluate(*arrays), expected)


# ---- assume ----


def test_assume_makes_a_fusion_legal():
    function, c, idx = gather()
    with pytest.raises(tw.IllegalScheduleError, match=r"assume\(...\) says which values") as caught:
        c["C"].fuse_with("B")
    assert caught.value.kind == "undecided"
    c["C"].assume(idx[i] <= i).fuse_with("B")
    x = np.arange(9.0)
    agree(function, 2 * x[earlier(9)] + 1, x, earlier(9))
    assert str(function.loops).count("for ") == 1


def test_too_weak_an_assumption_does_not_help():
    _, c, idx = gather()
    c["C"].assume(idx[i] <= i + 1)
    with pytest.raises(tw.IllegalScheduleError) as caught:
        c["C"].fuse_with("B")
    # The one element that may come too late.
    assert (caught.value.source_instance, caught.value.sink_instance) == ("B[1]", "C[0]")


def test_assumptions_add_up():
    _, c, idx = gather()
    c["C"].assume(idx[i] <= i + 1).assume(idx[i] != i + 1).fuse_with("B")


def test_assume_reaches_through_sums_and_other_subscripts():
    data = tw.input("A", [N], tw.float64)
    idx = tw.input("idx", [N], tw.int32)
    b = tw.computation("B", {i: N}, data[i] * 2)
    c = tw.computation("C", {i: (1, N)}, b[tw.cast(idx[i - 1], tw.int64) + 1], shape=[N])
    function = tw.function("f", outputs=[c])
    c.assume("{ idx[q] -> [v] : 0 <= v <= q }").fuse_with(b)
    x, places = np.arange(8.0), np.array([0, 1, 0, 3, 2, 5, 1, 7], np.int32)
    expected = np.concatenate([[0.0], 2 * x[places[:-1] + 1]])
    agree(function, expected, x, places)


@pytest.mark.parametrize("dtype", [tw.int8, tw.uint8, tw.int32])
def test_assume_does_not_reach_through_casts_that_may_wrap(dtype):
    data = tw.input("A", [N], tw.float64)
    idx = tw.input("idx", [N], tw.int64)
    b = tw.computation("B", {i: N}, data[i] * 2)
    c = tw.computation("C", {i: N}, b[tw.cast(idx[i], dtype)] + 1)
    function = tw.function("f", outputs=[c])
    c.assume(idx[i] <= i)
    with pytest.raises(tw.IllegalScheduleError):
        c.fuse_with(b)
    bits = 8 * np.dtype(dtype.name).itemsize
    x, wrapping = np.arange(4.0), np.array([3, 2, 1, 0]) - 2**bits  # idx[i] <= i holds
    agree(function, 2 * x[::-1] + 1, x, wrapping)


def test_assume_takes_quotients_and_remainders():
    function, c, idx = gather()
    c["C"].assume(idx[i] // 2 <= i // 2)
    with pytest.raises(tw.IllegalScheduleError) as caught:
        c["C"].fuse_with("B")
    assert (caught.value.source_instance, caught.value.sink_instance) == ("B[1]", "C[0]")
    c["C"].assume(idx[i] % 2 == 0).fuse_with("B")
    x, places = np.arange(6.0), np.array([0, 0, 2, 2, 4, 0])
    agree(function, 2 * x[places] + 1, x, places)


def test_assume_says_nothing_about_elements_without_a_value():
    _, c, idx = gather()
    c["C"].assume("{ idx[i] -> [v] : i < 5 and v <= i }")
    with pytest.raises(tw.IllegalScheduleError) as caught:
        c["C"].fuse_with("B")
    assert (caught.value.source_instance, caught.value.sink_instance) == ("B[6]", "C[5]")
    c["C"].assume((i < 5) | (idx[i] <= i)).fuse_with("B")


def test_assume_is_printed_compared_and_replayed():
    function, c, idx = gather()
    c["C"].assume((idx[i] >= 0) & (idx[i] <= i)).fuse_with("B")
    text = str(function.schedule)
    assert "assume" in text and "idx[i] -> [v]" in text
    other, _, _ = gather()
    function.schedule.apply_to(other)
    assert other.schedule == function.schedule
    assert tw.Schedule.from_json(function.schedule.to_json()) == function.schedule
    fresh = gather()
    with pytest.raises(tw.IllegalScheduleError):
        fresh[1]["C"].fuse_with("B")  # promises belong to the schedule, not to the program


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        (lambda idx: N > 3, "says nothing about an array"),
        (lambda idx: idx[i] <= idx[i + 1], "one different iterator for each subscript"),
        (lambda idx: idx[i] <= idx[j], "a second one"),
        (lambda idx: idx[0] <= 3, "one different iterator"),
        (lambda idx: (idx[i] < i) == (idx[i] < N), "is not affine"),  # no chain a < b = c < d
        (lambda idx: (idx[i] < i) + 1 < 2, "is not affine"),
        (lambda idx: idx[i] // -2 < i, "idx.i. // -2 is not affine"),
        (lambda idx: tw.cast(idx[i], tw.int8) < i, "int8.idx.i.. is not affine"),
        (lambda idx: "nonsense", "is not a relation"),
        (lambda idx: "{ Q[i] -> [v] : v < 3 }", "no input or computation named 'Q'"),
        (lambda idx: "{ idx[i,j] -> [v] : v < 3 }", r"\(1 subscript\)"),
        (lambda idx: "{ A[i] -> [v] : v < 3 }", "uses no value of A as a subscript"),
        (lambda idx: 7, "takes a comparison"),
    ],
)
def test_assume_refuses_what_it_cannot_use(condition, message):
    _, c, idx = gather()
    with pytest.raises(tw.ScheduleError, match=message):
        c["C"].assume(condition(idx))


# ---- independent ----


def test_independent_makes_a_fused_gather_parallel():
    function, c, idx = gather()
    c["C"].assume(idx[i] <= i).fuse_with("B")
    with pytest.raises(tw.IllegalScheduleError):
        c["B"].parallelize(i)
    c["C"].independent(i, "B")
    c["B"].parallelize(i)
    c["C"].parallelize(i)
    assert "# parallel" in str(function.loops)
    x, own = np.arange(20.0), np.arange(20)
    agree(function, 2 * x + 1, x, own)


def test_independent_holds_through_a_split():
    function, c, idx = gather()
    c["C"].assume(idx[i] <= i).fuse_with("B").independent(i, "B")
    for name in "BC":
        c[name].split(i, 4)
    for name in "BC":
        c[name].parallelize("i0")
    x, own = np.arange(21.0), np.arange(21)
    agree(function, 2 * x + 1, x, own)


def test_independent_of_one_computation_says_nothing_about_two():
    _, c, idx = gather()
    c["C"].assume(idx[i] <= i).fuse_with("B").independent(i)
    with pytest.raises(tw.IllegalScheduleError):
        c["B"].parallelize(i)


@pytest.mark.parametrize("form", ["select", "while", "sum"])
def test_independent_concerns_reads_that_conditions_on_data_choose(form):
    data = tw.input("A", [N], tw.float64)
    mask = tw.input("mask", [N], tw.int64)
    b = tw.computation("B", {i: N}, data[i] * 2)
    if form == "select":
        value = tw.select(mask[i] > 0, b[N - 1 - i], 0.0)
    elif form == "while":
        _, value = tw.while_loop(
            lambda n, _: n > 0,
            lambda n, _: (n - 1, b[N - 1 - i]),
            (mask[i], tw.cast(0, tw.float64)),
        )
    else:
        value = 1.0 * tw.sum(b[N - 1 - i], over={k: 1}, where=mask[i] > 0)
    c = tw.computation("C", {i: N}, value)
    function = tw.function("f", outputs=[c])
    with pytest.raises(tw.IllegalScheduleError) as caught:
        c.fuse_with(b)
    assert caught.value.kind == "undecided"
    doubt = "the condition of C reads data" if form == "sum" else "depends on data"
    assert doubt in str(caught.value)
    c.independent(i, b).fuse_with(b)
    x, chosen = np.arange(7.0), np.array([0, 0, 0, 1, 0, 0, 0])
    agree(function, np.where(chosen, 2 * x[::-1], 0.0), x, chosen)


def test_a_promise_that_is_certainly_wrong_is_refused():
    data = tw.input("A", [N], tw.float64)
    s = tw.computation(
        "S", {i: N}, lambda s: [(i == 0, data[i]), (i > 0, s[i - 1] + data[i])], dtype=tw.float64
    )
    _prefix = tw.function("prefix", outputs=[s])
    with pytest.raises(tw.IllegalScheduleError, match="for certain") as caught:
        s.independent(i)
    assert caught.value.kind == "promise"
    assert caught.value.sink_instance.startswith("S")


def sparse_rows():
    """Scaled rows of a sparse matrix, which two sums read."""
    p, P = tw.iter("p"), tw.param("P")
    row = tw.input("row", [N + 1], tw.int32)
    val = tw.input("val", [P], tw.int64)
    ranges = {p: (row[i], row[i + 1])}
    s = tw.computation("s", {i: N, **ranges}, 3 * val[p])
    first = tw.computation("first", {i: N}, tw.sum(s[i, p], over=ranges))
    second = tw.computation("second", {i: N}, tw.max(s[i, p], over=ranges, initial=0))
    return tw.function("rows", inputs=[row, val], outputs=[first, second], default_schedule=False)


def test_rows_that_do_not_overlap_lie_behind_each_other():
    f = sparse_rows()
    with pytest.raises(tw.IllegalScheduleError, match="independent"):
        f["s"].store_in("kept[p]")
    with f.transaction():
        f["s"].store_in("kept[p]")
        f["s"].independent(i)
    assert "kept = empty((P,), int64)" in str(f.loops)
    f["s"].parallelize(i)
    row, val = np.array([0, 2, 2, 5], np.int32), np.array([4, -1, 2, 7, 1])
    for results in (f(row, val), f.evaluate(row, val)):
        np.testing.assert_array_equal(results[0], [9, 0, 30])
        np.testing.assert_array_equal(results[1], [12, 0, 21])


def test_rows_are_independent_where_they_lay_when_it_was_promised():
    """Otherwise rows in memory of their own would stand for all rows in one element."""
    f = sparse_rows()
    f["s"].independent(i)
    for place in ("kept[p]", "kept[0]"):
        with pytest.raises(tw.IllegalScheduleError, match="overwrites"):
            f["s"].store_in(place)
    with f.transaction():
        f["s"].store_in("kept[p]")
        f["s"].independent(i)
    with pytest.raises(tw.IllegalScheduleError, match="overwrites"):
        f["s"].store_in("kept[p % 4]")


def test_a_row_may_not_overlap_itself():
    f = sparse_rows()
    with pytest.raises(tw.IllegalScheduleError, match="overwrites"), f.transaction():
        f["s"].store_in("kept[p // 2]")
        f["s"].independent(i)


def test_a_reduction_is_not_independent_in_its_own_loop():
    data = tw.input("A", [N, K], tw.float64)
    c = tw.computation("C", {i: N}, tw.sum(data[i, k], over={k: K}))
    _sums = tw.function("sums", outputs=[c])
    c.independent(i)
    with pytest.raises(tw.IllegalScheduleError, match="for certain"):
        c.independent(k).parallelize(k)


def test_a_promise_is_forgotten_where_the_computation_is_rewritten():
    function, c, idx = gather()
    c["C"].assume(idx[i] <= i)
    c["C"].cache("B", i)  # C now reads a copy, through the same subscripts
    assert "assume" in str(function.schedule)
    x = np.arange(9.0)
    agree(function, 2 * x[earlier(9)] + 1, x, earlier(9))


@pytest.mark.parametrize("rewrite", ["inline", "cache"])
def test_a_promise_outlives_the_rewriting_of_another_computation(rewrite):
    """The loops that it made legal are still there."""
    table = tw.input("A", [N, K], tw.int64)
    b = tw.computation("B", {i: N}, table[i, 0] + 1, where=K > 0)
    c = tw.computation("C", {i: N}, tw.sum(table[i, k], over={k: K}))
    d = tw.computation("D", {i: N}, b[i] + c[i], where=K > 0)
    function = tw.function("f", outputs=[d])
    function["C"].atomic().parallelize(k)
    if rewrite == "inline":
        function["B"].inline()
    else:
        function["D"].cache("B", i)
    assert "# atomic" in str(function.loops)
    x = np.arange(12).reshape(3, 4)
    agree(function, x[:, 0] + 1 + x.sum(axis=1), x)


def test_independent_refuses_loops_and_computations_that_are_not_there():
    _function, c, _ = gather()
    with pytest.raises(tw.ScheduleError, match="'j'"):
        c["C"].independent(j)
    with pytest.raises(tw.ScheduleError, match="'Z' is not a computation"):
        c["C"].independent(i, "Z")


# ---- atomic ----

TYPES = [
    tw.float16, tw.float32, tw.float64, tw.int8, tw.uint8, tw.int16, tw.int32, tw.uint32, tw.int64,
    tw.uint64,
]  # fmt: skip


@pytest.mark.parametrize("dtype", TYPES, ids=lambda dtype: dtype.name)
@pytest.mark.parametrize("reduction", ["sum", "prod", "min", "max"])
def test_atomic_updates_from_parallel_threads(dtype, reduction):
    data = tw.input("A", [N, K], dtype)
    c = tw.computation("C", {i: N}, getattr(tw, reduction)(data[i, k], over={k: K}))
    function = tw.function("f", outputs=[c])
    c.interchange(i, k).atomic().parallelize(k)
    assert "# atomic" in str(function.loops)
    generator = np.random.default_rng(3)
    if reduction == "prod":
        a = np.where(generator.random((5, 600)) < 0.005, 2, 1).astype(dtype.name)
    else:
        a = generator.integers(0, 3, (5, 600)).astype(dtype.name)
    np.testing.assert_array_equal(function(a), getattr(a, reduction)(axis=1))
    np.testing.assert_array_equal(function.evaluate(a), function(a))


@pytest.mark.parametrize("reduction", ["any", "all"])
def test_atomic_updates_of_bools(reduction):
    data = tw.input("A", [N, K], tw.bool)
    c = tw.computation("C", {i: N}, getattr(tw, reduction)(data[i, k], over={k: K}))
    function = tw.function("f", outputs=[c])
    c.interchange(i, k).atomic().parallelize(k)
    a = np.random.default_rng(3).random((6, 300)) < np.array([0, 1, 0.01, 0.99, 0.5, 0])[:, None]
    agree(function, getattr(a, reduction)(axis=1), a)


def test_atomic_min_keeps_nan():
    data = tw.input("A", [K], tw.float64)
    c = tw.computation("C", {}, tw.min(data[k], over={k: K}))
    function = tw.function("f", outputs=[c])
    c.atomic().parallelize(k)
    a = np.random.default_rng(3).random(500)
    a[77] = np.nan
    assert np.isnan(function(a))


def test_many_threads_meet_in_one_element():
    data = tw.input("A", [K], tw.int64)
    c = tw.computation("C", {}, tw.sum(data[k], over={k: K}))
    function = tw.function("f", outputs=[c])
    c.split(k, 8).atomic().parallelize("k0")
    a = np.arange(200_000)
    for _ in range(5):
        assert function(a) == a.sum()


def test_atomic_is_used_only_where_threads_meet():
    data = tw.input("A", [N, K], tw.float64)
    c = tw.computation("C", {i: N}, tw.sum(data[i, k], over={k: K}))
    function = tw.function("f", outputs=[c])
    c.atomic().parallelize(i)
    assert "# atomic" not in str(function.loops)


def test_atomic_does_not_excuse_readers():
    data = tw.input("A", [N, K], tw.float64)
    c = tw.computation("C", {i: N}, tw.sum(data[i, k], over={k: K}))
    d = tw.computation("D", {i: N, k: K}, c[i] * data[i, k])
    _f = tw.function("f", outputs=[d])
    c.interchange(i, k).atomic().parallelize(k)
    with pytest.raises(tw.IllegalScheduleError):
        d.interchange(i, k).fuse_with(c)


def test_atomic_refusals():
    data = tw.input("A", [N, K], tw.complex64)
    c = tw.computation("C", {i: N}, tw.sum(data[i, k], over={k: K}))
    _f = tw.function("f", outputs=[c])
    with pytest.raises(tw.ScheduleError, match="complex64"):
        c.atomic()
    real = tw.input("B", [N, K], tw.float32)
    ordered = tw.computation("D", {i: N}, tw.sum(real[i, k], over={k: K}, ordered=True))
    _g = tw.function("g", outputs=[ordered])
    with pytest.raises(tw.ScheduleError, match="ordered reduction"):
        ordered.atomic()
    plain = tw.computation("E", {i: N, k: K}, real[i, k])
    _h = tw.function("h", outputs=[plain])
    with pytest.raises(tw.ScheduleError, match="not a reduction"):
        plain.atomic()


# ---- updates of elements that data choose ----


def histogram() -> tuple[tw.Function, tw.Computation]:
    """H[b]: how many elements of the image have the value b."""
    image = tw.input("image", [N], tw.int64)
    h = tw.computation("H", {j: 16}, tw.sum(1, over={i: N}, where=image[i] == j))
    return tw.function("histogram", outputs=[h]), h


def test_an_atomic_histogram():
    function, h = histogram()
    h.interchange(j, i)
    with pytest.raises(tw.IllegalScheduleError):
        h.parallelize(i)
    h.atomic().parallelize(i)
    image = np.random.default_rng(1).integers(0, 16, 5000)
    agree(function, np.bincount(image, minlength=16), image)


def test_a_histogram_of_a_permutation_needs_no_atomic_updates():
    function, h = histogram()
    h.interchange(j, i).independent(i).parallelize(i)
    assert "# atomic" not in str(function.loops)
    image = np.array([3, 1, 15, 7, 0])
    agree(function, np.bincount(image, minlength=16), image)


def test_the_bins_of_a_histogram_are_parallel_without_a_promise():
    function, h = histogram()
    h.parallelize(j)
    image = np.random.default_rng(1).integers(0, 16, 500)
    agree(function, np.bincount(image, minlength=16), image)


def test_a_reader_of_what_conditions_choose_says_so():
    _function, _h = histogram()
    image = tw.input("image", [N], tw.int64)
    flag = tw.computation("F", {i: N}, image[i] % 2)
    c = tw.computation("C", {k: N}, tw.sum(1, over={i: N}, where=flag[i] == k))
    function = tw.function("f", outputs=[c])
    with pytest.raises(tw.IllegalScheduleError) as caught:
        flag.after(c)
    assert caught.value.source_instance.startswith("F")
    del function


@pytest.mark.parametrize("reduction", ["sum", "prod", "min", "max"])
def test_threads_that_combine_tiles(reduction):
    data = tw.input("A", [N, K], tw.float64)
    c = tw.computation("C", {i: N}, getattr(tw, reduction)(data[i, k], over={k: K}))
    function = tw.function("f", outputs=[c])
    c.split(k, 16).reorder("k0", i, "k1").atomic().parallelize("k0")
    a = np.random.default_rng(2).integers(1, 3, (7, 40)).astype(np.float64)
    agree(function, getattr(a, reduction)(axis=1), a)
