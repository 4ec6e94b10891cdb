"""Elements come as soon as what they read is there: by phases of a period, and in the beginning."""

from __future__ import annotations

import pathlib
import pickle
import random
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright import _core
from tilewright.streams.needs import needs_of

n, m, c = tw.iters("n m c")
ENDLESS = {n: tw.forever}
LENGTH = 70


def _reversed(block: int) -> Any:
    return block * (n // block) + block - 1 - n % block


def _transposed(rows: int) -> Any:
    size = rows * rows
    return size * (n // size) + rows * (n % rows) + n % size // rows


#: Values of y, and at which times y[n] reads x; None for those that read nothing.
PROGRAMS: dict[str, tuple[Any, Any]] = {
    "blocks reversed": (lambda x: x[_reversed(8)], lambda k: 8 * (k // 8) + 7 - k % 8),
    "pairs swapped": (lambda x: x[n + 1 - 2 * (n % 2)], lambda k: k ^ 1),
    "interleaved": (
        lambda x: x[_transposed(4)],
        lambda k: 16 * (k // 16) + 4 * (k % 4) + k % 16 // 4,
    ),
    "reversed at half the rate": (lambda x: x[2 * _reversed(4)], lambda k: 2 * (k ^ 3)),
    "reversed at twice the rate": (lambda x: x[_reversed(4) // 2], lambda k: (k ^ 3) // 2),
    "every second one ahead": (
        lambda x: tw.select(n % 2 == 0, x[n + 3], 0.0),
        lambda k: None if k % 2 else k + 3,
    ),
    "mirrored": (
        lambda x: [(n < 3, x[3 - n]), (n >= 3, x[n - 3])],
        lambda k: abs(k - 3),
    ),
    "the first one late": (lambda x: [(n == 0, x[20]), (n > 0, x[n])], lambda k: k or 20),
    "nothing read at first": (
        lambda x: [(n < 3, 7.0), (n >= 3, x[n + 5])],
        lambda k: None if k < 3 else k + 5,
    ),
    "faster at first": (
        lambda x: [(n < 5, x[2 * n]), (n >= 5, x[n])],
        lambda k: 2 * k if k < 5 else k,
    ),
}


def _made(name: str) -> Any:
    x = tw.stream("x", tw.float64)
    y = tw.computation("y", ENDLESS, PROGRAMS[name][0](x))
    return tw.stream_function("k", outputs=[y])


def _expected(name: str, x: np.ndarray, rate: float) -> np.ndarray:
    """The elements that the definition has, up to the first that needs more or whose time has not begun."""
    values, default = [], 7.0 if name == "nothing read at first" else 0.0
    for k in range(int(np.ceil(rate * len(x)))):
        at = PROGRAMS[name][1](k)
        if at is not None and at >= len(x):
            break
        values.append(default if at is None else x[at])
    return np.array(values)


@pytest.mark.parametrize("name", PROGRAMS)
def test_each_element_comes_when_it_can(name: str) -> None:
    k, x = _made(name), np.random.default_rng(len(name)).random(LENGTH)
    rate = float(k.stream()._step.timing.rates["y"])
    whole = _expected(name, x, rate)
    for length in range(LENGTH):
        np.testing.assert_array_equal(k(x[:length])[0], _expected(name, x[:length], rate))
    rng = random.Random(name)
    for _ in range(4):
        s, there, parts = k.stream(), 0, []
        cuts = sorted(rng.choices(range(LENGTH + 1), k=12))
        for begin, end in zip([0, *cuts], [*cuts, LENGTH], strict=True):
            for chunk in (x[begin:begin], x[begin : begin + 1], x[begin + 1 : end]):
                if begin < end or not len(chunk):
                    told = s.counts_after(len(chunk))["y"]
                    parts.append(s.push(chunk))
                    there += len(parts[-1])
                    assert told == len(parts[-1])
            assert there == len(_expected(name, x[:end], rate))
            s = pickle.loads(pickle.dumps(s)) if rng.random() < 0.2 else s
        assert len(s.flush()) == 0
        np.testing.assert_array_equal(np.concatenate(parts), whole)
    np.testing.assert_array_equal(k.batch(LENGTH)(x), whole)
    late = k.stream().latency["y"]
    assert (
        late
        == max(
            int(rate * (length - 1)) - len(_expected(name, x[: length - 1], rate))
            for length in range(1, LENGTH)
        )
        or rate != 1
    )


@pytest.mark.parametrize("name", PROGRAMS)
def test_in_c(name: str, tmp_path: pathlib.Path) -> None:
    from test_stream_c import COMPILER, CStream

    if COMPILER is None:
        pytest.skip("there is no C compiler")
    k, x = _made(name), np.random.default_rng(1).random(LENGTH)
    own, stream = CStream(k, tmp_path, {}, largest=8), k.stream()
    for chunk in np.split(x, [0, 1, 3, 4, 20, 29, 30, 50]):
        np.testing.assert_array_equal(own.push(chunk)[0], stream.push(chunk))


@pytest.mark.parametrize("latency", [0, 5, 12])
def test_in_periods(latency: int) -> None:
    for name in PROGRAMS:
        k, x = _made(name).periodic(latency=latency), np.random.default_rng(2).random(LENGTH)
        s = k.stream()
        parts = [s.push(chunk) for chunk in np.split(x, [1, 2, 9, 33])]
        rate = float(s._step.timing.rates["y"])
        whole = np.concatenate([*parts, s.flush()])
        np.testing.assert_array_equal(whole, _expected(name, x, rate), err_msg=name)


def test_periods_of_what_blocks_read_in_turns() -> None:
    """The first and the last element that an element reads say nothing of those between."""
    x = tw.stream("x", tw.float64)
    y = tw.computation("y", ENDLESS, tw.select(n >= 3, x[n - 3], 0.0) + x[_reversed(4)] + x[n + 4])
    k = tw.stream_function("k", outputs=[y])
    assert k.tiling().smallest_size == 4
    data = np.random.default_rng(3).random(40)
    s = k.periodic(size=8).stream()
    whole = np.concatenate([s.push(data[:13]), s.push(data[13:]), s.flush()])
    at = np.arange(36)
    expected = np.where(at >= 3, data[at - 3], 0.0) + data[at ^ 3] + data[at + 4]
    np.testing.assert_array_equal(whole, expected)


def test_by_way_of_others() -> None:
    """What waits is itself read, ahead of time, by grids of channels, and by what needs itself."""
    x = tw.stream("x", tw.float64, shape=[2])
    back = tw.computation("back", {n: tw.forever, c: 2}, x[_reversed(4), c])
    total = tw.computation("total", {n: tw.forever, c: 2}, dtype=tw.float64)
    total.define(n == 0, back[0, c])
    total.define(n > 0, total[n - 1, c] + back[n, 1 - c])
    there = tw.computation("there", {n: tw.forever, c: 2}, total[_reversed(3), c])
    k = tw.stream_function("k", outputs=[there, back])
    data = np.random.default_rng(4).random((50, 2))
    for length in (0, 1, 3, 4, 11, 12, 50):
        own = data[:length]
        blocks = own[: length // 4 * 4].reshape(-1, 4, 2)[:, ::-1].reshape(-1, 2)
        sums = np.array([*blocks[:1], *blocks[1:, ::-1]]).reshape(-1, 2).cumsum(0)
        sums = sums[: len(sums) // 3 * 3].reshape(-1, 3, 2)[:, ::-1].reshape(-1, 2)
        s = k.stream()
        pushed = [s.push(chunk) for chunk in np.array_split(own, 7)]
        found = [np.concatenate(each) for each in zip(*pushed, strict=True)]
        np.testing.assert_array_equal(found[1], blocks)
        np.testing.assert_allclose(found[0], sums, rtol=1e-12)
        np.testing.assert_array_equal(k(own)[0][0], found[0])


def test_batches_of_an_unknown_length() -> None:
    data = np.random.default_rng(6).random(45)
    for name in ("blocks reversed", "pairs swapped", "reversed at half the rate"):
        k = _made(name)
        f = k.batch(tw.param("N"))
        for length in (0, 1, 8, 15, 45):
            np.testing.assert_array_equal(f(data[:length]), k(data[:length])[0])
    with pytest.raises(tw.ArgumentError, match="no affine expression of N: give a number"):
        _made("interleaved").batch(tw.param("N"))


def test_a_callback_waits_for_the_latest_phase() -> None:
    x = tw.stream("x", tw.float32)
    y = tw.computation("y", ENDLESS, x[_reversed(8)])
    heard = tw.streams.callback(tw.stream_function("k", outputs=[y]).stream())
    data = np.random.default_rng(5).random(64, np.float32)
    out = np.empty((64, 1), np.float32)
    for place in range(0, 64, 4):
        heard(data[place : place + 4, None], out[place : place + 4], 4)
    expected = data.reshape(-1, 8)[:, ::-1].ravel()
    late = heard.latency
    assert late == 7 and not out[:late].any()
    np.testing.assert_array_equal(out[late:, 0], expected[: 64 - late])


RELATIONS = [
    ("[n] -> [8 * floor(n / 8) + 7 - (n mod 8)] : n >= 0", 1, 1, 7),
    ("[n] -> [t] : n >= 0 and (t = n - 3 or t = 3 - n) and t >= 0", 1, 1, 3),
    ("[n] -> [n + 5] : n >= 3", 1, 1, 5),
    ("[n] -> [n + 3] : n >= 0 and n mod 2 = 0", 1, 1, 3),
    ("[n] -> [t] : n >= 0 and 3 * floor(n / 2) <= t <= 3 * floor(n / 2) + 2", 3, 2, 4),
    ("[n] -> [2 * n] : 0 <= n < 5; [n] -> [n] : n >= 5", 1, 1, 4),
    ("[n] -> [64 * floor(n / 64) + 8 * (n mod 8) + floor((n mod 64) / 8)] : n >= 0", 1, 1, 49),
]


@pytest.mark.parametrize("relation", RELATIONS, ids=lambda one: one[0])
def test_needs_are_what_elements_read(relation: tuple[str, int, int, int]) -> None:
    text, gain, step, high = relation
    pairs = _core.IntegerMap(f"{{ {text} }}")
    needs = needs_of(pairs, gain, step, high)
    assert needs is not None
    early = pairs.intersect_domain(_core.IntegerSet("{ [n] : n < 300 }")).wrap()
    flat = early.apply(_core.IntegerMap("{ [[n] -> [t]] -> [n, t] }"))
    read = [pair for _, points in flat.points(10_000) for pair in points]
    for count in range(150):
        exact = min(place for place, at in read if at >= count)
        assert max(0, needs.limit(count)) == exact, count


def test_what_is_even_has_no_steps() -> None:
    for text, gain, step, high in (
        ("[n] -> [n] : n >= 0", 1, 1, 0),
        ("[n] -> [n - 5] : n >= 5", 1, 1, -5),
        ("[n] -> [floor(3 * n / 2)] : n >= 0", 3, 2, 0),
        ("[n] -> [t] : n >= 0 and 0 <= t <= n and t > n - 7", 1, 1, 0),
    ):
        assert needs_of(_core.IntegerMap(f"{{ {text} }}"), gain, step, high) is None
