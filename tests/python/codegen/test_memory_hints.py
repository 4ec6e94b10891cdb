"""Hints about memory traffic: stores past the caches, and loads that are asked for early."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tilewright as tw

i, j, k = tw.iters("i j k")
N, M, K = tw.params("N M K")


def scaled(dtype=tw.float32, cpu="native"):
    a = tw.input("A", [N, M], dtype)
    c = tw.computation("C", {i: N, j: M}, a[i, j] + a[i, j])
    return tw.function("scaled", outputs=[c], cpu=cpu)


def matmul(dtype=tw.float32):
    a = tw.input("A", [N, K], dtype)
    b = tw.input("B", [K, M], dtype)
    c = tw.computation("C", {i: N, j: M}, tw.sum(a[i, k] * b[k, j], over={k: K}))
    return tw.function("matmul", outputs=[c])


def integers(*shape, dtype=np.float32):
    return np.random.default_rng(3).integers(-9, 9, shape).astype(dtype)


def aligned(shape, dtype, bytes_, offset=0):
    """An array whose elements begin `offset` bytes after a multiple of `bytes_`."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    memory = np.zeros(size + bytes_ + offset, np.uint8)
    start = -memory.ctypes.data % bytes_ + offset
    return memory[start : start + size].view(dtype).reshape(shape)


DTYPES = ["float32", "float64", "uint8", "int16", "complex64", "bool", "float16"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lanes", [1, 2, 4, 8, 16, 32])
def test_streamed_values(dtype, lanes):
    if dtype == "bool":
        a = tw.input("A", [N, M], tw.bool)
        c = tw.computation("C", {i: N, j: M}, a[i, j] | a[i, j])
        f = tw.function("scaled", outputs=[c])
    else:
        f = scaled(getattr(tw, dtype))
    f["C"].parallelize(i).stream().vectorize(j, lanes)
    for shape in ((3, 64), (5, 37), (1, 1), (4, 32)):
        x = np.abs(integers(*shape, dtype=np.float32)).astype(dtype)
        np.testing.assert_array_equal(f(x), x + x)


@pytest.mark.parametrize("offset", [0, 1, 4, 8, 16, 24, 32, 48])
@pytest.mark.parametrize("width", [64, 60, 61])
def test_streams_into_arrays_of_any_alignment(offset, width):
    dtype = np.uint8 if offset == 1 else np.float32
    f = scaled(tw.uint8 if offset == 1 else tw.float32)
    f["C"].stream().vectorize(j, 16)
    large = (6 << 20) // (width * np.dtype(dtype).itemsize) + 1  # smaller ones are stored plainly
    for rows in (7, large):
        x = np.abs(integers(rows, width, dtype=dtype))
        out = aligned(x.shape, dtype, 64, offset)
        f(x, out=out)
        np.testing.assert_array_equal(out, x + x)


def test_streams_are_stores_past_the_caches():
    f = scaled(cpu="x86-64-v3")
    if "x86-64" not in f.cpu:
        pytest.skip("another architecture")
    f["C"].vectorize(j, 8)
    assert "movnt" not in f.asm and "sfence" not in f.asm
    f["C"].stream()
    assert re.search(r"vmovntps\s+%ymm", f.asm)
    assert re.search(r"movnt\w+\s+%xmm", f.asm)
    assert f.asm.count("sfence") == 1
    f["C"].parallelize(i)
    assert f.asm.count("sfence") == 1  # at the end of what each thread does
    assert "# stream" in f.loops
    g = scaled(cpu="x86-64-v4")
    g["C"].vectorize(j, 16).stream()
    assert re.search(r"vmovnt\w+\s+%zmm", g.asm)
    h = scaled(cpu="x86-64")
    h["C"].vectorize(j, 4).stream()
    assert re.search(r"movnt\w+\s+%xmm", h.asm)


def test_scalar_stores_do_not_stream():
    f = scaled()
    f["C"].stream()
    assert "nontemporal" not in f.llvm
    x = integers(3, 4)
    np.testing.assert_array_equal(f(x), 2 * x)


def test_reductions_do_not_stream_but_their_copies_do():
    f = matmul()
    with pytest.raises(tw.ScheduleError, match=r"C is a reduction.*cache\(\"C\""):
        f["C"].stream()
    f["C"].tile(i, j, 4, 16).cache("C", "j0")
    f["C"].vectorize("j1", 16).stream()
    assert "nontemporal" in f.llvm
    a, b = integers(9, 6), integers(6, 37)
    np.testing.assert_array_equal(f(a, b), a @ b)


@pytest.mark.parametrize("distance", [1, 4, -3, 1000])
@pytest.mark.parametrize("loop", ["i", "j"])
def test_prefetched_values(loop, distance):
    f = scaled()
    f["C"].prefetch("A", loop, distance)
    assert f"# prefetch A {distance} ahead" in f.loops
    assert "@llvm.prefetch" in f.llvm
    x = integers(9, 23)
    np.testing.assert_array_equal(f(x), 2 * x)
    np.testing.assert_array_equal(f(x[::-1, ::-2]), 2 * x[::-1, ::-2])


def test_a_prefetch_for_each_vector():
    f = scaled()
    f["C"].vectorize(j, 16).prefetch("A", i, 2)
    main = f.llvm.split("\ndeclare")[0]
    vectors = main.count("load <16 x float>")
    assert vectors >= 1
    x = integers(9, 40)
    np.testing.assert_array_equal(f(x), 2 * x)


def test_loads_from_one_line_share_a_prefetch():
    def requests(array, value):
        f = tw.function("f", inputs=[array], outputs=[tw.computation("C", {i: N, j: M}, value)])
        f["C"].prefetch(array, i, 2)
        values = integers(9, 23)
        np.testing.assert_array_equal(f(values), f.evaluate(values))
        return f.llvm.count("call void @llvm.prefetch")

    A = tw.input("A", [N + 1, M + 20], tw.float32)
    B = tw.input("B", [M + 2, N], tw.float32)
    assert requests(A, A[i, j] + A[i, j + 1] + A[i, j + 15]) == 1
    assert requests(A, A[i, j] + A[i, j + 1] + A[i, j + 16] + A[i, j + 20]) == 2
    assert requests(A, A[i, j] + A[i + 1, j] + A[i + 1, j + 3]) == 2
    # Neighbours along another dimension lie on lines of their own.
    assert requests(B, B[j, i] + B[j + 1, i] + B[j + 2, i]) == 3


def test_what_iterations_soon_after_ask_for_is_asked_for_once():
    def requests(offsets, distance, lanes=16):
        x = tw.input("x", [N, M], tw.float32)
        total = x[i, j]
        for offset in offsets:
            total = total + x[i, j + offset]
        y = tw.computation("y", {i: N, j: M - max(offsets)}, total)
        f = tw.function("f", outputs=[y], cpu="x86-64-v4")
        y.vectorize(j, lanes).prefetch(x, "j0", distance)
        blocks = [b for b in re.split(r"\n\S+:", f.llvm) if f"store <{lanes} x float>" in b]
        return [block.count("@llvm.prefetch") for block in blocks]

    # Vectors of a line: what is 18 elements farther on is the next iteration's.
    assert requests([9, 18], 8) == [1]
    assert requests([9, 18], 2) == [2]  # the next iteration asks too late
    assert requests([32], 8) == [1] and requests([48], 8) == [2]
    assert requests([16, 20], 8, lanes=8) == [1] and requests([24], 8, lanes=8) == [2]


def test_iterations_that_go_on_to_other_rows_ask_themselves():
    x = tw.input("x", [M, M + 18], tw.float32)
    y = tw.computation("y", {j: M}, x[j, j] + x[j, j + 18])
    f = tw.function("diagonal", outputs=[y], default_schedule=False)
    y.prefetch(x, j, 100)
    assert f.llvm.count("call void @llvm.prefetch") == 2
    values = integers(9, 27)
    np.testing.assert_array_equal(f(values), f.evaluate(values))


def test_what_is_overwritten_is_asked_for_too():
    # Two grids in one array, by the parity of the step: three rows are read and one is written.
    f = tw.kernels.stencils.heat2d_by_steps(tw.float32)
    assert "@llvm.prefetch" not in f.llvm
    f["heat"].prefetch("grids", "j0", 4)
    main = [block for block in re.split(r"\n\S+:", f.llvm) if "store <16 x float>" in block]
    assert main
    for block in main:
        requests = re.findall(r"@llvm\.prefetch\.p0\(ptr \S+ i32 (\d)", block)
        assert sorted(requests) == ["0", "0", "0", "1"], block
    start = integers(9, 40)
    grids, expected = np.stack([start, start]), np.stack([start, start])
    tw.kernels.stencils.heat2d_by_steps(tw.float32)(expected, P=3)
    np.testing.assert_array_equal(f(grids, P=3), expected)


def test_prefetches_of_products_tiles_and_parallel_loops():
    f = matmul()
    f["C"].tile(i, j, 4, 16).interchange("i1", k).vectorize("j1", 16).unroll("i1")
    f["C"].prefetch("B", k, 4).prefetch("A", k, 8).parallelize("i0", "j0").prefetch("B", "j0")
    assert "@llvm.prefetch" in f.llvm
    assert "prefetch B 4 ahead, prefetch A 8 ahead" in f.loops
    a, b = integers(13, 6), integers(6, 37)
    np.testing.assert_array_equal(f(a, b), a @ b)


def hints_of(f):
    """The loops, outermost first, with what is said of them."""
    loops = [line.strip() for line in str(f.loops).splitlines() if "for " in line]
    return [(line.split()[1], line.partition("  # ")[2]) for line in loops]


def test_iterations_of_a_loop_that_is_cut_ask_as_before():
    f = scaled()
    f["C"].prefetch("A", j, 40).split(j, 8)
    assert hints_of(f) == [("i", ""), ("j0", ""), ("j1", "prefetch A 40 ahead")]
    assert "@llvm.prefetch" in f.llvm
    f = scaled()
    f["C"].prefetch("A", i, 3).tile(i, j, 4, 8)
    assert hints_of(f)[2:] == [("i1", "prefetch A 3 ahead"), ("j1", "")]


@pytest.mark.parametrize(("distance", "blocks"), [(16, 2), (17, 3), (1, 1), (-9, -2)])
@pytest.mark.parametrize("tag", ["vectorize", "unroll"])
def test_a_piece_of_code_asks_for_its_iterations(tag, distance, blocks):
    f = scaled()
    getattr(f["C"].prefetch("A", j, distance), tag)(j, 8)
    (_, outer, inner) = hints_of(f)
    assert outer == ("j0", f"prefetch A {blocks} ahead") and "prefetch" not in inner[1]
    assert "@llvm.prefetch" in f.llvm
    x = integers(9, 23)
    np.testing.assert_array_equal(f(x), 2 * x)


@pytest.mark.parametrize("tag", ["vectorize", "unroll"])
def test_iterations_that_ask_do_not_become_one_piece_of_code(tag):
    f = scaled()
    f["C"].split(j, 8).prefetch("A", "j1", 4)
    before = f.schedule
    with pytest.raises(tw.ScheduleError, match=r"'j1' become one piece of code, but 'A' is pref"):
        getattr(f["C"], tag)("j1")
    assert f.schedule == before


def test_subscripts_that_depend_on_data_are_not_followed():
    x = tw.input("x", [M], tw.float32)
    at = tw.input("at", [N], tw.int64)
    y = tw.computation("y", {i: N}, x[at[i]])
    f = tw.function("gather", inputs=[at, x], outputs=[y])
    f["y"].prefetch(x, i, 100).prefetch(at, i, 100)
    assert f.llvm.count("call void @llvm.prefetch") == 1
    np.testing.assert_array_equal(f(np.array([3, 0]), np.arange(4, dtype=np.float32)), [3, 0])


def test_hints_print_replay_and_are_in_the_key():
    f = scaled()
    plain = f.compile()["key"]
    f["C"].stream()
    streamed = f.compile()["key"]
    f["C"].prefetch("A", i, 4)
    both = f.compile()["key"]
    assert len({plain, streamed, both}) == 3
    assert str(f.schedule) == 'C.stream().prefetch("A", "i", 4)'
    g = scaled()
    f.schedule.apply_to(g)
    assert g.loops == f.loops
    f["C"].prefetch("A", i, 5)
    assert f.loops.count("prefetch") == 1 and "5 ahead" in f.loops


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("B", "i"), "C does not read 'B'"),
        (("A", "k"), "no loop named 'k'"),
        (("A", "i", 0), "between 1 and 1048576"),
        (("A", "i", 2.5), "must be an integer"),
        (("A", "j1"), "one piece of code"),
    ],
)
def test_arguments_that_make_no_sense(arguments, message):
    f = scaled()
    f["C"].vectorize(j, 8)
    with pytest.raises(tw.ScheduleError, match=message):
        f["C"].prefetch(*arguments)
