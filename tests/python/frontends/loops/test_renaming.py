"""Arrays that change their names: `u, v = v, u` in loops moves nothing, and callers see the right memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw


def jacobi(T, u, v):
    for t in range(T):
        v[1:-1] = 0.5 * (u[:-2] + u[2:]) + t
        u, v = v, u
    return u


def wave(T, a, b, c):
    for _ in range(1, T + 1):
        for i in range(1, len(b) - 1):
            c[i] = 2 * b[i] - a[i] + 0.1 * (b[i - 1] - 2 * b[i] + b[i + 1])
        a, b, c = b, c, a
    b[0] = 7
    return b


def by_hand(T, u):
    v = np.zeros_like(u)
    for _ in range(T):
        v[1:-1] = u[:-2] + u[2:]
        w = u
        u = v
        v = w
    return u + v


def nested(T, n, u, v):
    for s in range(n):
        for _ in range(T):
            v[1:] = u[:-1] + s
            u, v = v, u
        u[0] = s
    return v


def backwards(T, u, v):
    for t in range(T, 0, -1):
        v[0] = u[1] * t
        u, v = v, u


def straight(T, u, v):
    u, v = v, u
    for _ in range(T):
        u[:] = u + v
    return u


@pytest.mark.parametrize(
    ("function", "arrays"), [(jacobi, 2), (wave, 3), (by_hand, 1), (backwards, 2), (straight, 2)]
)
def test_names_as_python_has_them(function: Any, arrays: int) -> None:
    translated = tw.jit(function)
    random = np.random.default_rng(3)
    for count in (2, 3, 0, 1, 7, 4):
        given = [random.random(8) for _ in range(arrays)]
        mine = [each.copy() for each in given]
        expected, found = function(count, *given), translated(count, *mine)
        for one, other in zip((*given, expected), (*mine, found), strict=True):
            assert (one is None and other is None) or one.tolist() == other.tolist()
        # A result that is an argument's memory is that argument.
        assert [expected is each for each in given] == [found is each for each in mine]
    assert len(translated.signatures) == 1


def test_one_kernel_for_each_remainder() -> None:
    translated = tw.jit(jacobi)
    for count in range(6):
        translated(count, np.ones(5), np.ones(5))
    assert sum(map(len, translated._kernels.values())) == 2
    loops = str(translated.inspect(4, np.ones(5), np.ones(5)).loops)
    # Time, and each array once: nothing is copied.
    assert loops.count("for ") - loops.count("# vector") == 3


def test_a_nest_of_loops_that_names_arrays_anew() -> None:
    translated = tw.jit(nested)
    for count, times in ((3, 2), (1, 0)):
        given = np.arange(5.0), np.ones(5)
        mine = np.arange(5.0), np.ones(5)
        expected, found = nested(count, times, *given), translated(count, times, *mine)
        for one, other in zip((*given, expected), (*mine, found), strict=True):
            assert one.tolist() == other.tolist()


def by_data(T, u, v):
    for t in range(T):
        if u[t] > 0:
            u, v = v, u
        v[t] = 1


def left(T, u, v):
    for t in range(T):
        if u[t] > 0:
            break
        u, v = v, u


def endless(T, u, v):
    while u[0] < T:
        v[0] = u[0] + 1
        u, v = v, u


def ever_new(T, u, v):
    for _ in range(T):
        w = v + 1
        u = v
        v = w
        u[0] = 1
    return u


@pytest.mark.parametrize("function", [by_data, left, endless, ever_new])
def test_what_data_name_is_refused(function: Any) -> None:
    with pytest.raises(tw.TranslationError, match="names different arrays at different times"):
        tw.jit(function)(3, np.zeros(5), np.zeros(5))


def test_negative_counts_are_refused() -> None:
    with pytest.raises(tw.ArgumentError):
        tw.jit(jacobi)(-1, np.zeros(5), np.zeros(5))


def leapfrog(T, u, v):
    for _ in range(T):
        w = 2 * v - u
        w[0] = 0
        u, v = v, w
    return u, v


def relaxed(T, u):
    for _ in range(T):
        w = np.zeros_like(u)
        w[1:-1] = 0.5 * (u[:-2] + u[2:])
        u = w
    return u


def by_elements(T, u):
    for k in range(T, 0, -1):
        w = np.empty_like(u)
        for i in range(len(u)):
            w[i] = u[i] / k + u[(i + 1) % len(u)]
        u = w
    return u.sum()


def three(T, a, b, c):
    for _ in range(T):
        d = a + b - c
        a = b
        b = c
        c = d
    return a, b, c


def of_one(T, u):
    def step(u, v):
        for _ in range(3):
            w = u + v
            u, v = v, w
        return v

    for _ in range(T):
        u[:] = step(u, u)
    return u


@pytest.mark.parametrize(
    ("function", "arrays"), [(leapfrog, 2), (relaxed, 1), (by_elements, 1), (three, 3), (of_one, 1)]
)
def test_arrays_that_are_new_in_each_turn(function: Any, arrays: int) -> None:
    translated = tw.jit(function)
    random = np.random.default_rng(4)
    for count in (2, 3, 0, 1, 7, 4):
        given = [random.integers(-9, 9, 8).astype(float) for _ in range(arrays)]
        mine = [each.copy() for each in given]
        expected, found = function(count, *given), translated(count, *mine)
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(mine, given)


def test_new_arrays_cost_no_copies_in_time() -> None:
    """Time, and in each of three turns one loop; around them copies of what is given."""
    loops = str(tw.jit(leapfrog).inspect(9, np.ones(5), np.ones(5)).loops)
    time = loops[loops.index("for _") :].splitlines()
    inside = [line for line in time if line.startswith("  ") and "for " in line]
    assert len([line for line in inside if "# vector" not in line]) == 3


def other_type(T, u):
    for _ in range(T):
        w = (u > 0) * 1
        u = w
    return u


def changed_behind(T, u):
    for _ in range(T):
        w = u + 1
        u = w
    u[0] = 5
    return u


def changed_under_another_name(T, u):
    other = u
    for _ in range(T):
        other[0] = 7
        w = u + 1
        u = w
    return u


def named_and_changed_in_the_loop(T, u):
    for _ in range(T):
        other = u
        other[0] = 3
        w = u + 1
        u = w
    return u


def changed_through_a_view(T, u):
    for _ in range(T):
        tail = u[1:]
        tail[0] = 3
        w = u + 1
        u = w
    return u


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (changed_under_another_name, "takes turns with other arrays in a loop, and is changed"),
        (named_and_changed_in_the_loop, "names different arrays at different times"),
        (changed_through_a_view, "names different arrays at different times"),
        (
            other_type,
            "w holds int64, and the array that it replaces in the next turn holds float64",
        ),
        (changed_behind, "u names different arrays at different times"),
    ],
)
def test_what_cannot_take_turns(function: Any, message: str) -> None:
    with pytest.raises(tw.TranslationError, match=message):
        tw.jit(function)(3, np.zeros(5))


def changes_another_array(T, u, x):
    for _ in range(T):
        x[0] = 7
        w = u + 1
        u = w
    return u


def test_an_array_given_twice_takes_no_turns_if_it_is_changed() -> None:
    jitted = tw.jit(changes_another_array)
    given, other = np.arange(5.0), np.arange(5.0)
    assert np.array_equal(jitted(3, given, other), np.arange(5.0) + 3)
    assert other[0] == 7
    with pytest.raises(tw.TranslationError, match="takes turns with other arrays in a loop"):
        jitted(3, given, given)
