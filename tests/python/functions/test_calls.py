"""How functions are called: order and names of arguments, out=, parameters, layouts, overlaps."""

from __future__ import annotations

import inspect
import pydoc

import ml_dtypes
import numpy as np
import pytest

import tilewright as tw

i, j, k = tw.iters("i j k")
N, M, K = tw.params("N M K")
RNG = np.random.default_rng(3)


def matmul():
    a = tw.input("A", [N, K], tw.float64)
    b = tw.input("B", [K, M], tw.float64)
    c = tw.computation("C", {i: N, j: M}, tw.sum(a[i, k] * b[k, j], over={k: K}))
    return tw.function("matmul", outputs=[c])


def scale(dtype=tw.float32):
    x = tw.input("x", [N, M], dtype)
    y = tw.computation("y", {i: N, j: M}, x[i, j] + x[i, j])
    return tw.function("scale", outputs=[y])


def two_outputs():
    x = tw.input("x", [N], tw.int64)
    low = tw.computation("low", {i: N}, x[i] - 1)
    high = tw.computation("high", {i: N}, x[i] + 1)
    return tw.function("both", outputs=[low, high])


def integers(*shape):
    return RNG.integers(-9, 9, shape).astype(np.float64)


def test_arguments_in_order_and_by_name():
    f = matmul()
    a, b = integers(4, 5), integers(5, 6)
    for result in (f(a, b), f(a, B=b), f(B=b, A=a), f.evaluate(a, b), f.evaluate(B=b, A=a)):
        np.testing.assert_array_equal(result, a @ b)
    assert f(a, b).flags.c_contiguous
    assert f(a, b).flags.owndata


def test_inputs_give_the_order_of_arguments():
    a = tw.input("A", [N], tw.float64)
    b = tw.input("B", [N], tw.float64)
    c = tw.computation("C", {i: N}, a[i] - b[i])
    f = tw.function("f", outputs=[c], inputs=[b, a])
    x, y = integers(3), integers(3)
    np.testing.assert_array_equal(f(x, y), y - x)
    assert f.inputs == ["B", "A"]
    assert f.signature == "f(B: float64[N], A: float64[N]) -> C: float64[N]"


def test_out():
    f = matmul()
    a, b = integers(4, 5), integers(5, 6)
    c = np.full((4, 6), np.nan)
    assert f(a, b, out=c) is c
    np.testing.assert_array_equal(c, a @ b)
    for out in ((c,), [c], {"C": c}):
        c[:] = np.nan
        assert f(a, b, out=out) is c
        np.testing.assert_array_equal(c, a @ b)
    np.testing.assert_array_equal(f(a, b, out=None), a @ b)


def test_several_outputs():
    f = two_outputs()
    x = np.arange(5)
    low, high = f(x)
    np.testing.assert_array_equal(low, x - 1)
    np.testing.assert_array_equal(high, x + 1)
    given = np.zeros(5, np.int64)
    low, high = f(x, out=(None, given))
    assert high is given
    np.testing.assert_array_equal(low, x - 1)
    low, high = f(x, out={"low": given})
    assert low is given
    np.testing.assert_array_equal(high, x + 1)


def test_parameters_that_no_shape_gives():
    x = tw.input("x", [N], tw.float64)
    y = tw.computation("y", {i: N, j: M}, x[i] * tw.cast(j, tw.float64))
    f = tw.function("outer", outputs=[y])
    v = integers(4)
    np.testing.assert_array_equal(f(v, M=3), np.outer(v, np.arange(3.0)))
    np.testing.assert_array_equal(f(v, M=np.int32(3)), np.outer(v, np.arange(3.0)))
    np.testing.assert_array_equal(f(v, N=4, M=2), np.outer(v, np.arange(2.0)))
    out = np.zeros((4, 5))
    np.testing.assert_array_equal(f(v, out=out), np.outer(v, np.arange(5.0)))
    with pytest.raises(TypeError, match=r"outer: no array's shape gives the parameter M; pass M="):
        f(v)
    with pytest.raises(
        ValueError, match=r"axis 0 has 4 elements, expected N = 5 \(N = 5 was given\)"
    ):
        f(v, N=5, M=2)
    with pytest.raises(TypeError, match="parameter M must be an integer, got float"):
        f(v, M=2.0)
    with pytest.raises(ValueError, match="M = -1 is outside the function's context"):
        f(v, M=-1)


def test_extents_with_constants_and_factors():
    x = tw.input("x", [2 * N + 1], tw.int64)
    y = tw.input("y", [N + M], tw.int64)
    z = tw.computation("z", {i: M}, x[0] + y[i])
    f = tw.function("f", outputs=[z])
    assert f(np.arange(7), np.arange(5)).tolist() == [0, 1]
    with pytest.raises(
        ValueError, match=r"argument x: axis 0 has 8 elements, expected .*which no integer N"
    ):
        f(np.arange(8), np.arange(5))
    with pytest.raises(ValueError, match="M = -1 is outside"):
        f(np.arange(7), np.arange(2))


def test_context():
    x = tw.input("x", [N], tw.int64)
    y = tw.computation("y", {i: N - 4}, x[i] + x[i + 4])
    f = tw.function("f", outputs=[y], context=[N > 4])
    assert f(np.arange(6)).tolist() == [4, 6]
    with pytest.raises(
        ValueError,
        match=r"f: N = 4 is outside the function's context .*N is the length of axis 0 of x",
    ):
        f(np.arange(4))


VIEWS = [
    lambda rows, columns: integers(rows, columns),
    lambda rows, columns: integers(columns, rows).T,
    lambda rows, columns: integers(rows, columns)[::-1],
    lambda rows, columns: integers(rows, columns)[:, ::-1],
    lambda rows, columns: integers(rows, columns)[::-1, ::-1],
    lambda rows, columns: integers(2 * rows, 3 * columns)[::2, ::3],
    lambda rows, columns: integers(rows + 3, columns + 2)[2:-1, 1:-1],
    lambda rows, columns: np.asfortranarray(integers(rows, columns)),
    lambda rows, columns: np.broadcast_to(integers(columns), (rows, columns)),
    lambda rows, columns: np.broadcast_to(integers(rows, 1), (rows, columns)),
    lambda rows, columns: integers(columns, rows, 2)[:, :, 1].T,
]


@pytest.mark.parametrize("size", [(0, 4, 3), (1, 1, 1), (7, 5, 9)])
@pytest.mark.parametrize("vectorize", [False, True])
def test_strided_views(size, vectorize):
    f = matmul()
    if vectorize:
        f["C"].vectorize(j, 4)
    n, q, m = size
    for left in VIEWS:
        for right in VIEWS:
            a, b = left(n, q), right(q, m)
            np.testing.assert_array_equal(f(a, b), a @ b)
    a, b = integers(n, q), integers(q, m)
    for view in VIEWS[:8]:
        out = view(n, m)
        assert f(a, b, out=out) is out
        np.testing.assert_array_equal(out, a @ b)


def test_only_the_view_is_written():
    f = scale()
    base = np.full((6, 9), -1, np.float32)
    x = RNG.random((3, 3), dtype=np.float32)
    f(x, out=base[::2, 1::3])
    expected = np.full((6, 9), -1, np.float32)
    expected[::2, 1::3] = x * 2
    np.testing.assert_array_equal(base, expected)


@pytest.mark.parametrize(
    "dtype", ["int8", "uint16", "int64", "float16", "float32", "complex64", "complex128"]
)
def test_types(dtype):
    x = np.arange(12).reshape(3, 4).astype(dtype)
    result = scale(dtype)(x)
    assert result.dtype == x.dtype
    np.testing.assert_array_equal(result, x + x)


def test_bfloat16():
    x = np.arange(12).reshape(3, 4).astype(ml_dtypes.bfloat16)
    result = scale(tw.bfloat16)(x)
    assert result.dtype == x.dtype
    np.testing.assert_array_equal(result.astype(np.float32), (x + x).astype(np.float32))


def test_an_equal_dtype_that_is_another_object():
    x = np.arange(6, dtype=np.dtype("f4", metadata={"unit": "m"})).reshape(2, 3)
    np.testing.assert_array_equal(scale()(x), x * 2)
    y = np.arange(6, dtype=np.longlong).reshape(2, 3)
    np.testing.assert_array_equal(scale(tw.int64)(y), y * 2)


def test_array_subclasses(tmp_path):
    x = np.memmap(tmp_path / "x", np.float32, "w+", shape=(2, 3))
    x[:] = 3
    result = scale()(x)
    assert type(result) is np.ndarray
    np.testing.assert_array_equal(result, np.full((2, 3), 6, np.float32))


def test_without_axes():
    x = tw.input("x", [N], tw.float64)
    s = tw.computation("s", {}, tw.sum(x[i], over={i: N}))
    f = tw.function("total", outputs=[s])
    result = f(np.arange(5.0))
    assert result == 10.0
    assert isinstance(result, np.float64)
    assert f(np.empty(0)) == 0.0
    assert f.evaluate(np.arange(5.0)) == 10.0
    out = np.zeros(())
    assert f(np.arange(4.0), out=out) is out
    assert out == 6.0


def test_an_input_without_axes():
    x = tw.input("x", [N], tw.float64)
    a = tw.input("a", [], tw.float64)
    y = tw.computation("y", {i: N}, a[()] * x[i])
    f = tw.function("axpy", outputs=[y])
    np.testing.assert_array_equal(f(x=np.arange(3.0), a=np.array(2.0)), [0.0, 2.0, 4.0])


@pytest.mark.parametrize("shape", [(0, 0), (0, 5), (5, 0)])
def test_empty_arrays(shape):
    result = scale()(np.zeros(shape, np.float32))
    assert result.shape == shape
    n, m = shape
    np.testing.assert_array_equal(matmul()(np.zeros((n, 0)), np.zeros((0, m))), np.zeros(shape))
    np.testing.assert_array_equal(matmul()(np.zeros((3, 0)), np.zeros((0, 2))), np.zeros((3, 2)))


def test_empty_arrays_with_a_long_axis():
    """Nothing is run, and so no loop over the long axis, which has hours to go."""
    x = tw.input("x", [N, M], tw.float32)
    f = tw.function("f", outputs=[tw.computation("y", {i: N, j: M}, x[i, j] + 1)])
    for shape in ((1 << 45, 0), (0, 1 << 45)):
        assert f(np.empty(shape, np.float32)).shape == shape
    assert f.last_compile is not None


def test_elements_outside_the_domain():
    x = tw.input("x", [N], tw.float64)
    y = tw.computation("y", {i: (2, N - 1)}, x[i], shape=[N])
    f = tw.function("f", outputs=[y], context=[N > 3])
    v = np.arange(1.0, 7.0)
    np.testing.assert_array_equal(f(v), [0, 0, 3, 4, 5, 0])
    out = np.full(6, -1.0)
    np.testing.assert_array_equal(f(v, out=out), [-1, -1, 3, 4, 5, -1])


def test_interleaved_outputs_do_not_overlap():
    f = two_outputs()
    memory = np.zeros(10, np.int64)
    f(np.arange(5), out=(memory[::2], memory[1::2]))
    np.testing.assert_array_equal(memory[::2], np.arange(5) - 1)
    np.testing.assert_array_equal(memory[1::2], np.arange(5) + 1)


def test_indirect_reads():
    x = tw.input("x", [M], tw.float64)
    index = tw.input("index", [N], tw.int64)
    y = tw.computation("y", {i: N}, x[index[i]])
    f = tw.function("take", outputs=[y])
    values, places = integers(5), np.array([4, 0, 2])
    assert set(f.inputs) == {"x", "index"}
    np.testing.assert_array_equal(f(x=values, index=places), values[places])
    with pytest.raises(
        IndexError, match=r"take: x\[index\[i\]\]: subscript 5 is out of bounds"
    ) as caught:
        f(x=values, index=np.array([0, 5, 1]))
    assert isinstance(caught.value, tw.SubscriptError)
    assert str(caught.value).split("\n")[0].endswith("; the first such read is x[5], by y[1]")
    assert caught.value.details["instance"] == "y[1]"
    with pytest.raises(tw.SubscriptError, match=r"first such read is x\[-1\], by y\[1\]"):
        f(x=values, index=np.array([0, -1]))
    many = np.zeros(1 << 23, np.int64)  # more than is looked through for the message
    many[-1] = 7
    with pytest.raises(tw.SubscriptError, match="subscript 7 is out of bounds") as caught:
        f(x=values, index=many)
    assert "instance" not in caught.value.details
    with pytest.raises(tw.SubscriptError):
        f.evaluate(x=values, index=np.array([0, 5, 1]))


def test_repr():
    f = matmul()
    assert repr(f) == (
        "<tilewright function matmul(A: float64[N, K], B: float64[K, M]) -> C: float64[N, M]>"
    )
    assert "matmul" in f._repr_html_()
    assert repr(f["C"]) == "<C in matmul: loops i, j, k>"


def test_signature():
    f = matmul()
    assert str(inspect.signature(f)) == (
        "(A: float64[N, K], B: float64[K, M], *, N: int = None, K: int = None, M: int = None, "
        "out=None, threads: int = None) -> float64[N, M]"
    )
    bound = inspect.signature(f).bind(1, B=2, out=3)
    assert bound.arguments == {"A": 1, "B": 2, "out": 3}
    assert str(inspect.signature(two_outputs())).endswith(" -> (int64[N], int64[N])")


def test_help():
    f = matmul()
    text = pydoc.plain(pydoc.render_doc(f))
    assert "matmul(A: float64[N, K], B: float64[K, M], *, N: int = None" in text
    assert "    C: float64[N, M]" in text and "Parameters (integers" in text
    assert "test_calls.py:" in text
    assert "matmul(a, b, out=c)" in pydoc.plain(pydoc.render_doc(tw.Function))
    assert inspect.getdoc(tw.Function).startswith("A function that computes its outputs")
    assert tw.Function.__new__(tw.Function).__doc__ == tw.Function.__doc__
    assert f.copy().__doc__ == f.__doc__


def test_compile_ahead():
    f = matmul()
    assert f.last_compile is None
    info = f.compile()
    assert len(info["key"]) >= 32
    assert set(info) == {
        "key",
        "from_cache",
        "milliseconds",
        "optimized",
        "pending",
        "problem",
    }
    assert f.last_compile == info
    a, b = integers(4, 5), integers(5, 6)
    assert f.compile(a, b)["key"] == info["key"]
    f(a, b)
    assert f.last_compile == info
    turned = f.compile(a, np.asfortranarray(b))
    assert turned["key"] != info["key"]


def test_later_calls_compile_nothing():
    f = matmul()
    a, b = integers(4, 5), integers(5, 6)
    f(a, b)
    info = f.last_compile
    f(integers(9, 2), integers(2, 3))
    assert f.last_compile == info
