"""Functions of NumPy that nobody looks into: `np.linalg.solve`, `np.sort`, `np.fft.fft` and their like.

Each is a block: NumPy itself is called, with copies of whole arrays, and what it gives is an array of the
function like others. What has to be known beforehand is only its shape, which a line of the table says
in the manner of NumPy's generalised ufuncs, and its type, which NumPy is asked for with a small array.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...base.plurals import counted
from ..tree import Block, Expression, Literal, Operation, parts_of
from .histograms import histogram
from .indices import add, is_pure, literal, simplified, subtract
from .kinds import INT64
from .reductions import Reductions
from .values import ArrayValue, Scalar, Static, TupleValue, Value, same_shape

__all__ = ["OPAQUE", "Opaque"]

#: Of each function the shapes of its arrays and, behind the arrow, of its results. Letters are extents, "..."
#: any number of them; "k" is the smaller one of m and n. What else it takes must be known while translating.
OPAQUE: dict[Any, tuple[str, ...]] = {
    np.linalg.solve: ("nn,n->n", "nn,nm->nm"),
    np.linalg.inv: ("...nn->...nn",),
    np.linalg.det: ("...nn->...",),
    np.linalg.slogdet: ("nn->,",),
    np.linalg.cholesky: ("...nn->...nn",),
    np.linalg.eigh: ("nn->n,nn",),
    np.linalg.eigvalsh: ("nn->n",),
    np.linalg.qr: ("mn->mk,kn",),
    np.linalg.svd: ("mn->mm,k,nn",),
    np.linalg.pinv: ("mn->nm",),
    np.linalg.matrix_rank: ("mn->",),
    np.linalg.cond: ("mn->",),
    np.sort: ("...->...",),
    np.argsort: ("...->...",),
    np.partition: ("...->...",),
    np.argpartition: ("...->...",),
    np.median: ("...->",),
    np.percentile: ("...->",),
    np.quantile: ("...->",),
    np.searchsorted: ("n,...->...",),
    np.digitize: ("...,n->...",),
    np.isin: ("...,n->...",),
    np.interp: ("...,n,n->...",),
    np.fft.fft: ("...->...",),
    np.fft.ifft: ("...->...",),
    np.fft.fft2: ("mn->mn",),
    np.fft.ifft2: ("mn->mn",),
    np.fft.rfft: ("...n->...(n//2+1)",),
    np.fft.fftshift: ("...->...",),
    np.fft.ifftshift: ("...->...",),
    np.unwrap: ("...->...",),
    np.kron: ("mn,pq->(m*p)(n*q)",),
    np.convolve: ("n,m->(n+m-1)",),
    np.correlate: ("n,m->(max-min+1)",),
    np.vander: ("n->n(N)", "n->nn"),
    np.polyfit: ("n,n->(deg+1)",),
    np.polyval: ("n,...->...",),
    np.histogram: ("...->(bins),(bins+1)", "...,...->(bins),(bins+1)"),
    np.fft.fftfreq: ("->(n)",),
}  # fmt: skip

#: Other names of the first arguments, and shapes that depend on an argument, by its name and value.
_FORMS: dict[tuple[Any, str, Any], str] = {
    (np.linalg.svd, "full_matrices", False): "mn->mk,k,kn",
    (np.linalg.svd, "compute_uv", False): "mn->k",
    (np.linalg.qr, "mode", "complete"): "mn->mm,mn",
    (np.linalg.qr, "mode", "r"): "mn->kn",
    (np.convolve, "mode", "same"): "n,m->(max)",
    (np.convolve, "mode", "valid"): "n,m->(max-min+1)",
    (np.correlate, "mode", "same"): "n,m->(max)",
    (np.correlate, "mode", "full"): "n,m->(n+m-1)",
    (np.correlate, "mode", "valid"): "n,m->(max-min+1)",
}  # fmt: skip
#: What does the same as NumPy's function, and calls it where it has nothing better.
_OURS: dict[Any, Any] = {np.histogram: histogram}
_ALONG = (np.median, np.percentile, np.quantile)


@dataclass(frozen=True)
class _Operand:
    """An argument that is an array, by its number."""

    number: int


class Opaque(Reductions):
    """Calls of opaque functions."""

    def opaque_call(
        self, target: Any, values: Sequence[Value], keywords: dict[str, Value], node: ast.Call
    ) -> Value:
        """The value of a call of a function of the table."""
        name = _name_of(target)
        forms = OPAQUE[target]
        arrays: list[ArrayValue] = []
        given: dict[str, Any] = {}
        names = list(inspect.signature(target).parameters)
        for key, value in [*zip(names, values, strict=False), *keywords.items()]:
            if isinstance(value, Scalar) and value.kind.is_integer and is_pure(value.expression):
                index = value.expression  # such as a number of bins: it decides about shapes
                self.require_numbers_in(Operation("%", (index, index), INT64, self.at(node)))
            if isinstance(value, Scalar) and not isinstance(value.expression, Literal):
                value = _as_array(self.kept(value, node))
            if isinstance(value, ArrayValue):
                given[key] = _Operand(len(arrays))
                arrays.append(value)
            elif isinstance(value, TupleValue) and any(
                isinstance(part, ArrayValue | TupleValue) for part in value.parts
            ):
                self.refuse(node, f"{key} of {name} must be an array", "make it one, np.array(...)")
            else:
                given[key] = self._static(value, key, name, node)
        form = self._form(target, forms, arrays, given, node)
        extents = self._extents(form.partition("->")[0], arrays, name, node)
        return self._called(target, name, form.partition("->")[2], extents, given, arrays, node)

    def _static(self, value: Value, key: str, name: str, node: ast.AST) -> Any:
        """An argument that is no array: it has to be known."""
        match value:
            case Static():
                return value.value
            case Scalar(expression=Literal() as number):
                return number.value
            case TupleValue():
                return tuple(self._static(part, key, name, node) for part in value.parts)
        self.refuse(
            node,
            f"{key} of {name} must be known before the function runs",
            "write a number, or call it outside of the function",
        )

    def _form(
        self,
        target: Any,
        forms: tuple[str, ...],
        arrays: list[ArrayValue],
        given: dict[str, Any],
        node: ast.AST,
    ) -> str:
        ranks = [len(array.shape) for array in arrays]
        for (function, key, value), form in _FORMS.items():
            if function is target and key in given and given[key] == value and form:
                return form
        if target in _ALONG and given.get("axis") is not None:
            return self._along(arrays[0], given, node) if len(arrays) == 1 else ""
        for form in forms:
            takes = form.partition("->")[0].split(",")
            if len(takes) == len(ranks) and all(
                rank >= len(each.replace("...", "")) if "..." in each else rank == len(each)
                for each, rank in zip(takes, ranks, strict=True)
            ):
                return form
        self.refuse(
            node,
            f"{_name_of(target)} takes {' or '.join(forms)} here, and is given arrays of "
            f"{', '.join(map(str, ranks)) or 'no'} dimensions",
            "convert lists with np.array, or call it outside of the function",
        )

    def _along(self, array: ArrayValue, given: dict[str, Any], node: ast.AST) -> str:
        letters = "abcdefgh"[: len(array.shape)]
        axis = given["axis"]
        axes = axis if isinstance(axis, tuple) else (axis,)
        chosen = {each % len(letters) for each in axes}
        kept = [each for n, each in enumerate(letters) if n not in chosen]
        if given.get("keepdims"):
            self.refuse(node, "keepdims= is not translated here", "index with np.newaxis")
        return f"{letters}->{''.join(kept)}"

    def _extents(
        self, takes: str, arrays: Sequence[ArrayValue], name: str, node: ast.AST
    ) -> dict[str, tuple[Expression, ...]]:
        """What the letters stand for."""
        found: dict[str, tuple[Expression, ...]] = {}
        for letters, array in zip(takes.split(","), arrays, strict=True):
            plain = letters.replace("...", "")
            shape = array.shape
            if "..." in letters:
                found["..."] = shape[: len(shape) - len(plain)]
            for letter, extent in zip(plain, shape[len(shape) - len(plain) :], strict=True):
                known = found.setdefault(letter, (extent,))
                self.claim_equal(known[0], extent, node, f"the extents of what {name} takes")
        if "m" in found and "n" in found:
            smaller = Operation("minimum", (*found["m"], *found["n"]), INT64, self.at(node))
            found["k"] = found["min"] = (smaller,)
            larger = Operation("maximum", (*found["m"], *found["n"]), INT64, self.at(node))
            found["max"] = (larger,)
        return found

    def _called(
        self,
        target: Any,
        name: str,
        gives: str,
        extents: dict[str, tuple[Expression, ...]],
        given: dict[str, Any],
        arrays: Sequence[ArrayValue],
        node: ast.Call,
    ) -> Value:
        """The block, and its results."""
        self.decide_outer_tests()
        plain = target.__name__
        function = _call_of(_OURS.get(target, target), given, len(node.args))
        samples = [np.ones([2] * len(array.shape), array.dtype) for array in arrays]
        if target in (np.linalg.inv, np.linalg.solve, np.linalg.cholesky) or "nn" in gives:
            samples = [
                np.eye(2, dtype=array.dtype) * np.ones([2] * len(array.shape), array.dtype)
                if len(array.shape) > 1
                else sample
                for array, sample in zip(arrays, samples, strict=True)
            ]
        try:
            sample = function(*samples)
        except Exception as error:
            self.refuse(node, f"{name} refuses such arguments: {error}")
        results = sample if isinstance(sample, tuple) else (sample,)
        shapes = [self._shape(each, extents, given, node) for each in gives.split(",")]
        for extent in (extent for shape in shapes for extent in shape):
            if _has_choice(extent):
                index = Operation("%", (extent, extent), INT64, self.at(node))
                self.require_numbers_in(index)  # the size of what is stored is one affine function
        kept = []
        for array in arrays:
            for extent in array.shape:
                self.require_parameters(
                    extent,
                    node,
                    f"the extents of what {name} takes",
                    "call it outside of the loop, or of the function",
                )
            if not self._is_whole(array):
                array = replace(array, room=array.shape, fresh=False)
                array = self.materialised(array, "operand", node)
            kept.append(array)
        label = self.fresh(plain)
        made = []
        for result, shape in zip(results, shapes, strict=True):
            if np.ndim(result) != len(shape):
                self.refuse(
                    node,
                    f"{name} gives an array of {counted(np.ndim(result), 'dimension')} for this",
                )
            made.append(self.new_array(f"{plain}_result", np.asarray(result).dtype, shape, node))
        reads = list(dict.fromkeys(array.base for array in kept))
        places = [reads.index(array.base) for array in kept]
        fill = _filler(function, places, len(reads))
        self.emit(Block(fill, tuple(reads), tuple(made), label, name, self.at(node)), node)
        values = []
        for array_name, result, shape in zip(made, results, shapes, strict=True):
            view = self.view(array_name, np.asarray(result).dtype, shape, shape, node)
            values.append(
                replace(view, fresh=True) if shape else Scalar(view.element(()), view.kind)
            )
        return TupleValue(tuple(values)) if isinstance(sample, tuple) else values[0]

    def _is_whole(self, array: ArrayValue) -> bool:
        """Whether it is an array in memory, and all of it."""
        return (
            array.whole
            and bool(array.base)
            and same_shape(array.shape, self.arrays[array.base].shape)
        )

    def _shape(
        self,
        letters: str,
        extents: dict[str, tuple[Expression, ...]],
        given: dict[str, Any],
        node: ast.AST,
    ) -> tuple[Expression, ...]:
        shape: list[Expression] = []
        for part in re.findall(r"\.\.\.|\([^)]*\)|\w", letters):
            if part.startswith("("):
                shape.append(self._sum(ast.parse(part, mode="eval").body, extents, given, node))
            else:
                shape += extents[part]
        return tuple(map(simplified, shape))

    def _sum(
        self,
        text: ast.expr,
        extents: dict[str, tuple[Expression, ...]],
        given: dict[str, Any],
        node: ast.AST,
    ) -> Expression:
        """An extent that is made of others, and of arguments."""
        match text:
            case ast.Constant():
                return literal(int(text.value))  # type: ignore[arg-type]
            case ast.Name() if text.id in extents:
                return extents[text.id][0]
            case ast.Name():
                if not isinstance(given.get(text.id), int):
                    self.refuse(node, f"{text.id} must be a number", "say it")
                return literal(given[text.id])
            case ast.BinOp():
                left, right = (
                    self._sum(each, extents, given, node) for each in (text.left, text.right)
                )
                if isinstance(text.op, ast.Add):
                    return add(left, right)
                if isinstance(text.op, ast.Sub):
                    return subtract(left, right)
                name = "//" if isinstance(text.op, ast.FloorDiv) else "*"
                made = Operation(name, (left, right), INT64, self.at(node))
                self.require_numbers_in(made)
                return simplified(made)
        raise AssertionError(ast.dump(text))


def _name_of(target: Any) -> str:
    module = target.__module__.replace("numpy", "np", 1)
    return f"{'np' if module.startswith('np._') or module == 'np' else module}.{target.__name__}"


def _call_of(target: Any, given: dict[str, Any], count: int) -> Callable[..., Any]:
    """The call, as a function of the arrays alone; the first `count` arguments have no names."""

    def call(*arrays: Any) -> Any:
        values = {
            key: arrays[value.number] if isinstance(value, _Operand) else value
            for key, value in given.items()
        }
        return target(*list(values.values())[:count], **dict(list(values.items())[count:]))

    return call


def _as_array(number: Scalar) -> ArrayValue:
    """A number as an array without dimensions."""
    return ArrayValue((), (), number.kind.dtype, lambda _: number.expression)


def _has_choice(extent: Expression) -> bool:
    """Whether it is the smaller or larger one of two."""
    is_one = isinstance(extent, Operation) and extent.name in ("minimum", "maximum")
    return is_one or any(map(_has_choice, parts_of(extent)))


def _filler(function: Callable[..., Any], places: list[int], count: int) -> Callable[..., None]:
    """The block's function: it reads the first `count` arrays, and fills the others."""

    def fill(*arrays: Any) -> None:
        made = function(*(arrays[place] for place in places))
        results = made if isinstance(made, tuple) else (made,)
        for target, result in zip(arrays[count:], results, strict=True):
            target[...] = result

    return fill
