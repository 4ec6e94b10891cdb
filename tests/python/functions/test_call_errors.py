"""What is wrong with a call is said by name, with what was expected and what was given."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tilewright as tw

i, j, k = tw.iters("i j k")
N, M, K = tw.params("N M K")


@pytest.fixture(scope="module")
def matmul():
    a = tw.input("A", [N, K], tw.float32)
    b = tw.input("B", [K, M], tw.float32)
    c = tw.computation("C", {i: N, j: M}, tw.sum(a[i, k] * b[k, j], over={k: K}))
    return tw.function("matmul", outputs=[c])


@pytest.fixture(scope="module")
def both():
    x = tw.input("x", [N], tw.int64)
    low = tw.computation("low", {i: N}, x[i] - 1)
    high = tw.computation("high", {i: N}, x[i] + 1)
    return tw.function("both", outputs=[low, high])


def f32(*shape):
    return np.ones(shape, np.float32)


def unaligned(*shape):
    count = int(np.prod(shape))
    return np.zeros(count * 4 + 1, np.uint8)[1:].view(np.float32).reshape(shape)


def read_only(*shape):
    array = f32(*shape)
    array.flags.writeable = False
    return array


TYPE_ERRORS = [
    ((f32(2, 3),), {}, "matmul() is missing 1 argument: B (it takes A, B)"),
    ((), {}, "matmul() is missing 2 arguments: A, B"),
    (
        (f32(2, 3), f32(3, 4), f32(2, 4)),
        {},
        "matmul() takes 2 arrays (A, B), 3 were given; outputs go to out=",
    ),
    ((f32(2, 3), f32(3, 4)), {"A": f32(2, 3)}, "matmul() got two values for argument A"),
    (
        (f32(2, 3), f32(3, 4)),
        {"result": 1},
        "matmul() got an unexpected keyword 'result'; its inputs are A, B, its parameters",
    ),
    (
        ([[1.0, 2.0]], f32(2, 4)),
        {},
        "matmul: argument A: expected a NumPy array of float32, got list; convert it with "
        "np.asarray(A, np.float32)",
    ),
    ((1.0, f32(2, 4)), {}, "matmul: argument A: expected a NumPy array of float32, got float"),
    ((None, f32(2, 4)), {}, "matmul: argument A: expected a NumPy array of float32, got NoneType"),
    (
        (f32(2, 3).astype(np.float64), f32(3, 4)),
        {},
        "matmul: argument A: expected float32, got float64; convert it with A.astype(np.float32)",
    ),
    (
        (f32(2, 3).astype(">f8"), f32(3, 4)),
        {},
        "matmul: argument A: expected float32 in this machine's byte order, got >f8",
    ),
    ((np.ma.masked_array(f32(2, 3)), f32(3, 4)), {}, "argument A: masked arrays are not supported"),
    (
        (f32(2, 3), f32(3, 4)),
        {"out": np.zeros((2, 4))},
        "matmul: output C: expected float32, got float64",
    ),
    ((f32(2, 3), f32(3, 4)), {"out": 3}, "matmul: output C: expected a NumPy array of float32"),
    ((f32(2, 3), f32(3, 4)), {"N": "two"}, "matmul: parameter N must be an integer, got str"),
    ((f32(2, 3), f32(3, 4)), {"N": True}, "matmul: parameter N must be an integer, got bool"),
]

VALUE_ERRORS = [
    (
        (f32(2, 4), f32(5, 3)),
        {},
        "matmul: argument B: axis 0 has 5 elements, "
        "expected K = 4 (K is the length of axis 1 of A)",
    ),
    (
        (f32(2), f32(5, 3)),
        {},
        "matmul: argument A: expected 2 dimensions [N, K], got 1 (shape (2,))",
    ),
    (
        (f32(2, 4), f32(4, 3)),
        {"out": f32(2, 4)},
        "matmul: output C: axis 1 has 4 elements, expected M = 3 (M is the length of axis 1 of B)",
    ),
    (
        (f32(2, 4), f32(4, 3)),
        {"out": f32(1, 3)},
        "matmul: output C: axis 0 has 1 element, expected N = 2 (N is the length of axis 0 of A)",
    ),
    (
        (f32(2, 4), f32(4, 3)),
        {"K": 5},
        "A: axis 1 has 4 elements, expected K = 5 (K = 5 was given)",
    ),
    (
        (f32(2, 4), f32(4, 3)),
        {"out": read_only(2, 3)},
        "matmul: output C: the array is read-only",
    ),
    (
        (f32(2, 4), f32(4, 3)),
        {"out": np.lib.stride_tricks.as_strided(f32(3), (2, 3), (0, 4))},
        "matmul: output C: elements of the array share memory",
    ),
    (
        (f32(2, 4), f32(4, 3)),
        {"out": unaligned(2, 3)},
        "matmul: output C: the array is not aligned to its items of 4 bytes",
    ),
    (
        (f32(2, 4), f32(4, 3)),
        {"out": (f32(2, 3), f32(2, 3))},
        "matmul: out= must be an array for C or a dict by name, got a sequence of 2",
    ),
    (
        (f32(2, 4), f32(4, 3)),
        {"out": {"D": f32(2, 3)}},
        "matmul: out= must be an array for C or a dict by name, got the dict",
    ),
]


@pytest.mark.parametrize(("arrays", "keywords", "message"), TYPE_ERRORS)
def test_type_errors(matmul, arrays, keywords, message):
    with pytest.raises(TypeError, match=re.escape(message)):
        matmul(*arrays, **keywords)
    with pytest.raises(TypeError, match=re.escape(message)):
        matmul.evaluate(*arrays, **keywords)


@pytest.mark.parametrize(("arrays", "keywords", "message"), VALUE_ERRORS)
def test_value_errors(matmul, arrays, keywords, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        matmul(*arrays, **keywords)
    with pytest.raises(ValueError, match=re.escape(message)):
        matmul.evaluate(*arrays, **keywords)


def test_a_failed_call_writes_nothing(matmul):
    out = np.full((2, 3), 7, np.float32)
    with pytest.raises(ValueError, match="argument B"):
        matmul(f32(2, 4), f32(5, 3), out=out)
    assert (out == 7).all()


def test_outputs_that_overlap(both):
    memory = np.zeros(6, np.int64)
    with pytest.raises(ValueError, match="both: the outputs low and high share memory"):
        both(np.arange(5), out=(memory[:5], memory[1:]))


def test_out_of_several_outputs(both):
    with pytest.raises(TypeError, match=re.escape("out= must be a tuple of 2 arrays (low, high)")):
        both(np.arange(5), out=np.zeros(5, np.int64))
    with pytest.raises(ValueError, match="got a sequence of 1"):
        both(np.arange(5), out=(np.zeros(5, np.int64),))


def test_read_only_inputs_are_fine(matmul):
    assert (matmul(read_only(2, 4), read_only(4, 3)) == 4).all()


def test_a_function_without_an_initialiser():
    empty = tw.Function.__new__(tw.Function)
    with pytest.raises(TypeError, match=r"make functions with tw.function"):
        empty()
    for ask in (repr, lambda f: f.signature, lambda f: f.evaluate(), lambda f: f._layers()):
        with pytest.raises(AttributeError, match=r"make functions with tw.function"):
            ask(empty)


def test_what_is_no_list_of_outputs():
    x = tw.input("x", [N], tw.int64)
    with pytest.raises(tw.DeclarationTypeError, match="outputs must be a list of computations"):
        tw.function("f", outputs=3)
    with pytest.raises(tw.DeclarationTypeError, match="must be computations, got the input x"):
        tw.function("f", outputs=[x])
    with pytest.raises(tw.DeclarationError, match="at least one output"):
        tw.function("f", outputs=[])


def test_other_mistakes_of_a_function():
    x = tw.input("x", [N], tw.int64)
    y = tw.computation("y", {i: N}, x[i] + 1)
    for name in ("", "two words", "3d"):
        with pytest.raises(tw.DeclarationError, match="must be an identifier"):
            tw.function(name, outputs=[y])
    with pytest.raises(tw.DeclarationTypeError, match="must be a string"):
        tw.function(3, outputs=[y])
    with pytest.raises(tw.DeclarationError, match="reads x, but inputs= is empty"):
        tw.function("f", outputs=[y], inputs=[])
    for context in ([3], "N > 3", 3):
        with pytest.raises(tw.DeclarationTypeError, match="conditions on parameters"):
            tw.function("f", outputs=[y], context=context)
    with pytest.raises(tw.DeclarationError, match="twice"):
        tw.function("f", outputs=[y, y])
    with pytest.raises(tw.DeclarationError, match="contradict"):
        tw.function("f", outputs=[y], context=N < 0)


def test_numbers_of_threads_that_raise(matmul):
    class Raising:
        def __index__(self):
            raise OSError("not now")

    a, b = np.ones((2, 3)), np.ones((3, 4))
    for keyword in ("threads", "N"):
        with pytest.raises(OSError, match="not now"):
            matmul(a, b, **{keyword: Raising()})


def test_names_that_are_no_text(matmul):
    class Odd:
        __module__ = 5  # type: ignore[assignment]

    class Broken(Exception):
        def __str__(self):
            raise ValueError

    class Raising:
        def __array__(self, dtype=None, copy=None):
            raise Broken

    Odd.__qualname__ = "Odd\udcff"
    with pytest.raises(TypeError, match=r"got 5\.Odd\\udcff"):
        matmul(Odd(), np.ones((3, 4)))
    with pytest.raises(TypeError, match=r"does not give its memory: \?"):
        matmul(Raising(), np.ones((3, 4)))
    with pytest.raises(TypeError, match=r"unexpected keyword '\\udcff'"):
        matmul(np.ones((2, 3)), np.ones((3, 4)), **{"\udcff": 1})


def test_a_subscript_outside_names_the_line_of_the_read():
    i, n, m = tw.iter("i"), tw.param("N"), tw.param("M")
    x, index = tw.input("x", [m], tw.float64), tw.input("index", [n], tw.int64)
    y = tw.computation("y", {i: n}, x[index[i]] + 1)
    z = tw.computation("z", {i: n}, y[i] * 2)
    f = tw.function("f", outputs=[z])
    with pytest.raises(tw.SubscriptError) as failed:
        f(index=np.array([7]), x=np.ones(3))
    assert failed.value.location.text == 'y = tw.computation("y", {i: n}, x[index[i]] + 1)'


# ---- figures ----


@pytest.mark.parametrize("value", [2**64 - 1, 2**63, 2**63 - 1, 7])
def test_an_unsigned_subscript_is_reported_as_it_is(value):
    x = tw.input("x", [N], tw.float64)
    index = tw.input("index", [M], tw.uint64)
    y = tw.computation("y", {i: M}, x[index[i]])
    f = tw.function("f", inputs=[x, index], outputs=[y])
    data, places = np.arange(7.0), np.array([0, 6, value, 1], np.uint64)
    with pytest.raises(tw.SubscriptError, match=f"subscript {value} is out of bounds") as caught:
        f(data, places)
    assert caught.value.details["value"] == str(value)
    assert caught.value.details["read"] == f"x[{value}]"
    with pytest.raises(tw.SubscriptError, match=rf"x\[{value}\], outside") as caught:
        f.evaluate(data, places)
    assert "negative" not in str(caught.value)
    checked = tw.function("g", inputs=[x, index], outputs=[y], check_bounds=True)
    with pytest.raises(tw.SubscriptError, match=f"subscript {value} is out of bounds"):
        checked(data, places)
    np.testing.assert_array_equal(f(data, places % 7), data[places % 7])


def test_an_array_that_numpy_cannot_make_is_refused_by_name():
    y = tw.computation("big", {i: N, j: M}, 1.0)
    f = tw.function("f", outputs=[y])
    message = r"f: output big: NumPy makes no array of shape \(1099511627776, 1099511627776\)"
    for run in (f, f.evaluate):
        with pytest.raises(tw.ArgumentError, match=message):
            run(N=2**40, M=2**40)
    many = tw.iters(" ".join(f"i{d}" for d in range(65)))
    z = tw.computation("deep", dict.fromkeys(many, 1), 1.0)
    with pytest.raises(
        tw.ArgumentError, match=r"g: output deep: NumPy makes no array .* dimension"
    ):
        tw.function("g", outputs=[z]).evaluate()
