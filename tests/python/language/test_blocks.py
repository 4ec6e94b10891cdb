"""Blocks, opaque functions on parts of arrays: LAPACK, FFT and small ones of C and Python, each beside NumPy."""

import ctypes
import pathlib
import threading

import numpy as np
import pytest
from block_functions import (
    B,
    M,
    N,
    b,
    compiled,
    doubles,
    i,
    i64,
    j,
    row_function,
    run,
    spectrum,
    typed,
)

import tilewright as tw

rng = np.random.default_rng(11)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return compiled(tmp_path_factory.mktemp("blocks"))


def definite(batch, n):
    a = rng.standard_normal((batch, n, n))
    return a @ a.transpose(0, 2, 1) + n * np.eye(n)


def lapack(symbol):
    """A function of the LAPACK that comes with NumPy, with integers of 64 bits."""
    folder = pathlib.Path(np.__file__).parent.parent / "numpy.libs"
    found = sorted(folder.glob("libscipy_openblas64_*"))
    if not found:
        pytest.skip("this NumPy brings no OpenBLAS")
    return ctypes.CDLL(str(found[0]))[f"scipy_{symbol}_64_"]


SCHEDULES = [
    lambda call: call,
    lambda call: call.parallelize(b),
    lambda call: call.split(b, 4).parallelize("b0"),
    lambda call: call.split(b, 4).unroll("b1", 4),
    lambda call: call.reverse(b),
]


def cholesky_function(library):
    """tril of the factors: what the function leaves above is the old matrix."""
    A = tw.input("A", [B, N, N], tw.float64)
    factor = typed(library.cholesky, ctypes.c_int, doubles, i64)
    blk = tw.block("factor", factor, {b: B}, updates={"F": A.part[b, :, :]}, arguments=["F", N])
    (F,) = blk
    L = tw.computation("L", {b: B, i: N, j: N}, tw.select(j <= i, F[b, i, j], 0.0))
    code = tw.computation("code", {b: B}, blk.call[b])
    return tw.function("cholesky", outputs=[L, code])


@pytest.mark.parametrize("commands", SCHEDULES)
@pytest.mark.parametrize("batch, n", [(0, 3), (1, 1), (9, 6), (5, 0)])
def test_cholesky_in_c(library, commands, batch, n):
    f = cholesky_function(library)
    commands(f["factor"])
    a = definite(batch, n)
    factors, code = run(f, a)
    np.testing.assert_allclose(factors, np.linalg.cholesky(a), rtol=1e-12)
    assert code.dtype == np.int32 and not code.any()


def test_what_a_function_returns_is_an_element_of_the_call(library):
    a = definite(4, 3)
    a[2, 1, 1] = -1
    _, code = run(cholesky_function(library), a)
    assert code.tolist() == [0, 0, 2, 0]


@pytest.mark.parametrize("parallel", [False, True])
def test_a_batched_solve_of_lapack(parallel):
    A = tw.input("A", [B, N, N], tw.float64)
    R = tw.input("R", [B, M, N], tw.float64)
    long = ctypes.POINTER(i64)
    dgesv = typed(lapack("dgesv"), None, long, long, doubles, long, long, doubles, long, long)
    # Rows of ours are columns of Fortran's: it is given the transposed matrix.
    At = tw.computation("At", {b: B, i: N, j: N}, A[b, j, i])
    blk = tw.block(
        "solve",
        dgesv,
        {b: B},
        updates={"LU": At.part[b, :, :], "X": R.part[b, :, :]},
        writes={"pivots": ([N], tw.int64), "info": ([], tw.int64)},
        arguments=[N, M, "LU", N, "pivots", "X", N, "info"],
    )
    _, X, _, info = blk
    norm = tw.computation(
        "norm", {b: B}, tw.max(tw.abs(X[b, i, j]), over={i: M, j: N}, initial=0.0)
    )
    failed = tw.computation("failed", {b: B}, info[b])
    f = tw.function("solve_batch", outputs=[X, norm, failed])
    if parallel:
        f["solve"].parallelize(b)
    a, r = definite(7, 5), rng.standard_normal((7, 3, 5))
    x, norms, codes = run(f, a, r)
    expected = np.linalg.solve(a, r.transpose(0, 2, 1)).transpose(0, 2, 1)
    np.testing.assert_allclose(x, expected, rtol=1e-10)
    np.testing.assert_allclose(norms, np.abs(expected).max((1, 2)), rtol=1e-10)
    assert not codes.any()


def spectrum_of(x):
    s = np.fft.fft(x * (1 + np.arange(x.shape[1]) % 3))
    return s.real**2 + s.imag**2


@pytest.mark.parametrize("commands", SCHEDULES)
def test_an_fft_between_two_computations(commands):
    f = spectrum()
    commands(f["fft_rows"])
    x = rng.standard_normal((13, 24))
    np.testing.assert_allclose(run(f, x), spectrum_of(x), rtol=1e-10)


def test_loops_are_shared_with_calls():
    f = spectrum()
    f["fft_rows"].after(f["windowed"], b)
    f["power"].after(f["fft_rows"], b)
    f["windowed"].parallelize(b)
    f["fft_rows"].parallelize(b)
    f["power"].parallelize(b)
    x = rng.standard_normal((6, 8))
    np.testing.assert_allclose(run(f, x), spectrum_of(x), rtol=1e-10)
    with pytest.raises(tw.IllegalScheduleError, match="fft_rows"):
        f["fft_rows"].before(f["windowed"])


def test_one_call_on_whole_arrays_and_strided_ones():
    a = tw.input("a", [N, M], tw.float64)

    def invert(x, y):
        y[...] = x[::-1, ::-1]

    (turned,) = tw.block("turn", invert, {}, reads=[a], writes={"turned": ([N, M], tw.float64)})
    f = tw.function("turn_all", outputs=[turned])
    given = rng.standard_normal((8, 9))
    for x in (given, given.T, given[::2, ::-1], given[:0]):
        np.testing.assert_array_equal(run(f, x), x[::-1, ::-1])


def test_an_update_in_place_of_its_input(library):
    f = cholesky_function(library)
    f["F"].store_in("A[b, F_0, F_1]")
    a = definite(5, 4)
    expected = np.linalg.cholesky(a)
    given = a.copy()
    factors, _ = f(given)
    np.testing.assert_allclose(factors, expected, rtol=1e-12)
    np.testing.assert_allclose(np.tril(given), expected, rtol=1e-12)  # the array was overwritten
    f["factor"].parallelize(b)
    np.testing.assert_allclose(f(a.copy())[0], expected, rtol=1e-12)


def test_who_reads_the_old_values_must_come_before(library):
    A = tw.input("A", [B, N], tw.float64)
    T = tw.computation("T", {b: B, i: N}, A[b, i] - 0.5)
    long = ctypes.POINTER(i64)
    clip = typed(library.positive, None, doubles, i64, long)
    blk = tw.block(
        "clip",
        clip,
        {b: B},
        updates={"P": T.part[b, :]},
        writes={"count": ([1], tw.int64)},
        arguments=["P", N, "count"],
    )
    P, count = blk
    both = tw.computation("both", {b: B, i: N}, P[b, i] + 100 * T[b, i])
    f = tw.function("clipped", outputs=[both, count])
    x = rng.random((6, 5))
    t = x - 0.5
    values, counts = run(f, x)
    np.testing.assert_array_equal(values, np.maximum(t, 0) + 100 * t)  # a may-write: the rest stays
    np.testing.assert_array_equal(counts[:, 0], (t < 0).sum(1))
    with pytest.raises(tw.IllegalScheduleError) as caught:
        f["P"].store_in("T[b, P_0]")
    assert "both" in str(caught.value)


def test_numbers_by_value_and_by_reference(library):
    x = tw.input("x", [B, N], tw.float32)
    sums = typed(
        library.sums,
        None,
        ctypes.POINTER(ctypes.c_float),
        ctypes.POINTER(ctypes.c_int32),
        ctypes.c_double,
        doubles,
        ctypes.POINTER(ctypes.c_float),
    )
    # All but the last element of each row.
    blk = tw.block(
        "sums",
        sums,
        {b: B},
        reads=[x.part[b, 0:N]],
        writes={"all": ([], tw.float64), "first": ([], tw.float32)},
        arguments=["x", N - 1, 0.5, "all", "first"],
    )
    total, first = blk
    f = tw.function("both_sums", outputs=[total, first], context=[N >= 1])
    given = rng.standard_normal((4, 6)).astype(np.float32)
    totals, firsts = run(f, given)
    np.testing.assert_allclose(totals, 0.5 * given[:, :5].astype(float).sum(1), rtol=1e-12)
    np.testing.assert_array_equal(firsts, given[:, 0])


def test_parts_of_different_sizes():
    x = tw.input("x", [N], tw.float64)

    def cumulate(part, out):
        out[...] = part.sum()

    blk = tw.block(
        "prefix", cumulate, {i: N}, reads=[x.part[0 : i + 1]], writes={"p": ([], tw.float64)}
    )
    f = tw.function("prefixes", outputs=[*blk])
    given = np.arange(7.0)
    np.testing.assert_array_equal(run(f, given), np.cumsum(given))


def test_a_chain_of_blocks_in_place():
    """Each call reads what the one before wrote; results nobody reads are somewhere, too."""
    x = tw.input("x", [N], tw.float64)

    def half(v, steps):
        v /= 2
        steps[...] = 1

    (first, _) = tw.block("one", half, {}, updates={"v1": x}, writes={"s1": ([], tw.int64)})
    (second, _) = tw.block("two", half, {}, updates={"v2": first}, writes={"s2": ([], tw.int64)})
    f = tw.function("quarter", outputs=[second])
    f["v1"].store_in("v2[v1_0]")
    given = rng.standard_normal(9)
    np.testing.assert_array_equal(f(given), given / 4)
    np.testing.assert_array_equal(f.evaluate(given), given / 4)


def test_the_evaluator_runs_each_instance_once():
    calls = []
    x = tw.input("x", [B, N], tw.float64)

    def note(row, out):
        calls.append(row.copy())
        out[...] = row + 1

    (y,) = tw.block("note", note, {b: B}, reads=[x.part[b, :]], writes={"y": ([N], tw.float64)})
    z = tw.computation("z", {b: B, i: N}, y[b, i] + y[b, N - 1 - i])
    f = tw.function("noted", outputs=[z, y])
    given = rng.standard_normal((3, 4))
    f.evaluate(given)
    assert len(calls) == 3
    f(given)
    assert len(calls) == 6


def test_a_python_function_in_threads():
    """The function takes Python's lock, which the thread that waits for the others has given up."""
    x = tw.input("x", [B, N], tw.float64)
    seen = set()

    def twice(row, out):
        seen.add(threading.get_ident())
        out[...] = 2 * row

    blk = tw.block("twice", twice, {b: B}, reads=[x.part[b, :]], writes={"y": ([N], tw.float64)})
    f = tw.function("doubled", outputs=[*blk])
    f["twice"].parallelize(b)
    given = rng.standard_normal((64, 16))
    for threads in (1, 4):
        np.testing.assert_array_equal(f(given, threads=threads), 2 * given)
    assert seen


@pytest.mark.parametrize("parallel", [False, True])
def test_errors_of_a_python_function_are_raised(parallel):
    x = tw.input("x", [B], tw.float64)

    def fail(value, out):
        if value > 2:
            raise RuntimeError(f"no {value}")
        out[...] = value

    blk = tw.block("fail", fail, {b: B}, reads=[x.part[b]], writes={"y": ([], tw.float64)})
    f = tw.function("failing", outputs=[*blk])
    if parallel:
        f["fail"].parallelize(b)
    np.testing.assert_array_equal(f(np.ones(5)), np.ones(5))
    for call in (f, f.evaluate):
        with pytest.raises(RuntimeError, match=r"no 3\.0"):
            call(np.array([1.0, 2, 3, 2, 1]))
    np.testing.assert_array_equal(f(np.ones(5)), np.ones(5))  # nothing is left of it


def test_what_is_read_cannot_be_written():
    x = tw.input("x", [N], tw.float64)

    def overwrite(values, out):
        values[...] = 0

    (y,) = tw.block("over", overwrite, {}, reads=[x], writes={"y": ([N], tw.float64)})
    f = tw.function("overwriting", outputs=[y])
    for call in (f, f.evaluate):
        with pytest.raises(ValueError, match="read-only"):
            call(np.ones(3))


def test_two_functions_of_one_name_and_type(library):
    """Stored code knows the function by a symbol, not by its address."""
    for function, more in ((library.first_kind, 1), (library.second_kind, 2)):
        x = tw.input("x", [N], tw.float64)
        kind = typed(function, None, doubles, doubles, i64)
        (y,) = tw.block(
            "kind", kind, {}, reads=[x], writes={"y": ([N], tw.float64)}, arguments=["x", "y", N]
        )
        f = tw.function("kinds", outputs=[y])
        np.testing.assert_array_equal(run(f, np.arange(5.0)), np.arange(5.0) + more)


def test_a_python_function_is_given_strides(library):
    f = spectrum()
    f["windowed"].set_access("{ windowed[b, i] -> w_buf[i, b] }")
    x = rng.standard_normal((5, 6))
    np.testing.assert_allclose(run(f, x), spectrum_of(x), rtol=1e-10)


def test_a_block_is_shown():
    f = spectrum()
    assert "fft_rows(" in str(f.loops)


def test_a_character_by_reference():
    A = tw.input("A", [B, N, N], tw.float64)
    long, char = ctypes.POINTER(i64), ctypes.POINTER(ctypes.c_char)
    potrf = typed(lapack("dpotrf"), None, char, long, doubles, long, long)
    F, info = tw.block(
        "potrf",
        potrf,
        {b: B},
        updates={"F": A.part[b, :, :]},
        writes={"info": ([], tw.int64)},
        arguments=[b"U", N, "F", N, "info"],  # the upper one of Fortran's columns
    )
    L = tw.computation("L", {b: B, i: N, j: N}, tw.select(j <= i, F[b, i, j], 0.0))
    a = definite(3, 5)
    factors = run(tw.function("factors", outputs=[L, info]), a)[0]
    np.testing.assert_allclose(factors, np.linalg.cholesky(a), rtol=1e-12)


def test_a_view_is_read_where_it_lies():
    x = tw.input("x", [N], tw.float64)
    y = tw.input("y", [N], tw.float64)
    v = tw.view("v", {i: N}, [(i % 2 == 0, x[i]), (i % 2 == 1, y[i])])
    w = tw.computation("w", {i: N}, 2 * v[i])

    def negative(values, out):
        out[...] = -values

    (z,) = tw.block("minus", negative, {}, reads=[v], writes={"z": ([N], tw.float64)})
    f = tw.function("viewed", outputs=[z, w])
    a, c = rng.standard_normal(7), rng.standard_normal(7)
    chosen = np.where(np.arange(7) % 2 == 0, a, c)
    results = run(f, a, c)
    np.testing.assert_array_equal(results[0], -chosen)
    np.testing.assert_array_equal(results[1], 2 * chosen)


def test_an_output_shows_what_a_block_wrote(library):
    x = tw.input("x", [N, M], tw.float64)
    kind = typed(library.first_kind, None, doubles, doubles, i64)
    (y,) = tw.block(
        "kind",
        kind,
        {i: N},
        reads=[x.part[i, :]],
        writes={"y": ([M], tw.float64)},
        arguments=["x", "y", M],
    )
    f = tw.function("shown", outputs=[tw.view("out", {i: N, j: M}, y[i, j])])
    given = rng.standard_normal((4, 3))
    np.testing.assert_array_equal(run(f, given), given + 1)


def test_a_size_that_the_schedule_fixes(library):
    f = row_function(library)
    f.fix(M=5)
    f["kind"].split(i, 2).parallelize("i0")
    x = rng.standard_normal((7, 5))
    np.testing.assert_array_equal(run(f, x), 3 * x + 1)


def test_the_same_declaration_is_taken_from_the_cache(library):
    f, x = row_function(library), rng.standard_normal((4, 5))
    f(x)
    again = row_function(library)
    again(x)
    assert again.last_compile["from_cache"]
    np.testing.assert_array_equal(again(x), 3 * x + 1)


def test_the_times_of_a_whole_function():
    """What a block writes has the times of its call."""
    f = spectrum()
    x = rng.standard_normal((6, 8))
    f.set_schedule(
        "{ windowed[b, i] -> [b, 0, i]; fft_rows[b] -> [b(cpu), 1, 0]; power[b, k] -> [b, 2, k] }"
    )
    np.testing.assert_allclose(run(f, x), spectrum_of(x), rtol=1e-10)
    f.set_schedule(
        "{ windowed[b, i] -> [-b, 0, i]; fft_rows[b] -> [-b, 1, 0]; power[b, k] -> [-b, 2, k] }"
    )
    np.testing.assert_allclose(run(f, x), spectrum_of(x), rtol=1e-10)
    with pytest.raises(tw.IllegalScheduleError, match="fft_rows"):
        f.set_schedule(
            "{ windowed[b, i] -> [b, 1, i]; fft_rows[b] -> [b, 0, 0]; power[b, k] -> [b, 2, k] }"
        )
    with pytest.raises(tw.ScheduleError, match="says nothing of fft_rows"):
        f.set_schedule("{ windowed[b, i] -> [b, 1, i]; power[b, k] -> [b, 2, k] }")


def test_parts_in_one_element_of_storage():
    """What a call is given by its address is stored before the call, not behind the loop."""
    x = tw.input("x", [N], tw.float64)
    doubled = tw.computation("doubled", {i: N}, x[i] * 2)

    def thrice(one, three):
        three[...] = one

    calls = tw.block(
        "calls", thrice, {i: N}, reads=[doubled.part[i]], writes={"three": ([3], tw.float64)}
    )
    (three,) = calls
    r = tw.computation("r", {i: N, j: 3}, three[i, j] + 1)
    f = tw.function("f", outputs=[r])
    with f.transaction():
        calls.call.after(doubled, i)
        r.after(calls.call, i)
        doubled.store_in(tw.Buffer("one", []), [])
    assert f(np.arange(4.0)).tolist() == [[1, 1, 1], [3, 3, 3], [5, 5, 5], [7, 7, 7]]


def test_a_condition_on_parameters():
    """A part of two rows is there if the array has so many."""
    n, m = tw.params("n m")
    r, c = tw.iters("r c")
    x = tw.input("x", [n, m], tw.float64)
    top = tw.computation("[n, m] -> { top[r, c] : 0 <= r < 2 <= n and 0 <= c < m }", 2 * x[r, c])

    def added(part, total):
        total[...] = part.sum(axis=0)

    with pytest.raises(tw.DomainError, match="it does not if n >= 2"):
        tw.block("whole", added, {}, reads=[top.part[0:2, 0:m]], writes={"W": ([m], tw.float64)})
    (total,) = tw.block(
        "add",
        added,
        {},
        reads=[top.part[0:2, 0:m]],
        writes={"total": ([m], tw.float64)},
        where=n >= 2,
    )
    f = tw.function("f", outputs=[tw.computation("y", {c: m}, total[c] + 1, where=n >= 2)])
    given = np.arange(12.0).reshape(4, 3)
    np.testing.assert_array_equal(f(given), 2 * given[:2].sum(axis=0) + 1)


@pytest.mark.parametrize("split", [False, True])
def test_loops_as_declared_beside_scheduled_ones(split):
    """Commands have added arrays before those that the block reads: each version passes its own."""
    rows, columns, n = tw.params("rows columns n")
    b, r, c, k = tw.iters("b r c k")
    x = tw.input("x", [rows, n], tw.int64)
    w = tw.input("w", [n, columns], tw.int64)
    product = tw.computation(
        "product", {b: rows, r: columns}, tw.sum(x[b, k] * w[k, r], over={k: n})
    )

    def running(row, out):
        out[...] = np.cumsum(row)

    (sums,) = tw.block(
        "running",
        running,
        {b: rows},
        reads=[product.part[b, :]],
        writes={"sums": ([columns], tw.int64)},
    )
    f = tw.function(
        "f",
        outputs=[tw.computation("o", {b: rows, c: columns}, sums[b, c])],
        default_schedule=False,
    )
    if split:
        product.split(k, 4).rfactor("k0")
    else:
        product.cache(w, b)
    f.when_work(40)
    for shape in ((1, 2, 3), (6, 5, 7)):
        left = np.arange(shape[0] * shape[2]).reshape(shape[0], shape[2])
        right = np.arange(shape[2] * shape[1]).reshape(shape[2], shape[1]) - 7
        np.testing.assert_array_equal(f(left, right), np.cumsum(left @ right, axis=1))
