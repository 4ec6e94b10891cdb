"""Inputs: the arrays that a call takes, among them arrays of structures.

A field of a structured input is an input of its own in Layer I, ``P.x`` named ``P_x``; the call takes
one array and reads the fields where they are, by strides and without a copy.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, overload

import numpy as np

from .. import _core
from ..base.checks import DECLARATION, a_list, made_by
from ..base.errors import DeclarationError, DeclarationTypeError
from ..base.source import caller_location
from .arrays import Input, extent_operand
from .expressions import DTypeLike, Expression, ExpressionLike, as_dtype
from .names import check_identifier
from .records import register_record

__all__ = ["StructInput", "input"]


class StructInput:
    """An input array whose elements have fields; made by `tw.input` with a structured dtype.

    ``P.x`` and ``P["x"]`` are the inputs that its fields are.

    Attributes:
        name: the name of the argument.
        dtype: the structured NumPy dtype that it was declared with.
        fields: the fields by name.
    """

    def __init__(self, name: str, shape: Sequence[Any], dtype: np.dtype[Any]) -> None:
        check_identifier(name, "input")
        made_by("tw.input", shape, list, "tw.StructInput")
        made_by("tw.input", dtype, np.dtype, "tw.StructInput")
        if dtype.fields is None:
            raise DeclarationTypeError(f"the dtype of {name} has no fields")
        self.name = name
        self.dtype = dtype
        self.fields: dict[str, Input] = {}
        for field in dtype.names or ():
            kind = dtype.fields[field][0]
            if kind.names is not None or kind.subdtype is not None:
                raise DeclarationTypeError(
                    f"field {field!r} of {name} is {kind}; fields are single numbers"
                )
            if not field.isidentifier():
                raise DeclarationError(f"field {field!r} of {name} is no identifier")
            self.fields[field] = Input(
                _core.declare_input(
                    f"{name}_{field}",
                    [extent_operand(extent, f"the shape of {name}") for extent in shape],
                    as_dtype(kind).name,
                    caller_location(),
                    name,
                    field,
                )
            )
        if not self.fields:
            raise DeclarationTypeError(f"the dtype of {name} has no fields")
        for each in self.fields.values():
            register_record(each._handle, dtype)

    @property
    def shape(self) -> tuple[Expression, ...]:
        """The shape of the array, in terms of parameters."""
        return next(iter(self.fields.values())).shape

    def __getitem__(self, field: str) -> Input:
        """The field as an input: ``P["x"][i]`` reads an element.

        Raises:
            DeclarationError: there is no such field.
        """
        if not isinstance(field, str):
            raise DeclarationTypeError(
                f"{self.name} has fields: read {self.name}.{next(iter(self.fields))}[...], "
                f"not {self.name}[{field!r}]"
            )
        if field not in self.fields:
            raise DeclarationError(
                f"{self.name} has no field {field!r}; its fields are {', '.join(self.fields)}"
            )
        return self.fields[field]

    def __getattr__(self, field: str) -> Input:
        fields = self.__dict__.get("fields", {})
        if field in fields:
            found: Input = fields[field]
            return found
        raise AttributeError(
            f"{self.__dict__.get('name', 'this input')} has no field {field!r}; "
            f"its fields are {', '.join(fields)}"
        )

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}: {field.dtype}" for name, field in self.fields.items())
        return f"<StructInput {self.name}[{', '.join(map(repr, self.shape))}] {{{fields}}}>"


@overload
def input(
    name: str, shape: Sequence[ExpressionLike] | ExpressionLike, dtype: np.dtype[np.void]
) -> StructInput: ...


@overload
def input(
    name: str, shape: Sequence[ExpressionLike] | ExpressionLike, dtype: DTypeLike
) -> Input: ...


def input(
    name: str, shape: Sequence[ExpressionLike] | ExpressionLike, dtype: DTypeLike
) -> Input | StructInput:
    """Declares an input array.

    A function takes its inputs in the order in which they were declared, unless it is made with
    ``inputs=``.

    With a structured NumPy dtype it is an array of structures, and its fields are read one by one::

        P = tw.input("P", [N], np.dtype([("x", np.float32), ("id", np.int64)]))
        X = tw.computation("X", {i: N}, 2 * P.x[i])                    # or P["x"][i]

    Args:
        name: the name of the argument.
        shape: the extents, affine in parameters: [N, M + 2]; [] for a single value.
        dtype: the type of an element.

    Raises:
        DeclarationError: for a name that is no identifier, or an extent that is not affine in
            parameters.
        DeclarationTypeError: for a type that kernels do not have.
    """
    check_identifier(name, "input")
    given = list(_shape(shape, name))
    if isinstance(dtype, np.dtype) and dtype.names is not None:
        return StructInput(name, given, dtype)
    extents = [extent_operand(extent, f"the shape of {name}") for extent in given]
    return Input(_core.declare_input(name, extents, as_dtype(dtype).name, caller_location()))


def _shape(shape: object, name: str) -> Iterable[ExpressionLike]:
    if isinstance(shape, Expression | int):
        return (shape,)
    what = f"the shape of {name}"
    return a_list(shape, what, DECLARATION, "integers and parameters such as [N, M]")
