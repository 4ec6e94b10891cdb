"""Functions of C in expressions: `tw.extern`.

Element-wise foreign functions, as TVM's ``call_extern`` and Halide's ``define_extern`` of one value
have them. What is called is compiled elsewhere: by a C compiler, by Numba, or lies in a library.
"""

from __future__ import annotations

import copyreg
import ctypes
import operator
import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _core
from ..base.checks import a_string, described
from ..base.errors import DeclarationError, DeclarationTypeError
from ..base.source import SourceLocation, caller_location
from .expressions import DTypeLike, Expression, ExpressionLike, as_dtype, operand

__all__ = ["Extern", "ctype_of", "extern"]

# Functions that want Python's lock while they run (ctypes.PyDLL).
_PYTHON_API = 4

# The letters of ctypes' numbers that have a type here.
_NUMBERS = "?bBhHiIlLqQfd"

_WAY_OUT = (
    "write it as an expression (tw.select, tw.while_loop, tw.fold), compile it with numba.cfunc, or "
    "give the ctypes function of a library: ctypes.CDLL('libm.so.6').tgamma"
)


class Extern:
    """A function of C that expressions call, `g(x[i], 2.0)`; `tw.extern` makes it."""

    __slots__ = ("_handle",)

    _handle: _core.Extern

    def __init__(self, handle: _core.Extern) -> None:
        if not isinstance(handle, _core.Extern):
            raise DeclarationTypeError(
                f"tw.Extern is made by tw.extern, not from {described(handle)}"
            )
        self._handle = handle

    @property
    def name(self) -> str:
        """The name: that of the symbol in exported C."""
        return self._handle.name

    @property
    def arguments(self) -> tuple[str, ...]:
        """The types of the arguments, by name."""
        return tuple(self._handle.arguments)

    @property
    def result(self) -> str:
        """The type of the result, by name."""
        return self._handle.result

    def __call__(self, *arguments: ExpressionLike) -> Expression:
        """The call, as an expression.

        Args:
            arguments: expressions or numbers, which are brought to the declared types where NumPy's
                same_kind rule allows it.

        Raises:
            DeclarationTypeError: for more or fewer arguments, or one of another kind.
        """
        return Expression(self._handle.call(*[operand(argument) for argument in arguments]))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Extern) and self._handle == other._handle

    def __hash__(self) -> int:
        return hash(self._handle)

    def __repr__(self) -> str:
        return f"<Extern {self._handle}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return Extern, (self._handle,)


def extern(
    name: str,
    function: Any,
    arguments: Sequence[DTypeLike] | None = None,
    result: DTypeLike | None = None,
) -> Extern:
    """A function of C, to be called for single elements in expressions::

        libm = ctypes.CDLL("libm.so.6")
        libm.tgamma.argtypes, libm.tgamma.restype = [ctypes.c_double], ctypes.c_double
        gamma = tw.extern("tgamma", libm.tgamma)
        y = tw.computation("y", {i: N}, gamma(x[i] + 1) / 2)

    It is taken to be pure and safe to call from several threads: the result depends on the arguments
    alone. The schedule decides how often and in which order it is called (a computation that is
    computed twice calls it twice, a parallel loop calls it from its threads, a vector loop for each
    lane); it is not called where the value is not asked for: behind a condition that does not hold,
    or in the branch of `tw.select` that is not taken. Nothing that it does beside giving a result is
    waited for, and Ctrl-C does not end it.

    Compiled code finds the function by its name when it is loaded, so kernels are cached on disk
    without an address, and each process gives its own. `function` is kept as long as what calls it.
    A GPU has no code for it, nor has the emulator: loops over blocks and threads refuse it. Exported C
    calls it by `name`: link what defines it.

    Args:
        name: of the function, a C identifier. Two functions that one `tw.function` calls need two
            names.
        function: a function of `ctypes` (of a library, or made by ``ctypes.CFUNCTYPE``), a Numba
            ``cfunc``, or an address, an integer.
        arguments: the types of the arguments: bool, integers, float32, float64. May be left out
            where `function` says them (``argtypes`` of ctypes, a Numba signature).
        result: the type of the result; may be left out likewise.

    Returns:
        What is called in expressions. A pickled function finds it again by library and symbol, if it
        is one of a library.

    Raises:
        DeclarationTypeError: for a Python function, and for types that C does not pass by value.
        DeclarationError: where types are not known, or others than `function` says.
    """
    where = caller_location()
    _check_name(name)
    address, stated, caller = _target(name, function)
    given = (
        None
        if arguments is None
        else [_value_type(name, each, "an argument") for each in arguments],
        None if result is None else _value_type(name, result, "the result"),
    )
    types, returned = _signature(name, stated, given)
    if not types:
        raise DeclarationError(
            f"{name} has no arguments, so it is a number: call it once and write what it gives"
        )
    prototype = ctypes.CFUNCTYPE(ctype_of(returned), *[ctype_of(each) for each in types])
    return Extern(
        _core.Extern(name, address, types, returned, prototype(address), caller, _place(where))
    )


def _check_name(name: object) -> None:
    text = a_string(name, "the name of tw.extern", _ERRORS)
    reserved = text.startswith(("tw_", "tilewright_", "TW_"))
    if _core.c_identifier(text) != text or reserved:
        raise DeclarationError(
            f"{described(text)} cannot be the name of a function of C: names are letters, digits and "
            "_, do not start with a digit, are no word of C, no function that exported C calls itself "
            "(fabs, sqrt and the like: tw.abs and tw.sqrt are there), and do not start with tw_ or "
            "tilewright_"
        )


class _Errors:
    of_type = DeclarationTypeError
    of_value = DeclarationError


_ERRORS: Any = _Errors


def _place(where: SourceLocation | None) -> tuple[Any, ...] | None:
    return None if where is None else tuple(where)


# ---- what a function is and says of itself ----

_Stated = tuple[list[str] | None, str | None]


def _target(name: str, function: Any) -> tuple[int, _Stated, Any]:
    """The address, the types that are stated, and what keeps the code in memory."""
    if isinstance(function, ctypes._CFuncPtr):  # type: ignore[attr-defined]
        return _address(name, function), _of_ctypes(name, function), function
    address = getattr(function, "address", None)
    if isinstance(address, int) and hasattr(function, "ctypes"):  # Numba
        return _checked(name, address), _of_ctypes(name, function.ctypes), function
    if isinstance(function, int | np.integer) and not isinstance(function, bool):
        return _checked(name, operator.index(function)), (None, None), None
    if callable(function):
        raise DeclarationTypeError(
            f"tw.extern({name!r}, ...) takes a function of C, not the Python function "
            f"{getattr(function, '__qualname__', type(function).__name__)}, which compiled code cannot call: {_WAY_OUT}"
        )
    raise DeclarationTypeError(
        f"tw.extern({name!r}, ...) takes a ctypes function, a Numba cfunc or an address, got "
        f"{described(function)}"
    )


def _address(name: str, function: Any) -> int:
    if getattr(function, "_flags_", 0) & _PYTHON_API:
        raise DeclarationTypeError(
            f"{name} is of a ctypes.PyDLL, whose functions need Python's lock, which kernels run "
            "without: take it from a ctypes.CDLL"
        )
    return _checked(name, ctypes.cast(function, ctypes.c_void_p).value or 0)


def _checked(name: str, address: int) -> int:
    if not 0 < address < 1 << 64:
        raise DeclarationError(f"the address of {name} must be that of a function, got {address}")
    return address


def _of_ctypes(name: str, function: Any) -> _Stated:
    if function.argtypes is None:
        return None, None
    types = [_from_ctype(name, each, "an argument") for each in function.argtypes]
    if function.restype is None:
        raise DeclarationTypeError(
            f"{name} gives nothing (its restype is None), and an expression needs a value"
        )
    return types, _from_ctype(name, function.restype, "the result")


def _from_ctype(name: str, kind: Any, what: str) -> str:
    code = getattr(kind, "_type_", None)
    if not isinstance(code, str) or code not in _NUMBERS:
        shown = getattr(kind, "__name__", described(kind))
        raise DeclarationTypeError(
            f"{what} of {name} is {shown}, but tw.extern takes functions of single numbers: bool, "
            "integers, float32 and float64, passed by value"
        )
    return as_dtype(np.dtype(kind)).name


def _value_type(name: str, dtype: DTypeLike, what: str) -> str:
    found = as_dtype(dtype).name
    if not _core.is_extern_type(found):
        raise DeclarationTypeError(
            f"{what} of {name} cannot be {found}: tw.extern takes functions of bool, integers, "
            "float32 and float64; convert before and after the call, as tw.float32(...) does"
        )
    return found


def _signature(name: str, stated: _Stated, given: _Stated) -> tuple[list[str], str]:
    for one, other, what in (
        (stated[0], given[0], "arguments"),
        (stated[1], given[1], "result"),
    ):
        if one is not None and other is not None and one != other:
            raise DeclarationError(
                f"{what}= of tw.extern({name!r}, ...) is {other}, but the function says {one} itself: "
                f"leave {what}= out, or change its argtypes and restype"
            )
    arguments = stated[0] if stated[0] is not None else given[0]
    result = stated[1] if stated[1] is not None else given[1]
    if arguments is None or result is None:
        raise DeclarationError(
            f"the types of {name} are not known: set argtypes and restype of the ctypes function, or "
            f"give them, tw.extern({name!r}, ..., arguments=[tw.float64], result=tw.float64)"
        )
    return arguments, result


def ctype_of(name: str) -> Any:
    """The ctypes type of a number, by the name of its type here."""
    return ctypes.c_bool if name == "bool" else np.ctypeslib.as_ctypes_type(np.dtype(name))


# ---- pickles: library and symbol ----


def _library_of(function: Any) -> tuple[str | None, str] | None:
    """The library and symbol under which another process finds a ctypes function."""
    symbol = getattr(function, "__name__", None)
    for owner in (getattr(function, "_objects", None) or {}).values():
        if isinstance(owner, ctypes.CDLL) and isinstance(symbol, str):
            return owner._name, symbol
    return None


def _reduced(handle: _core.Extern) -> tuple[Any, ...]:
    if handle.is_block:
        raise pickle.PicklingError(
            f"{handle} calls a function at an address of this process, which another one does not "
            "have: declare the function with the block there"
        )
    found = _library_of(handle.owner)
    if found is None:
        raise pickle.PicklingError(
            f"{handle} is a function at an address of this process, which another one does not have: "
            "only functions of libraries can be pickled, such as ctypes.CDLL('libm.so.6').tgamma"
        )
    return _found_again, (handle.name, *found, handle.arguments, handle.result, handle.where)


def _found_again(
    name: str,
    library: str | None,
    symbol: str,
    arguments: list[str],
    result: str,
    where: tuple[Any, ...] | None,
) -> _core.Extern:
    try:
        function = ctypes.CDLL(library)[symbol]
    except (OSError, AttributeError) as error:
        raise DeclarationError(
            f"the pickled function calls {name}, the symbol {symbol} of the library {library}, which "
            f"is not found here: {error}"
        ) from None
    address = _address(name, function)
    prototype = ctypes.CFUNCTYPE(ctype_of(result), *[ctype_of(each) for each in arguments])
    return _core.Extern(name, address, arguments, result, prototype(address), function, where)


copyreg.pickle(_core.Extern, _reduced)
