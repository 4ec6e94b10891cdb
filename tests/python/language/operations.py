"""The operations of expressions by the names of NumPy's functions, and NumPy's types for them."""

import functools

import ml_dtypes
import numpy as np

from tilewright import _core
from tilewright.language.expressions import ALL_TYPES, call

NUMPY_TYPES = [dtype for dtype in ALL_TYPES if dtype.name != "bfloat16"]

#: The rows of operations.def that are functions of elements.
ROWS = [row for row in _core.operations() if row["form"] not in ("reduce", "fold")]


def functions_of(arguments):
    """All operations of so many arguments as functions, by the name in Python or of the row."""
    return {
        row["function"] or row["op"].name: functools.partial(call, row["op"])
        for row in ROWS
        if len([name for name in row["parameters"].split() if "=" not in name]) == arguments
    }


def universal_functions(arguments):
    """Those that answer a universal function of NumPy, by its name."""
    return {
        name: functools.partial(call, row["op"])
        for row in ROWS
        for name in row["ufuncs"].split()
        if hasattr(np, name) and len(row["parameters"].split()) == arguments
    }


BINARY = universal_functions(2)
UNARY = universal_functions(1)


def numpy_type(ufunc, *operands):
    """The type of NumPy's result, or None where NumPy has no such operation."""
    try:
        with np.errstate(all="ignore"):
            return getattr(np, ufunc)(*operands).dtype
    except TypeError:
        return None


ORDERED = {
    *("minimum", "maximum", "fmin", "fmax", "less", "less_equal", "greater", "greater_equal"),
    *("rint", "log1p", "expm1"),
}


def wanted_type(ufunc, *operands):
    """NumPy's type, but: complex numbers are not ordered or rounded and have no log1p and expm1, and bool stays bool
    under conj."""
    if ufunc in ORDERED and any(np.iscomplexobj(operand) for operand in operands):
        return None
    if ufunc == "conjugate" and operands[0].dtype == np.bool_:
        return np.dtype(np.bool_)
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
