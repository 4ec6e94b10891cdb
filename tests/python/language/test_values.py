"""Values of every operation on every type, by the evaluator and compiled, against NumPy's own
functions."""

import operator
import warnings

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from operations import BINARY, NUMPY_TYPES, UNARY, edge_values, wanted_type

import tilewright as tw
from tilewright.language.expressions import ALL_TYPES

INTEGERS = [dtype for dtype in NUMPY_TYPES if np.dtype(dtype).kind in "iu"]
FLOATS = [tw.float16, tw.float32, tw.float64]
NUMPY2 = np.lib.NumpyVersion(np.__version__) >= "2.0.0"

#: What is not rounded correctly everywhere and may differ by some units in the last place.
APPROXIMATE = {
    *(
        "power",
        "arctan2",
        "hypot",
        "logaddexp",
        "cbrt",
        "exp",
        "exp2",
        "expm1",
        "log",
        "log2",
        "log10",
        "log1p",
    ),
    *("sin", "cos", "tan", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh"),
    *("arcsinh", "arccosh", "arctanh", "degrees", "rad2deg", "radians", "deg2rad"),
}
EXACT = {*BINARY, *UNARY} - APPROXIMATE


def run(computation, **arrays):
    """The values by the evaluator and by compiled code, which must agree within rounding."""
    f = tw.function("f", outputs=[computation])
    evaluated, compiled = f.evaluate(**arrays), f(**arrays)
    assert compiled.dtype == evaluated.dtype
    if compiled.dtype.kind in "biu":
        np.testing.assert_array_equal(compiled, evaluated, "compiled and evaluated")
    else:
        wide = np.complex128 if compiled.dtype.kind == "c" else np.float64
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(
                compiled.astype(wide),
                evaluated.astype(wide),
                rtol=8 * tolerance(compiled.dtype),
                atol=1e-37 if compiled.dtype.itemsize > 2 else 1e-7,
                err_msg="compiled and evaluated",
            )
    return evaluated


def tolerance(dtype):
    return float((ml_dtypes.finfo if dtype == tw.bfloat16 else np.finfo)(dtype).eps)


def evaluate_binary(function, a, b):
    """function(a[i], b[j]) for all i and j."""
    i, j = tw.iters("i j")
    N, M = tw.params("N M")
    left, right = tw.input("a", [N], a.dtype), tw.input("b", [M], b.dtype)
    C = tw.computation("C", {i: N, j: M}, function(left[i], right[j]))
    return run(C, a=a, b=b)


def evaluate_unary(function, a):
    i, N = tw.iter("i"), tw.param("N")
    array = tw.input("a", [N], a.dtype)
    C = tw.computation("C", {i: N}, function(array[i]))
    return run(C, a=a)


def assert_same(found, expected, exact, inputs=""):
    """Equal, or within 4 units in the last place; NaN equals NaN."""
    assert found.dtype == expected.dtype
    if exact and found.dtype.kind != "c":
        np.testing.assert_array_equal(found, expected, err_msg=inputs)
        return
    if found.dtype.kind in "biu":
        np.testing.assert_array_equal(found, expected, err_msg=inputs)
        return
    eps = float(np.finfo(found.dtype).eps)
    # Sums of logarithms that cancel are as good as their terms.
    near = eps if inputs.startswith("logaddexp") else float(np.finfo(found.dtype).tiny)
    np.testing.assert_allclose(found, expected, rtol=4 * eps, atol=4 * near, err_msg=inputs)


def usable(ufunc, a, b):
    """Leaves out what NumPy refuses, or leaves to the processor."""
    if ufunc == "power" and b.dtype.kind == "i" and a.dtype.kind in "biu":
        b = b[b >= 0]
    if "c" in (a.dtype.kind, b.dtype.kind):
        # inf and NaN inside complex arithmetic are nobody's standard; neither is 0 ** z.
        a, b = a[np.isfinite(a)], b[np.isfinite(b)]
        if ufunc in ("power", "true_divide"):
            a, b = a[(a != 0) & (abs(a) < 50)], b[(b != 0) & (abs(b) < 50)]
    return a, b


def check_binary(ufunc, a, b):
    a, b = usable(ufunc, a, b)
    if wanted_type(ufunc, np.ones(1, a.dtype), np.ones(1, b.dtype)) is None:
        with pytest.raises(tw.DeclarationTypeError):
            evaluate_binary(BINARY[ufunc], a, b)
        return
    with np.errstate(all="ignore"):
        expected = getattr(np, ufunc)(a[:, None], b[None, :])
    found = evaluate_binary(BINARY[ufunc], a, b)
    exact = ufunc in EXACT
    if exact or found.dtype.kind != "c":
        assert_same(found, expected, exact, f"{ufunc}({a.dtype}, {b.dtype}) of {a} and {b}")
    else:
        eps = float(np.finfo(found.dtype).eps)
        np.testing.assert_allclose(found, expected, rtol=64 * eps, atol=64 * eps)


@pytest.mark.parametrize("dtype", NUMPY_TYPES, ids=str)
@pytest.mark.parametrize("ufunc", BINARY)
def test_binary_operations_of_one_type(ufunc, dtype):
    check_binary(ufunc, edge_values(dtype), edge_values(dtype))


@pytest.mark.parametrize("ufunc", BINARY)
def test_binary_operations_of_two_types(ufunc):
    pairs = [
        *[(tw.int8, tw.uint8), (tw.uint8, tw.int16), (tw.int32, tw.float32), (tw.bool, tw.int8)],
        *[(tw.float16, tw.float64), (tw.int64, tw.float16), (tw.bool, tw.float32)],
        *[(tw.float32, tw.complex64), (tw.int16, tw.complex128), (tw.uint32, tw.int32)],
    ]
    if NUMPY2 or ufunc not in ("less", "less_equal", "greater", "greater_equal"):
        pairs.append((tw.int64, tw.uint64))
    for a, b in pairs:
        check_binary(ufunc, edge_values(a), edge_values(b))
        check_binary(ufunc, edge_values(b), edge_values(a))


@pytest.mark.parametrize("dtype", NUMPY_TYPES, ids=str)
@pytest.mark.parametrize("ufunc", UNARY)
def test_unary_operations(ufunc, dtype):
    a = edge_values(dtype)
    if a.dtype.kind == "c":
        a = a[(abs(a) < 20) & (a != 0)]
    if ufunc == "reciprocal" and a.dtype.kind in "iu":
        a = a[a != 0]  # the processor's answer in NumPy, 0 here
    if wanted_type(ufunc, a) is None:
        with pytest.raises(tw.DeclarationTypeError):
            evaluate_unary(UNARY[ufunc], a)
        return
    with np.errstate(all="ignore"):
        expected = getattr(np, ufunc)(a)
    found = evaluate_unary(UNARY[ufunc], a)
    if found.dtype.kind == "c" or (a.dtype.kind == "c" and found.dtype.kind == "f"):
        eps = float(np.finfo(found.dtype).eps)
        np.testing.assert_allclose(found, expected, rtol=64 * eps, atol=64 * eps)
    else:
        expected = np.asarray(
            expected, np.bool_ if ufunc == "conjugate" and a.dtype == bool else None
        )
        assert_same(found, expected, ufunc in EXACT, f"{ufunc} of {a}")


@pytest.mark.parametrize("ufunc", BINARY)
def test_binary_operations_of_bfloat16(ufunc):
    a = edge_values(tw.bfloat16)
    with np.errstate(all="ignore"):
        try:
            expected = getattr(np, ufunc)(a[:, None], a[None, :])
        except TypeError:
            return
    found = evaluate_binary(BINARY[ufunc], a, a)
    assert found.dtype == expected.dtype
    if found.dtype == bool:
        np.testing.assert_array_equal(found, expected)
        return
    # Through float32: one unit in the last place where that rounds twice.
    np.testing.assert_allclose(
        found.astype(np.float32), expected.astype(np.float32), rtol=2.0**-7, atol=1e-38
    )


@pytest.mark.parametrize("to", ALL_TYPES, ids=str)
@pytest.mark.parametrize("source", ALL_TYPES, ids=str)
def test_casts(source, to):
    a = edge_values(source)
    target = np.dtype(to)
    if target.kind in "iu" and a.dtype.kind not in "biu":
        # A float that an integer cannot hold is undefined in C; here it saturates (tested below).
        info = np.iinfo(target)
        a = a[np.isfinite(a)]
        value = a.real.astype(np.float64)
        a = a[(value >= info.min) & (value <= min(info.max, 2**31))]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a complex number loses its imaginary part
        expected = a.astype(target)
    found = evaluate_unary(lambda x: tw.cast(x, to), a)
    assert found.dtype == target
    if to == tw.bfloat16:
        found, expected = found.astype(np.float32), expected.astype(np.float32)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("to", INTEGERS, ids=str)
def test_floats_saturate_where_an_integer_does_not_hold_them(to):
    info = np.iinfo(np.dtype(to))
    found = evaluate_unary(
        lambda x: tw.cast(x, to), np.array([np.nan, np.inf, -np.inf, 1e30, -1e30])
    )
    assert found.tolist() == [0, info.max, info.min, info.max, info.min]


def test_python_numbers_beside_arrays():
    for dtype in (tw.int8, tw.uint8, tw.float16, tw.float32, tw.complex64):
        a = edge_values(dtype)
        with np.errstate(all="ignore"):
            pairs = [
                (lambda x: x + 3, a + 3),
                (lambda x: 3 - x, 3 - a),
                (lambda x: x * 2, a * 2),
                (lambda x: 1 + 2 * x, 1 + 2 * a),
                (lambda x: x**2, a**2),
                (lambda x: x / 4, a / 4),
            ]
        for function, expected in pairs:
            if dtype == tw.complex64:
                np.testing.assert_allclose(evaluate_unary(function, a), expected, rtol=1e-6)
            else:
                assert_same(evaluate_unary(function, a), expected, True)


@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS], ids=str)
def test_floor_division_and_remainder_belong_together(dtype):
    a = np.array(
        [v for v in (-8, -7, -3, -2, -1, 0, 1, 2, 3, 7, 8) if v >= 0 or dtype.name[0] != "u"]
    )
    a = a.astype(np.dtype(dtype))
    b = a[a != 0]
    found = evaluate_binary(lambda x, y: divmod(x, y)[0] * y + divmod(x, y)[1], a, b)
    np.testing.assert_array_equal(found, np.broadcast_to(a[:, None], found.shape))


SIGNED = [tw.int8, tw.int16, tw.int32, tw.int64]
UNSIGNED = [tw.uint8, tw.uint16, tw.uint32, tw.uint64]


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_the_bits_of_integers(dtype):
    a = edge_values(dtype)
    bits = 8 * a.dtype.itemsize
    patterns = [int(v) % 2**bits for v in a]
    leading = evaluate_unary(tw.count_leading_zeros, a)
    trailing = evaluate_unary(tw.count_trailing_zeros, a)
    assert leading.dtype == trailing.dtype == np.uint8
    assert leading.tolist() == [bits - p.bit_length() for p in patterns]
    assert trailing.tolist() == [(p & -p).bit_length() - 1 if p else bits for p in patterns]
    assert evaluate_unary(tw.bit_count, a).tolist() == [int(v).bit_count() for v in a]


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_sums_of_integers_that_end_at_their_types_range(dtype):
    a, info = edge_values(dtype), np.iinfo(np.dtype(dtype))
    wide = [[int(x) + int(y) for y in a] for x in a]
    found = evaluate_binary(tw.saturating_add, a, a)
    assert found.dtype == a.dtype
    assert found.tolist() == [[min(max(v, info.min), info.max) for v in row] for row in wide]
    found = evaluate_binary(tw.saturating_subtract, a, a)
    wide = [[int(x) - int(y) for y in a] for x in a]
    assert found.tolist() == [[min(max(v, info.min), info.max) for v in row] for row in wide]
    found = evaluate_binary(tw.absolute_difference, a, a)
    assert found.dtype == np.dtype(f"uint{8 * a.dtype.itemsize}")
    assert found.tolist() == [[abs(v) for v in row] for row in wide]


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_quotients_towards_zero(dtype):
    """C's a / b, of which fmod is the rest; by zero 0, and the smallest number by -1 is itself."""
    a = edge_values(dtype)
    found = evaluate_binary(tw.truncated_divide, a, a)
    rest = evaluate_binary(tw.fmod, a, a)
    bits = 8 * a.dtype.itemsize

    def quotient(x, y):
        magnitude = abs(x) // abs(y) if y else 0
        value = magnitude if (x < 0) == (y < 0) else -magnitude
        wraps = np.dtype(dtype).kind == "i" and value == 2 ** (bits - 1)
        return -value if wraps else value

    expected = [[quotient(int(x), int(y)) for y in a] for x in a]
    assert found.dtype == a.dtype
    assert found.tolist() == expected
    with np.errstate(all="ignore"):
        whole = (found * a[None, :] + rest).astype(a.dtype)
    divisible = (a != 0)[None, :] & np.ones_like(a, bool)[:, None]
    np.testing.assert_array_equal(
        whole[divisible], np.broadcast_to(a[:, None], whole.shape)[divisible]
    )


@pytest.mark.parametrize("divisor", [1, 2, 3, 4, 8, 10, -1, -4, -7])
def test_quotients_towards_zero_by_constants(divisor):
    a = edge_values("int32")
    a = a[1:] if divisor == -1 else a  # the smallest number wraps
    found = evaluate_unary(lambda x: tw.truncated_divide(x, divisor), a)
    signs = [1 if (v < 0) == (divisor < 0) else -1 for v in a]
    assert found.tolist() == [
        s * (abs(int(v)) // abs(divisor)) for s, v in zip(signs, a, strict=True)
    ]


@pytest.mark.parametrize("size", [1, 3, 4])
def test_subscripts_rounded_towards_zero(size):
    """They are affine: no check when it runs, and refused where they leave the array."""
    n, i = tw.param("N"), tw.iter("i")
    x = tw.input("x", [64], tw.int32)
    values = np.arange(64, dtype=np.int32)
    near = tw.truncated_divide(i - 20, size) + 20
    C = tw.computation("C", {i: 40}, x[near] + x[tw.truncated_divide(i, size)])
    f = tw.function("f", outputs=[C])
    at = [int((v - 20) / size) + 20 for v in range(40)]
    np.testing.assert_array_equal(f(values), values[at] + values[[v // size for v in range(40)]])
    np.testing.assert_array_equal(f.evaluate(values), f(values))
    assert "truncated_divide(i," not in f.loops
    g = tw.function("g", outputs=[tw.computation("D", {i: n}, x[tw.fmod(i, size)])])
    np.testing.assert_array_equal(g(values, N=70), values[np.arange(70) % size])
    with pytest.raises(tw.DomainError):
        tw.function(
            "h", outputs=[tw.computation("E", {i: 40}, x[tw.truncated_divide(i - 20, size)])]
        )


@pytest.mark.parametrize("dtype", [*FLOATS, tw.complex64], ids=str)
def test_distances_of_floats(dtype):
    a = edge_values(dtype)
    with np.errstate(all="ignore"):
        expected = abs(a[:, None] - a[None, :])
    found = evaluate_binary(tw.absolute_difference, a, a)
    np.testing.assert_allclose(found, expected, rtol=1e-6 if dtype == tw.complex64 else 0)


def test_bits_and_saturation_are_for_integers():
    i = tw.iter("i")
    for dtype in (tw.bool, tw.float32, tw.complex64):
        x = tw.input("x", [4], dtype)[i]
        for use in (
            lambda x: tw.count_leading_zeros(x),
            lambda x: tw.saturating_add(x, x),
            lambda x: tw.saturating_subtract(x, x),
        ):
            with pytest.raises(tw.DeclarationTypeError, match=r"integer|no order"):
                use(x)


@pytest.mark.parametrize("decimals", [0, 1, 3, -1])
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_rounding_to_decimals(dtype, decimals):
    a = np.array([0.5, 1.5, -2.5, 0.25, 0.35, 12.3456, -0.05, 15, 25, -0.0, np.inf, np.nan], dtype)
    expected = np.round(a, decimals)
    assert_same(evaluate_unary(lambda x: tw.round(x, decimals), a), expected, True)
    assert_same(evaluate_unary(lambda x: np.round(x, decimals), a), expected, True)


def test_rounding_of_what_is_no_float():
    a = edge_values(tw.int32)
    assert_same(evaluate_unary(tw.round, a), a, True)
    with pytest.raises(tw.DeclarationTypeError, match="no negative decimals"):
        evaluate_unary(lambda x: tw.round(x, -1), a)
    with pytest.raises(
        tw.DeclarationTypeError, match="decimals of 'round' must be a Python integer"
    ):
        evaluate_unary(lambda x: tw.round(x, 0.5), a.astype(np.float32))
    with pytest.raises(tw.DeclarationTypeError, match="does not take complex64"):
        evaluate_unary(tw.round, edge_values(tw.complex64))


@pytest.mark.parametrize("ufunc", sorted({*UNARY, *BINARY}))
def test_universal_functions_take_expressions_and_numpy_scalars(ufunc):
    """np.f of an expression is the function of it; scalars of NumPy may stand on either side, and keep their types."""
    function = getattr(np, ufunc)
    integers = ufunc.startswith(("bitwise", "left", "right", "invert"))
    a = np.array([1, 2, 3], np.int32) if integers else np.array([0.25, 0.5, 1], np.float32)
    scalar = np.int32(2) if integers else np.float32(0.5)
    if ufunc in UNARY:
        assert str(evaluate_unary(function, a)) == str(evaluate_unary(UNARY[ufunc], a))
        return
    for use in (lambda x: function(x, scalar), lambda x: function(scalar, x)):
        found = evaluate_unary(use, a)
        with np.errstate(all="ignore"):
            expected = use(a)
        np.testing.assert_allclose(found, expected, rtol=1e-6)
        assert found.dtype == expected.dtype


def test_the_sign_of_complex_numbers():
    inf, nan = np.inf, np.nan
    a = np.array([3 + 4j, -2, 0, -0.0, complex(inf, 1), complex(-inf, nan), complex(2, -inf)])
    a = np.append(a, [complex(nan, 1), complex(inf, -inf), complex(3e-310, -4e-310)])
    for dtype in (np.complex64, np.complex128):
        with np.errstate(all="ignore"):
            values = a.astype(dtype)
        expected = np.array([np.sign(z) if z.dtype.kind == "c" else z for z in values])
        eps = float(np.finfo(dtype).eps)
        np.testing.assert_allclose(evaluate_unary(tw.sign, values), expected, rtol=4 * eps)


def test_clamp_select_and_erf():
    a = edge_values(tw.float64) / 2
    np.testing.assert_array_equal(
        evaluate_unary(lambda x: tw.clamp(x, -1, 2), a), np.clip(a, -1, 2)
    )
    np.testing.assert_array_equal(
        evaluate_unary(lambda x: tw.select(x > 0.5, x * 2, -1), a), np.where(a > 0.5, a * 2, -1)
    )
    found = evaluate_unary(tw.erf, np.array([-np.inf, -1.0, 0.0, 0.5, 2.0, np.inf, np.nan]))
    expected = [-1, -0.8427007929497149, 0, 0.5204998778130465, 0.9953222650189527, 1, np.nan]
    np.testing.assert_allclose(found, expected, rtol=1e-15)


def test_parts_of_complex_numbers():
    for dtype in (tw.complex64, tw.complex128):
        a = edge_values(dtype)
        np.testing.assert_array_equal(evaluate_unary(tw.real, a), a.real)
        np.testing.assert_array_equal(evaluate_unary(lambda x: x.imag, a), a.imag)
        np.testing.assert_array_equal(evaluate_unary(lambda x: x.conj(), a), a.conj())
        np.testing.assert_array_equal(
            evaluate_unary(lambda x: tw.make_complex(x.imag, x.real), a), a.imag + 1j * a.real
        )


def test_iterators_and_parameters_are_values():
    i, j = tw.iters("i j")
    N, M = tw.params("N M")
    C = tw.computation("C", {i: N, j: (1, M)}, i * 10 + j / 2 + N % 3 + (i // 2) * -M)
    found = run(C, N=5, M=4)
    rows, columns = np.mgrid[0:5, 0:4]
    expected = rows * 10 + columns / 2 + 5 % 3 + (rows // 2) * -4
    expected[:, 0] = 0  # outside the domain
    np.testing.assert_array_equal(found, expected)


def test_numpy_functions_on_expressions():
    a = edge_values(tw.float32)[6:]
    found = evaluate_unary(lambda x: np.maximum(np.sqrt(np.abs(x)), np.float32(0.5)) - 1, a)
    np.testing.assert_array_equal(found, np.maximum(np.sqrt(np.abs(a)), np.float32(0.5)) - 1)


ARRAYS = st.sampled_from([*INTEGERS, tw.bool, tw.float32, tw.float64]).flatmap(
    lambda dtype: hnp.arrays(np.dtype(dtype), st.integers(0, 5))
)
OPERATIONS = sorted(set(BINARY) & EXACT)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(OPERATIONS), ARRAYS, ARRAYS)
def test_any_arrays(ufunc, a, b):
    if not NUMPY2 and {a.dtype.kind, b.dtype.kind} == {"i", "u"}:
        return
    check_binary(ufunc, a, b)


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_expressions_of_several_operations(data):
    """A random tree of operations on float64 and int64 gives what NumPy gives."""
    x = data.draw(hnp.arrays(np.int64, 3, elements=st.integers(-50, 50)))
    y = data.draw(hnp.arrays(np.float64, 3, elements=st.floats(-100, 100, width=32)))
    names = ["add", "subtract", "multiply", "minimum", "maximum", "floor_divide", "remainder"]
    i = tw.iter("i")
    arrays = {"x": x, "y": y}
    inputs = [tw.input("x", [3], tw.int64), tw.input("y", [3], tw.float64)]
    values = [x, y, np.arange(3)]
    expressions = [inputs[0][i], inputs[1][i], i]
    for _ in range(data.draw(st.integers(1, 6))):
        name = data.draw(st.sampled_from(names))
        left = data.draw(st.integers(0, len(values) - 1))
        right = data.draw(st.integers(0, len(values) - 1))
        with np.errstate(all="ignore"):
            values.append(getattr(np, name)(values[left], values[right]))
        expressions.append(BINARY[name](expressions[left], expressions[right]))
    C = tw.computation("C", {i: 3}, expressions[-1])
    used = tw.function("f", outputs=[C]).inputs
    found = run(C, **{name: arrays[name] for name in used})
    np.testing.assert_array_equal(found, values[-1])


def test_operators_are_the_named_functions():
    a = edge_values(tw.int32)
    np.testing.assert_array_equal(
        evaluate_unary(lambda x: abs(-x) + (+x) + ~x, a[2:]), abs(-a[2:]) + a[2:] + ~a[2:]
    )
    assert operator.add(tw.iter("i"), 1).dtype == tw.int64


def test_branches_that_differ_in_the_sign_of_a_zero() -> None:
    n = tw.param("n")
    i = tw.iter("i")
    values = np.array([1.0, -2.0, 0.0, np.nan])
    for dtype in (np.float32, np.float64, np.complex64, np.complex128):
        x = tw.input("x", [n], np.zeros(1, dtype).real.dtype)
        first, second = (
            (complex(-1, 0.0), complex(-1, -0.0)) if np.dtype(dtype).kind == "c" else (0.0, -0.0)
        )
        one, other = (tw.cast(each, dtype) for each in (first, second))
        chosen = tw.computation("chosen", {i: n}, tw.select(x[i] > 0, one, other))
        pieces = tw.computation("pieces", {i: n}, [(x[i] > 0, one), (None, other)])
        products = tw.computation("products", {i: n}, tw.select(x[i] > 0, x[i] * one, x[i] * other))
        for options in ({}, {"default_schedule": False}):
            function = tw.function("f", outputs=[chosen, pieces, products], **options)
            given = values.astype(x.dtype)
            wanted = np.where(given > 0, np.array(first, dtype), np.array(second, dtype))
            found = function(given)
            for result in found[:2]:
                np.testing.assert_array_equal(_bits(result), _bits(wanted))
            with np.errstate(invalid="ignore"):
                product = given * wanted
            real = ~np.isnan(product)
            np.testing.assert_array_equal(_bits(found[2][real]), _bits(product[real]))


def _bits(values: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(values).view(np.uint8)
