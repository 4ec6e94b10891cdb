"""Every kind of NumPy array as an input and as an output: it works, with the values of the evaluator
and of NumPy, or a precise error says why not."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilewright as tw

i, j = tw.iters("i j")
N, M = tw.params("N M")


@pytest.fixture(scope="module")
def combine():
    x = tw.input("x", [N, M], tw.float32)
    y = tw.input("y", [N, M], tw.float32)
    z = tw.computation("z", {i: N, j: M}, x[i, j] * 2 - y[i, j])
    return tw.function("combine", outputs=[z])


def plain(n: int, m: int) -> np.ndarray:
    return np.random.default_rng(n).integers(-99, 99, (n, m)).astype(np.float32)


def unaligned(n: int, m: int) -> np.ndarray:
    memory = np.zeros(n * m * 4 + 1, np.uint8)[1:].view(np.float32).reshape(n, m)
    memory[:] = plain(n, m)
    return memory


def read_only(n: int, m: int) -> np.ndarray:
    array = plain(n, m)
    array.flags.writeable = False
    return array


def with_metadata(n: int, m: int) -> np.ndarray:
    return plain(n, m).astype(np.dtype("f4", metadata={"unit": "m"}))


class Subclass(np.ndarray):
    pass


def matrix(n: int, m: int) -> np.ndarray:
    return plain(n, m).view(np.matrix)


Maker = Callable[[int, int], Any]

# What works both ways.
VIEWS: dict[str, Maker] = {
    "row-major": plain,
    "column-major": lambda n, m: np.asfortranarray(plain(n, m)),
    "transposed": lambda n, m: plain(m, n).T,
    "negative rows": lambda n, m: plain(n, m)[::-1],
    "negative columns": lambda n, m: plain(n, m)[:, ::-1],
    "negative both": lambda n, m: plain(m, n).T[::-1, ::-1],
    "every third": lambda n, m: plain(3 * n, 2 * m)[1::3, ::2],
    "window": lambda n, m: plain(n + 3, m + 2)[2:-1, 1:-1],
    "subclass": lambda n, m: plain(n, m).view(Subclass),
    "matrix": matrix,
    "dtype with metadata": with_metadata,
    "field": lambda n, m: np.zeros((n, m), [("a", "i4"), ("x", "f4")])["x"],
    "real part": lambda n, m: (plain(n, m) + 1j).real,
    "imaginary part": lambda n, m: (plain(n, m) + 1j).imag[::-1],
}
# What can be read only.
INPUTS: dict[str, Maker] = VIEWS | {
    "read-only": read_only,
    "unaligned": unaligned,
    "unaligned and reversed": lambda n, m: unaligned(n, m)[::-1, ::-1],
    "byte-swapped": lambda n, m: plain(n, m).astype(">f4"),
    "byte-swapped column-major": lambda n, m: plain(m, n).astype(">f4").T,
    "byte-swapped and unaligned": lambda n, m: np.zeros(
        n * m, np.dtype([("a", "u1"), ("x", ">f4")])
    )["x"].reshape(n, m),
    "one row, broadcast": lambda n, m: np.broadcast_to(plain(1, m), (n, m)),
    "one column, broadcast": lambda n, m: np.broadcast_to(plain(n, 1), (n, m)),
    "one number, broadcast": lambda n, m: np.broadcast_to(np.float32(3), (n, m)),
    "overlapping windows": lambda n, m: np.lib.stride_tricks.as_strided(
        plain(1, n + m), (n, m), (4, 4)
    ),
    "strides below the item": lambda n, m: np.lib.stride_tricks.as_strided(
        np.zeros(4 * (n + m), np.float32), (n, m), (4, 8)
    ),
}
SIZES = [(0, 0), (0, 3), (4, 0), (1, 1), (1, 9), (5, 1), (7, 18)]


def checked(f: Any, x: Any, y: Any, out: Any = None) -> None:
    expected = np.asarray(x, np.float32) * 2 - np.asarray(y, np.float32)
    np.testing.assert_array_equal(f.evaluate(x, y), expected)
    result = f(x, y, out=out)
    assert out is None or result is out
    assert out is not None or type(result) is np.ndarray
    np.testing.assert_array_equal(np.asarray(result), expected)


@pytest.mark.parametrize("kind", INPUTS)
def test_inputs(combine, kind):
    for n, m in SIZES:
        checked(combine, INPUTS[kind](n, m), plain(n, m))
        checked(combine, plain(n, m), INPUTS[kind](n, m))
        given = INPUTS[kind](n, m)
        before = np.array(given)
        checked(combine, given, INPUTS[kind](n, m))
        np.testing.assert_array_equal(given, before)  # it was only read


@pytest.mark.parametrize("kind", VIEWS)
def test_outputs(combine, kind):
    for n, m in SIZES:
        checked(combine, plain(n, m), plain(n, m), VIEWS[kind](n, m))
        for other in ("column-major", "byte-swapped"):
            checked(combine, INPUTS[other](n, m), plain(n, m), VIEWS[kind](n, m))


def test_fields_of_packed_records_are_not_aligned(combine):
    record = np.dtype([("a", np.uint8), ("x", np.float32)])
    array = np.zeros((5, 6), record)
    array["x"] = plain(5, 6)
    checked(combine, array["x"], plain(5, 6))
    with pytest.raises(ValueError, match="output z: the array is not aligned"):
        combine(plain(5, 6), plain(5, 6), out=array["x"])
    p = tw.input("P", [N, M], record)
    f = tw.function("f", outputs=[tw.computation("z", {i: N, j: M}, p.x[i, j] * 2)])
    np.testing.assert_array_equal(f(array), array["x"] * 2)
    swapped = array.astype([("a", "u1"), ("x", ">f4")])
    np.testing.assert_array_equal(f(swapped), array["x"] * 2)


LARGE = plain(3, 4)

REFUSED_INPUTS: list[tuple[Any, type[Exception], str]] = [
    (
        LARGE.astype(np.float64),
        TypeError,
        "combine: argument x: expected float32, got float64; convert it with x.astype(np.float32)",
    ),
    (LARGE.astype(np.float16), TypeError, "expected float32, got float16"),
    (LARGE.astype(np.complex64), TypeError, "expected float32, got complex64"),
    (LARGE.astype(np.int32), TypeError, "expected float32, got int32"),
    (LARGE.astype(bool), TypeError, "expected float32, got bool"),
    (LARGE.astype(object), TypeError, "expected float32, got object"),
    (LARGE.astype("S8"), TypeError, "expected float32, got |S8"),
    (LARGE.astype("U8"), TypeError, "expected float32, got <U8"),
    (np.zeros((3, 4), "M8[s]"), TypeError, "expected float32, got datetime64[s]"),
    (np.zeros((3, 4), [("x", "f4")]), TypeError, "expected float32, got [('x', '<f4')]"),
    (LARGE.astype(np.longdouble), TypeError, "expected float32, got float128"),
    (LARGE.astype(">f8"), TypeError, "expected float32 in this machine's byte order, got >f8"),
    (LARGE[0], ValueError, "argument x: expected 2 dimensions [N, M], got 1 (shape (4,))"),
    (LARGE[None], ValueError, "expected 2 dimensions [N, M], got 3 (shape (1, 3, 4))"),
    (np.float32(1), ValueError, "expected 2 dimensions [N, M], got 0 (shape ())"),
    (LARGE[:2], ValueError, "argument y: axis 0 has 3 elements, expected N = 2 (N is the length"),
    (np.ma.masked_array(LARGE), TypeError, "masked arrays are not supported, their mask would"),
    (LARGE.tolist(), TypeError, "expected a NumPy array of float32, got list; convert it with"),
    (None, TypeError, "expected a NumPy array of float32, got NoneType"),
    (1.0, TypeError, "expected a NumPy array of float32, got float"),
    ("text", TypeError, "expected a NumPy array of float32, got str"),
    (np.ndarray, TypeError, "expected a NumPy array of float32, got type"),
]


@pytest.mark.parametrize(("given", "error", "message"), REFUSED_INPUTS)
def test_refused_inputs(combine, given, error, message):
    for run in (combine, combine.evaluate, combine.compile):
        with pytest.raises(error, match=re.escape(message)):
            run(given, LARGE)


REFUSED_OUTPUTS: list[tuple[Any, type[Exception], str]] = [
    (read_only(3, 4), ValueError, "combine: output z: the array is read-only"),
    (unaligned(3, 4), ValueError, "output z: the array is not aligned to its items of 4 bytes"),
    (
        LARGE.astype(">f4"),
        TypeError,
        "output z: expected float32 in this machine's byte order, got >f4",
    ),
    (LARGE.astype(np.float64), TypeError, "output z: expected float32, got float64"),
    (LARGE.astype(object), TypeError, "output z: expected float32, got object"),
    (LARGE.T.copy(), ValueError, "output z: axis 0 has 4 elements, expected N = 3"),
    (LARGE[0].copy(), ValueError, "output z: expected 2 dimensions [N, M], got 1"),
    (
        np.lib.stride_tricks.as_strided(LARGE.copy(), (3, 4), (0, 4)),
        ValueError,
        "output z: elements of the array share memory (a broadcast view?); it cannot be written",
    ),
    (
        np.lib.stride_tricks.as_strided(LARGE.copy(), (3, 4), (4, 4)),
        ValueError,
        "output z: elements of the array share memory",
    ),
    (np.ma.masked_array(LARGE), TypeError, "output z: masked arrays are not supported"),
    (LARGE.tolist(), TypeError, "expected a NumPy array of float32, got list"),
    (b"abc", TypeError, "output z: expected float32, got uint8"),
    (np.float32(1), TypeError, "output z: this numpy.float32 gives a copy of its elements only"),
]


@pytest.mark.parametrize(("given", "error", "message"), REFUSED_OUTPUTS)
def test_refused_outputs(combine, given, error, message):
    x = plain(3, 4)
    for run in (combine, combine.evaluate):
        with pytest.raises(error, match=re.escape(message)):
            run(x, x, out=[given])


def test_broadcast_views_of_one_element_are_writeable(combine):
    for n, m in ((1, 4), (0, 4), (4, 1)):
        out = np.lib.stride_tricks.as_strided(
            np.zeros(8, np.float32), (n, m), (0 if n < 2 else 4, 0 if m < 2 else 4)
        )
        checked(combine, plain(n, m), plain(n, m), out)


def test_changed_strides_of_one_array_object(combine):
    """What is remembered of a call follows shapes and strides, not objects."""
    x, y = plain(4, 6), plain(4, 6)
    checked(combine, x, y)
    x.shape = y.shape = (6, 4)
    checked(combine, x, y)
    for n in range(1, 12):
        for m in range(1, 6):
            checked(combine, plain(n, m), plain(m, n).T, plain(n, m)[::-1])


# ---- without axes ----


@pytest.fixture(scope="module")
def scaled():
    a = tw.input("a", [], tw.float32)
    x = tw.input("x", [N], tw.float32)
    y = tw.computation("y", {i: N}, a[()] * x[i])
    s = tw.computation("s", {}, a[()] + 1)
    return tw.function("scaled", outputs=[y, s], inputs=[a, x])


ZERO_D: dict[str, Any] = {
    "array": np.array(1.5, np.float32),
    "scalar": np.float32(1.5),
    "byte-swapped": np.array(1.5, ">f4"),
    "view": np.arange(3, dtype=np.float32)[1:2].reshape(()),
    "float": 1.5,
    "int": -3,
    "bool": True,
}


@pytest.mark.parametrize("kind", ZERO_D)
def test_numbers(scaled, kind):
    a = ZERO_D[kind]
    x = np.arange(5, dtype=np.float32)
    expected = x * np.float32(a)
    for run in (scaled, scaled.evaluate):
        y, s = run(a, x)
        np.testing.assert_array_equal(y, expected)
        assert s == np.float32(a) + 1
        assert isinstance(s, np.float32)
    out = np.zeros((), np.float32)
    given = scaled(x=x, a=a, out=(None, out))[1]
    assert given is out
    assert out == np.float32(a) + 1


def identity(dtype):
    a = tw.input("a", [], dtype)
    return tw.function("same", outputs=[tw.computation("s", {}, a[()])])


WHOLE = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


@pytest.mark.parametrize("dtype", WHOLE)
def test_limits_of_integers(dtype):
    f = identity(dtype)
    limits = np.iinfo(dtype)
    for value in (limits.min, limits.max, 0, 1, True):
        assert f(value) == value
        assert f.evaluate(value) == value
    for value in (limits.min - 1, limits.max + 1, 2**70, -(2**70)):
        with pytest.raises(
            OverflowError, match=f"same: argument a: int {value} does not fit {dtype}"
        ):
            f(value)
    for value in (1.0, 1j, "1"):
        with pytest.raises(TypeError, match=f"same: argument a: expected .*{dtype}"):
            f(value)
    with pytest.raises(TypeError, match=f"expected {dtype}, got"):
        f(np.float32(1))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_limits_of_floats(dtype):
    f = identity(dtype)
    kind = getattr(tw, dtype).dtype
    for value in (0.0, -0.0, 1.1, 3, True, float("inf"), -float("inf"), 1e-30, 65000.0):
        result = f(value)
        assert result.dtype == kind
        assert result == np.asarray(value).astype(kind)
        assert np.signbit(result) == np.signbit(np.float64(value))
    assert np.isnan(float(f(float("nan"))))
    too_large = {"float16": 65520.0, "bfloat16": 3.4e38, "float32": 3.5e38, "float64": 10**400}
    with pytest.raises(OverflowError, match=f"does not fit {dtype}"):
        f(too_large[dtype])
    with pytest.raises(OverflowError):
        f(-too_large[dtype])
    with pytest.raises(TypeError, match=rf"expected {dtype}, got complex 1j"):
        f(1j)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_numbers(dtype):
    f = identity(dtype)
    for value in (0, 2, 1.25, 1 - 2.5j, True):
        assert f(value) == value
        assert f(value).dtype == dtype
    if dtype == "complex64":
        with pytest.raises(OverflowError, match="does not fit complex64"):
            f(complex(0, 1e300))


def test_truth():
    f = identity("bool")
    assert f(True) == np.True_
    assert f(np.False_) == np.False_
    with pytest.raises(TypeError, match="expected bool, got int 1"):
        f(1)


# ---- parameters ----


def counted(dtype=tw.int64):
    x = tw.input("x", [N], dtype)
    y = tw.computation("y", {i: N, j: M}, x[i] + j)
    return tw.function("counted", outputs=[y])


@pytest.mark.parametrize(
    "value", [3, np.int8(3), np.uint64(3), np.array(3), np.array(3, np.int16)[()]]
)
def test_integers_as_parameters(value):
    f = counted()
    np.testing.assert_array_equal(f(np.arange(2), M=value), np.arange(2)[:, None] + np.arange(3))
    np.testing.assert_array_equal(f(x=np.arange(2), M=value, N=2), f(np.arange(2), M=3))


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        (2.0, TypeError, "counted: parameter M must be an integer, got float 2.0"),
        (np.float64(2), TypeError, "parameter M must be an integer, got numpy.float64"),
        (True, TypeError, "parameter M must be an integer, got bool"),
        ("2", TypeError, "parameter M must be an integer, got str"),
        (np.arange(3), TypeError, "parameter M must be an integer, got numpy.ndarray"),
        (np.array(2.0), TypeError, "parameter M must be an integer, got numpy.ndarray"),
        ([2], TypeError, "parameter M must be an integer, got list"),
        (2**63, OverflowError, "parameter M must be an integer of 64 bits, got int 922337203685"),
        (-(2**70), OverflowError, "counted: parameter M must be an integer of 64 bits, got int -1"),
        (-1, ValueError, "M = -1 is outside the function's context"),
    ],
)
def test_refused_parameters(value, error, message):
    f = counted()
    for run in (f, f.evaluate, f.compile):
        with pytest.raises(error, match=re.escape(message)):
            run(np.arange(2), M=value)


@pytest.mark.parametrize("value", [2**62, 2**63 - 1])
def test_parameters_that_no_memory_holds(value):
    with pytest.raises((ValueError, MemoryError)):
        counted()(np.arange(2), M=value)


def test_large_parameters_do_not_wrap():
    x = tw.input("x", [2 * N + 2 * M], tw.int64)
    y = tw.computation("y", {i: N}, x[i])
    f = tw.function("f", outputs=[y], inputs=[x])
    with pytest.raises(ValueError, match="argument x: axis 0 has 4 elements"):
        f(np.arange(4), N=2**62, M=2**62 + 2)
    with pytest.raises(ValueError, match="argument x: axis 0 has 4 elements"):
        f(np.arange(4), N=2**62)


# ---- names ----


def test_the_signature_is_in_the_message(combine):
    signature = (
        "combine(x: float32[N, M], y: float32[N, M], *, N=None, M=None, out=None, threads=None)"
    )
    x = plain(2, 2)
    for arguments, keywords, message in [
        ((x,), {}, "combine() is missing 1 argument: y"),
        ((), {"y": x}, "combine() is missing 1 argument: x"),
        ((x, x, x), {}, "combine() takes 2 arrays (x, y), 3 were given"),
        ((x,), {"x": x}, "combine() got two values for argument x"),
        ((x, x), {"Z": x}, "combine() got an unexpected keyword 'Z'"),
        ((x, x), {"z": x}, "combine() got an unexpected keyword 'z'; its inputs are x, y"),
    ]:
        for run in (combine, combine.evaluate):
            with pytest.raises(TypeError, match=re.escape(message)) as caught:
                run(*arguments, **keywords)
            assert caught.value.message.endswith(signature)


def test_names_that_are_not_interned(combine):
    x, y = plain(2, 3), plain(2, 3)
    keywords = {"".join(["", "x"]): x, "".join(list("y")): y, "".join(["o", "ut"]): plain(2, 3)}
    np.testing.assert_array_equal(combine(**keywords), x * 2 - y)
    with pytest.raises(TypeError, match="keywords must be strings"):
        combine(**{1: x})


def test_names_beyond_ascii(combine):
    with pytest.raises(TypeError, match="unexpected keyword '\U0001f600'"):
        combine(plain(2, 3), **{"\U0001f600": plain(2, 3)})


def test_derived_classes_and_partial_calls(combine):
    import functools

    class Traced(tw.Function):
        def __call__(self, *arrays: Any, **keywords: Any) -> Any:
            return "called", super().__call__(*arrays, **keywords)

    class Named(tw.Function):
        pass

    x = plain(2, 3)
    a = tw.input("a", [N, M], tw.float32)
    z = tw.computation("z", {i: N, j: M}, a[i, j] + 1)
    word, result = Traced("f", [z])(x)
    assert word == "called"
    np.testing.assert_array_equal(result, x + 1)
    np.testing.assert_array_equal(Named("f", [z])(x), x + 1)
    np.testing.assert_array_equal(Named("f", [z])(a=x), x + 1)
    np.testing.assert_array_equal(functools.partial(combine, y=x)(x), x)
    np.testing.assert_array_equal(list(map(combine, [x, x], [x, x]))[1], x)


def test_a_list_of_outputs_that_changes():
    x = tw.input("x", [N], tw.float32)
    outputs = [tw.computation(name, {i: N}, x[i] + 1) for name in ("p", "q")]
    f = tw.function("f", outputs=outputs)
    a = np.arange(3, dtype=np.float32)

    class Spiteful:
        """An array that empties the list it stands in when it is asked for its memory."""

        def __init__(self, given: list[Any]) -> None:
            self.given, self.memory = given, np.zeros(3, np.float32)

        @property
        def __array_interface__(self) -> Any:
            self.given.clear()
            return self.memory.__array_interface__

    given: list[Any] = []
    first = Spiteful(given)
    given += [first, np.zeros(3, np.float32)]
    p, q = f(a, out=given)
    assert p is first
    np.testing.assert_array_equal(first.memory, a + 1)
    np.testing.assert_array_equal(q, a + 1)
