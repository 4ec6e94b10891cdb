"""Statement trees from a few lines of Python, for tests: loops over ranges, ifs, assignments.

Types are simple: arrays and scalars are float64 unless `types` says otherwise, iterators and
parameters int64. What is assigned without a subscript and is no argument is a local scalar.
"""

from __future__ import annotations

import ast
import textwrap

import numpy as np

from tilewright.frontends import tree

F64, I64, BOOL = np.dtype("float64"), np.dtype("int64"), np.dtype("bool")
BINARY = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
}
COMPARED = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}


def program(
    text: str,
    arrays: dict[str, str],
    parameters: str = "",
    types: dict[str, str] | None = None,
    local: tuple[str, ...] = (),
) -> tree.Program:
    """The tree of a text.

    Args:
        arrays: extents by name, ``{"A": "N M", "x": ""}``; the arguments in order, after parameters.
        parameters: names.
        types: dtypes that are not float64.
        local: arrays that are none of the caller's.
    """
    return _Reader(arrays, parameters.split(), types or {}, local).program(textwrap.dedent(text))


class _Reader:
    def __init__(self, arrays, parameters, types, local):
        self.parameters = dict.fromkeys(parameters, I64)
        self.types = {name: np.dtype(kind) for name, kind in types.items()}
        self.arrays = {}
        self.iterators = set()
        self.count = 0
        here = tree.Location("<small>", 1, 1)
        self.arrays = {
            name: tree.Array(
                name,
                self.types.get(name, F64),
                tuple(self.value(ast.parse(e, mode="eval").body) for e in extents.split()),
                here,
                name in local,
            )
            for name, extents in arrays.items()
        }
        self.arguments = (*parameters, *(name for name in arrays if name not in local))

    def program(self, text):
        body = self.block(ast.parse(text).body)
        context = tuple(
            self.operation(">=", self.variable(name), tree.Literal(0, I64))
            for name in self.parameters
        )
        here = tree.Location("<small>", 1, 1)
        return tree.Program(
            "small", self.arguments, self.parameters, self.arrays, body, here, context
        )

    def at(self, node):
        return tree.Location("<small>", node.lineno, node.col_offset + 1)

    def block(self, nodes):
        return tuple(statement for node in nodes for statement in self.statement(node))

    def statement(self, node):
        where = self.at(node)
        match node:
            case ast.Assign():
                yield self.assign(node.targets[0], node.value, where)
            case ast.AugAssign():
                value = ast.BinOp(
                    node.target, node.op, node.value, lineno=node.lineno, col_offset=0
                )
                yield self.assign(node.target, value, where)
            case ast.For():
                bounds = [self.value(argument) for argument in node.iter.args]
                step = bounds[2].value if len(bounds) == 3 else 1
                start = bounds[0] if len(bounds) > 1 else tree.Literal(0, I64)
                stop = bounds[1] if len(bounds) > 1 else bounds[0]
                self.iterators.add(node.target.id)
                body = self.block(node.body)
                name = tree.Variable(node.target.id, I64)
                label = f"L{where.line}"
                parallel = node.iter.func.id == "prange"
                independent = () if node.iter.func.id == "independent" else None
                yield tree.For(
                    name, start, stop, int(step), body, label, where, independent, parallel
                )
            case ast.While():
                yield tree.While(
                    self.value(node.test), self.block(node.body), f"W{where.line}", where
                )
            case ast.If():
                yield tree.If(
                    self.value(node.test), self.block(node.body), self.block(node.orelse), where
                )
            case ast.Assert():
                yield tree.Assume(self.value(node.test), where)
            case ast.Delete():
                yield tree.Kill(node.targets[0].id, where)
            case ast.Break():
                yield tree.Break(where)
            case ast.Continue():
                yield tree.Continue(where)
            case ast.Return():
                yield tree.Return(where)
            case _:
                assert isinstance(node, ast.Pass), ast.dump(node)

    def assign(self, target, value, where):
        made = self.value(value)
        if isinstance(target, ast.Name) and target.id not in self.arrays:
            kind = self.types.get(target.id, made.dtype)
            self.arrays[target.id] = tree.Array(target.id, kind, (), where, local=True)
        self.count += 1
        place = self.value(target)
        return tree.Assign(place, self.convert(made, place.dtype), f"S{self.count}", where)

    def convert(self, value, dtype):
        if value.dtype == dtype:
            return value
        if isinstance(value, tree.Literal):
            return tree.Literal(dtype.type(value.value).item(), dtype)
        return tree.Convert(value, dtype)

    def variable(self, name):
        return tree.Variable(name, I64)

    def operation(self, name, *operands):
        kind = BOOL if name in COMPARED.values() else operands[0].dtype
        return tree.Operation(name, operands, kind, tree.Location("<small>", 1, 1))

    def value(self, node):
        match node:
            case ast.Constant():
                kind = {bool: BOOL, int: I64, float: F64}[type(node.value)]
                return tree.Literal(node.value, kind)
            case ast.Name():
                if node.id in self.arrays:
                    return tree.Read(node.id, (), self.arrays[node.id].dtype, self.at(node))
                return self.variable(node.id)
            case ast.Subscript():
                parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
                subscripts = tuple(self.value(part) for part in parts)
                kind = self.arrays[node.value.id].dtype
                return tree.Read(node.value.id, subscripts, kind, self.at(node))
            case ast.UnaryOp(op=ast.Not()):
                return self.operation("~", self.value(node.operand))
            case ast.UnaryOp():
                value = self.value(node.operand)
                if isinstance(value, tree.Literal):
                    return tree.Literal(-value.value, value.dtype)
                return self.operation("neg", value)
            case ast.BoolOp():
                first, *others = (self.value(value) for value in node.values)
                for other in others:
                    both = isinstance(node.op, ast.And)
                    if_true = other if both else tree.Literal(True, BOOL)
                    if_false = tree.Literal(False, BOOL) if both else other
                    first = tree.Select(first, if_true, if_false, BOOL)
                return first
            case ast.IfExp():
                first, second = self.together(self.value(node.body), self.value(node.orelse))
                return tree.Select(self.value(node.test), first, second, first.dtype)
            case ast.BinOp():
                operands = self.together(self.value(node.left), self.value(node.right))
                if isinstance(node.op, ast.Div):
                    operands = [self.convert(operand, F64) for operand in operands]
                return self.operation(BINARY[type(node.op)], *operands)
            case ast.Compare():
                operands = self.together(self.value(node.left), self.value(node.comparators[0]))
                return self.operation(COMPARED[type(node.ops[0])], *operands)
            case ast.Call():
                operands = tuple(self.value(argument) for argument in node.args)
                name = node.func.id
                return tree.Operation(name, operands, operands[0].dtype, self.at(node))
        raise AssertionError(ast.dump(node))

    def together(self, *values):
        kind = np.result_type(*(value.dtype for value in values))
        return [self.convert(value, kind) for value in values]
