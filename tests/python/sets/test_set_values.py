"""Sets and maps as values: text, questions, counting, errors, threads, pictures."""

from __future__ import annotations

import copy
import pickle
import sys
import threading

import pytest

import tilewright as tw

N, M = tw.params("N M")

TRIANGLE = "{ S[i, j] : 0 <= j <= i < N }"


def test_text_both_ways():
    s = tw.Set(TRIANGLE)
    assert str(s) == "[N] -> { S[i, j] : i < N and 0 <= j <= i }"
    assert repr(s) == f'tw.Set("{s}")'
    assert eval(repr(s)) == s
    assert s.parameters == ("N",) and s.tuples == ("S[i, j]",)
    union = tw.Set("{ S[i] : 0 <= i < N; T[]; [A[i] -> B[j]] : i = j }")
    assert union.tuples == ("S[i]", "T[]", "[A[i] -> B[j]]")
    assert eval(repr(union)) == union
    for empty in (tw.Set("{ }"), tw.Map("{ }"), s - s):
        assert str(empty).endswith("{ }") and eval(repr(empty)) == empty and not empty
    assert tw.Set(s) == s and tw.Set("{ S[1]; S[2] }") == tw.Set("{ S[i] : 1 <= i <= 2 }")
    m = tw.Map("{ S[i] -> A[i + 1] : 0 <= i < N; T[] -> A[0] }")
    assert m.tuples == ("[S[i] -> A[*]]", "[T[] -> A[*]]")
    assert eval(repr(m)) == m


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: tw.Set("{ S[i : 0 <= i }"), "column 7: syntax error at ':'"),
        (lambda: tw.Set("{ S[i] : 0 <= i < }"), "column 19"),
        (lambda: tw.Set("{ S[i] "), "column 8: the text ends too early"),
        (lambda: tw.Set(""), "the text is empty"),
        (lambda: tw.Set("{ S[i] -> T[i] }"), "is a map; tw.Map reads it"),
        (lambda: tw.Map("{ S[i] }"), "is a set; tw.Set reads it"),
        (lambda: tw.Map("{ S[i] -> ; }"), "column 11"),
        (lambda: tw.Set("{ S[ö] }"), "has 'ö' in column 5"),
    ],
)
def test_texts_that_cannot_be_read(make, message):
    with pytest.raises(tw.SetError) as error:
        make()
    assert message in str(error.value) and error.value.code == "TW600"
    assert error.value.location is not None and "test_set_values.py" in error.value.location.file


def test_questions():
    s, t = tw.Set("{ S[i] : 0 <= i < 4 }"), tw.Set("{ S[i] : 0 <= i < 2 }")
    assert t <= s and t < s and s >= t and s > t and not s <= t and s <= s and not s < s
    assert s != t and s == tw.Set("{ S[j] : 0 <= j <= 3 }") and s != "S" and s != tw.Map("{ }")
    assert len({s, tw.Set(str(s)), t}) == 2
    assert bool(s) and not s.is_empty and not tw.Set("{ S[i] : i > 3 and i < 3 }")
    assert bool(tw.Set("{ S[i] : 0 <= i < N }"))  # for some N
    assert tw.Set("{ S[i] : 0 <= i < N }").params() == tw.Set("[N] -> { : N > 0 }")
    with pytest.raises(TypeError):
        assert s <= 3
    with pytest.raises(TypeError):
        s | 3


def test_points():
    s = tw.Set(TRIANGLE)
    assert [str(point) for point in s.points(N=2)] == ["S[0, 0]", "S[1, 0]", "S[1, 1]"]
    assert s.points({N: 2}) == s.points({"N": 2}) == list(s.fix(N=2))
    (i, j) = s.points(N=1)[0]
    assert (i, j) == (0, 0)
    assert s.count(N=100) == 5050 and len(s.fix(N=10)) == 55
    assert (2, 1) in s.fix(N=3) and "S[2, 1]" in s.fix(N=3) and tw.Point("S", (2, 1)) in s.fix(N=3)
    assert (
        (1, 2) not in s.fix(N=3) and 3 in tw.Set("{ [i] : i = 3 }") and (9, 9) not in tw.Set("{ }")
    )
    assert (-1, 0) not in s  # for no N
    with pytest.raises(tw.SetError, match=r"depends on N: it is for \[N\] -> \{ : N >= 3 \}"):
        assert (2, 1) in s
    union = tw.Set("{ S[1]; T[2] }")
    assert "T[2]" in union and tw.Point("S", (2,)) not in union
    with pytest.raises(tw.SetError, match="needs the name of its tuple"):
        assert (1,) in union
    with pytest.raises(tw.SetError, match=r"of the form S\[i, j\], got 1"):
        assert 3 in s.fix(N=4)
    with pytest.raises(tw.SetError, match="is not one point"):
        assert "S[i, 3]" in s.fix(N=4)
    with pytest.raises(tw.SetTypeError, match="must be a point"):
        assert 1.5 in s.fix(N=4)


def test_a_sample_says_for_which_parameters_it_is_there():
    point = tw.Set("{ S[i] : 10 <= i < N }").sample()
    assert str(point) == "S[10]" and point.parameters == {"N": 11}
    assert tw.Set("{ S[i] : 0 <= i < N }").sample(N=0) is None
    pair = tw.Map("{ S[i] -> T[j] : i < j < 4 }").intersect_domain("{ S[i] : i >= 1 }").sample()
    assert pair == (tw.Point("S", (1,)), tw.Point("T", (2,)))


def test_points_are_values():
    p = tw.Point("S", (1, 2))
    assert str(p) == "S[1, 2]" and eval(repr(p)) == p and pickle.loads(pickle.dumps(p)) == p
    assert (
        p < tw.Point("S", (1, 3)) < tw.Point("T") and p != (1, 2) and hash(p) == hash(eval(repr(p)))
    )
    assert p[0] == 1 and p[:1] == (1,) and len(p) == 2
    wrapped = tw.Set("{ [A[0] -> B[1, 2]] }").points()[0]
    assert str(wrapped) == "[A[0] -> B[1, 2]]" and eval(repr(wrapped)) == wrapped
    assert wrapped in tw.Set("{ [A[0] -> B[1, 2]] }")
    assert tw.Set.from_points([p, "T[3]"]) == tw.Set("{ S[1, 2]; T[3] }")
    for wrong in (lambda: tw.Point(3), lambda: tw.Point("S", (1.5,)), lambda: tw.Point("", (p, 1))):
        with pytest.raises(tw.SetTypeError):
            wrong()
    with pytest.raises(tw.SetError, match="64 bits"):
        tw.Point("S", (2**63,))


@pytest.mark.parametrize(
    ("text", "formula", "sizes", "count"),
    [
        ("{ S[i] : 0 <= i < N }", "[N] -> { N : N > 0 }", {"N": 7}, 7),
        (TRIANGLE, "[N] -> { (1/2 * N + 1/2 * N^2) : N > 0 }", {"N": 10**6}, 500000500000),
        ("{ S[i, j] : 0 <= i < N and 0 <= j < M }", None, {"N": 3, "M": 4}, 12),
        ("{ S[o, t] : 0 <= t < 32 and 0 <= 32o + t < N }", None, {"N": 100}, 100),
        ("{ S[i] : 0 <= i < N and i mod 3 = 1; T[] }", None, {"N": 8}, 4),
        ("{ S[i, j, k] : 0 <= i <= j <= k < N }", None, {"N": 10**5}, 166671666700000),
        ("{ S[3] }", "{ 1 }", {}, 1),
        ("{ }", "{ 0 }", {}, 0),
    ],
)
def test_cardinality(text, formula, sizes, count):
    s = tw.Set(text)
    size_of = s.cardinality()
    assert formula is None or str(size_of) == formula
    assert size_of(sizes) == size_of(**sizes) == s.count(sizes) == count
    assert set(size_of.parameters) == set(sizes)
    if sizes:
        assert size_of(dict.fromkeys(sizes, -1)) in (0, 1)
        with pytest.raises(tw.SetError, match="has no value"):
            size_of()
        with pytest.raises(tw.SetError, match="K is no parameter"):
            size_of({**sizes, "K": 1})


def test_what_has_no_closed_form_is_said():
    text = "{{ S[i, j] : 0 <= i, j < N and (i + j) mod {} = 0 }}"
    checkers = tw.Set(text.format(2))
    assert [checkers.cardinality()(N=n) for n in range(6)] == [0, 1, 2, 5, 8, 13]
    rare = tw.Set(text.format(7))
    with pytest.raises(tw.SetError, match=r"no closed form .* count\(...\) gives the number"):
        rare.cardinality()
    assert rare.count(N=5) == 3


def test_huge_numbers():
    large = tw.Set("{ S[i] : 0 <= i < 100000000000000000000000000000 }")
    assert large.count() == 10**29
    with pytest.raises(tw.SetError, match="there are more than 10"):
        large.points(most=10)
    with pytest.raises(tw.SetError, match="does not fit into 64 bits"):
        tw.Set("{ S[100000000000000000000000000000] }").points()
    with pytest.raises(tw.TilewrightError, match="64 bits"):
        tw.Set("{ S[100000000000000000000000000000] }").sample()
    with pytest.raises(tw.SetError, match="64 bits"):
        large.fix(N=2**63)


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda s, m: s.points(), r"depend on N; give the values, as in points\(N=4\)"),
        (lambda s, m: s.points(K=3), "K is no parameter; there are N"),
        (lambda s, m: s.fix(N=1, K=3), "K is no parameter"),
        (lambda s, m: s.fix({"N": 1}, N=2), "two values for N"),
        (lambda s, m: s.project_out_params("K"), "K is no parameter"),
        (lambda s, m: tw.Set("{ S[i] : i > 0 }").points(), "infinitely many"),
        (lambda s, m: tw.Set("{ S[i] : i > 0 }").count(), "infinitely many"),
        (lambda s, m: tw.Set("{ S[i] : i > N }").cardinality(), "infinitely many"),
        (lambda s, m: tw.Set("{ S[i] : i < 0 }").lexmin(), "points without end"),
        (lambda s, m: tw.Map("{ S[i] -> A[j] : j > i }").lexmax(), "points without end"),
        (lambda s, m: s & "{ S[i, j] }", "unsupported operand"),
        (lambda s, m: s.intersect("{ S[i, j] }"), "S has 1 dimension .* and 2 dimensions"),
        (lambda s, m: m("{ S[i, j] }"), "S has 2 dimensions"),
        (lambda s, m: m.then("{ A[i, j] -> B[] }"), "A has 1 dimension .* and 2 dimensions"),
        (lambda s, m: m.deltas(), "no difference"),
        (lambda s, m: m.power(0), "s.identity"),
        (lambda s, m: s.unwrap(), "is no wrapped pair"),
        (lambda s, m: s.project_out("k"), "there is no dimension 'k'; there are i"),
        (lambda s, m: s.project_out(1), "there is no dimension 1"),
        (
            lambda s, m: tw.Set("{ S[i]; T[i] }").project_out(0),
            "exactly one space, and there are S.i., T.i.",
        ),
        (lambda s, m: s.intersect_params("{ S[i] }"), "has no tuple"),
        (lambda s, m: s.intersect_params("N >"), "column"),
        (lambda s, m: s.params().points(), "set of parameter values"),
        (lambda s, m: s | s.params(), "set of parameter values"),
        (lambda s, m: s.product(s.params()), "set of parameter values"),
    ],
)
def test_what_has_no_answer(use, message):
    with pytest.raises((tw.SetError, TypeError), match=message):
        use(tw.Set("{ S[i] : 0 <= i < N }"), tw.Map("{ S[i] -> A[i + 1] }"))


@pytest.mark.parametrize(
    "use",
    [
        lambda s, m: tw.Set(3),
        lambda s, m: tw.Map(s),
        lambda s, m: s & m,
        lambda s, m: m | s,
        lambda s, m: s.union(m),
        lambda s, m: s.apply(s),
        lambda s, m: m.intersect_domain(m),
        lambda s, m: s.points(N=1.5),
        lambda s, m: s.points(N=True),
        lambda s, m: s.points([1]),
        lambda s, m: s.fix({3: 4}),
        lambda s, m: m.power(1.5),
        lambda s, m: 3 in m,
        lambda s, m: s.intersect_params(3),
        lambda s, m: s.project_out(1.5),
        lambda s, m: tw.Cardinality("N"),
    ],
)
def test_what_is_of_another_type(use):
    with pytest.raises(tw.SetTypeError):
        use(tw.Set("{ S[i] : 0 <= i < N }"), tw.Map("{ S[i] -> A[i + 1] }"))


def test_maps():
    m = tw.Map("{ S[i] -> A[i + 1] : 0 <= i < N }")
    assert m(tw.Point("S", (2,))).fix(N=3).points() == [tw.Point("A", (3,))]
    assert m((2,)).fix(N=3) == m("S[2]").fix(N=3) == m("{ S[2] }").fix(N=3) == tw.Set("{ A[3] }")
    assert ("S[1]", "A[2]") in m.fix(N=3) and ((1,), 3) not in m.fix(N=3)
    assert m.count(N=5) == 5 and m.cardinality()(N=5) == 5
    assert [tuple(map(str, pair)) for pair in m.pairs(N=2)] == [("S[0]", "A[1]"), ("S[1]", "A[2]")]
    assert m.is_bijective and m.is_single_valued and m.is_injective
    assert (m**1) == m and (m @ m.reverse()) == m.range.identity()
    after = tw.Map("{ [i] -> [i + 1] : 0 <= i < 4 }")
    assert after.transitive_closure() == tw.Map("{ [i] -> [j] : 0 <= i < j <= 4 }")
    assert after.deltas() == tw.Set("{ [1] }")
    flat = tw.Map("{ S[i, j] -> A[i, k] : 0 <= j, k < 4 }")
    assert flat.project_out_range("k").range.tuples == ("[i0]",) or flat.project_out_range(1)
    assert flat.project_out_domain(1).domain.tuples[0].startswith("[")


def test_parameters():
    s = tw.Set(TRIANGLE)
    assert s.intersect_params("N > 3") == s.intersect_params("[N] -> { : N > 3 }")
    assert s.intersect_params("N > 3").params() == tw.Set("[N] -> { : N > 3 }")
    assert s.fix({N: 3}).parameters == () and s.fix(N=3).count() == 6
    assert s.project_out_params() == tw.Set("{ S[i, j] : 0 <= j <= i }")
    # Used nowhere, so no value is needed.
    assert tw.Set("[K] -> { S[i] : 0 <= i < 3 }").count() == 3
    assert tw.Set("[K] -> { S[i] : 0 <= i < 3 }") == tw.Set("{ S[i] : 0 <= i < 3 }")


def test_values_are_copied_and_pickled():
    for value in (tw.Set(TRIANGLE), tw.Map("{ S[i] -> A[i] : i < N }")):
        assert pickle.loads(pickle.dumps(value)) == value
        assert copy.copy(value) is value and copy.deepcopy(value) is value
        assert "S[i" in value._repr_html_()


def test_without_islpy(monkeypatch):
    monkeypatch.setitem(sys.modules, "islpy", None)
    with pytest.raises(ImportError, match="pip install islpy"):
        tw.Set("{ S[1] }").to_islpy()


def test_an_operation_that_takes_too_long_is_refused():
    hard = "{ S[a, b, c, d, e, f] : " + " and ".join(
        f"(exists x{k} : {k + 2}a + {k + 3}b - {k + 5}c + {k + 7}d - 3e + {k}f = {k + 11}x{k})"
        for k in range(12)
    )
    with pytest.raises(tw.AnalysisLimitError):
        s = tw.Set(hard + " }")
        (tw.Set("{ S[a, b, c, d, e, f] : 0 <= a, b, c, d, e, f < 1000 }") - s).count()


def test_threads():
    expected = tw.Set(TRIANGLE)
    failures = []

    def work(number: int) -> None:
        try:
            for k in range(30):
                s = tw.Set(f"{{ S[i, j] : 0 <= j <= i < N and i + j >= {number + k} }}")
                assert (s | expected) == expected
                assert s.count(N=number + k + 1) == len((s & expected).points(N=number + k + 1))
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_pictures():
    pytest.importorskip("matplotlib")
    picture = tw.Set("{ S[i, j] : 0 <= j <= i < N; T[i, j] : i = j = 0 }").plot({N: 3})
    assert len(picture.points) == 7 and picture.points[tw.Point("S", (2, 1))] == (2.0, 1.0)
    assert picture._repr_png_()[:4] == b"\x89PNG" and repr(picture) == "<picture of 7 points>"
    assert picture.axes.get_xlabel() == "i" and picture.axes.get_ylabel() == "j"
    arrows = tw.Map("{ S[i] -> S[i + 1] : 0 <= i < 3 }").plot()
    assert len(arrows.arrows) == 3 and arrows.points[tw.Point("S", (3,))][0] == 3
    turned = tw.Set("{ S[i, j] : i = 2 and j = 5 }").plot(x="j", y=0, title="turned")
    assert turned.points[tw.Point("S", (2, 5))] == (5.0, 2.0)
    assert tw.Set("{ }").plot().points == {} and tw.Set("{ T[] }").plot().points
    with pytest.raises(tw.SetError, match="depend on N"):
        tw.Set(TRIANGLE).plot()
    with pytest.raises(tw.SetError, match="no dimension 'k'"):
        tw.Set("{ S[i] : 0 <= i < 3 }").plot(x="k")
    with pytest.raises(tw.SetTypeError, match="axes"):
        tw.Set("{ S[1] }").plot(axes=3)
    with pytest.raises(tw.SetError, match="more than 20000"):
        tw.Set("{ S[i] : 0 <= i < 30000 }").plot()
