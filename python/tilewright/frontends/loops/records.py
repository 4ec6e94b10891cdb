"""Records while translating: dictionaries, dataclasses, named tuples.

Their parts are known one by one, so that a record is its parts: nothing of it is there when the kernel runs.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
from typing import Any

from ..tree import Literal
from .evaluation_order import EvaluationOrder
from .groups import Group, fields_of
from .values import Record, RecordMethod, Scalar, Static, TupleValue, Value

__all__ = ["Records"]


class Records(EvaluationOrder):
    """Expressions about records."""

    def dictionary(self, node: ast.Dict) -> Value:
        """{key: value, ...}, whose keys are known."""
        keys = [
            self.key_of(Static(None) if k is None else self.expression(k), node) for k in node.keys
        ]
        if len(set(keys)) < len(keys):
            self.refuse(node, "a key stands in this dictionary twice")
        values: list[Value] = []
        for each in node.values:
            with self.behind(values, each):
                value = self.expression(each)
            values.append(value)
        return Record(tuple(values), Group(dict, tuple(keys)))

    def key_of(self, value: Value, node: ast.AST) -> Any:
        """A key of a dictionary."""
        if isinstance(value, Scalar) and isinstance(value.expression, Literal):
            return value.expression.value
        if isinstance(value, Static) and isinstance(value.value, str):
            return value.value
        self.refuse(node, "a key of a dictionary must be a text or a number that is known here")

    def of_record(self, record: Record, node: ast.Subscript) -> Value:
        """record[key]"""
        if record.form.made_of is not dict:
            self.refuse(node, f"{self.described(record)} has no elements")
        found = record.get(key := self.key_of(self.expression(node.slice), node.slice))
        if found is None:
            self.refuse(node, f"the dictionary has no key {key!r}")
        return found

    def field_of(self, value: TupleValue | Record, name: str, node: ast.AST) -> Value:
        """value.name"""
        form = value.form
        if name in form.keys:
            return value.parts[form.keys.index(name)]
        self.refuse(
            node,
            f"{name!r} is no field of {form.made_of.__name__}, and other attributes have no translation",
            "write a function with @tw.jit",
        )

    def record_method(self, method: RecordMethod, values: list[Value], node: ast.Call) -> Value:
        """d.keys(), d.values(), d.items(), d.get(key, other)"""
        record = method.record
        if method.name == "get":
            if not 1 <= len(values) <= 2:
                self.refuse(node, "get takes a key, and what there is without it")
            found = record.get(self.key_of(values[0], node))
            return found or (values[1] if len(values) > 1 else Static(None))
        if values:
            self.refuse(node, f"{method.name} takes no arguments")
        keys = tuple(self.constant(key, node) for key in record.group.keys)
        if method.name == "keys":
            return TupleValue(keys)
        if method.name == "values":
            return TupleValue(record.parts)
        return TupleValue(tuple(TupleValue(pair) for pair in zip(keys, record.parts, strict=True)))

    def made_record(
        self, target: Any, values: list[Value], keywords: dict[str, Value], node: ast.Call
    ) -> Value | None:
        """What a class of named tuples, or a dataclass, makes; None for another target."""
        if target is dict and not values:
            return Record(tuple(keywords.values()), Group(dict, tuple(keywords)))
        fields = fields_of(target)
        if fields is None:
            return None
        try:
            bound = inspect.signature(target).bind(*values, **keywords)
        except TypeError as error:
            self.refuse(node, f"{target.__name__}: {error}")
        given = bound.arguments
        if hasattr(target, "__post_init__") or set(given) - set(fields):
            self.refuse(
                node, f"{target.__name__} is not made of its fields alone", "make it outside"
            )
        for name, parameter in bound.signature.parameters.items():
            if name in given:
                continue
            default = parameter.default
            if dataclasses.is_dataclass(target) and default.__class__.__name__.startswith("_"):
                self.refuse(node, f"the field {name} is made by a function", f"give {name}")
            given[name] = self.constant(default, node)
        parts = tuple(given[name] for name in fields if name in given)
        if len(parts) < len(fields):
            self.refuse(
                node, f"{target.__name__} is not made of its fields alone", "make it outside"
            )
        group = Group(target, fields)
        return TupleValue(parts, group) if group.is_tuple else Record(parts, group)
