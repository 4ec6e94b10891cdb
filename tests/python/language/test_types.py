"""Types and promotion: every operation on every pair of types has the type that NumPy gives it."""

import pickle

import ml_dtypes
import numpy as np
import pytest
from operations import BINARY, NUMPY_TYPES, UNARY, wanted_type

import tilewright as tw
from tilewright.language.expressions import ALL_TYPES


def element(name, dtype):
    return tw.input(name, [4], dtype)[0]


def our_type(function, *operands):
    try:
        return np.dtype(function(*operands).dtype)
    except tw.DeclarationTypeError:
        return None


@pytest.mark.parametrize("a", ALL_TYPES, ids=str)
@pytest.mark.parametrize("b", ALL_TYPES, ids=str)
def test_promotion_of_types(a, b):
    if "bfloat16" in (a.name, b.name):
        assert tw.promote_types(a, b) == tw.promote_types(b, a)
        return
    assert np.dtype(tw.promote_types(a, b)) == np.result_type(np.dtype(a), np.dtype(b))


@pytest.mark.parametrize("ufunc", BINARY)
def test_types_of_binary_operations(ufunc):
    wrong = []
    for a in NUMPY_TYPES:
        for b in NUMPY_TYPES:
            expected = wanted_type(ufunc, np.ones(1, a), np.ones(1, b))
            found = our_type(BINARY[ufunc], element("a", a), element("b", b))
            if found != expected:
                wrong.append(f"{ufunc}({a}, {b}): {found}, NumPy {expected}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("ufunc", UNARY)
def test_types_of_unary_operations(ufunc):
    wrong = []
    for a in NUMPY_TYPES:
        expected = wanted_type(ufunc, np.ones(1, a))
        found = our_type(UNARY[ufunc], element("a", a))
        if found != expected:
            wrong.append(f"{ufunc}({a}): {found}, NumPy {expected}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("ufunc", BINARY)
@pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) < "2.0.0", reason="NEP 50 is NumPy 2's")
def test_python_numbers_are_weak(ufunc):
    wrong = []
    for a in NUMPY_TYPES:
        for number in (True, 1, 1.5, 1j):
            for order in ((0, 1), (1, 0)):
                numpy_operands = [np.ones(1, a), number]
                operands = [element("a", a), number]
                expected = wanted_type(ufunc, *(numpy_operands[o] for o in order))
                found = our_type(BINARY[ufunc], *(operands[o] for o in order))
                if found != expected:
                    shown = ", ".join(str([a, repr(number)][o]) for o in order)
                    wrong.append(f"{ufunc}({shown}): {found}, NumPy {expected}")
    assert not wrong, "\n".join(wrong)


def test_numpy_scalars_are_not_weak():
    x = element("x", tw.float32)
    assert (x + np.float64(1)).dtype == tw.float64
    assert (np.float64(1) + x).dtype == tw.float64
    assert (x + np.float16(1)).dtype == tw.float32
    assert (element("n", tw.int8) + np.uint8(1)).dtype == tw.int16
    assert (x + ml_dtypes.bfloat16(1)).dtype == tw.float32
    assert (element("b", tw.bfloat16) + ml_dtypes.bfloat16(1)).dtype == tw.bfloat16
    assert (element("b", tw.bool) & np.bool_(True)).dtype == tw.bool
    assert (x + np.array(2.0)).dtype == tw.float64


def test_bfloat16_beside_other_types():
    b = element("b", tw.bfloat16)
    assert (b + b).dtype == tw.bfloat16
    assert (b + 1).dtype == (b + 1.5).dtype == tw.bfloat16
    assert (b + 1j).dtype == tw.complex64
    assert (b + element("h", tw.float16)).dtype == tw.float32
    assert (b + element("f", tw.float32)).dtype == tw.float32
    assert (b + element("d", tw.float64)).dtype == tw.float64


@pytest.mark.parametrize("dtype", ALL_TYPES, ids=str)
def test_a_type_and_its_names(dtype):
    numpy = np.dtype(dtype)
    assert numpy.name == dtype.name and numpy.itemsize == dtype.itemsize
    assert dtype == numpy and dtype == dtype.name and dtype == numpy.type
    assert dtype != "nonsense" and dtype != 3
    assert hash(dtype) == hash(numpy)
    assert tw.as_dtype(numpy) is tw.as_dtype(dtype.name) is tw.as_dtype(numpy.type) is dtype
    assert getattr(tw, dtype.name) is dtype
    assert repr(dtype) == f"tw.{dtype.name}"
    assert pickle.loads(pickle.dumps(dtype)) is dtype


def test_python_types_are_types():
    assert tw.as_dtype(float) is tw.float64
    assert tw.as_dtype(complex) is tw.complex128
    assert tw.as_dtype(bool) is tw.bool
    assert tw.as_dtype(int) == np.dtype(int)


def test_a_type_casts():
    i = tw.iter("i")
    assert tw.float32(i).dtype == tw.float32
    assert tw.int8(3).dtype == tw.int8
    assert i.astype("uint8").dtype == tw.uint8


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("U3", "the type <U3 is not supported"),
        (object, "the type object is not supported"),
        (np.longdouble, "is not supported; choose one of bool, int8"),
        (">f4", "the type >f4 has swapped bytes"),
        ("nonsense", "'nonsense' is not a type"),
        (None, "None is not a type; choose one of"),
        ([("x", "f4")], "is not supported"),
        (np.datetime64, "is not supported"),
    ],
)
def test_types_that_kernels_do_not_have(value, message):
    with pytest.raises(tw.DeclarationTypeError, match=message):
        tw.as_dtype(value)


@pytest.mark.parametrize(
    "use",
    [
        lambda: tw.input("a", [4], None),
        lambda: tw.cast(tw.iter("i"), None),
        lambda: tw.iter("i").astype(None),
        lambda: tw.promote_types(None, tw.int8),
        lambda: tw.empty((2,), None, "gpu-emulator"),
    ],
)
def test_none_is_no_type_anywhere(use):
    """NumPy takes None for float64."""
    with pytest.raises(TypeError):
        use()
