"""Structured arrays (arrays of structures): inputs whose elements have fields, and outputs that are
put together from several computations.

Of an input, `language.inputs` has the declaration. Several computations are returned as one
structured array by `struct`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from .. import _core
from ..base.checks import DECLARATION, a_boolean, made_by
from ..base.errors import ArgumentError, ArgumentTypeError, DeclarationError, DeclarationTypeError
from ..base.plurals import counted
from ..language.inputs import StructInput
from ..language.names import check_identifier
from ..language.records import Slot
from ..schedule.computations import Computation
from .functions import Function, document_instances

__all__ = ["StructFunction", "StructOutput", "struct"]

Self = TypeVar("Self", bound="StructFunction")


class StructOutput:
    """Several computations that a function returns as one structured array; see `struct`."""

    def __init__(self, name: str, fields: Mapping[str, Computation], align: bool) -> None:
        check_identifier(name, "structured output")
        made_by("tw.struct", fields, Mapping, "tw.StructOutput")
        for each in fields.values():
            made_by("tw.struct", each, Computation, "tw.StructOutput")
        self.name = name
        self.fields = dict(fields)
        self.dtype = np.dtype(
            [(field, each.dtype.dtype) for field, each in self.fields.items()],
            align=a_boolean(align, "align", DECLARATION),
        )

    def __repr__(self) -> str:
        fields = ", ".join(f"{field}={each.name}" for field, each in self.fields.items())
        return f"struct({self.name!r}, {fields})"


def struct(name: str, /, *, align: bool = True, **fields: Computation) -> StructOutput:
    """Puts computations together into one structured array, as an output of a function::

        Q = tw.struct("Q", x=X, id=I)
        f = tw.function("f", outputs=[Q])
        q = f(p)                            # q["x"], q["id"]

    The kernel writes each field in its place in the array, without a copy. With ``out=``, an array
    that has these fields, of these types, and any others that are left alone.

    Args:
        name: the name of the output, as in ``out={"Q": q}``.
        align: fields of fresh arrays are aligned, as in C; packed without it.
        **fields: the computation of each field; all of one shape.

    Raises:
        DeclarationError: no fields, or a name that is no identifier.
        DeclarationTypeError: something that is no computation.
    """
    check_identifier(name, "structured output")
    if not fields:
        raise DeclarationError(f"the structured output {name} needs at least one field")
    for field, each in fields.items():
        if not isinstance(each, Computation):
            raise DeclarationTypeError(
                f"field {field!r} of {name} must be a computation, got {type(each).__name__}"
            )
        if len(each.shape) != len(next(iter(fields.values())).shape):
            raise DeclarationError(
                f"the fields of {name} differ in shape: "
                + ", ".join(
                    f"{key} has {counted(value.ndim, 'dimension')}" for key, value in fields.items()
                )
            )
    return StructOutput(name, fields, align)


def flat_inputs(inputs: Any) -> Any:
    """The list with the fields of a structured input in its place."""
    if isinstance(inputs, StructInput):
        return list(inputs.fields.values())
    if not isinstance(inputs, list | tuple):
        return inputs
    return [
        each
        for array in inputs
        for each in (array.fields.values() if isinstance(array, StructInput) else [array])
    ]


def flat_outputs(outputs: Any) -> Any:
    """The list with the fields of a structured output in its place."""
    if not isinstance(outputs, list | tuple):
        return outputs
    return [
        each
        for output in outputs
        for each in (output.fields.values() if isinstance(output, StructOutput) else [output])
    ]


def _views(function: str, slot: Slot, array: Any) -> dict[str, Any]:
    """The fields of a structured array, by the kernel's arguments."""
    assert slot.fields is not None
    given = array
    if not isinstance(array, np.ndarray):
        array = _core.view_array(array)  # a memoryview of records, for instance
    if array is None:
        raise ArgumentTypeError(
            f"{function}: argument {slot.name}: expected a structured NumPy array with the fields "
            f"{', '.join(slot.fields)}, got {type(given).__name__}"
        )
    names = array.dtype.names or ()
    missing = [field for field in slot.fields if field not in names]
    if missing:
        has = f"the fields {', '.join(names)}" if names else f"no fields ({array.dtype})"
        raise ArgumentTypeError(
            f"{function}: argument {slot.name}: expected the fields {', '.join(slot.fields)}, "
            f"got {has}"
        )
    return {argument: array[field] for field, argument in slot.fields.items()}


class StructFunction(Function):
    """A function with structured arrays among its arguments or results; made by `tw.function`.

    It is called like any other `Function`, with one structured array for each `StructInput` and
    each `struct`.
    """

    _input_slots: list[Slot]
    _output_slots: list[Slot]

    def _prepare(self, outputs: Sequence[Computation | StructOutput]) -> None:
        self._input_slots = []
        for name, record, field in self._fields:
            if not record:
                self._input_slots.append(Slot(name))
                continue
            known = next((slot for slot in self._input_slots if slot.name == record), None)
            if known is None:
                known = Slot(record, {})
                self._input_slots.append(known)
            assert isinstance(known.fields, dict)
            known.fields[field] = name
        self._output_slots = []
        for output in outputs:
            if isinstance(output, StructOutput):
                slot = Slot(
                    output.name, {field: each.name for field, each in output.fields.items()}
                )
                slot.dtype = output.dtype
            else:
                slot = Slot(output.name)
            self._output_slots.append(slot)
        names = [slot.name for slot in (*self._input_slots, *self._output_slots)]
        for name in names:
            if names.count(name) > 1:
                raise DeclarationError(f"{self.name} has two arrays named {name}")

    def _own_state(self) -> tuple[list[Any], list[Any]]:
        """The slots as plain values."""
        inputs, outputs = (
            [(slot.name, slot.fields, slot.dtype) for slot in slots]
            for slots in (self._input_slots, self._output_slots)
        )
        return inputs, outputs

    def _restore_own(self, state: tuple[list[Any], list[Any]]) -> None:
        self._input_slots, self._output_slots = ([Slot(*slot) for slot in slots] for slots in state)

    def copy(self: Self) -> Self:
        """See `Function.copy`."""
        copy = super().copy()
        copy._input_slots, copy._output_slots = self._input_slots, self._output_slots
        return copy

    def __call__(self, *arrays: Any, **keywords: Any) -> Any:
        """Runs the kernel; see `Function`."""
        return self._run(super().__call__, arrays, keywords)

    def evaluate(self, *arrays: Any, **keywords: Any) -> Any:
        """See `Function.evaluate`."""
        return self._run(super().evaluate, arrays, keywords)

    def compile(self, *arrays: Any, **keywords: Any) -> dict[str, Any]:
        """See `Function.compile`."""
        if not arrays and not keywords:
            return super().compile()
        given = self._inputs(arrays, keywords)
        out = self._given_outputs(keywords.get("out"))
        views = {k: v for s in self._output_slots for k, v in self._parts(s, out[s.name]).items()}
        rest = {key: value for key, value in given.items() if key != "out"}
        return super().compile(**rest, out=views)

    def _named_inputs(self, arrays: Sequence[Any], keywords: Mapping[str, Any]) -> dict[str, Any]:
        return self._inputs(arrays, keywords)

    def _inputs(self, arrays: Sequence[Any], keywords: Mapping[str, Any]) -> dict[str, Any]:
        """The kernel's arguments by name."""
        slots = self._input_slots
        if len(arrays) > len(slots):
            raise ArgumentTypeError(
                f"{self.name}() takes {len(slots)} arrays "
                f"({', '.join(slot.name for slot in slots)}), {len(arrays)} were given"
            )
        given = dict(keywords)
        known = {"out", "threads", *self.parameters, *(slot.name for slot in slots)}
        unknown = next((name for name in given if name not in known), None)
        if unknown is not None:
            raise ArgumentTypeError(
                f"{self.name}() got an unexpected keyword {unknown!r}; its inputs are "
                f"{', '.join(slot.name for slot in slots)}, its parameters "
                f"{', '.join(self.parameters) or 'none'}, and outputs go to out=: {self.signature}"
            )
        for slot, array in zip(slots, arrays, strict=False):
            if slot.name in given:
                raise ArgumentTypeError(
                    f"{self.name}() got several values for the argument {slot.name}"
                )
            given[slot.name] = array
        for slot in slots:
            if slot.name not in given:
                raise ArgumentTypeError(
                    f"{self.name}() is missing the argument {slot.name}: {self.signature}"
                )
            if slot.fields is None:
                continue
            given |= _views(self.name, slot, given.pop(slot.name))
        return given

    def _given_outputs(self, out: Any) -> dict[str, Any]:
        slots = self._output_slots
        given: dict[str, Any] = {slot.name: None for slot in slots}
        if isinstance(out, dict):
            for name in out:
                if name not in given:
                    raise ArgumentError(
                        f"{self.name}: out= names {name!r}; the outputs are {', '.join(given)}"
                    )
            return given | out
        if out is None:
            return given
        values = list(out) if isinstance(out, tuple | list) else [out]
        if len(values) != len(slots):
            raise ArgumentError(
                f"{self.name}: out= must be {len(slots)} arrays ({', '.join(given)}), "
                f"got {len(values)}"
            )
        return dict(zip(given, values, strict=True))

    def _parts(self, slot: Slot, array: Any) -> dict[str, Any]:
        if slot.fields is None or array is None:
            return {} if array is None else {slot.name: array}
        stored = self._stored()
        views = _views(self.name, slot, array)
        return {name: view for name, view in views.items() if name not in stored}

    def _stored(self) -> set[str]:
        """The computations that the schedule stores in inputs."""
        return {name for _, names in self._overwritten for name in names}

    def _run(
        self, run: Callable[..., Any], arrays: Sequence[Any], keywords: Mapping[str, Any]
    ) -> Any:
        given = self._inputs(arrays, keywords)
        out = self._given_outputs(given.pop("out", None))
        fresh = [slot for slot in self._output_slots if slot.fields and out[slot.name] is None]
        if fresh:
            shapes = dict(zip(self.outputs, self._output_shapes(**given), strict=True))
            for slot in fresh:
                out[slot.name] = self._new_struct(slot, shapes)
        views: dict[str, Any] = {}
        for slot in self._output_slots:
            views |= self._parts(slot, out[slot.name])
        results = run(**given, out=views)
        by_name = dict(
            zip(self.outputs, results if len(self.outputs) > 1 else (results,), strict=True)
        )
        stored = self._stored()
        for slot in self._output_slots:
            if slot.fields is not None and not stored.isdisjoint(slot.fields.values()):
                # The kernel has put these fields into an input.
                for name, view in _views(self.name, slot, out[slot.name]).items():
                    if name in stored:
                        view[...] = by_name[name]
        values = tuple(
            by_name[slot.name] if slot.fields is None else self._result(out[slot.name], slot, fresh)
            for slot in self._output_slots
        )
        return values if len(values) > 1 else values[0]

    def _new_struct(self, slot: Slot, shapes: Mapping[str, Sequence[int]]) -> Any:
        assert slot.fields is not None
        wanted = {field: tuple(shapes[name]) for field, name in slot.fields.items()}
        if len(set(wanted.values())) > 1:
            differing = ", ".join(f"{field} {shape}" for field, shape in wanted.items())
            raise ArgumentError(
                f"{self.name}: the fields of {slot.name} differ in shape: {differing}"
            )
        return np.zeros(next(iter(wanted.values())), slot.dtype)

    @staticmethod
    def _result(array: Any, slot: Slot, fresh: Sequence[Slot]) -> Any:
        return array[()] if slot in fresh and array.ndim == 0 else array

    def _signature_parts(self) -> tuple[list[str], list[str]]:
        described = {name: text for name, text, _ in self._described()}
        return (
            [_slot_text(slot, described) for slot in self._input_slots],
            [_slot_text(slot, described) for slot in self._output_slots],
        )

    def _argument_names(self) -> list[str]:
        return [slot.name for slot in self._input_slots]


document_instances(StructFunction)


def _slot_text(slot: Slot, described: Mapping[str, str]) -> str:
    """``P: {x: float32, id: int64}[N]``."""
    if slot.fields is None:
        return f"{slot.name}: {described[slot.name]}"
    texts = {field: described[name] for field, name in slot.fields.items()}
    kinds = ", ".join(f"{field}: {text.partition('[')[0]}" for field, text in texts.items())
    shape = next(iter(texts.values())).partition("[")[2].partition("]")[0]
    return f"{slot.name}: {{{kinds}}}[{shape}]"
