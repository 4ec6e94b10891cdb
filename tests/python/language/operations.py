"""The operations of expressions by the names of NumPy's functions, and NumPy's types for them."""

import operator

import ml_dtypes
import numpy as np

import tilewright as tw
from tilewright.language.types import ALL_TYPES

NUMPY_TYPES = [dtype for dtype in ALL_TYPES if dtype.name != "bfloat16"]

BINARY = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "true_divide": operator.truediv,
    "floor_divide": operator.floordiv,
    "remainder": operator.mod,
    "power": operator.pow,
    "minimum": tw.minimum,
    "maximum": tw.maximum,
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor,
    "left_shift": operator.lshift,
    "right_shift": operator.rshift,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "equal": operator.eq,
    "not_equal": operator.ne,
    "arctan2": tw.arctan2,
}

UNARY = {
    "negative": operator.neg,
    "invert": operator.invert,
    "absolute": abs,
    "conjugate": tw.conj,
    "isnan": tw.isnan,
    **{
        name: getattr(tw, name)
        for name in (
            *("sqrt", "exp", "exp2", "log", "log2", "log10", "sin", "cos", "tan"),
            *("arcsin", "arccos", "arctan", "sinh", "cosh", "tanh"),
            *("floor", "ceil", "trunc", "rint"),
        )
    },
}


def numpy_type(ufunc, *operands):
    """The type of NumPy's result, or None where NumPy has no such operation."""
    try:
        with np.errstate(all="ignore"):
            return getattr(np, ufunc)(*operands).dtype
    except TypeError:
        return None


ORDERED = {"minimum", "maximum", "less", "less_equal", "greater", "greater_equal", "rint"}


def wanted_type(ufunc, *operands):
    """NumPy's type, but: complex numbers are not ordered or rounded, bool stays bool under conj,
    and arctan2 promotes integers to one type before it goes to floats."""
    if ufunc in ORDERED and any(np.iscomplexobj(operand) for operand in operands):
        return None
    if ufunc == "conjugate" and operands[0].dtype == np.bool_:
        return np.dtype(np.bool_)
    if ufunc == "arctan2":
        together = np.result_type(*operands)
        return numpy_type(ufunc, np.ones(1, together), np.ones(1, together))
    return numpy_type(ufunc, *operands)


def edge_values(dtype):
    """Values where operations go wrong: limits, zeros, units, infinities, NaN, usual ones."""
    numpy = np.dtype(dtype)
    if numpy.kind == "b":
        return np.array([False, True])
    if numpy.kind in "iu":
        info = np.iinfo(numpy)
        usual = [v for v in (-7, -3, -2, -1, 0, 1, 2, 3, 7, 8, 31, 64, 100) if v >= info.min]
        return np.array([info.min, info.min + 1, info.max - 1, info.max, *usual], dtype=numpy)
    usual = [-7.5, -3.0, -1.0, -0.5, -0.0, 0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 7.0, 100.0]
    if numpy.kind == "c":
        return np.array([complex(re, im) for re in usual[::3] for im in usual[1::4]], dtype=numpy)
    info = np.finfo(numpy) if dtype != "bfloat16" else ml_dtypes.finfo(numpy)
    special = [np.nan, np.inf, -np.inf, float(info.max), float(info.tiny), float(info.eps)]
    return np.array(special + usual).astype(numpy)
