"""join: two loops as one, the inverse of split."""

from __future__ import annotations

import numpy as np
import programs
import pytest
from programs import check
from restructured import SIZES, cube, i, illegal, integers, j, k, nonsense, pair, t

import tilewright as tw

SHORT_ROWS = [(0, 3), (3, 0), (1, 1), (7, 1), (7, 5), (5, 8), (13, 21)]


def points(width: int | None = None) -> programs.Program:
    """Of a known number of columns, or of any."""
    n, m = tw.params("N M")
    a = tw.input("A", [n, width or m], tw.int32)
    c = tw.computation("C", {i: n, j: width or m}, 3 * a[i, j] + tw.cast(100 * i + j, tw.int32))

    def numpy(a: np.ndarray) -> np.ndarray:
        rows, columns = np.indices(a.shape)
        return (3 * a + 100 * rows + columns).astype(np.int32)

    return programs.Program(
        tw.function("points", outputs=[c]), lambda n, m: (integers((n, width or m)),), numpy
    )


def times(program: programs.Program, **sizes: int) -> list[tuple[int, ...]]:
    """The values of the loops of C, in the order of its instances."""
    pairs = program.function["C"].schedule_map.pairs(**sizes)
    return [tuple(time[1::2]) for _, time in sorted(pairs)]


class TestNumbers:
    """An extent is a number: the new loop is one like any other."""

    def test_the_inner_one(self):
        program = points(3)
        program.function["C"].join(i, j)
        assert program.function["C"].loops == ("ij",)
        assert times(program, N=4) == [(x,) for x in range(12)]
        check(program, *SHORT_ROWS)
        program.function["C"].split("ij", 7).vectorize("ij1", 8).parallelize("ij0")
        check(program, *SHORT_ROWS)

    def test_what_split_made(self):
        program = points()
        program.function["C"].split(i, 4).join("i0", "i1", i)
        assert program.function["C"].loops == ("i", "j")
        assert times(program, N=9, M=1) == [(x, 0) for x in range(9)]
        program.function["C"].split(j, "(M + 1) // 2").join("j0", "j1", j)
        assert times(program, N=1, M=9) == [(0, x) for x in range(9)]
        check(program, *SIZES)

    def test_the_outer_one(self):
        """Each of its values has the inner loop's iterations, however many these are."""
        program = cube()
        c = program.function["C"]
        c.reorder(k, i, j).join(k, i)
        assert c.loops == ("ki", "j")
        assert times(program, N=5, M=1) == [(5 * z + y, 0) for y in range(5) for z in range(3)]
        c.split("ki", 4).parallelize("ki0")
        check(program, *SIZES)

    def test_loops_that_do_not_begin_at_zero(self):
        n = tw.param("N")
        a = tw.input("A", [n, 9], tw.int32)
        c = tw.computation("C", {i: (2, n), j: (3, 8)}, a[i, j] + 1)
        d = tw.computation("D", {i: (2, n)}, c[i, 3] + c[i, 7])
        out = tw.computation("E", {i: n}, lambda e: [(i >= 2, d[i]), (i < 2, 0)], dtype=tw.int32)
        f = tw.function("f", outputs=[out])
        f["C"].join(i, j)
        assert sorted(time[1] for _, time in f["C"].schedule_map.pairs(N=4)) == list(range(10, 20))
        given = integers((6, 9))
        wanted = np.where(np.arange(6) >= 2, given[:, 3] + given[:, 7] + 2, 0)
        np.testing.assert_array_equal(f(given), wanted)

    def test_tags(self):
        program = points(4)
        c = program.function["C"].parallelize(i).parallelize(j).join(i, j)
        assert c.tags == {"ij": "parallel"}
        for tag, message in (
            ("parallelize", "tag the loop that they"),
            ("vectorize", "is a vector loop"),
        ):
            program = points(4)
            getattr(program.function["C"], tag)(i if tag == "parallelize" else j)
            nonsense(program, lambda f: f["C"].join(i, j), message)


class TestParameters:
    """Both extents are parameters: the loops are counted through."""

    def test_the_order_is_that_of_the_loops(self):
        program = points()
        program.function["C"].join(i, j)
        assert program.function["C"].loops == ("ij",)
        check(program, *SHORT_ROWS)
        program = programs.prefix()
        check(program, *SIZES)

    @pytest.mark.parametrize("size", [1, 3, 8, 64])
    def test_strips(self, size):
        program = points()
        program.function["C"].join(i, j).split("ij", size)
        assert program.function["C"].loops == ("ij0", "ij1")
        check(program, *SHORT_ROWS)

    def test_vectors_threads_and_copies(self):
        program = points()
        program.function["C"].join(i, j).parallelize("ij")
        check(program, *SHORT_ROWS)
        program.function["C"].vectorize("ij", 8)
        assert program.function["C"].tags == {"ij0": "parallel", "ij1": "vector(8)"}
        assert str(program.function.loops).count("# vector(8)") == 1
        check(program, *SHORT_ROWS)
        program = points()
        program.function["C"].join(i, j).split("ij", 4, "s", "r").unroll("r")
        assert program.function["C"].tags == {"r": "unroll(4)"}
        check(program, *SHORT_ROWS)

    def test_iterations_are_as_many_as_the_product(self):
        """7 rows of 5 are 35 iterations, which 5 strips of 8 hold; rows of their own would take 7."""
        program = points()
        program.function["C"].join(i, j).vectorize("ij", 8)
        text = str(program.function.loops)
        assert "(ij0_iterations + 7) // 8" in text, text

    def test_three_loops(self):
        n, m, q = tw.params("N M Q")
        a = tw.input("A", [n, m, q], tw.int32)
        c = tw.computation(
            "C", {i: n, j: m, k: q}, a[i, j, k] + tw.cast(100 * i + 10 * j, tw.int32)
        )
        f = tw.function("f", outputs=[c])
        f["C"].join(i, j).join("ij", k, "all").vectorize("all", 8).parallelize("all0")
        for shape in ((3, 5, 3), (2, 1, 7), (4, 0, 2), (2, 3, 17), (5, 1, 1)):
            given = integers(shape)
            rows, columns, _ = np.indices(shape)
            np.testing.assert_array_equal(f(given), given + 100 * rows + 10 * columns)

    def test_terms_of_a_sum(self):
        n, m, q = tw.params("N M Q")
        a = tw.input("A", [n, m, q], tw.int64)
        c = tw.computation("C", {i: n}, tw.sum(a[i, j, k], over={j: m, k: q}))
        f = tw.function("f", outputs=[c], default_schedule=False)
        f["C"].join(j, k).vectorize("jk", 4)
        for shape in ((3, 5, 3), (2, 1, 7), (4, 0, 2), (3, 2, 1)):
            given = integers(shape, np.int64)
            np.testing.assert_array_equal(f(given), given.sum((1, 2)))
        nonsense_of(f, lambda f: f["C"].join(i, "jk0"), "cut into strips")

    def test_pieces_and_shared_loops(self):
        """Other statements at the first iteration do not leave the loop."""
        n, m = tw.params("N M")
        a = tw.input("A", [n, m], tw.int32)
        b = tw.computation(
            "B",
            {i: n, j: m},
            lambda b: [(j == 0, a[i, j]), (j > 0, 2 * a[i, j] - a[i, j - 1])],
            dtype=tw.int32,
        )
        c = tw.computation("C", {i: n, j: m}, b[i, j] + 1)
        f = tw.function("f", outputs=[c], default_schedule=False)
        for name in ("B", "C"):
            f[name].join(i, j)
        f["C"].after("B", "ij")
        for name in ("B", "C"):
            f[name].vectorize("ij", 4)
        assert str(f.loops).count("# vector(4)") == 1
        for shape in SHORT_ROWS:
            given = integers(shape)
            wanted = 2 * given + 1
            wanted[:, 1:] -= given[:, :-1]
            wanted[:, :1] -= given[:, :1]
            np.testing.assert_array_equal(f(given), wanted)

    def test_the_schedule_is_a_value(self):
        program = points()
        program.function["C"].join(i, j).vectorize("ij", 8).parallelize("ij0")
        text = 'C.join("i", "j").vectorize("ij", 8).parallelize("ij0")'
        assert str(program.function.schedule) == text
        again = points()
        tw.Schedule.from_json(program.function.schedule.to_json()).apply_to(again.function)
        assert again.function.schedule == program.function.schedule


def nonsense_of(f: tw.Function, command: object, message: str) -> None:
    before = str(f.loops)
    with pytest.raises(tw.ScheduleError, match=message):
        command(f)  # type: ignore[operator]
    assert str(f.loops) == before


def scan() -> programs.Program:
    """A running sum along each row."""
    n, m = tw.params("N M")
    a = tw.input("A", [n, m], tw.int32)
    c = tw.computation(
        "C",
        {i: n, j: m},
        lambda c: [(j == 0, a[i, j]), (j > 0, c[i, j - 1] + a[i, j])],
        dtype=tw.int32,
    )
    return programs.Program(
        tw.function("scan", outputs=[c]),
        lambda n, m: (integers((n, m)),),
        lambda a: np.cumsum(a, axis=1, dtype=np.int32),
    )


class TestLegality:
    def test_a_recurrence_keeps_its_order(self):
        program = scan()
        program.function["C"].join(i, j).split("ij", 4)
        check(program, *SHORT_ROWS)

    @pytest.mark.parametrize(
        "command", [lambda c: c.vectorize("ij", 4), lambda c: c.parallelize("ij")]
    )
    def test_what_a_loop_carries(self, command):
        program = scan()
        program.function["C"].join(i, j)
        witness = illegal(program, lambda f: command(f["C"]))
        assert witness is None or "C" in str(witness)
        program = scan()
        program.function["C"].interchange(i, j).join(j, i)
        illegal(program, lambda f: f["C"].parallelize("ji"))
        check(program, *SHORT_ROWS)

    def test_strips_that_were_legal_are_asked_again(self):
        program = scan()
        program.function["C"].join(i, j).split("ij", 4)
        illegal(program, lambda f: f["C"].vectorize("ij1"))
        illegal(program, lambda f: f["C"].parallelize("ij0"))


class TestRefusals:
    @pytest.mark.parametrize(
        ("command", "message"),
        [
            (lambda f: f["C"].join(j, i), "directly outside"),
            (lambda f: f["C"].join(i, i), "given twice"),
            (lambda f: f["C"].join(i, "x"), "no loop named 'x'"),
            (lambda f: f["C"].join(i, j, "9"), "cannot name a loop"),
        ],
    )
    def test_what_makes_no_sense(self, command, message):
        nonsense(points(), command, message)

    @pytest.mark.parametrize(
        ("command", "message"),
        [
            (lambda f: f["C"].shift("ij", 1), "knows no product"),
            (lambda f: f["C"].split("ij", "N"), "knows no product"),
            (lambda f: f["C"].gpu_block("ij"), "knows no product"),
            (lambda f: f["C"].vectorize("ij"), "give a size"),
            (lambda f: f["C"].apply_schedule("{ [ij] -> [2 ij] }"), "apply the map before join"),
        ],
    )
    def test_what_needs_a_product(self, command, message):
        program = points()
        program.function["C"].join(i, j)
        nonsense(program, command, message)

    @pytest.mark.parametrize(
        ("command", "message"),
        [
            (lambda f: f["C"].split("ij1", 2), "cut once"),
            (lambda f: f["C"].parallelize("ij1"), "loop over them"),
            (lambda f: f["C"].join("ij0", "ij1"), "cut into strips"),
        ],
    )
    def test_strips_are_not_cut(self, command, message):
        program = points()
        program.function["C"].join(i, j).split("ij", 4)
        nonsense(program, command, message)

    def test_bounds_that_depend(self):
        nonsense(programs.triangle(), lambda f: f["C"].join(i, j), "depend on those outside")

    def test_a_sum_begins_between(self):
        nonsense(programs.matmul(), lambda f: f["C"].join(j, k), "begins and ends between them")

    @pytest.mark.parametrize(
        ("order", "joined"),
        [(("k0", "k10", "k11"), ("k10", "k11")), (("k0", "k11", "k10"), ("k11", "k10"))],
    )
    def test_a_loop_of_one_iteration_belongs_to_the_terms_or_not(self, order, joined):
        """Strips of three have one part of four; so has the loop over what comes of them."""
        program = programs.matmul()
        program.function["C"].split(k, 3).split("k1", 4).reorder(i, j, *order).join(*joined)
        check(program)
        program = programs.matmul()
        program.function["C"].split(k, 3).split("k1", 4).reorder(j, "k10", "k0").join(j, "k10")
        check(program)

    def test_inside_other_loops(self):
        program = pair()
        program.function["B"].join(i, j)
        nonsense(program, lambda f: f["B"].compute_at("C", i), "runs inside the loops of C")
        program = pair()
        program.function["B"].join(i, j)
        nonsense(program, lambda f: f["C"].after("B", t), "no loop named 't'")
        program.function["C"].split(j, 4)
        nonsense(program, lambda f: f["B"].after("C", i), "share some of these only")
