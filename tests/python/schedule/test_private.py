"""private(i): each iteration of a loop has a buffer of its own."""

import numpy as np
import pytest

import tilewright as tw

i, j, k = tw.iters("i j k")
N, M, K = tw.params("N M K")

rng = np.random.default_rng(0)


def scanned(**options):
    """C[i, j] = S[i, j] / (S[i, M - 1] + 1), where S is a running sum along each row."""
    A = tw.input("A", [N, M], tw.float64)
    S = tw.computation(
        "S",
        {i: N, j: M},
        lambda S: [(j == 0, A[i, j]), (j > 0, S[i, j - 1] + A[i, j])],
        dtype=tw.float64,
    )
    C = tw.computation("C", {i: N, j: M}, S[i, j] / (S[i, M - 1] + 1))
    return tw.function("f", outputs=[C], default_schedule=False, **options)


def in_rows(f):
    f["C"].after("S", "i")
    return f


def wanted(a):
    s = np.cumsum(a, axis=1)
    return s / (s[:, -1:] + 1)


def check(f, *shapes):
    for shape in shapes or ((7, 5), (1, 1), (0, 3), (3, 0)):
        a = rng.random(shape)
        np.testing.assert_allclose(f(a), wanted(a), rtol=1e-12)


class TestRecurrences:
    def test_a_row_for_each_iteration(self):
        f = in_rows(scanned())
        f["S"].private("i")
        check(f)
        lines = [line.strip() for line in str(f.loops).splitlines()]
        loop = next(n for n, line in enumerate(lines) if line.startswith("for i "))
        assert any(line.startswith("S = empty((1, M)") for line in lines[loop:]), f.loops

    def test_parallel_rows(self):
        f = in_rows(scanned())
        f["S"].private("i").parallelize("i")
        f["C"].parallelize("i")
        check(f, (50, 33), (1, 4))

    def test_blocks_of_rows(self):
        f = scanned()
        f["S"].split("i", 4)
        f["C"].split("i", 4)
        f["C"].after("S", "i0")
        f["S"].private("i0")
        check(f, (9, 5), (4, 4), (3, 7))

    def test_on_the_stack_where_the_size_is_known(self):
        A = tw.input("A", [N, 8], tw.float32)
        S = tw.computation("S", {i: N, j: 8}, 2 * A[i, j])
        C = tw.computation("C", {i: N, j: 8}, S[i, 7 - j] + S[i, j])
        f = tw.function("f", outputs=[C], default_schedule=False)
        f["C"].after("S", "i")
        f["S"].private("i", memory="stack")
        a = rng.random((5, 8), np.float32)
        np.testing.assert_array_equal(f(a), 2 * a[:, ::-1] + 2 * a)
        with pytest.raises(tw.ScheduleError, match="stack"):
            in_rows(scanned())["S"].private("i", memory="stack")


class TestSums:
    def test_a_scalar_for_each_row(self):
        A = tw.input("A", [N, M], tw.float64)
        total = tw.computation("total", {i: N}, tw.sum(A[i, k], over={k: M}))
        C = tw.computation("C", {i: N, j: M}, A[i, j] / total[i])
        f = tw.function("f", outputs=[C], default_schedule=False)
        f["C"].after("total", "i")
        f["total"].private("i", memory="registers").parallelize("i")
        f["C"].parallelize("i").vectorize("j", 4)
        a = rng.random((6, 9)) + 1
        np.testing.assert_allclose(f(a), a / a.sum(axis=1, keepdims=True), rtol=1e-12)

    def test_not_inside_its_terms(self):
        A = tw.input("A", [N, M], tw.float64)
        total = tw.computation("total", {i: N}, tw.sum(A[i, k], over={k: M}))
        C = tw.computation("C", {i: N}, 2 * total[i])
        f = tw.function("f", outputs=[C], default_schedule=False)
        f["C"].after("total", "i")
        with pytest.raises(tw.ScheduleError, match="begins or ends outside of that loop"):
            f["total"].private("k")


def scale_row(part, row):
    row[1:] = 3 * row[1:] + part.sum()


def block(behind=0):
    """T[i, :], written by a function, begins with a row of A and takes the sum of two; C reads row i + behind of it."""
    A = tw.input("A", [N + 2, M], tw.int64)
    (T,) = tw.block(
        "S", scale_row, {i: N}, reads={"part": A.part[i : i + 2, :]}, updates={"T": A.part[i, :]}
    )
    C = tw.computation("C", {i: N - behind, j: M}, T[i + behind, j] + 1)
    return tw.function("f", outputs=[C], context=[N >= behind], default_schedule=False)


def check_block(f):
    for n, m in ((0, 3), (1, 1), (3, 0), (9, 5)):
        a = rng.integers(0, 9, (n + 2, m))
        rows = a[:n].copy()
        for row in range(n):
            scale_row(a[row : row + 2], rows[row])
        np.testing.assert_array_equal(f(a), rows + 1)


class TestBlocks:
    """What a function writes has the loops of its call."""

    def test_a_row_for_each_call(self):
        f = block()
        f["C"].after("S", "i")
        f["T"].private("i")
        assert "  T = empty((1, M)" in str(f.loops)
        check_block(f)
        f["S"].parallelize("i")
        f["C"].parallelize("i")
        check_block(f)

    def test_rows_of_several_calls(self):
        f = block()
        for name in ("S", "C"):
            f[name].split("i", 4)
        f["C"].after("S", "i0")
        f["T"].private("i0")
        assert "  T = empty((4, M)" in str(f.loops)
        check_block(f)

    def test_refusals(self):
        with pytest.raises(tw.ScheduleError, match="C reads it outside of that loop; fuse them"):
            block()["T"].private("i")
        with pytest.raises(tw.ScheduleError, match="no loop named 'j'; the loops are: i"):
            block()["T"].private("j")
        f = block(1)
        with pytest.raises(tw.IllegalScheduleError, match=r"T is private to each"), f.transaction():
            f["S"].shift("i", -1)
            f["C"].after("S", "i")
            f["T"].private("i")
            f["C"].shift("i", 1)


def in_turns(**options):
    """Two values that take turns in one place: T = 2 A, U = T + 1, C = U * U."""
    A = tw.input("A", [N, M], tw.float64)
    T = tw.computation("T", {i: N, j: M}, 2 * A[i, j])
    U = tw.computation("U", {i: N, j: M}, T[i, j] + 1)
    C = tw.computation("C", {i: N, j: M}, U[i, j] * U[i, j])
    f = tw.function("f", outputs=[C], default_schedule=False, **options)
    for name in ("T", "U", "C"):
        f[name].split("j", 8)
    f["U"].after("T", "j0")
    f["C"].after("U", "j0")
    return f


class TestPlaces:
    """Where store_in has put several computations in one buffer, it is private for all of them."""

    def test_a_strip_of_a_row_for_all_that_take_turns_in_it(self):
        f = in_turns()
        for name in ("T", "U"):
            f[name].store_in("turns[j]")
        f["T"].private("j0")
        lines = [line.strip() for line in str(f.loops).splitlines()]
        assert "turns = empty((8,), float64)" in lines
        assert not any("U = empty" in line or "T = empty" in line for line in lines)
        for shape in ((3, 20), (1, 8), (0, 3), (2, 1)):
            a = rng.random(shape)
            np.testing.assert_array_equal(f(a), (2 * a + 1) ** 2)

    def test_each_thread_has_its_own(self):
        f = in_turns()
        for name in ("T", "U"):
            f[name].store_in("turns[j]")
        with pytest.raises(tw.IllegalScheduleError), f.transaction():
            for name in ("T", "U", "C"):
                f[name].parallelize("i")
        with f.transaction():
            f["U"].private("j0")
            for name in ("T", "U", "C"):
                f[name].parallelize("i")
                f[name].vectorize("j1", 8)
        a = rng.random((40, 37))
        np.testing.assert_array_equal(f(a), (2 * a + 1) ** 2)

    def test_a_place_of_one_computation(self):
        f = in_turns()
        f["U"].store_in("line[j % 8]")
        f["U"].private("i")
        assert "line = empty((8,), float64)" in str(f.loops)
        a = rng.random((5, 21))
        np.testing.assert_array_equal(f(a), (2 * a + 1) ** 2)

    def test_a_recurrence_in_one_element_of_each_lane(self):
        n = tw.param("N", "N >= 1")
        A = tw.input("A", [n, M], tw.float64)
        first = tw.computation("first", {j: M}, tw.cast(0.5, tw.float64))
        S = tw.computation(
            "S",
            {j: M, i: n},
            lambda S: tw.select(i == 0, first[j], S[j, i - 1]) + A[i, j],
            dtype=tw.float64,
        )
        C = tw.computation("C", {j: M}, S[j, n - 1])
        f = tw.function("f", outputs=[C], default_schedule=False)
        with f.transaction():
            f.set_schedule(
                "[N, M] -> { first[j] -> [b = floor(j/4), 0, 0, 0, j];"
                " S[j, i] -> [b = floor(j/4), 1, i, 0, j]; C[j] -> [b = floor(j/4), 2, 0, 0, j] }"
            )
            f["first"].store_in("s[j]")
            f["S"].store_in("s[j]")
            f["S"].private("b")
            for name in ("first", "S", "C"):
                f[name].vectorize("j", 4)
                f[name].parallelize("b")
        assert "s = empty((4,), float64)" in str(f.loops)
        assert "chosen" not in str(f.loops)  # both lie in one place: one read
        a = rng.random((7, 30))
        np.testing.assert_allclose(f(a), 0.5 + a.sum(axis=0), rtol=1e-14)

    def test_what_is_outside_of_the_loop_cannot_share_it(self):
        A = tw.input("A", [N], tw.float64)
        T = tw.computation("T", {i: N}, 2 * A[i])
        U = tw.computation("U", {i: N}, T[i] + 1)
        V = tw.computation("V", {i: N}, U[i] * 3)
        C = tw.computation("C", {i: N}, V[i] + U[i])
        f = tw.function("f", outputs=[C], default_schedule=False)
        f["U"].after("T", "i")
        for name in ("T", "V"):
            f[name].store_in("turns[i]")
        with pytest.raises(tw.ScheduleError, match="V is stored in the same buffer outside of"):
            f["T"].private("i")

    def test_nothing_else_can_be_put_there_afterwards(self):
        f = in_turns()
        f["T"].store_in("turns[j]")
        f["T"].private("j0")
        with pytest.raises(tw.ScheduleError, match="private to an iteration of loop 'j0'"):
            f["U"].store_in("turns[j]")

    def test_a_value_of_another_iteration_is_refused(self):
        A = tw.input("A", [N], tw.float64)
        B = tw.computation(
            "B",
            {i: N},
            lambda B: [(i == 0, A[0]), (i > 0, B[i - 1] + A[i])],
            dtype=tw.float64,
        )
        C = tw.computation("C", {i: N}, 2 * B[i])
        f = tw.function("f", outputs=[C], default_schedule=False)
        f["C"].after("B", "i")
        f["B"].store_in("one[]")
        with pytest.raises(tw.IllegalScheduleError, match="private to each"):
            f["B"].private("i")


class TestRefusals:
    def test_read_outside_of_the_loop(self):
        with pytest.raises(tw.ScheduleError, match="C reads it outside of that loop; fuse them"):
            scanned()["S"].private("i")

    def test_read_in_another_iteration(self):
        A = tw.input("A", [N], tw.float64)
        S = tw.computation("S", {i: N}, A[i] * 2)
        C = tw.computation("C", {i: N}, S[tw.maximum(i - 1, 0)] + S[i])
        f = tw.function("f", outputs=[C], default_schedule=False)
        f["C"].after("S", "i")
        with pytest.raises(tw.IllegalScheduleError, match="private to each"):
            f["S"].private("i")
        a = rng.random(5)
        np.testing.assert_allclose(f(a), 2 * a[np.maximum(np.arange(5) - 1, 0)] + 2 * a)

    def test_a_recurrence_along_the_loop(self):
        f = in_rows(scanned())
        with pytest.raises(tw.ScheduleError):
            f["S"].private("j")

    def test_commands_that_move_readers_out(self):
        f = in_rows(scanned())
        f["S"].private("i")
        with pytest.raises(tw.ScheduleError, match="outside of that loop"):
            f["C"].fission("i")

    def test_an_output(self):
        with pytest.raises(tw.ScheduleError, match="C is an output"):
            in_rows(scanned())["C"].private("i")

    def test_computed_in_its_reader(self):
        A = tw.input("A", [N], tw.float64)
        S = tw.computation("S", {i: N}, A[i] * 2)
        C = tw.computation("C", {i: N}, S[i])
        f = tw.function("f", outputs=[C], default_schedule=False)
        f["S"].compute_at("C", "i")
        with pytest.raises(tw.ScheduleError, match="store_at"):
            f["S"].private("i")

    def test_no_such_loop(self):
        with pytest.raises(tw.ScheduleError, match="no loop"):
            in_rows(scanned())["S"].private("x")

    def test_no_such_memory(self):
        with pytest.raises(tw.ScheduleError, match="the memory must be"):
            in_rows(scanned())["S"].private("i", memory="fast")

    def test_a_buffer_of_two(self):
        A = tw.input("A", [N], tw.float64)
        S = tw.computation("S", {i: N}, A[i] * 2)
        T = tw.computation("T", {i: N}, A[i] * 3)
        C = tw.computation("C", {i: N}, S[i] + T[i])
        f = tw.function("f", outputs=[C], default_schedule=False)
        f["T"].after("S", "i")
        f["C"].after("T", "i")
        f["S"].private("i")
        with pytest.raises(tw.ScheduleError, match="is private to an iteration of loop 'i'"):
            f["T"].store_in("S[i]")


class TestAsAValue:
    def test_replays_and_prints(self):
        f = in_rows(scanned())
        f["S"].private("i")
        assert 'S.private("i"' in str(f.schedule)
        other = scanned()
        f.schedule.apply_to(other)
        assert str(other.loops) == str(f.loops)
        assert tw.Schedule.from_json(f.schedule.to_json()) == f.schedule

    def test_follows_the_loop(self):
        """The buffer is that of the loop that was named, wherever it goes."""
        A = tw.input("A", [N, M], tw.float64)
        S = tw.computation("S", {i: N, j: M}, A[i, j] * 2)
        C = tw.computation("C", {i: N, j: M}, S[i, j] + 1)
        f = tw.function("f", outputs=[C], default_schedule=False)
        f["C"].after("S", "i")
        f["S"].private("i")
        f["S"].split("j", 4)
        a = rng.random((6, 5))
        np.testing.assert_allclose(f(a), 2 * a + 1)
        with pytest.raises(tw.ScheduleError, match="outside of that loop"):
            f["S"].interchange("i", "j0")

    def test_gpu(self):
        f = in_rows(scanned(target="gpu-emulator"))
        f["S"].private("i")
        check(f, (5, 4))
