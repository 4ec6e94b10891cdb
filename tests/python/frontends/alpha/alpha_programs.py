"""What the tests of Alpha share: random programs that make sense, and systems compiled as C."""

from __future__ import annotations

import ctypes
import random
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import tilewright as tw
from tilewright.frontends.alpha.conversions import DTYPES
from tilewright.frontends.alpha.kernels import array_bounds

FLAGS = [
    "-std=gnu11",
    "-O1",
    "-fwrapv",
    "-ffp-contract=off",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-Wno-type-limits",
    "-Wno-tautological-compare",
]  # which programs have


class CompiledSystem:
    """What WriteC (or another generator) writes, compiled by gcc and called with arrays, in the order of
    the inputs."""

    def __init__(
        self,
        program: tw.alpha.Program,
        name: str,
        folder: Path,
        generate: Callable[..., Path] = tw.alpha.generateWriteC,
    ) -> None:
        self.system = program.system(name)
        source = generate(program, name, folder)
        library = folder / f"{source.stem}.so"
        command = [
            "gcc",
            *FLAGS,
            "-fopenmp",
            "-shared",
            "-fPIC",
            str(source),
            "-o",
            str(library),
            "-lm",
        ]
        subprocess.run(command, check=True, timeout=120)
        self.function = getattr(ctypes.CDLL(str(library)), source.stem)

    def __call__(self, *arrays: Any, **parameters: int) -> tuple[Any, ...]:
        given: list[Any] = [ctypes.c_int64(parameters[n]) for n in self.system.parameters.indices]
        kept = []
        for declared, array in zip(self.system.of_kind("input"), arrays, strict=True):
            kept.append(np.ascontiguousarray(array, DTYPES[declared.type]))
            scalar = kept[-1].ndim == 0
            given.append(
                np.ctypeslib.as_ctypes_type(kept[-1].dtype)(kept[-1][()])
                if scalar
                else kept[-1].ctypes.data_as(ctypes.c_void_p)
            )
        results = []
        for declared in self.system.of_kind("output"):
            bounds = array_bounds(self.system, declared)
            shape = [
                max(0, each.constant + sum(f * parameters[n] for n, f in each.terms.items()))
                for each in bounds
            ]
            results.append(np.zeros(shape, DTYPES[declared.type]))
            given.append(results[-1].ctypes.data_as(ctypes.c_void_p))
        self.function(*given)
        return tuple(results)


def results_of(function: tw.Function, *arrays: Any, **parameters: int) -> tuple[Any, ...]:
    """The outputs of a call, always as a tuple."""
    found = function(*arrays, **parameters)
    return found if isinstance(found, tuple) else (found,)


def evaluated(function: tw.Function, *arrays: Any, **parameters: int) -> tuple[Any, ...]:
    """The outputs as the evaluator of Layer I has them, always as a tuple."""
    found = function.evaluate(*arrays, **parameters)
    return found if isinstance(found, tuple) else (found,)


class RandomProgram:
    """A random program that is correct by construction: types of all sizes, nested cases, restrictions,
    joins of dependences, recurrences, reductions with canonic and skewed projections, and a use equation.

    Indices are within 0 and N, values of functions of them within 0 and 8N + 8, which is where the
    inputs have values. Fractions are halves, and in outputs that nothing else reads, so that sums are
    exact in any order.
    """

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.locals: list[tuple[str, int]] = []
        self.has_fractions = False

    def text(self) -> str:
        """The program."""
        locals_, equations = [], []
        for number in range(self.random.randint(1, 3)):
            arity = self.random.randint(1, 2)
            names = ("i", "j")[:arity]
            name, indices = f"L{number}", ",".join(names)
            domain = f"0<=({indices})<=N" if arity > 1 else "0<=i<=N"
            locals_.append(f"{self.kind()} {name} {{{indices} | {domain}}};")
            equations.append(f"{name}[{indices}] = {self.definition(name, names)};")
            self.locals.append((name, arity))
        kinds = [self.kind("double") for _ in range(3)]
        for name, kind, names, depth, more in zip(
            ("X", "Y", "Z"), kinds, (("i", "j"), ("i",), ()), (3, 2, 2), ("", " + R[N-i,i]", ""),
            strict=True,
        ):  # fmt: skip
            self.has_fractions = kind == "double" and self.random.random() < 0.7
            left = f"{name}[{','.join(names)}]" if names else name
            value = self.expression(names, min(depth, 2) if self.has_fractions else depth)
            equations.append(f"{left} = {value}{more};")
        self.has_fractions = False
        equations.append("use {e | 0<=e<=N} sums[N+1] ((e,k->e+k)@A) returns (R);")
        return f"""
affine sums {{M | M>0}}
  input long a {{k | 0<=k<M}};
  output long b {{k | 0<=k<M}};
  let b[k] = reduce(+, [l], {{| 0<=l<=k}} : a[l]) + [k];
.
affine main_system {{N | N>0}}
  input long A {{k | 0<=k<8N+8}}; long B {{k,l | 0<=k<8N+8 && 0<=l<2N+2}};
    char C {{k | 0<=k<8N+8}}; double D {{k | 0<=k<8N+8}};
  output {kinds[0]} X {{i,j | 0<=(i,j)<=N}}; {kinds[1]} Y {{i | 0<=i<=N}}; {kinds[2]} Z;
  local {" ".join(locals_)} long R {{e,k | 0<=(e,k)<=N}};
  let
    {chr(10).join(equations)}
.
"""

    def kind(self, *more: str) -> str:
        """A type."""
        narrow = ["int", "int", "short", "char", "bool", "unsigned", "unsigned char"]
        return self.random.choice(["long"] * 5 + narrow + [*more, *more])

    def definition(self, name: str, names: tuple[str, ...]) -> str:
        """Of a local: an expression, or a recurrence."""
        value = self.expression(names, self.random.randint(1, 3))
        if self.random.random() < 0.7:
            return value
        along = self.random.choice(names)
        earlier = ",".join(f"{each}-1" if each == along else each for each in names)
        operator = self.random.choice(["+", "-", "*", "min", "max"])
        read = f"{name}[{earlier}]"
        step = (
            f"{operator}({read}, {value})" if operator.isalpha() else f"({read} {operator} {value})"
        )
        first = self.expression(names, 1)
        return f"case {{| {along}==0}} : {first}; {{| {along}>0}} : {step}; esac"

    def inputs(self, n: int) -> tuple[np.ndarray[Any, Any], ...]:
        """Arrays for a size."""
        generator = np.random.default_rng(self.random.randint(0, 2**31))
        shapes = [(8 * n + 8,), (8 * n + 8, 2 * n + 2)]
        a, b = (generator.integers(-9, 9, shape) for shape in shapes)
        c = generator.integers(-128, 128, shapes[0]).astype(np.int8)
        return a, b, c, generator.integers(-9, 9, shapes[0]) / 2

    def affine(self, names: tuple[str, ...]) -> str:
        """A value within 0 and 4N + 2."""
        choices = ["0", "1", "N"]
        for name in names:
            choices += [name, name, f"{name}+1", f"2{name}", f"N-{name}", f"{name}+N"]
        if len(names) > 1:
            choices += [f"{names[0]}+{names[1]}", f"N-{names[1]}+{names[0]}"]
        return self.random.choice(choices)

    def small(self, names: tuple[str, ...]) -> str:
        """A value within 0 and N."""
        return self.random.choice(["0", "N", *names, *(f"N-{name}" for name in names)])

    def leaf(self, names: tuple[str, ...]) -> str:
        kind = self.random.randint(0, 7)
        if kind == 0:
            return str(self.random.randint(0, 5))
        if kind == 1:
            return f"[{self.affine(names)}]"
        if kind in (2, 6) and self.locals and not self.has_fractions:
            name, arity = self.random.choice(self.locals)
            return f"{name}[{','.join(self.small(names) for _ in range(arity))}]"
        if kind == 3:
            return f"B[{self.affine(names)},{self.small(names)}]"
        if kind == 4 and names:  # a join of two functions
            inner = self.random.choice(["x+1", "2x", "x"])
            return f"({','.join(names)}->{self.affine(names)})@(x->{inner})@A"
        if kind == 5:
            return f"C[{self.affine(names)}]"
        return f"{'D' if self.has_fractions else 'A'}[{self.affine(names)}]"

    def cut(self, names: tuple[str, ...]) -> list[str]:
        """Domains without common points that hold all points."""
        first = names[0]
        cuts = [
            [f"{{{first}==0}}", f"{{| {first}>0}}"],
            [f"{{| {first}<2}}", f"{{| 2<={first}}}"],
            [f"{{| 2{first}<=N}}", f"{{| 2{first}>N}}"],
            [f"{{| {first}%2==0}}", f"{{| {first}%2==1}}"],
            [f"{{| {first}==0}} || {{| {first}==N}}", f"{{| 0<{first}<N}}"],
        ]
        if len(names) > 1:
            cuts.append([f"{{| {first}<{names[1]}}}", f"{{| {first}>={names[1]}}}"])
        return self.random.choice(cuts)

    def expression(self, names: tuple[str, ...], depth: int) -> str:
        """An expression with a value wherever the indices are within 0 and N."""
        if depth == 0:
            return self.leaf(names)
        below = [self.expression(names, depth - 1) for _ in range(2)]
        operators = ["+", "-", "*", "min", "max"]
        operator = self.random.choice(operators if self.has_fractions else [*operators, "/", "%"])
        kind = self.random.randint(0, 7)
        if kind == 0 and names:
            branches = zip(self.cut(names), below, strict=True)
            return f"case {' '.join(f'{domain} : {value};' for domain, value in branches)} esac"
        if kind == 1:
            return f"(if {self.condition(names)} then {below[0]} else {below[1]})"
        if kind in (2, 3):
            return self.reduction(names, depth)
        if kind == 4 and len(names) == 2:
            body = self.expression(("p", "q", "r"), depth - 1)
            return f"({names[0]},{names[1]}->{names[1]},{names[0]})@({self.unnamed(body)})"
        if kind == 5:
            return f"({self.condition(names)})"
        if operator in ("min", "max"):
            return f"{operator}({below[0]}, {below[1]})"
        return f"({below[0]} {operator} {below[1]})"

    def condition(self, names: tuple[str, ...]) -> str:
        """A bool."""
        sides = [self.leaf(names) for _ in range(4)]
        first, second = (f"{a} {self.random.choice(['<', '==', '>='])} {b}"
                         for a, b in (sides[:2], sides[2:]))  # fmt: skip
        if self.random.random() < 0.6:
            return first
        return f"({first}) {self.random.choice(['and', 'or', 'xor', 'nand'])} ({second})"

    def unnamed(self, body: str) -> str:
        """What stands below a dependence, where array notation has no names: a reduction by them."""
        return f"reduce(+, (p,q,r->p,q), {{p,q,r | r==p && 0<=p<=N && 0<=q<=N}} : {body})"

    def reduction(self, names: tuple[str, ...], depth: int) -> str:
        operator = self.random.choice(["+", "+", "+", "max", "max", "min", "*", "or", "and", "xor"])
        if self.has_fractions and operator == "*":
            operator = "+"
        if names and self.random.random() < 0.4:
            rest = names[1:]
            x, y = [each for each in ("x", "y", "u", "v", "s", "t") if each not in names][:2]
            inner = (x, y, *rest)
            body = self.expression(inner, depth - 1)
            bounds = " && ".join([f"0<={each}<=N" for each in inner])
            first, extra = self.random.choice([(f"{x}+{y}", ""), (f"2{x}-{y}", f" && {y}<2")])
            projection = ",".join([first, *rest])
            domain = f"{{{','.join(inner)} | {bounds}{extra}}}"
            return f"reduce({operator}, ({','.join(inner)}->{projection}), {domain} : {body})"
        new = next(each for each in ("k", "l", "m", "n") if each not in names)
        body = self.expression((*names, new), depth - 1)
        upper = self.random.choice(["N", *names])
        return f"reduce({operator}, [{new}], {{| 0<={new}<={upper}}} : {body})"
