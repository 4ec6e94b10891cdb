"""`tw.checked`: a subscript that is asked for, in what reads nothing there."""

from __future__ import annotations

import pathlib
import pickle

import numpy as np
import pytest

import tilewright as tw
from compiled_c import COMPILERS, CompiledC

N, M = tw.param("N"), tw.param("M", minimum=1)
i, p = tw.iters("i p")
at = tw.input("at", [M], tw.int64)
v = tw.input("v", [M], tw.float64)
old = tw.input("old", [N], tw.float64)
OUTSIDE = r"subscript 9 .*axis 0 of .?out.* size 5"


def scatter(at: tw.Input = at, **options: bool) -> tw.Function:
    """The last write to each element."""
    place = tw.checked(at[p], N, array="out")
    last = tw.fold(lambda s, value: value, old[i], v[p], over={p: M}, where=place == i)
    return tw.function("scatter", outputs=[tw.computation("out", {i: N}, last)], **options)


def accumulated() -> tw.Function:
    """A histogram as equations: each element after each p."""
    h = tw.computation("h", {p: M, i: N}, dtype=tw.float64)
    before = tw.select(p > 0, h[p - 1, i], old[i])
    h.define(None, tw.select(tw.checked(at[p], N, array="out") == i, before + v[p], before))
    return tw.function("histogram", outputs=[tw.computation("out", {i: N}, h[M - 1, i])])


PLACES = np.array([3, 1, 3, 0])
VALUES = np.array([1.0, 2.0, 4.0, 8.0])


def test_inside_it_is_the_subscript() -> None:
    wanted = [8, 2, 0, 4, 0]
    for f in (scatter(), scatter(fast_math=True)):
        assert f(PLACES, VALUES, np.zeros(5)).tolist() == wanted
        assert f.evaluate(PLACES, VALUES, np.zeros(5)).tolist() == wanted
    f = accumulated()
    given = {"at": PLACES, "v": VALUES, "old": np.ones(5)}
    assert f(**given).tolist() == f.evaluate(**given).tolist() == [9, 3, 1, 6, 1]


@pytest.mark.parametrize("wrong", [9, -1, 5, -(2**63), 2**63 - 1])
def test_outside_it_is_an_error(wrong: int) -> None:
    places = np.array([3, wrong, 3, 0])
    given = {"at": places, "v": VALUES, "old": np.zeros(5)}
    for f in (scatter(), accumulated()):
        for run in (f, f.evaluate):
            with pytest.raises(tw.SubscriptError, match=rf"subscript {wrong} .*axis 0 of .?out"):
                run(**given)


def test_the_error_is_at_the_line_that_asks() -> None:
    with pytest.raises(tw.SubscriptError, match=OUTSIDE) as caught:
        scatter()(np.array([9]), VALUES[:1], np.zeros(5))
    assert caught.value.location is not None
    assert "tw.checked(at[p], N" in caught.value.location.text
    with pytest.raises(tw.SubscriptError, match=OUTSIDE):
        scatter().evaluate(np.array([9]), VALUES[:1], np.zeros(5))


def test_an_array_without_a_name() -> None:
    total = tw.sum(v[p], over={p: M}, where=tw.checked(at[p], N, axis=1) == i)
    f = tw.function("f", outputs=[tw.computation("out", {i: N}, total)]).fix(N=5)
    for run in (f, f.evaluate):
        with pytest.raises(tw.SubscriptError, match=r"subscript 9 .*axis 1 of an array .*size 5"):
            run(at=np.array([9]), v=VALUES[:1])


def test_only_where_it_is_asked() -> None:
    mask = tw.input("mask", [M], tw.bool)
    place = tw.checked(at[p], N, array="out")
    where = tw.select(mask[p], place == i, False)
    total = tw.sum(v[p], over={p: M}, where=where)
    f = tw.function("f", outputs=[tw.computation("out", {i: N}, total)]).fix(N=5)
    places, asked = np.array([3, 9, 3, 0]), np.array([True, False, True, True])
    given = {"mask": asked, "at": places, "v": VALUES}
    assert f(**given).tolist() == f.evaluate(**given).tolist() == [8, 0, 0, 5, 0]
    with pytest.raises(tw.SubscriptError, match=OUTSIDE):
        f(**{**given, "mask": np.ones(4, bool)})


def test_an_unsigned_subscript_is_shown_as_it_is() -> None:
    f = scatter(tw.input("at", [M], tw.uint64))
    for run in (f, f.evaluate):
        with pytest.raises(tw.SubscriptError, match=r"subscript 18446744073709551615 "):
            run(at=np.array([2**64 - 1], np.uint64), v=VALUES[:1], old=np.zeros(5))


def test_what_cannot_be_outside_is_not_checked() -> None:
    f = scatter(tw.input("at", [M], tw.uint8)).fix(N=256)
    assert "assert" not in f.loops
    assert "assert 0 <= index < N" in scatter().loops


@pytest.mark.parametrize("command", ["vectorize", "parallelize", "reorder", "tile"])
def test_under_commands(command: str) -> None:
    f = accumulated()
    h = f["h"]
    if command == "vectorize":
        h.vectorize(i, 4)
    elif command == "parallelize":
        h.parallelize(i)
    elif command == "reorder":
        h.reorder(i, p)
    else:
        h.tile(p, i, 2, 2)
    given = {"at": PLACES, "v": VALUES, "old": np.ones(5)}
    assert f(**given).tolist() == [9, 3, 1, 6, 1]
    with pytest.raises(tw.SubscriptError, match=OUTSIDE):
        f(np.array([3, 9, 3, 0]), VALUES, np.zeros(5))


@pytest.mark.parametrize("compiler", COMPILERS)
def test_as_c_source(tmp_path: pathlib.Path, compiler: str) -> None:
    f = accumulated()
    compiled = CompiledC(f, tmp_path, compiler)
    results, status = compiled(at=PLACES, v=VALUES, old=np.ones(5))
    assert status == 0
    assert results[0].tolist() == [9, 3, 1, 6, 1]
    _, status = compiled(at=np.array([3, 9, 3, 0]), v=VALUES, old=np.ones(5))
    assert status != 0


def test_it_is_kept_and_printed() -> None:
    f = scatter()
    again = pickle.loads(pickle.dumps(f))
    with pytest.raises(tw.SubscriptError, match=OUTSIDE):
        again(np.array([9]), VALUES[:1], np.zeros(5))
    assert str(tw.checked(at[p], N) == i) == "i == checked(at[p], N)"


def test_misuse() -> None:
    with pytest.raises(tw.DeclarationTypeError, match="subscript of 'checked' must be an integer"):
        tw.checked(v[p], N)
    with pytest.raises(tw.DeclarationTypeError, match="extent of 'checked' is an expression of"):
        tw.checked(at[p], at[0])
    with pytest.raises(tw.ArgumentError, match="axis must be an int of at least 0, not -1"):
        tw.checked(at[p], N, axis=-1)
