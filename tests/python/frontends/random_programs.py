"""Random statement trees: nested affine loops, guards, several statements to one array, scalars.

Every subscript stays inside of its array for the parameters that `arguments` draws, so that the
interpreter and every schedule have something to say about every program.
"""

from __future__ import annotations

from random import Random

import numpy as np

from tilewright.frontends import tree

F64, I64, BOOL = np.dtype("float64"), np.dtype("int64"), np.dtype("bool")
HERE = tree.Location("<random>", 1, 1)
MOST = 4  # of a parameter and an iterator
SIZE = 40  # extents
MIDDLE = 20  # subscripts are around it


def literal(value: int) -> tree.Literal:
    return tree.Literal(value, I64)


def number(value: float) -> tree.Literal:
    return tree.Literal(value, F64)


def operation(name: str, *operands: tree.Expression) -> tree.Operation:
    kind = BOOL if name in ("<", "<=", ">", ">=", "==", "!=", "~") else operands[0].dtype
    return tree.Operation(name, operands, kind, HERE)


class Programs:
    """Draws a program.

    Args:
        random: where choices come from.
        control: whether loops may be left early.
        data: whether data may decide about subscripts.
    """

    def __init__(self, random: Random, control: bool = False, data: bool = False) -> None:
        self.random = random
        self.control = control
        self.data = data
        self.count = 0
        self.parameters = {"N": I64, "M": I64}
        shapes = {"A": 1, "B": 2, "s": 0, "t": 0, "k": 0, "w": 1, "p": 1}
        self.arrays = {
            name: tree.Array(
                name,
                I64 if name in "kp" else F64,
                (literal(SIZE),) * rank,
                HERE,
                local=name in "tkw",
            )
            for name, rank in shapes.items()
        }
        self.known: list[str] = []

    def program(self) -> tree.Program:
        first = [
            tree.Assign(
                self.read(name, ()), number(0.0) if name == "t" else literal(1), label, HERE
            )
            for name, label in (("t", "T0"), ("k", "K0"))
        ]
        body = (*first, *self.block((), 0, self.random.randint(1, 2)))
        context = []
        for name in self.parameters:
            variable = tree.Variable(name, I64)
            context += [operation(">=", variable, literal(0))]
            context += [operation("<=", variable, literal(MOST))]
        arguments = ("N", "M", "A", "B", "s", "p")
        return tree.Program(
            "random", arguments, self.parameters, self.arrays, body, HERE, tuple(context)
        )

    def arguments(self) -> dict[str, object]:
        random = np.random.default_rng(self.random.randrange(2**32))
        return {
            "N": self.random.randint(0, MOST),
            "M": self.random.randint(0, MOST),
            "A": random.integers(-8, 9, SIZE).astype(float),
            "B": random.integers(-8, 9, (SIZE, SIZE)).astype(float),
            "s": np.array(random.integers(-8, 9), float),
            "p": random.integers(0, SIZE, SIZE),
        }

    # ---- statements ----

    def block(self, loops: tuple[str, ...], depth: int, count: int) -> tuple[tree.Statement, ...]:
        return tuple(statement for _ in range(count) for statement in self.statement(loops, depth))

    def statement(self, loops: tuple[str, ...], depth: int) -> list[tree.Statement]:
        chance = self.random.random()
        few = self.random.randint(1, 2)
        if depth < 3 and len(loops) < 3 and chance < 0.45:
            name = "ijl"[len(loops)]
            bounds, step = self.range(loops), self.random.choice([1, 1, 1, -1, 2, -2, 3])
            start, stop = bounds if step > 0 else bounds[::-1]
            self.count += 1
            label = f"L{self.count}"
            body = self.block((*loops, name), depth + 1, self.random.choice([1, 1, 2, 2, 3]))
            variable = tree.Variable(name, I64)
            return [tree.For(variable, start, stop, step, body, label, HERE)]
        if depth < 4 and chance < 0.62:
            otherwise = self.block(loops, depth + 1, 1) if self.random.random() < 0.4 else ()
            body = self.block(loops, depth + 1, few)
            return [tree.If(self.condition(loops), body, otherwise, HERE)]
        if self.control and loops and chance < 0.72:
            how = self.random.choice([tree.Break, tree.Continue, tree.Break, tree.Return])
            return [tree.If(self.condition(loops), (how(HERE),), (), HERE)]
        return [self.assignment(loops)]

    def assignment(self, loops: tuple[str, ...]) -> tree.Assign:
        self.count += 1
        label = f"S{self.count}"
        name = self.random.choice("AAABBBstkw")
        if name == "k":
            return tree.Assign(self.read("k", ()), self.affine(loops, 2), label, HERE)
        target = self.element(name, loops)
        return tree.Assign(target, self.value(loops, 2), label, HERE)

    # ---- expressions ----

    def read(self, name: str, subscripts: tuple[tree.Expression, ...]) -> tree.Read:
        return tree.Read(name, subscripts, self.arrays[name].dtype, HERE)

    def element(self, name: str, loops: tuple[str, ...]) -> tree.Read:
        rank = len(self.arrays[name].shape)
        return self.read(name, tuple(self.subscript(loops) for _ in range(rank)))

    def subscript(self, loops: tuple[str, ...]) -> tree.Expression:
        if self.data and self.random.random() < 0.2:
            return self.read("p", (self.subscript(loops),))
        return operation("+", self.affine(loops, 4), literal(MIDDLE))

    def affine(self, loops: tuple[str, ...], most: int) -> tree.Expression:
        """An affine value between -most * MOST and most * MOST."""
        names = [*loops, *loops, "N", "M"]
        chance = self.random.random()
        value: tree.Expression = tree.Variable(self.random.choice(names), I64)
        if chance < 0.15 or most < 2:
            return literal(self.random.randint(-2, 2)) if chance < 0.1 else value
        other: tree.Expression = literal(self.random.randint(-2, 2))
        if chance < 0.3:
            other = tree.Variable(self.random.choice(names), I64)
        elif chance < 0.4:
            return operation("//", value, literal(self.random.randint(2, 3)))
        elif chance < 0.5:
            return operation("%", value, literal(self.random.randint(2, 3)))
        elif chance < 0.6 and most > 3:
            # k lies between -2 * MOST and 2 * MOST.
            return self.read("k", ())
        return operation(self.random.choice("+-"), value, other)

    def range(self, loops: tuple[str, ...]) -> tuple[tree.Expression, tree.Expression]:
        """Bounds between 0 and MOST."""
        low: tree.Expression = literal(self.random.randint(0, 1))
        if loops and self.random.random() < 0.4:
            low = tree.Variable(self.random.choice(loops), I64)
        high: tree.Expression = tree.Variable(self.random.choice("NM"), I64)
        if self.random.random() < 0.2:
            high = literal(self.random.randint(1, MOST))
        return low, high

    def condition(self, loops: tuple[str, ...]) -> tree.Expression:
        compare = self.random.choice(["<", "<=", ">", ">=", "==", "!="])
        chance = self.random.random()
        if chance < 0.5:
            return operation(compare, self.affine(loops, 2), self.affine(loops, 2))
        data = operation(compare, self.value(loops, 1), number(0.0))
        if chance < 0.8:
            return data
        affine = operation(compare, self.affine(loops, 2), self.affine(loops, 2))
        if self.random.random() < 0.5:
            return tree.Select(affine, data, tree.Literal(False, BOOL), BOOL)
        return tree.Select(data, tree.Literal(True, BOOL), affine, BOOL)

    def value(self, loops: tuple[str, ...], depth: int) -> tree.Expression:
        chance = self.random.random()
        if depth == 0 or chance < 0.3:
            if chance < 0.05:
                return number(float(self.random.randint(-3, 3)))
            if chance < 0.1:
                return tree.Convert(self.affine(loops, 2), F64)
            return self.element(self.random.choice("AABBstw"), loops)
        first, second = self.value(loops, depth - 1), self.value(loops, depth - 1)
        if chance < 0.4:
            return tree.Select(self.condition(loops), first, second, F64)
        if chance < 0.5:
            return operation("*", first, number(0.5))
        return operation(self.random.choice(["+", "-", "maximum", "minimum"]), first, second)
