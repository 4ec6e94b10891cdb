"""The algebra of sets and maps against Python's sets of enumerated points."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable

import pytest
from brute_force import DIMENSIONS, HIGH, LOW, SIZES, Drawn, maps, sets
from hypothesis import given, settings

import tilewright as tw

checked = settings(max_examples=30, deadline=None, derandomize=True, database=None)

Pairs = set[tuple[tw.Point, tw.Point]]


def at(value: tw.Set, size: int) -> set[tw.Point]:
    """The points at N = size; a set that does not depend on N does not list it."""
    points = value.points({"N": size} if "N" in value.parameters else {})
    assert len(set(points)) == len(points)
    assert points == sorted(points) or any("->" in each for each in value.tuples)
    return set(points)


def pairs_at(value: tw.Map, size: int) -> Pairs:
    return set(value.pairs({"N": size} if "N" in value.parameters else {}))


def composed(first: Pairs, second: Pairs) -> Pairs:
    """x -> z where the first one has x -> y and the second one y -> z."""
    images: dict[tw.Point, set[tw.Point]] = {}
    for y, z in second:
        images.setdefault(y, set()).add(z)
    return {(x, z) for x, y in first for z in images.get(y, ())}


def by_space(points: Iterable[tw.Point], choose: Callable[..., tw.Point]) -> set[tw.Point]:
    groups = itertools.groupby(sorted(points), key=lambda point: point.name)
    return {choose(list(group)) for _, group in groups}


@checked
@given(sets("A", "B"), sets("A", "B"))
def test_of_two_sets(first: Drawn, second: Drawn) -> None:
    a, b = first.set(), second.set()
    for size in SIZES:
        one, other = first.points(size), second.points(size)
        assert at(a, size) == one
        assert at(a | b, size) == one | other
        assert at(a & b, size) == one & other
        assert at(a - b, size) == one - other
        assert at(a ^ b, size) == one ^ other
        assert at(a.product(b), size) == {tw.Point("", (x, y)) for x in one for y in other}
        here, there = a.fix(N=size), b.fix(N=size)
        assert (here <= there) == (one <= other)
        assert (here < there) == (one < other)
        assert (here >= there) == (one >= other)
        assert (here == there) == (one == other)
        assert here.is_disjoint(there) == one.isdisjoint(other)
        if here == there:
            assert hash(here) == hash(there)
        assert at(a.gist(b) & b, size) == one & other
        assert pairs_at(a.before(b), size) == {
            (x, y) for x in one for y in other if x.name == y.name and x < y
        }


@checked
@given(sets("A", "B"))
def test_of_one_set(drawn: Drawn) -> None:
    value = drawn.set()
    for size in SIZES:
        points = drawn.points(size)
        fixed = value.fix(N=size)
        assert at(value.lexmin(), size) == by_space(points, min)
        assert at(value.lexmax(), size) == by_space(points, max)
        assert at(value.coalesce(), size) == points
        assert at(value.explicit_divisions(), size) == points
        for hull in ("simple_hull", "convex_hull", "affine_hull", "polyhedral_hull"):
            assert value <= getattr(value, hull)()
        assert fixed.is_empty == (not points) and bool(fixed) == bool(points)
        assert value.count(N=size) == len(points) == len(list(fixed))
        assert pairs_at(value.identity(), size) == {(point, point) for point in points}
        sample = value.sample(N=size)
        assert sample in points if points else sample is None
        for point in itertools.islice(
            itertools.product(range(LOW, HIGH + 1), repeat=2), 0, None, 7
        ):
            assert (f"A[{point[0]}, {point[1]}]" in fixed) == (tw.Point("A", point) in points)
    somewhere = value.sample()
    if somewhere is not None:
        assert somewhere in value.fix(somewhere.parameters)


@checked
@given(sets("A", "B"))
def test_counts_as_functions_of_the_parameter(drawn: Drawn) -> None:
    try:
        size_of = drawn.set().cardinality()
    except tw.SetError:
        return
    for size in range(-6, 7):
        assert size_of({"N": size} if size_of.parameters else {}) == len(drawn.points(size))


@checked
@given(sets("A"), maps(("A", "B")), maps(("B", "A")))
def test_with_maps(points: Drawn, first: Drawn, second: Drawn) -> None:
    s, f, g = points.set(), first.map(), second.map()
    for size in SIZES:
        inside, one, other = points.points(size), first.pairs(size), second.pairs(size)
        assert pairs_at(f, size) == one
        assert at(f(s), size) == at(s.apply(f), size) == {y for x, y in one if x in inside}
        both = composed(one, other)
        assert pairs_at(f.then(g), size) == pairs_at(g @ f, size) == both
        assert pairs_at(g.compose(f), size) == pairs_at(f.apply_range(g), size) == both
        assert pairs_at(f.reverse(), size) == {(y, x) for x, y in one}
        assert pairs_at(f.apply_domain(g.reverse()), size) == composed(other, one)
        assert at(f.domain, size) == {x for x, _ in one}
        assert at(f.range, size) == {y for _, y in one}
        assert at(f.wrap(), size) == {tw.Point("", pair) for pair in one}
        assert f.wrap().unwrap() == f
        assert pairs_at(f.intersect_domain(s), size) == {(x, y) for x, y in one if x in inside}
        assert pairs_at(f.subtract_domain(s), size) == {(x, y) for x, y in one if x not in inside}
        assert pairs_at(g.intersect_range(s), size) == {(x, y) for x, y in other if y in inside}
        assert pairs_at(g.subtract_range(s), size) == {(x, y) for x, y in other if y not in inside}
        images = {x: [y for x_, y in one if x_ == x] for x, _ in one}
        assert pairs_at(f.lexmin(), size) == {(x, min(ys)) for x, ys in images.items()}
        assert pairs_at(f.lexmax(), size) == {(x, max(ys)) for x, ys in images.items()}
        assert f.count(N=size) == len(one)
        fixed = f.fix(N=size)
        assert fixed.is_single_valued == all(len(ys) == 1 for ys in images.values())
        assert fixed.is_injective == (len({y for _, y in one}) == len(one))


@checked
@given(maps(("A", "B"), ("B", "B")), maps(("A", "B"), ("B", "B")))
def test_of_two_maps(first: Drawn, second: Drawn) -> None:
    f, g = first.map(), second.map()
    for size in SIZES:
        one, other = first.pairs(size), second.pairs(size)
        assert pairs_at(f | g, size) == one | other
        assert pairs_at(f & g, size) == one & other
        assert pairs_at(f - g, size) == one - other
        assert pairs_at(f.range_product(g), size) == {
            (x, tw.Point("", (y, z))) for x, y in one for x_, z in other if x == x_
        }
        assert (f.fix(N=size) <= g.fix(N=size)) == (one <= other)


@checked
@given(maps(("A", "A")))
def test_of_a_map_into_its_own_space(drawn: Drawn) -> None:
    f = drawn.map()
    for size in SIZES:
        pairs = drawn.pairs(size)
        differences = {tw.Point("A", [b - a for a, b in zip(x, y, strict=True)]) for x, y in pairs}
        assert at(f.deltas(), size) == differences
        assert pairs_at(f**2, size) == composed(pairs, pairs)
        assert pairs_at(f**-1, size) == {(y, x) for x, y in pairs}


@settings(parent=checked, max_examples=15)
@given(maps(("B", "B")))
def test_transitive_closures(drawn: Drawn) -> None:
    closure = drawn.map().transitive_closure(exact=False)
    try:
        is_exact = drawn.map().transitive_closure() == closure
    except tw.SetError:
        is_exact = False
    for size in SIZES:
        pairs = drawn.pairs(size)
        reached = set(pairs)
        while len(reached) < len(reached := reached | composed(reached, pairs)):
            pass
        found = closure.fix({"N": size} if "N" in closure.parameters else {})
        if is_exact:
            assert set(found.pairs()) == reached
        else:
            assert all(pair in found for pair in reached)


@checked
@given(sets("A", "B"), maps(("A", "B"), ("B", "A")))
def test_text_leads_back(points: Drawn, pairs: Drawn) -> None:
    for value in (points.set(), pairs.map()):
        assert type(value)(str(value)) == value
        again = eval(repr(value), {"tw": tw})
        assert again == value and type(again) is type(value) and hash(again) == hash(value)
        assert type(value)(str(value.coalesce())) == value


@settings(parent=checked, max_examples=12)
@given(sets("A", "B"), sets("A", "B"), maps(("A", "B")))
def test_islpy_agrees(first: Drawn, second: Drawn, drawn: Drawn) -> None:
    pytest.importorskip("islpy")
    a, b, f = first.set(), second.set(), drawn.map()
    theirs, others, relation = a.to_islpy(), b.to_islpy(), f.to_islpy()
    assert tw.Set(str(theirs.union(others))) == a | b
    assert tw.Set(str(theirs.subtract(others))) == a - b
    assert tw.Set(str(theirs.apply(relation))) == f(a)
    assert tw.Map(str(relation.reverse())) == f.reverse()
    assert tw.Set(str(theirs.lexmin())) == a.lexmin()


@checked
@given(sets("A"))
def test_projections(drawn: Drawn) -> None:
    value = drawn.set()
    if len(value.tuples) != 1:
        return
    for size in SIZES:
        points = drawn.points(size)
        for number in range(len(DIMENSIONS["A"])):
            expected = {tw.Point("", [p[1 - number]]) for p in points}
            assert at(value.project_out(number), size) == expected
    everywhere = value.project_out_params("N")
    assert "N" not in everywhere.parameters
    for size in SIZES:
        assert drawn.points(size) <= set(everywhere.points())


def test_a_part_with_one_value_of_the_other_parts_division_is_joined_to_what_it_was() -> None:
    for size, rest, first, length in itertools.product(
        range(2, 6), range(3), range(4), range(1, 4)
    ):
        for last in (10, "N"):
            text = (
                f"{{ A[i] : 0 <= i <= {last} and (i + {rest}) mod {size} = 0; "
                f"A[i] : {first} <= i < {first + length} and i <= {last} }}"
            )
            value = tw.Set(text if last == 10 else f"[N] -> {text}")
            joined = value.coalesce()
            assert joined == value, text
            if last == 10:
                points = [n for n in range(11) if (n + rest) % size == 0]
                points += range(first, min(first + length, 11))
                assert {point.coordinates for point in joined} == {(n,) for n in points}


def test_integers_that_are_only_said_to_exist_get_a_formula() -> None:
    pairs = tw.Set(
        "[N, M] -> { [i, j] : j mod 2 = 0 and 0 <= j <= i and i - M <= j < N and i < N }"
    )
    value = pairs.apply("{ [i, j] -> [i] }")
    explicit = value.explicit_divisions()
    assert explicit == value
    assert "exists" not in str(explicit)
    other = explicit
    for _ in range(10):
        other = other & explicit
    assert len(str(other)) <= len(str(explicit))
