"""Conditions that read data: where= of reductions, and the branches of tw.select."""

import numpy as np
import pytest

import tilewright as tw
from tilewright.language.expressions import ALL_TYPES

i, j, k, p, b = tw.iters("i j k p b")
N, M, K, B, NNZ = tw.params("N M K B NNZ")


def run(computation, *arrays, out=None):
    """The value by the evaluator; compiled code must give the same."""
    f = tw.function("f", outputs=[computation])
    evaluated = f.evaluate(*arrays, **({} if out is None else {"out": out.copy()}))
    compiled = f(*arrays, **({} if out is None else {"out": out.copy()}))
    assert compiled.dtype == evaluated.dtype
    np.testing.assert_allclose(compiled, evaluated, rtol=1e-6)
    return compiled


def csr(generator, rows, columns, dtype=np.float64):
    """A sparse matrix, dense and as (value, column, row start); some rows are empty."""
    dense = generator.integers(1, 9, (rows, columns)) * (generator.random((rows, columns)) < 0.4)
    if rows > 2:
        dense[rows // 2] = 0
    dense = dense.astype(dtype)
    start = np.concatenate([[0], np.cumsum((dense != 0).sum(axis=1))])
    return dense, dense[dense != 0], np.nonzero(dense)[1], start


def sparse_product(value_type, index_type):
    val = tw.input("val", [NNZ], value_type)
    col = tw.input("col", [NNZ], index_type)
    row = tw.input("row", [N + 1], index_type)
    x = tw.input("x", [M], value_type)
    y = tw.computation(
        "y",
        {i: N},
        tw.sum(val[p] * x[col[p]], over={p: NNZ}, where=(row[i] <= p) & (p < row[i + 1])),
    )
    return tw.function("spmv", inputs=[val, col, row, x], outputs=[y])


@pytest.mark.parametrize("index_type", [tw.int32, tw.int64, tw.uint32, tw.uint64], ids=str)
@pytest.mark.parametrize("value_type", [tw.float32, tw.float64, tw.int32], ids=str)
@pytest.mark.parametrize("shape", [(7, 5), (1, 1), (20, 3), (0, 4), (3, 0)])
def test_sparse_matrix_times_vector(shape, value_type, index_type):
    generator = np.random.default_rng(1)
    dense, val, col, start = csr(generator, *shape, np.dtype(value_type))
    x = generator.integers(-4, 5, shape[1]).astype(value_type)
    arguments = val, col.astype(index_type), start.astype(index_type), x
    spmv = sparse_product(value_type, index_type)
    np.testing.assert_array_equal(spmv.evaluate(*arguments), dense @ x)
    np.testing.assert_array_equal(spmv(*arguments), dense @ x)


@pytest.mark.parametrize(
    "commands",
    [
        lambda y: y.parallelize(i),
        lambda y: y.split(p, 4),
        lambda y: y.split(p, 4).interchange(i, "p0"),
        lambda y: y.interchange(i, p),
        lambda y: y.tile(i, p, 2, 8),
        lambda y: y.vectorize(i, 4),
        lambda y: y.split(p, 4).unroll("p1", 4),
        lambda y: y.reverse(p),
        lambda y: y.skew(i, p, 1),
        lambda y: y.split(p, 4).rfactor("p1"),
        lambda y: y.split(p, 4).rfactor("p0"),
        lambda y: y.rfactor(p),
    ],
)
def test_schedules_of_a_sparse_product(commands):
    generator = np.random.default_rng(2)
    spmv = sparse_product(tw.float64, tw.int32)
    commands(spmv["y"])
    for shape in [(9, 11), (1, 30), (5, 0)]:
        dense, val, col, start = csr(generator, *shape)
        x = generator.integers(-4, 5, shape[1]).astype(float)
        found = spmv(val, col.astype(np.int32), start.astype(np.int32), x)
        np.testing.assert_array_equal(found, dense @ x)


@pytest.mark.parametrize("swap", [False, True])
@pytest.mark.parametrize("dtype", [tw.uint8, tw.int8, tw.int32, tw.int64, tw.float32], ids=str)
def test_histogram(dtype, swap):
    img = tw.input("img", [N, M], dtype)
    H = tw.computation("H", {b: B}, tw.sum(1, over={i: N, j: M}, where=img[i, j] == b))
    f = tw.function("histogram", outputs=[H])
    if swap:
        f["H"].interchange(b, j).interchange(b, i)
    data = np.random.default_rng(3).integers(-3 if np.dtype(dtype).kind != "u" else 0, 9, (6, 11))
    expected = np.bincount(data[data >= 0], minlength=20)[:7]
    for arguments in [data, data[:0], data[:, :0]]:
        counted = np.bincount(arguments[arguments >= 0], minlength=20)[:7]
        out = np.full(7, -1)
        f(arguments.astype(dtype), out=out)
        np.testing.assert_array_equal(out, counted)
        np.testing.assert_array_equal(
            f.evaluate(arguments.astype(dtype), out=np.full(7, -1)), counted
        )
    assert expected.sum() > 0


@pytest.mark.parametrize("name", ["sum", "prod", "min", "max", "any", "all", "argmin", "argmax"])
@pytest.mark.parametrize("dtype", [tw.float32, tw.float64, tw.int32, tw.uint8], ids=str)
@pytest.mark.parametrize("nested", [False, True])
def test_every_reduction_takes_a_mask(name, dtype, nested):
    generator = np.random.default_rng(4)
    a = generator.integers(0, 5, (6, 9)).astype(dtype)
    mask = generator.random((6, 9)) < 0.5
    mask[2] = False
    A = tw.input("A", [N, K], dtype)
    chosen = tw.input("chosen", [N, K], tw.bool)
    value = getattr(tw, name)(A[i, k], over={k: K}, where=chosen[i, k])
    if nested:
        value = tw.cast(value, tw.float64) * 2
    C = tw.computation("C", {i: N}, value)
    found = run(C, a, mask)
    rows = []
    for line, keep in zip(a, mask, strict=True):
        if name.startswith("arg"):
            positions = np.flatnonzero(keep)
            best = getattr(np, name)(line[keep]) if keep.any() else -1
            rows.append(positions[best] if keep.any() else -1)
        elif name in ("min", "max") and not keep.any():
            exact = np.issubdtype(np.dtype(dtype), np.integer)
            limits = np.iinfo(np.dtype(dtype)) if exact else None
            edge = (limits.max, limits.min) if exact else (np.inf, -np.inf)
            rows.append(edge[name == "max"])
        else:
            rows.append(getattr(np, name)(line[keep]))
    np.testing.assert_array_equal(found, np.array(rows) * 2.0 if nested else np.array(rows))


def test_masks_join_affine_conditions():
    generator = np.random.default_rng(5)
    a = generator.integers(-5, 6, (7, 7)).astype(np.float64)
    A = tw.input("A", [N, N], tw.float64)
    C = tw.computation(
        "C",
        {i: N},
        tw.sum(A[i, k] * A[k, k - 1], over={k: N}, where=(k > 0) & (A[k, k - 1] > 0) & (k <= i)),
    )
    text = tw.function("f", outputs=[C]).layers
    assert "k > 0" in text and "where A[k, k - 1] > 0" in str(text)
    expected = [
        sum(a[r, c] * a[c, c - 1] for c in range(1, r + 1) if a[c, c - 1] > 0) for r in range(7)
    ]
    np.testing.assert_array_equal(run(C, a), expected)


def test_a_condition_that_is_not_affine_but_reads_nothing():
    C = tw.computation("C", {i: N}, tw.sum(k, over={k: N}, where=i * k < N))
    expected = [sum(c for c in range(6) if r * c < 6) for r in range(6)]
    np.testing.assert_array_equal(run(C, out=np.zeros(6, np.int64)), expected)


def test_reductions_inside_reductions_and_conditions():
    generator = np.random.default_rng(6)
    a = generator.integers(-3, 4, (5, 6)).astype(np.float64)
    A = tw.input("A", [N, K], tw.float64)
    inner = tw.sum(A[j, k], over={k: K}, where=A[j, k] > 0)
    outer = tw.max(inner, over={j: N}, where=tw.sum(A[j, p], over={p: K}) < 3)
    C = tw.computation("C", {i: 1}, outer * 1.0)
    rows = [np.where(r > 0, r, 0).sum() for r in a if r.sum() < 3]
    np.testing.assert_array_equal(run(C, a), [max(rows)])


def test_ordered_reductions_with_a_mask():
    a = np.random.default_rng(7).random(1000).astype(np.float32)
    A = tw.input("A", [N], tw.float32)
    s = tw.computation("s", {}, tw.sum(A[i], over={i: N}, where=A[i] > 0.25, ordered=True))
    f = tw.function("f", outputs=[s])
    expected = np.float32(0)
    for element in a[a > 0.25]:
        expected += element
    assert f(a) == expected == f.evaluate(a)
    with pytest.raises(tw.IllegalScheduleError):
        f["s"].reverse(i)


def test_only_chosen_elements_are_read():
    """The body is computed where the mask holds: an index may be anything elsewhere."""
    table = np.arange(5.0)
    index = np.array([3, -1, 99, 0, -(2**40), 4])
    T = tw.input("T", [M], tw.float64)
    at = tw.input("at", [N], tw.int64)
    total = tw.computation(
        "total", {}, tw.sum(T[at[i]], over={i: N}, where=(at[i] >= 0) & (at[i] < M))
    )
    assert run(total, table, index) == 7.0
    nested = tw.computation(
        "nested", {}, 2 * tw.sum(T[at[i]], over={i: N}, where=(at[i] >= 0) & (at[i] < M))
    )
    assert run(nested, table, index) == 14.0


def test_a_subscript_in_a_mask_is_checked():
    table = np.arange(5.0)
    T = tw.input("T", [M], tw.float64)
    at = tw.input("at", [N], tw.int64)
    C = tw.computation("C", {}, tw.sum(1, over={i: N}, where=T[at[i]] > 1))
    f = tw.function("f", outputs=[C])
    assert f(table, np.array([0, 3, 4])) == 2
    for bad in (5, -1):
        with pytest.raises(tw.SubscriptError):
            f(table, np.array([0, bad, 4]))
        with pytest.raises(tw.SubscriptError):
            f.evaluate(table, np.array([0, bad, 4]))


def padded_rows(row_type=tw.int32):
    """Sums over rows of rows, by the numbers of the inner ones: col[p] says which one."""
    w, v = tw.input("w", [NNZ], tw.float64), tw.input("v", [K], tw.float64)
    row, col = tw.input("row", [N + 1], row_type), tw.input("col", [NNZ], tw.int32)
    part = tw.input("part", [M + 1], tw.int32)
    q = tw.iter("q")
    y = tw.computation(
        "y",
        {i: N},
        tw.sum(w[p] * v[q], over={p: (row[i], row[i + 1]), q: (part[col[p]], part[col[p] + 1])}),
    )
    return tw.function("padded", inputs=[w, v, row, col, part], outputs=[y])


@pytest.mark.parametrize(
    "commands",
    [
        lambda y: y,
        lambda y: y.parallelize(i),
        lambda y: y.split(p, 4),
        lambda y: y.split("q", 2),
        lambda y: y.interchange(p, "q"),
        lambda y: y.interchange(i, p),
        lambda y: y.tile(p, "q", 2, 2),
    ],
)
def test_ranges_nested_in_data_are_read_where_the_outer_data_hold(commands):
    """Behind the last row the columns say -1: what they would read is not there."""
    row, part = np.array([0, 2, 2, 5], np.int32), np.array([0, 3, 4, 4, 7], np.int32)
    col = np.array([1, 3, 0, 2, 3, -1, -1, 2**30], np.int32)
    w, v = np.arange(1.0, 9.0), np.arange(7.0) ** 2
    sums = [v[part[c] : part[c + 1]].sum() if 0 <= c < 4 else np.nan for c in col]
    expected = [sum(w[at] * sums[at] for at in range(row[r], row[r + 1])) for r in range(3)]
    f = padded_rows()
    commands(f["y"])
    np.testing.assert_array_equal(f.evaluate(w, v, row, col, part), expected)
    np.testing.assert_array_equal(f(w, v, row, col, part), expected)
    # In a row it is an error still.
    col[1] = -1
    for call in (f, f.evaluate):
        with pytest.raises(tw.SubscriptError, match="part"):
            call(w, v, row, col, part)


def test_a_part_of_a_mask_is_asked_where_those_before_it_hold():
    """As by Python's `and`, whatever reads the mask: a sum, one inside an expression, an argmax."""
    table, index = np.arange(5.0), np.array([3, -1, 99, 0, -(2**40), 4])
    T = tw.input("T", [M], tw.float64)
    at = tw.input("at", [N], tw.int64)
    inside = (at[i] >= 0) & (at[i] < M)
    total = tw.sum(1, over={i: N}, where=inside & (T[at[i]] > 2))
    for value, expected in [
        (total, 2),
        (total * 10, 20),
        (tw.argmax(at[i], over={i: N}, where=inside & (T[at[i]] < 4)), 0),
    ]:
        assert run(tw.computation("C", {}, value), table, index) == expected
    # The other way round they are subscripts in each iteration.
    before = tw.computation("C", {}, tw.sum(1, over={i: N}, where=(T[at[i]] > 2) & inside))
    f = tw.function("f", outputs=[before])
    for call in (f, f.evaluate):
        with pytest.raises(tw.SubscriptError):
            call(table, index)


def test_reads_of_a_mask_are_checked_at_declaration():
    A = tw.input("A", [N], tw.float64)
    with pytest.raises(tw.DomainError, match=r"at k = \d+ reads A\["):
        tw.computation("C", {i: N}, tw.sum(A[k], over={k: N}, where=A[k + 1] > 0))
    # An affine condition protects the others.
    tw.computation("C", {i: N}, tw.sum(A[k], over={k: N}, where=(A[k + 1] > 0) & (k + 1 < N)))


def test_masks_take_part_in_dependences():
    """The mask reads a computation: its order is checked, and inline and cache see it."""
    a = np.random.default_rng(8).integers(-4, 5, (6, 8)).astype(np.float64)
    A = tw.input("A", [N, K], tw.float64)
    P = tw.computation("P", {i: N, k: K}, A[i, k] * 2 - 1)
    C = tw.computation("C", {i: N}, tw.sum(A[i, k], over={k: K}, where=P[i, k] > 0))
    expected = np.where(a * 2 - 1 > 0, a, 0).sum(axis=1)

    f = tw.function("f", outputs=[C])
    with pytest.raises(tw.IllegalScheduleError):
        f["P"].after("C")
    f["P"].inline()
    assert "P" not in f.loops
    np.testing.assert_array_equal(f(a), expected)

    f = tw.function("f", outputs=[C])
    f["P"].compute_at("C", i)
    np.testing.assert_array_equal(f(a), expected)

    f = tw.function("f", outputs=[C])
    f["C"].split(k, 4).cache("P", "k0")
    np.testing.assert_array_equal(f(a), expected)


def test_masks_inside_expressions_take_part_in_dependences():
    a = np.random.default_rng(9).integers(-4, 5, (6, 8)).astype(np.float64)
    A = tw.input("A", [N, K], tw.float64)
    P = tw.computation("P", {i: N, k: K}, A[i, k] * 2 - 1)
    C = tw.computation("C", {i: N}, 1 + tw.sum(A[i, k], over={k: K}, where=P[i, k] > 0))
    f = tw.function("f", outputs=[C])
    with pytest.raises(tw.IllegalScheduleError):
        f["P"].after("C")
    f["P"].compute_at("C", i)
    np.testing.assert_array_equal(f(a), 1 + np.where(a * 2 - 1 > 0, a, 0).sum(axis=1))


def test_masks_reach_the_cache_key():
    a = np.array([1.0, -2.0, 3.0])
    A = tw.input("A", [N], tw.float64)
    found = []
    for bound in (0, 2):
        C = tw.computation("C", {}, tw.sum(A[i], over={i: N}, where=A[i] > bound))
        found.append(tw.function("f", outputs=[C])(a))
    assert found == [4.0, 3.0]


# ---- select: only the branch that is taken is read ----


@pytest.mark.parametrize("dtype", [tw.float32, tw.float64, tw.int64], ids=str)
@pytest.mark.parametrize(
    "commands",
    [
        lambda C: C,
        lambda C: C.vectorize(i, 4),
        lambda C: C.split(i, 4).unroll("i1", 4),
        lambda C: C.parallelize(i),
    ],
)
def test_only_the_branch_taken_is_read(commands, dtype):
    table = np.arange(5).astype(dtype)
    index = np.array([3, -1, 99, 0, -(2**40), 4, 2, 5, 1])
    T = tw.input("T", [M], dtype)
    at = tw.input("at", [N], tw.int64)
    good = (at[i] >= 0) & (at[i] < M)
    C = tw.computation("C", {i: N}, tw.select(good, T[at[i]] + 1, 0))
    D = tw.computation("D", {i: N}, tw.select(~good, -1, tw.select(T[at[i]] > 2, T[at[i]], 0)))
    f = tw.function("f", inputs=[T, at], outputs=[C, D])
    commands(f["C"])
    commands(f["D"])
    inside = (index >= 0) & (index < 5)
    safe = np.where(inside, index, 0)
    expected = (
        np.where(inside, table[safe] + 1, 0),
        np.where(inside, np.where(table[safe] > 2, table[safe], 0), -1),
    )
    for found in (f(table, index), f.evaluate(table, index)):
        np.testing.assert_array_equal(found[0], expected[0])
        np.testing.assert_array_equal(found[1], expected[1])
    without = tw.function("g", outputs=[tw.computation("C", {i: N}, T[at[i]])])
    with pytest.raises(tw.SubscriptError):
        without(table, index)


def test_every_type_of_mask():
    for dtype in ALL_TYPES:
        if dtype.name == "bfloat16":
            continue
        a = np.array([0, 1, 2, 0, 3]).astype(dtype)
        A = tw.input("A", [N], dtype)
        C = tw.computation("C", {}, tw.sum(i, over={i: N}, where=A[i] != 0))
        assert run(C, a) == 1 + 2 + 4


# ---- ranges whose bounds read data ----


def sparse_rows(value_type, index_type):
    val = tw.input("val", [NNZ], value_type)
    col = tw.input("col", [NNZ], index_type)
    row = tw.input("row", [N + 1], index_type)
    x = tw.input("x", [M], value_type)
    y = tw.computation("y", {i: N}, tw.sum(val[p] * x[col[p]], over={p: (row[i], row[i + 1])}))
    return tw.function("spmv", inputs=[val, col, row, x], outputs=[y])


@pytest.mark.parametrize("index_type", [tw.int32, tw.int64, tw.uint64], ids=str)
def test_bounds_of_reductions_may_read_data(index_type):
    generator = np.random.default_rng(10)
    spmv = sparse_rows(tw.float64, index_type)
    for shape in [(7, 5), (20, 3), (0, 4), (3, 0)]:
        dense, val, col, start = csr(generator, *shape)
        x = generator.integers(-4, 5, shape[1]).astype(float)
        arguments = val, col.astype(index_type), start.astype(index_type), x
        np.testing.assert_array_equal(spmv(*arguments), dense @ x)
        np.testing.assert_array_equal(spmv.evaluate(*arguments), dense @ x)


def test_bounds_that_read_data_make_the_same_loops_as_a_condition():
    assert str(sparse_rows(tw.float64, tw.int32).loops) == str(
        sparse_product(tw.float64, tw.int32).loops
    )


def test_bounds_are_clipped_like_those_of_slices():
    A = tw.input("A", [M], tw.float64)
    first, last = tw.input("first", [N], tw.int64), tw.input("last", [N], tw.int64)
    s = tw.computation("s", {i: N}, tw.sum(A[p], over={p: (first[i], last[i])}))
    below = tw.computation("below", {i: N}, tw.max(A[p], over={p: last[i]}))
    f = tw.function("f", inputs=[A, first, last], outputs=[s, below])
    a = np.arange(1.0, 8.0)
    begin, end = np.array([0, 2, 5, 3, -4, 6]), np.array([3, 2, 99, 1, 2, 7])
    for found in (f(a, begin, end), f.evaluate(a, begin, end)):
        np.testing.assert_array_equal(
            found[0], [a[max(b, 0) : max(e, 0)].sum() for b, e in zip(begin, end, strict=True)]
        )
        np.testing.assert_array_equal(found[1], [a[:e].max(initial=-np.inf) for e in end])


def test_the_smallest_array_encloses():
    """An iterator that reads several arrays lies in all of them."""
    A = tw.input("A", [N + 2], tw.float64)
    B_ = tw.input("B", [N], tw.float64)
    P = tw.computation("P", {j: (1, N)}, B_[j] + 1)
    last = tw.input("last", [1], tw.int64)
    s = tw.computation("s", {i: 1}, tw.sum(A[p] * P[p], over={p: (0, last[i])}, where=p > 0))
    t = tw.computation("t", {i: 1}, tw.sum(A[p] * B_[p], over={p: last[i]}))
    f = tw.function("f", inputs=[A, B_, last], outputs=[s, t])
    a, c = np.arange(7.0), np.arange(5.0) - 2
    for end in (0, 1, 3, 9):
        for found in (f(a, c, np.array([end])), f.evaluate(a, c, np.array([end]))):
            stop = min(end, 5)
            assert found[0][0] == (a[1:stop] * (c[1:stop] + 1)).sum()
            assert found[1][0] == (a[:stop] * c[:stop]).sum()


def test_reads_that_may_not_happen_do_not_enclose():
    A = tw.input("A", [N], tw.float64)
    n = tw.input("n", [N], tw.int64)
    with pytest.raises(tw.DeclarationError, match="no array that is read at p itself"):
        tw.sum(tw.select(p < 3, A[p], 1.0), over={p: n[i]})
    with pytest.raises(tw.DeclarationError, match="no array that is read at p itself"):
        tw.sum(1, over={p: n[i]}, where=A[p] > 0)


def test_nested_ranges_that_read_data():
    """Rows of blocks: the inner bounds depend on the outer reduced iterator."""
    value, start, block = (
        tw.input("value", [M], tw.float64),
        tw.input("start", [K], tw.int32),
        tw.input("block", [N + 1], tw.int32),
    )
    s = tw.computation(
        "s",
        {i: N},
        tw.sum(
            value[p] * tw.cast(start[b], tw.float64),
            over={b: (block[i], block[i + 1]), p: (start[b], start[b] + 2)},
        ),
    )
    f = tw.function("f", inputs=[value, start, block], outputs=[s])
    values = np.arange(1.0, 12.0)
    starts, blocks = np.array([0, 4, 2, 10, 7], np.int32), np.array([0, 2, 2, 5], np.int32)
    expected = [
        sum(values[at : at + 2].sum() * at for at in starts[blocks[r] : blocks[r + 1]].tolist())
        for r in range(3)
    ]
    np.testing.assert_array_equal(f(values, starts, blocks), expected)
    np.testing.assert_array_equal(f.evaluate(values, starts, blocks), expected)
