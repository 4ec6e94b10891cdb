"""Every instance of a statement runs once, whatever the map, the planner or a command says of it."""

import itertools

import numpy as np
import pytest

import tilewright as tw

N, M, P = tw.params("N M P")
i, j, r = tw.iters("i j r")
x = tw.input("x", [N], tw.float64)

#: Where a term is: at one r for some elements, for some sizes, or for all.
CONDITIONS = {
    "2r = i": 2 * r == i,
    "3r = i + 1": 3 * r == i + 1,
    "2r = N - 1": 2 * r == N - 1,
    "3r = N - 1": 3 * r == N - 1,
    "r = i": r == i,
    "r = 0": r == 0,
    "r = -1": r == -1,
}
MAPS = [
    "[i, r]",
    "[r, i]",
    "[-i, r]",
    "[floor(i/4), i, r]",
    "[floor(r/2), i, r]",
    "[i + r, r]",
    "[i, 2r]",
    "[2i, r]",
]


def reduction(condition, operation):
    return tw.computation("U", {i: 2 * N}, operation(x[r], over={r: N}, where=condition))


@pytest.mark.parametrize("condition", CONDITIONS.values(), ids=CONDITIONS)
@pytest.mark.parametrize("operation", [tw.sum, tw.max])
def test_elements_without_a_term_are_initialised(condition, operation):
    for times in MAPS:
        U = reduction(condition, operation)
        f = tw.function("up", outputs=[U])
        U.set_schedule(f"{{ U[i,r] -> {times} }}")
        for n in (1, 4, 5, 7):
            a = np.arange(1.0, n + 1)
            got = f(a, out=np.full(2 * n, 77.0))
            np.testing.assert_array_equal(got, f.evaluate(a), err_msg=times)


def test_a_temporary_without_terms_is_initialised_for_its_reader():
    U = reduction(2 * r == i, tw.sum)
    y = tw.computation("y", {i: 2 * N}, U[i] + 1)
    f = tw.function("f", outputs=[y])
    U.set_schedule("{ U[i,r] -> [0, i, r] }")
    y.set_schedule("{ y[i] -> [1, i, 0] }")
    np.testing.assert_array_equal(f(np.arange(1.0, 4.0)), [2, 1, 3, 1, 4, 1])


def test_a_map_written_for_the_terms_only():
    """It says nothing about the elements that have none."""
    U = reduction(2 * r == i, tw.sum)
    f = tw.function("f", outputs=[U])
    U.set_schedule("{ U[i,r] -> [t, r] : 2t = i }")
    np.testing.assert_array_equal(f(np.arange(1.0, 4.0)), [1, 0, 2, 0, 3, 0])


def test_a_map_in_pieces():
    U = reduction(2 * r == i, tw.sum)
    f = tw.function("f", outputs=[U])
    U.set_schedule("{ U[i,r] -> [0, i, r] : r <= 1; U[i,r] -> [1, -i, r] : r > 1 }")
    np.testing.assert_array_equal(f(np.arange(1.0, 6.0)), [1, 0, 2, 0, 3, 0, 4, 0, 5, 0])


def test_a_loop_over_a_reduced_iterator_stays_one_where_it_takes_one_value():
    U = reduction(2 * r == i, tw.sum)
    f = tw.function("f", outputs=[U])
    U.set_schedule("{ U[i,r] -> [i, r] }")
    assert [name for name, _ in f._loops("U")] == ["i", "r"]
    U.rfactor("r")
    a = np.arange(1.0, 6.0)
    np.testing.assert_array_equal(f(a), f.evaluate(a))


def test_initialisations_of_a_recurrence_that_the_planner_schedules():
    """E and its sum depend on each other, so isl finds the times; those of elements without terms, too."""
    E = tw.computation("E", {i: N, j: 3}, dtype=tw.float64)
    S = tw.computation("S", {i: N, j: 3}, dtype=tw.float64)
    S.define(None, tw.sum(E[r, j], over={r: (0, i)}, where=2 * r == j))
    E.define(None, S[i, j] + x[i])
    f = tw.function("f", outputs=[S, E])
    a = np.arange(1.0, 8.0)
    for got, expected in zip(f(a), f.evaluate(a), strict=True):
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("by", [1, -2])
def test_loops_that_isl_fails_at_are_made_otherwise(by):
    """isl 0.26 and before: "some src divs are unknown" where it separates these sets."""
    y = tw.input("y", [N], tw.float64)
    inside = (i < 3) & (j > i) & (j < M)
    B = tw.computation("B", {i: N, j: N - i}, [(inside, y[j] + 1), (~inside, y[j])])
    f = tw.function("f", outputs=[B])
    B.reverse(i).shift(j, by).tile(i, j, 3, 3)
    a = np.arange(7.0)
    np.testing.assert_array_equal(f(a, M=4), f.evaluate(a, M=4))


@pytest.mark.parametrize("command", ["set_schedule", "set_access"])
def test_a_map_over_a_parameter_that_the_function_lacks_is_refused(command):
    C = tw.computation("C", {i: N, j: M}, x[i])
    D = tw.computation("D", {i: N, j: M}, C[i, j])
    f = tw.function("f", outputs=[D])
    text = {"set_schedule": "{ C[i,j] -> [Q+i,j] }", "set_access": "{ C[i,j] -> b[Q+i,j] }"}[
        command
    ]
    for given in (text, f"[Q] -> {text}", f"[N, Q] -> {text}"):
        with pytest.raises(
            tw.ScheduleError, match=r"'Q' is no parameter .* its parameters are: N, M"
        ):
            getattr(f["C"], command)(given)


def test_a_map_may_use_the_function_s_parameters_without_listing_them():
    C = tw.computation("C", {i: N}, x[i])
    f = tw.function("f", outputs=[C])
    C.set_schedule("{ C[i] -> [N - i] }")
    np.testing.assert_array_equal(f(np.arange(4.0)), np.arange(4.0))


JUNK = [
    "and i mod 2 = 0 }",
    "]]",
    "}",
    "{ }",
    "; { }",
    "then [j,i]",
    "garbage",
    "\0",
    "\0more",
    "# no",
]
PLACES = {
    "domain": ("{ C[i,j] : 0 <= i < 3 and 0 <= j < 4 }", lambda text: tw.computation(text, i + j)),
    "set_schedule": ("{ C[i,j] -> [i,j] }", lambda text: scheduled()["C"].set_schedule(text)),
    "set_access": ("{ C[i,j] -> b[i,j] }", lambda text: scheduled()["C"].set_access(text)),
    "store_in": ("b[i,j]", lambda text: scheduled()["C"].store_in(text)),
    "piece": ("{ C[i,j] : 0 <= i < 1 and 0 <= j < 4 }", lambda text: whole().define(text, i)),
    "constraint": ("Q > 3", lambda text: tw.param("Q", text)),
}


def whole():
    return tw.computation("C", {i: 3, j: 4}, dtype=tw.int64)


def scheduled():
    C = tw.computation("C", {i: 3, j: 4}, i + j)
    D = tw.computation("D", {i: 3, j: 4}, C[i, j])
    return tw.function("f", outputs=[D])


@pytest.mark.parametrize("place", PLACES)
def test_all_of_a_text_is_read_or_refused(place):
    text, give = PLACES[place]
    give(text)
    give(f"\n {text}\t\n")
    for junk, space in itertools.product(JUNK, ("", " ", "\n")):
        with pytest.raises((tw.DeclarationError, tw.ScheduleError)) as refusal:
            give(text + space + junk)
        # The column, or the whole of what was taken for something else.
        said = str(refusal.value)
        assert "column" in said or "'garbage'" in said or place == "store_in", (junk, said)


def test_a_condition_that_isl_writes_as_one():
    """ "A or 1": the number stands where a truth value is needed."""
    y = tw.input("y", [N], tw.float64)
    inside = (i < M) & (j > i) & (i + j < N - 1)
    B = tw.computation("B", {i: N, j: N - i}, [(inside, y[j] + 1), (~inside, y[j])])
    f = tw.function("f", outputs=[B])
    f["B"].reverse(i).reverse(i).tile(i, j, 3, 2)
    assert "or 1" not in str(f.loops)
    a = np.arange(7.0)
    np.testing.assert_array_equal(f(a, M=4), f.evaluate(a, M=4))
