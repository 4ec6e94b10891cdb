"""Random views of one memory as inputs and outputs: a call gives the values that it gives on copies,
touches nothing else, or refuses; it never does anything third."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tilewright as tw

i, j = tw.iters("i j")
N, M = tw.params("N M")
WORDS = 48
EXAMPLES = settings(
    max_examples=100,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)


def elementwise(schedule: str) -> Any:
    x = tw.input("x", [N, M], tw.int32)
    y = tw.input("y", [N, M], tw.int32)
    z = tw.computation("z", {i: N, j: M}, 3 * x[i, j] - y[i, j])
    f = tw.function("elementwise", outputs=[z], inputs=[x, y], default_schedule=False)
    if schedule == "vector":
        z.vectorize(j, 4)
    elif schedule == "reversed":
        z.reverse(i).interchange(i, j)
    return f, 2, lambda x, y: 3 * x - y


def neighbours(schedule: str) -> Any:
    x = tw.input("x", [N + 1, M + 1], tw.int32)
    z = tw.computation("z", {i: N, j: M}, x[i, j] + 5 * x[i + 1, j] - 7 * x[i, j + 1])
    f = tw.function(
        "neighbours", outputs=[z], context=[N >= 0, M >= 0], default_schedule=schedule == "vector"
    )
    if schedule == "reversed":
        z.reverse(i).reverse(j)
    return f, 1, lambda x: x[:-1, :-1] + 5 * x[1:, :-1] - 7 * x[:-1, 1:]


def column(schedule: str) -> Any:
    """A sum of each row beside a vector: reductions, and arrays of two ranks."""
    x = tw.input("x", [N, M], tw.int32)
    y = tw.input("y", [N], tw.int32)
    total = tw.sum(x[i, j], over={j: M})
    z = tw.computation("z", {i: N}, tw.cast(y[i] - total, tw.int32))
    f = tw.function("column", outputs=[z], inputs=[x, y], default_schedule=schedule == "vector")
    if schedule == "reversed":
        z.reverse(i)
    return f, 2, lambda x, y: (y - x.sum(1, dtype=np.int64)).astype(np.int32)


PROGRAMS = {
    f"{make.__name__}, {schedule}": make(schedule)
    for make in (elementwise, neighbours, column)
    for schedule in ("plain", "vector", "reversed")
}


@st.composite
def views(draw: Any, memory: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """A view of the memory (bytes) of this shape: any offset and strides that stay inside."""
    kind = draw(st.sampled_from(["packed", "packed", "steps", "steps", "bytes"]))
    strides = []
    if kind == "packed":
        step = 4
        for length in reversed(shape):
            strides.insert(0, step)
            step *= length + draw(st.sampled_from([0, 0, 1]))
        if draw(st.booleans()) and len(shape) == 2:
            strides = [4, 4 * (shape[0] + draw(st.sampled_from([0, 1])))]
    else:
        unit = 1 if kind == "bytes" else 4
        strides = [unit * draw(st.integers(-9, 9)) for _ in shape]
    strides = [step * draw(st.sampled_from([1, 1, 1, -1])) for step in strides]
    reach = [
        (length - 1) * step if length else 0 for length, step in zip(shape, strides, strict=True)
    ]
    low, high = sum(min(r, 0) for r in reach), sum(max(r, 0) for r in reach) + 4
    if high - low > memory.nbytes:
        strides, low, high = [0 for _ in shape], 0, 4
    offset = draw(st.integers(-low, memory.nbytes - high))
    if kind != "bytes":
        offset -= (offset + low) % 4 if (offset - (offset + low) % 4) >= -low else 0
    dtype = draw(st.sampled_from(["<i4"] * 12 + [">i4", "<f4"]))
    return np.ndarray(shape, dtype, memory, offset, strides)


def shapes_of(name: str, n: int, m: int) -> list[tuple[int, ...]]:
    if name.startswith("neighbours"):
        return [(n + 1, m + 1), (n, m)]
    if name.startswith("column"):
        return [(n, m), (n,), (n,)]
    return [(n, m)] * 3


@pytest.mark.parametrize("name", PROGRAMS)
def test_views_of_one_memory(name):
    f, inputs, expected_of = PROGRAMS[name]
    outcomes = {"ran": 0, "refused": 0}

    @EXAMPLES
    @given(data=st.data())
    def run(data: Any) -> None:
        memory = np.frombuffer(
            np.random.default_rng(data.draw(st.integers(0, 9))).bytes(4 * WORDS), np.uint8
        ).copy()
        n, m = data.draw(st.integers(0, 4)), data.draw(st.integers(0, 4))
        arrays = [data.draw(views(memory, shape)) for shape in shapes_of(name, n, m)]
        if data.draw(st.booleans()):  # in place, or nearly so
            chosen = arrays[data.draw(st.integers(0, inputs - 1))]
            if chosen.ndim == arrays[-1].ndim:
                part = tuple(slice(length) for length in arrays[-1].shape)
                arrays[-1] = chosen[part]
        if data.draw(st.booleans()) and inputs == 2 and arrays[0].shape == arrays[1].shape:
            arrays[1] = arrays[0]
        if data.draw(st.integers(0, 5)) == 0:
            arrays[-1] = None
        before = memory.copy()
        copies = [array.copy() for array in arrays[:inputs]]
        out = arrays[-1]
        try:
            result = f(*arrays[:inputs], out=out)
        except (ValueError, TypeError):
            outcomes["refused"] += 1
            np.testing.assert_array_equal(memory, before)
            return
        outcomes["ran"] += 1
        expected = expected_of(*(array.astype(np.int32) for array in copies))
        np.testing.assert_array_equal(result, expected)
        if out is not None:
            assert result is out
            image = before.copy()
            moved = np.ndarray(
                out.shape, out.dtype, image, out.ctypes.data - memory.ctypes.data, out.strides
            )
            moved[...] = expected
            np.testing.assert_array_equal(memory, image)
        else:
            np.testing.assert_array_equal(memory, before)

    run()
    assert outcomes["ran"] > 10
    assert outcomes["refused"] > 10


ODD: list[Any] = [
    *(None, 0, 1, -1, 2**64, 1.5, float("nan"), True, 1j, "x", b"", b"abcd", [], [1], (), {}),
    *(object(), type, np, np.int32, np.int32(3), np.float64(2), np.array(3), np.zeros(0)),
    *(np.zeros((2, 2), np.int32), np.zeros((1, 2, 3), np.int32), np.zeros(3, "M8[s]")),
    *(np.array([None]), np.array(["a"]), np.ma.masked_array([1, 2]), np.zeros(2, "i4,f8")),
    *(memoryview(b"abcd"), bytearray(8), range(4), np.zeros((2, 2), ">i4"), np.nditer([1])),
]


@EXAMPLES
@given(data=st.data())
def test_anything_as_an_argument(data):
    f, _, _ = PROGRAMS["column, plain"]
    odd = st.sampled_from(ODD)
    arguments = data.draw(st.lists(odd, max_size=4))
    names = st.sampled_from(["x", "y", "z", "N", "M", "out", "other", ""])
    keywords = data.draw(
        st.dictionaries(names, odd | st.tuples(odd) | st.just({"z": 1}), max_size=4)
    )
    for run in (f, f.evaluate, f.compile):
        try:
            run(*arguments, **keywords)
        except (TypeError, ValueError, OverflowError, MemoryError) as error:
            assert str(error)
