"""memory="registers": nothing of the buffer is left in memory, or an error says what keeps it there."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tilewright as tw

i, j, k = tw.iters("i j k")
SIZES = [(0, 1, 2), (1, 1, 1), (4, 16, 3), (13, 35, 19), (5, 16, 2), (1, 0, 1), (3, 3, 0)]


def matmul(n, m, q, dtype=tw.float32):
    a = tw.input("A", [n, q], dtype)
    b = tw.input("B", [q, m], dtype)
    c = tw.computation("C", {i: n, j: m}, tw.sum(a[i, k] * b[k, j], over={k: q}))
    return tw.function("matmul", outputs=[c]), c


def register_tile(c):
    c.tile(i, j, 4, 16).unroll("i1").vectorize("j1", 8).unroll("j10")
    return c.cache("C", "j0", memory="registers").reorder(k, "i1", "j10", "j11")


def check_matmul(function, sizes=SIZES, dtype=np.float32):
    generator = np.random.default_rng(0)
    for n, m, q in sizes:
        a = generator.integers(-8, 8, (n, q)).astype(dtype)
        b = generator.integers(-8, 8, (q, m)).astype(dtype)
        np.testing.assert_array_equal(function(a, b), a @ b)
        np.testing.assert_array_equal(function.evaluate(a, b), a @ b)


#: A term of the sum is added, by one instruction if the processor has it.
SUM = r"fadd <8 x float>|call <8 x float> @llvm[.]fma"


def innermost(llvm: str) -> str:
    """The basic block of the reduction."""
    (body,) = [block for block in re.split(r"\n(?=[\w.]+:)", llvm) if re.search(SUM, block)]
    return body


def test_a_tile_of_a_matrix_product_has_no_memory():
    function, c = matmul(8, 32, 5)
    register_tile(c)
    llvm = function.llvm
    assert "alloca" not in llvm and "tilewright_allocate" not in llvm
    body = innermost(llvm)
    assert body.count("phi <8 x float>") == 8
    assert "store" not in body
    assert len(re.findall(r"= load", body)) == 6  # 4 elements of A, 2 vectors of B
    check_matmul(function, [(8, 32, 5)])


def test_borders_stay_on_the_stack():
    function, c = matmul(*tw.params("N M K"))
    register_tile(c)
    assert "tilewright_allocate" not in function.llvm
    assert any(re.search(SUM, b) and "store" not in b for b in function.llvm.split("\n\n"))
    check_matmul(function)


@pytest.mark.parametrize("dtype", [tw.float64, tw.int32, tw.int64])
def test_other_types(dtype):
    function, c = matmul(8, 32, 5, dtype)
    register_tile(c)
    assert "alloca" not in function.llvm
    check_matmul(function, [(8, 32, 5)], np.dtype(dtype))


def test_a_window_of_scalars():
    n = tw.param("N", "N >= 1")
    a = tw.input("A", [n + 2], tw.int64)
    c = tw.computation("C", {i: n}, a[i] + a[i + 1] * 3 + a[i + 2])
    function = tw.function("window", outputs=[c])
    c.split(i, 4).unroll("i1")
    c.cache("A", "i0", memory="registers").unroll(i)
    for size in (1, 4, 5, 23):
        values = np.arange(size + 2) ** 2
        expected = values[:-2] + 3 * values[1:-1] + values[2:]
        np.testing.assert_array_equal(function(values), expected)


def test_what_is_computed_for_its_readers():
    n = tw.param("N")
    a = tw.input("A", [4 * n], tw.float32)
    b = tw.computation("B", {i: 4 * n}, a[i] * 2)
    c = tw.computation("C", {i: 4 * n}, b[i] + 1)
    function = tw.function("rows", outputs=[c])
    c.split(i, 4).vectorize("i1")
    b.compute_at(c, "i0")
    b.store_at(c, "i0", memory="registers")
    with pytest.raises(tw.ScheduleError, match=r"B\[i - 4 \* i0\] changes with loop 'i'; unroll"):
        function.compile()
    b.vectorize(i)
    assert "alloca" not in function.llvm
    values = np.arange(24, dtype=np.float32)
    np.testing.assert_array_equal(function(values), values * 2 + 1)


# ---- what is refused ----


def test_each_loop_is_asked_for_by_name():
    function, c = matmul(8, 32, 5)
    c.tile(i, j, 4, 16)
    local = c.cache("C", "j0", memory="registers").reorder(k, "i1", "j1")
    for command, loop in (("unroll", "i1"), ("vectorize", "j1")):
        with pytest.raises(tw.ScheduleError) as refusal:
            function.compile()
        message = str(refusal.value)
        assert 'C.cache("C", "j0", memory="registers")' in message
        assert f"the place of C_local[i1, j1] changes with loop '{loop}'" in message
        assert f"unroll or vectorize '{loop}'" in message
        assert refusal.value.location is not None
        getattr(local, command)(loop)
    with pytest.raises(tw.ScheduleError, match="unroll or vectorize 'i1'"):
        function.compile()  # the copy-out has loops of its own
    c.unroll("i1").vectorize("j1")
    function.compile()
    assert "alloca" not in function.llvm
    assert "# vector(16)" in function.loops  # looking at the loops was never refused


def test_what_is_too_large():
    _, c = matmul(64, 256, 5)
    c.tile(i, j, 8, 256)
    with pytest.raises(tw.ScheduleError, match=r"8192 bytes are more than registers hold .*4096"):
        c.cache("C", "j0", memory="registers")


def test_what_has_no_constant_size():
    _, c = matmul(*tw.params("N M K"))
    with pytest.raises(tw.ScheduleError, match=r"float32\[1, M\], and registers need a constant"):
        c.cache("C", i, memory="registers")


def test_vectors_that_overlap_in_part():
    n = tw.param("N")
    a = tw.input("A", [8 * n + 8], tw.float32)
    c = tw.computation("C", {i: 8 * n}, a[i] + a[i + 1])
    function = tw.function("shifted", outputs=[c])
    c.split(i, 8).vectorize("i1")
    c.cache("A", "i0", memory="registers").unroll(i)
    overlap = r"the vectors A_cache\[0 : 8\] and A_cache\[1 : 9\] overlap in part"
    with pytest.raises(tw.ScheduleError, match=overlap):
        function.compile()


def test_threads_share_no_registers():
    function, c = matmul(8, 32, 5)
    c.tile(i, j, 4, 16).parallelize("i1")
    c.cache("C", "j0", memory="registers")
    with pytest.raises(tw.ScheduleError, match="threads of the parallel loop 'i1' would share"):
        function.compile()


def test_threads_share_no_registers_by_atomic_updates():
    a = tw.input("A", [4, 9], tw.float64)
    c = tw.computation("C", {i: 4}, tw.sum(a[i, k], over={k: 9}))
    function = tw.function("rows", outputs=[c])
    c.cache("C", i, memory="registers").atomic().parallelize(k)
    with pytest.raises(tw.ScheduleError, match="threads of the parallel loop 'k' would share"):
        function.compile()


def test_computed_subscripts():
    n = tw.param("N")
    table = tw.input("table", [16], tw.int64)
    index = tw.input("index", [n], tw.int64)
    c = tw.computation("C", {i: n}, table[index[i]])
    function = tw.function("gather", outputs=[c])
    c.cache("table", i, memory="registers").unroll(i)
    with pytest.raises(tw.ScheduleError, match="are computed when it runs"):
        function.compile()


def test_the_memory_is_part_of_the_schedule():
    function, c = matmul(8, 32, 5)
    register_tile(c)
    assert 'C_local = C.cache("C", "j0", memory="registers")' in str(function.schedule)
    again, _ = matmul(8, 32, 5)
    again.set_schedule(tw.Schedule.from_json(function.schedule.to_json()))
    assert again.llvm == function.llvm
    other, c = matmul(8, 32, 5)
    c.tile(i, j, 4, 16).unroll("i1").vectorize("j1", 8).unroll("j10")
    c.cache("C", "j0", memory="heap").reorder(k, "i1", "j10", "j11")
    assert str(function.schedule.diff(other.schedule)).count("memory=") == 2
    assert function.compile()["key"] != other.compile()["key"]
