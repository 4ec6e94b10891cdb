"""Random affine programs as plain data, and their declaration in tilewright.

A program is a dict of lists, numbers and strings (so it can be stored as JSON, shrunk and replayed). The
declaration goes through the public language; the judge reads the same data on its own.

Affine expressions are ``[constant, {name: coefficient}]``. Subscripts are affine, or ``["mod", affine, d]``,
``["div", affine, d]``, ``["at", read]`` (indirect). Values are nested lists, the operation first:

    ["const", v]  ["aff", affine]  ["read", name, [subscript, ...]]
    ["add" | "sub" | "mul" | "min" | "max", a, b]  ["neg", a]  ["call", function, a, ...] (of CALLED)
    ["select", [affine >= 0, ...], a, b]  ["choose", a, b, c, d] (c where a < b, else d)
    ["cast", type, a]  ["while", first, bound, step, n] (add step while below the bound, n times at most)
    ["reduce", op, [[iterator, low, high], ...], [affine >= 0, ...], body] (and a step behind `high`, unless it is 1)
    (op "osum": a sum in the order of the iterators; "ofold": a fold s -> body - s from 0, in order; "fold": an
    associative one, s -> s + body + s * body from 0; "nfold": one that is not commutative, the last body that is
    not 0; "ofolds", "folds" and "nfolds" have several states and are all of a computation's value: s, t -> body - t,
    s + body, the sum of the products of two of the terms, and the composition of x -> body * x + body)
    ["guard", a, b, body] as the body of a reduction: only the terms where a < b

A computation with "view" is one: its pieces are reads. One with "partial" has the one piece ["choose", a, b, value, 0]
and is declared without the 0: its elements exist where a < b, and who reads one asks the same.
"""

from __future__ import annotations

import ctypes
from typing import Any

import ml_dtypes
import numpy as np

import tilewright as tw

Program = dict[str, Any]


def _ffsl() -> Any:
    """The number of the lowest bit that is set, from 1 on: of the C library (GNU's)."""
    function = ctypes.CDLL("libc.so.6").ffsl
    function.argtypes, function.restype = [ctypes.c_long], ctypes.c_int
    return function


AXES = ("N", "M", "K")
FOLDS = ("ofold", "fold", "nfold", "ofolds", "folds", "nfolds")


def affine(constant: int = 0, **coefficients: int) -> list[Any]:
    return [constant, {name: c for name, c in coefficients.items() if c != 0}]


def shifted(value: list[Any], by: int) -> list[Any]:
    return [value[0] + by, dict(value[1])]


def substitute(value: list[Any], names: dict[str, list[Any]]) -> list[Any]:
    """The affine expression with iterators replaced by affine expressions."""
    constant = value[0]
    terms: dict[str, int] = {}
    for name, coefficient in value[1].items():
        inner = names.get(name, [0, {name: 1}])
        constant += coefficient * inner[0]
        for other, c in inner[1].items():
            terms[other] = terms.get(other, 0) + coefficient * c
    return [constant, {name: c for name, c in terms.items() if c != 0}]


def pruned(program: Program) -> Program:
    """Without the computations that no output needs; what nobody reads becomes an output."""
    by_name = {c["name"]: c for c in program["computations"]}
    outputs = [name for name in program["outputs"] if name in by_name]
    reached: set[str] = set()
    waiting = list(outputs)
    while waiting:
        name = waiting.pop()
        if name in by_name and name not in reached:
            reached.add(name)
            waiting.extend(names_read(by_name[name]))
    kept = [c for c in program["computations"] if c["name"] in reached]
    return {"inputs": program["inputs"], "computations": kept, "outputs": outputs}


def unique(constraints: list[Any]) -> list[Any]:
    return list({repr(c): c for c in constraints}.values())


def is_affine(subscript: list[Any]) -> bool:
    return not isinstance(subscript[0], str)


def walk(value: list[Any]) -> Any:
    """All nodes of a value, those in subscripts too."""
    yield value
    if value[0] == "read":
        for subscript in value[2]:
            if subscript[0] == "at":
                yield from walk(subscript[1])
        return
    for child in value[1:]:
        if (
            isinstance(child, list)
            and child
            and isinstance(child[0], str)
            and child[0] in OPERATIONS
        ):
            yield from walk(child)


OPERATIONS = frozenset(
    "const aff read add sub mul min max neg call select choose reduce cast guard while".split()
)

#: Functions whose results no rounding touches: how many arguments, and on which kinds of them they are drawn.
CALLED = {
    "fmin": (2, "iuf"),
    "fmax": (2, "iuf"),
    "fmod": (2, "iu"),
    "truncated_divide": (2, "iu"),
    "sign": (1, "iuf"),
    "square": (1, "iuf"),
    "absolute_difference": (2, "iuf"),
    "saturating_add": (2, "iu"),
    "saturating_subtract": (2, "iu"),
    "bit_count": (1, "iu"),
    "ffsl": (1, "iu"),
}

#: Those of them that are functions of C: of int64, as others are brought to it.
EXTERNS = {"ffsl": tw.extern("ffsl", _ffsl())}


def names_read(computation: dict[str, Any]) -> set[str]:
    return {
        node[1]
        for _, value in computation["pieces"]
        for node in walk(value)
        if node[0] == "read" and node[1] != computation["name"]
    }


def self_reads(value: list[Any], name: str) -> list[Any]:
    return [node for node in walk(value) if node[0] == "read" and node[1] == name]


def dtype_of(name: str) -> np.dtype[Any]:
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


def type_of(value: list[Any], types: dict[str, str]) -> np.dtype[Any]:
    """The type of a value, by NumPy's rules; integers are summed in 64 bits."""
    operation, *rest = value
    if operation == "read":
        return dtype_of(types[rest[0]])
    if operation == "cast":
        return dtype_of(rest[0])
    if operation in ("const", "aff"):
        return np.dtype("int32" if operation == "const" else "int64")
    if operation == "reduce":
        body = type_of(rest[3], types)
        if "/" in rest[0]:  # a sum in a narrow type
            return dtype_of(rest[0].partition("/")[2])
        if rest[0] in ("any", "all"):
            return np.dtype(bool)
        if rest[0] in ("sum", "prod", "osum") and body.kind in "iub":
            return np.dtype("uint64" if body.kind == "u" else "int64")
        return body
    if operation in ("select", "choose"):
        rest = rest[-2:]
    if operation == "guard":
        rest = rest[-1:]
    if operation == "while":
        rest = [rest[0], rest[2]]
    if operation == "call":
        return called_type(rest[0], np.result_type(*(type_of(child, types) for child in rest[1:])))
    return np.result_type(*(type_of(child, types) for child in rest))


def called_type(function: str, operand: np.dtype[Any]) -> np.dtype[Any]:
    """The type of a function of CALLED on operands of one type."""
    if function == "bit_count":
        return np.dtype("uint8")
    if function == "absolute_difference" and operand.kind == "i":
        return np.dtype(f"uint{8 * operand.itemsize}")
    return operand


def types_of(program: Program) -> dict[str, str]:
    """The type of every array."""
    types = {array["name"]: array["dtype"] for array in program["inputs"]}
    types.update({c["name"]: c["dtype"] for c in program["computations"] if c["dtype"]})
    for c in program["computations"]:
        if c["name"] not in types:
            types[c["name"]] = type_of(c["pieces"][0][1], types).name
    return types


def reassociated(program: Program) -> set[str]:
    """Computations that depend on a sum or product of floats, whose terms a schedule may combine in another order."""
    types = types_of(program)
    found: set[str] = set()
    changed = True
    while changed:
        changed = False
        for c in program["computations"]:
            nodes = [n for _, v in c["pieces"] for n in walk(v)]
            loose = any(
                (n[0] == "read" and n[1] in found)
                or (n[0] == "reduce" and n[1] in ("sum", "prod") and not is_exact(n[4], types))
                for n in nodes
            )
            if loose and c["name"] not in found:
                found.add(c["name"])
                changed = True
    return found


def deepest(program: Program) -> tuple[int, int]:
    """The loops around the innermost term of the deepest computation; those over terms alone."""

    def depth(value: list[Any]) -> int:
        own = len(value[2]) if value[0] == "reduce" else 0
        parts = [part for part in walk(value) if part is not value and part[0] == "reduce"]
        return own + max((depth(part) for part in parts), default=0)

    found = [
        (len(one["iterators"]), max((depth(value) for _, value in one["pieces"]), default=0))
        for one in program["computations"]
    ]
    return max(outer + inner for outer, inner in found), max(inner for _, inner in found)


def is_exact(value: list[Any], types: dict[str, str]) -> bool:
    return type_of(value, types).kind in "biu"


def parameters_of(program: Program) -> list[str]:
    text = repr(program)
    return [name for name in AXES if f"'{name}'" in text]


# ---- declaration ----


def named(dtype: str) -> Any:
    return getattr(tw, dtype)


class Declaration:
    """A program declared in tilewright."""

    def __init__(self, program: Program) -> None:
        self.parameters = {name: tw.param(name) for name in AXES}
        self.arrays: dict[str, Any] = {}
        self.folds = 0  # of several states
        for array in program["inputs"]:
            extents = [self.affine(e) for e in array["extents"]]
            self.arrays[array["name"]] = tw.input(array["name"], extents, named(array["dtype"]))
        computations = program["computations"]
        self.asks = (
            len(computations) % 2 == 0
        )  # whether subscripts of data are asked for before, too
        for position, computation in enumerate(computations):
            if computation["name"] not in self.arrays:
                self.declare(computation, {c["name"]: c for c in computations[position:]})
        outputs = [self.arrays[name] for name in program["outputs"]]
        self.function = tw.function("f", outputs=outputs)

    def declare(self, computation: dict[str, Any], later: dict[str, Any]) -> None:
        """Declares a computation and those of the same recurrence, then all of their pieces."""
        group = [computation]
        group.extend(
            later[n] for n in sorted(names_read(computation)) if n in later and n not in self.arrays
        )
        recursive = (
            any(self_reads(v, c["name"]) for c in group for _, v in c["pieces"]) or len(group) > 1
        )
        if not recursive:
            dtype = computation["dtype"]
            pieces = [(self.condition(c), self.value(v)) for c, v in computation["pieces"]]
            ranges, where = self.domain(computation)
            value = pieces[0][1] if computation["pieces"][0][0] is None else pieces
            if dtype is not None:
                value = self.cast(value, dtype)
            if self.is_chosen_by_data(computation):
                self.declare_chosen(computation)
                return
            kind = tw.view if computation.get("view") else tw.computation
            self.arrays[computation["name"]] = kind(
                computation["name"], ranges, value, where=where, dtype=dtype and named(dtype)
            )
            return
        for one in group:
            ranges, where = self.domain(one)
            dtype = named(one["dtype"] or "float64")
            self.arrays[one["name"]] = tw.computation(one["name"], ranges, where=where, dtype=dtype)
        for one in group:
            for condition, value in one["pieces"]:
                cast = tw.cast(self.value(value), named(one["dtype"] or "float64"))
                self.arrays[one["name"]].define(self.condition(condition), cast)

    def is_chosen_by_data(self, computation: dict[str, Any]) -> bool:
        """A value that data choose over a whole box, of one type: said by where= and otherwise=, too."""
        condition, value = computation["pieces"][0]
        if condition is not None or value[0] != "choose":
            return False
        if computation["where"] and not computation.get("partial"):
            return False
        if computation.get("partial"):
            return True
        # Each value is converted, here; and else what was chosen: isolation tells them apart.
        types = {self.value(v).dtype.name for v in value[3:]}
        return types <= {computation["dtype"] or min(types)}

    def declare_chosen(self, computation: dict[str, Any]) -> None:
        _, a, b, chosen, otherwise = computation["pieces"][0][1]
        dtype = computation["dtype"] or self.value(chosen).dtype.name
        name, (ranges, where) = computation["name"], self.domain(computation)
        holds = self.value(a) < self.value(b)
        holds = holds if where is None else where & holds
        first, other = (self.cast(self.value(v), dtype) for v in (chosen, otherwise))
        if computation.get("partial"):
            made = tw.computation(name, ranges, first, where=holds)
        elif name in "CEGPR":
            made = tw.computation(name, ranges, first, where=holds, otherwise=other)
        else:
            made = tw.computation(name, ranges, [(holds, first), (None, other)])
        self.arrays[name] = made

    @staticmethod
    def cast(value: Any, dtype: str) -> Any:
        if isinstance(value, list):
            return [(condition, tw.cast(v, named(dtype))) for condition, v in value]
        return tw.cast(value, named(dtype))

    def domain(self, computation: dict[str, Any]) -> tuple[Any, Any]:
        ranges = {
            tw.iter(name): (self.affine(low), self.affine(high), *step)
            for name, (low, high, *step) in zip(
                computation["iterators"], computation["ranges"], strict=True
            )
        }
        return ranges, self.all(computation["where"])

    def all(self, constraints: list[Any]) -> Any:
        result = None
        for constraint in constraints:
            one = self.affine(constraint) >= 0
            result = one if result is None else result & one
        return result

    def condition(self, condition: Any) -> Any:
        if condition is None:
            return None
        together = self.all(condition[1])
        if together is None:
            together = self.affine(affine(0)) >= 0
        return together if condition[0] == "all" else ~together

    def fold(self, op: str, body: Any, over: dict[Any, Any], condition: Any) -> Any:
        """A fold whose result has the body's type."""
        first = tw.cast(0, body.dtype)
        if op in ("ofolds", "folds", "nfolds"):
            self.folds += 1  # no two are the same one, which they would share
            number = tw.cast(self.folds, tw.int64)
            start, own = (first, first, number), (body, first, number)
            if op == "nfolds":
                return tw.fold(
                    lambda s, t, n, v, w, m: (s * v, t * v + w, tw.minimum(n, m)),
                    (tw.cast(1, body.dtype), first, number), (body, body, number),
                    over=over, where=condition, associative=True, commutative=False,
                )[1]  # fmt: skip
            if op == "ofolds":
                return tw.fold(
                    lambda s, t, n, v: (v - t, s + v, n), start, body, over=over, where=condition
                )[0]
            return tw.fold(
                lambda s, t, n, v, w, m: (s + v, t + w + s * v, tw.minimum(n, m)),
                start, own, over=over, where=condition, associative=True,
            )[1]  # fmt: skip
        if op == "ofold":
            return tw.fold(lambda s, v: v - s, first, body, over=over, where=condition)
        if op == "nfold":
            return tw.fold(
                lambda s, v: tw.select(v == first, s, v), first, body,
                over=over, where=condition, associative=True, commutative=False,
            )  # fmt: skip
        return tw.fold(
            lambda s, v: s + v + s * v, first, body, over=over, where=condition, associative=True
        )

    def name(self, name: str) -> Any:
        return self.parameters[name] if name in self.parameters else tw.iter(name)

    def affine(self, value: list[Any]) -> Any:
        constant, terms = value
        result = None
        for name, coefficient in terms.items():
            term = self.name(name) if coefficient == 1 else coefficient * self.name(name)
            result = term if result is None else result + term
        if result is None:
            return tw.cast(constant, tw.int64)
        return result + constant if constant else result

    def subscript(self, value: list[Any]) -> Any:
        if value[0] == "at":
            found = self.value(value[1])  # 0 wherever it is asked
            return tw.checked(found, self.parameters["N"] + 1) if self.asks else found
        if value[0] == "mod":
            return self.affine(value[1]) % value[2]
        if value[0] == "div":
            return self.affine(value[1]) // value[2]
        return self.affine(value) if value[1] else value[0]

    def value(self, value: list[Any]) -> Any:
        operation, *rest = value
        if operation == "const":
            return tw.cast(rest[0], tw.int32)
        if operation == "aff":
            return self.affine(rest[0])
        if operation == "read":
            return self.arrays[rest[0]][tuple(self.subscript(s) for s in rest[1])]
        if operation == "neg":
            return -self.value(rest[0])
        if operation == "call":
            given = [self.value(child) for child in rest[1:]]
            if rest[0] in EXTERNS:
                (argument,) = given
                return tw.cast(EXTERNS[rest[0]](tw.cast(argument, tw.int64)), argument.dtype)
            return getattr(tw, rest[0])(*given)
        if operation == "cast":
            return tw.cast(self.value(rest[1]), named(rest[0]))
        if operation == "select":
            condition = self.all(rest[0])
            return tw.select(condition, self.value(rest[1]), self.value(rest[2]))
        if operation == "choose":
            return tw.select(
                self.value(rest[0]) < self.value(rest[1]), self.value(rest[2]), self.value(rest[3])
            )
        if operation == "while":
            first, bound, step = (self.value(child) for child in rest[:3])
            return tw.while_loop(lambda s: s < bound, lambda s: s + step, first, limit=rest[3])
        if operation == "reduce":
            op, ranges, where, body = rest
            over = {
                tw.iter(n): (self.affine(low), self.affine(high), *step)
                for n, low, high, *step in ranges
            }
            condition = self.all(where)
            if body[0] == "guard":
                below = self.value(body[1]) < self.value(body[2])
                condition = below if condition is None else condition & below
                body = body[3]
            if op in FOLDS:
                return self.fold(op, self.value(body), over, condition)
            if op == "osum":
                return tw.sum(self.value(body), over=over, where=condition, ordered=True)
            return getattr(tw, op)(self.value(body), over=over, where=condition)
        a, b = self.value(rest[0]), self.value(rest[1])
        if operation in ("min", "max"):
            return (tw.minimum if operation == "min" else tw.maximum)(a, b)
        return {"add": lambda: a + b, "sub": lambda: a - b, "mul": lambda: a * b}[operation]()
