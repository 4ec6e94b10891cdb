"""Arguments and results of several parts, arrays outside of the function, results as long as data decide."""

from __future__ import annotations

import dataclasses
from collections import namedtuple
from typing import Any

import numpy as np
import pytest

import tilewright as tw

Point = namedtuple("Point", "x y")


@dataclasses.dataclass
class Body:
    x: np.ndarray
    v: np.ndarray
    mass: float = 2.0


OUTSIDE = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])


def of_tuple(ab, s):
    a, b = ab
    a[0] = 3.0
    return a + s * b


def of_named(p):
    p.x[:] = p.x + p.y
    return p.x.sum()


def of_body(b, dt):
    b.x[:] += dt * b.v / b.mass
    return Body(b.x * 2, b.v, b.mass + 1)


def of_dictionary(d):
    total = 0.0
    for _, value in d.items():
        total += value.sum()
    return {"a": d["a"] * 2, "sum": total, "none": None, "of": "here" in d}


def of_list(xs):
    s = xs[0] * 0
    for x in xs:
        s += x
    return [s, (s.sum(), len(xs))]


def outside(x):
    OUTSIDE[0] = x[0]
    return x * OUTSIDE


def tuple_as_it_was(x):
    t = (x * 2, x[0] + 1)
    d = {"a": x + 1, "s": x[1]}
    x[:2] = 5
    return t[0], t[1], d["a"], d["s"]


def tuple_assigned_again(x):
    best = (0, 0.0)
    for i in range(len(x)):
        if x[i] > best[1]:
            best = (i, x[i])
    return best


def pairs(n):
    s = (0, 1)
    for _ in range(n):
        a, b = s
        s = (b, a + b)
    return s


def chosen(x):
    y = x[x > x.mean()]
    return y * 2, len(y), x[np.where(x > 0.2)], np.flatnonzero(x < 0.5)


def positions(m):
    i, j = np.nonzero(m > 0.5)
    m[i, j] = 0
    return i, j, len(i), m[i, j]


def rows(m, labels):
    y = m[labels == 1]
    return y, y.mean(axis=0), y.shape[0], (y - m.mean(axis=0)).sum(axis=1)


def unique(k):
    values, counts = np.unique(k, return_counts=True)
    return values, (values * counts).sum(), np.union1d(k, k + 1), np.setdiff1d(k, k[:3])


def shape_by_branch(n, m):
    if n == m:
        x = np.zeros((n, n))
    else:
        x = np.ones((n, m))
    return -x


def block_in_a_branch(ms, n):
    total = np.zeros((n, 1))
    for m in ms:
        t = np.eye(n) * 3 + m
        if n == 4:
            x = np.linalg.inv(t)
        else:
            x = np.linalg.solve(t, t[:, :1])
        total += -x
    return total


def grids(n, m):
    a, b = np.mgrid[0:n, 1:m]
    c, d = np.ogrid[0:n, 0:m]
    return a, b, c * d


def other_shapes(m):
    v = m[1]
    place = (0, 1, 2)
    m[place] = 7.0
    return v.reshape(4, 1, 5), np.transpose(m, axes=(1, 0, 2)), m[:, [2, 0]]


def convolved(x):
    return np.convolve(x, np.array([1.0, 2.0]), "same"), np.angle(x + 1j), np.linspace(0, 1, 4)


def arguments_of(rng: np.random.Generator) -> dict[Any, tuple[Any, ...]]:
    x, k = rng.random(6), rng.integers(0, 4, 9)
    return {
        of_tuple: ((x, rng.random(6)), 2.0),
        of_named: (Point(x, rng.random(6)),),
        of_body: (Body(x, rng.random(6)), 0.1),
        of_dictionary: ({"a": x, "b": rng.random((2, 2))},),
        of_list: ([x, rng.random(6), rng.random(6)],),
        outside: (x,),
        tuple_as_it_was: (x,),
        tuple_assigned_again: (x,),
        pairs: (10,),
        chosen: (x,),
        positions: (rng.random((3, 4)),),
        rows: (rng.random((8, 3)), rng.integers(0, 2, 8)),
        unique: (k,),
        shape_by_branch: (3, 4),
        block_in_a_branch: (rng.random((2, 3, 3)), 3),
        grids: (3, 4),
        other_shapes: (rng.random((3, 4, 5)),),
        convolved: (x,),
    }


def copied(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.copy()
    if dataclasses.is_dataclass(value):
        return dataclasses.replace(value, x=value.x.copy(), v=value.v.copy())  # type: ignore[type-var]
    if isinstance(value, Point):
        return Point(*map(copied, value))
    if isinstance(value, dict):
        return {key: copied(each) for key, each in value.items()}
    return type(value)(map(copied, value)) if isinstance(value, tuple | list) else value


def assert_same(want: Any, got: Any) -> None:
    if isinstance(want, Body):
        want, got = (dataclasses.asdict(each) | {"": type(each)} for each in (want, got))
    if isinstance(want, dict):
        assert list(want) == list(got)
        want, got = list(want.values()), list(got.values())
    if isinstance(want, tuple | list):
        assert type(want) is type(got) and len(want) == len(got)
        for a, b in zip(want, got, strict=True):
            assert_same(a, b)
        return
    assert isinstance(got, type(want)) or isinstance(want, np.generic | float)
    if isinstance(want, np.ndarray | float):
        assert np.asarray(want).dtype == np.asarray(got).dtype
        np.testing.assert_allclose(got, want, rtol=1e-13, atol=1e-15)
    else:
        assert want == got


@pytest.mark.parametrize("function", list(arguments_of(np.random.default_rng(0))))
def test_parts_are_those_of_python(function: Any) -> None:
    arguments = arguments_of(np.random.default_rng(1))[function]
    kernel, before = tw.jit(function), OUTSIDE.copy()
    for _ in range(2):
        theirs, ours = copied(arguments), copied(arguments)
        OUTSIDE[:] = before
        want = function(*theirs), OUTSIDE.copy()
        OUTSIDE[:] = before
        assert_same(want, (kernel(*ours), OUTSIDE.copy()))
        assert_same(theirs, ours)
    OUTSIDE[:] = before


def test_an_array_outside_is_the_one_that_is_there_at_the_call() -> None:
    weights = np.arange(3.0)

    def scaled(x):
        return x * weights

    kernel = tw.jit(scaled)
    assert list(kernel(np.ones(3))) == [0, 1, 2]
    weights = np.arange(3.0) + 1
    assert list(kernel(np.ones(3))) == [1, 2, 3]
    weights = np.array(4)  # no array with dimensions
    with pytest.raises(tw.TranslationError, match="without dimensions"):
        kernel(np.ones(3))


def test_signatures_say_what_parts_there_are() -> None:
    kernel = tw.jit(of_body)
    kernel(Body(np.ones(2), np.ones(2)), 1.0)
    assert kernel.signatures == [
        "(b: Body(x: float64[b_x_0], v: float64[b_x_0], mass: float), dt: float)"
    ]


def test_an_argument_of_many_parts_is_no_record() -> None:
    with pytest.raises(tw.ArgumentTypeError, match=r"of 100 parts.*make it an array"):
        tw.jit(of_list)([1.0] * 100)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("p.x = p.y", "only names and elements of arrays are assigned"),
        ("return p.norm", "'norm' is no field of Point"),
        ("return {1: p.x}[2]", "the dictionary has no key 2"),
    ],
)
def test_what_records_are_not(body: str, reason: str) -> None:
    import linecache

    text = f"def f(p):\n    {body}\n"
    linecache.cache[f"<{body}>"] = (len(text), None, text.splitlines(keepends=True), f"<{body}>")
    names: dict[str, Any] = {}
    exec(compile(text, f"<{body}>", "exec"), names)
    with pytest.raises(tw.TranslationError, match=reason):
        tw.jit(names["f"])(Point(np.ones(2), np.ones(2)))
