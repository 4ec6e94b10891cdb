"""What the tests of Alpha share: random programs that make sense, and systems compiled as C."""

from __future__ import annotations

import ctypes
import random
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

import tilewright as tw
from tilewright.frontends.alpha.conversions import DTYPES
from tilewright.frontends.alpha.kernels import array_bounds

FLAGS = ["-std=gnu11", "-O1", "-fwrapv", "-ffp-contract=off", "-Wall", "-Wextra", "-Werror"]


class CompiledSystem:
    """What WriteC writes, compiled by gcc and called with arrays, in the order of the inputs."""

    def __init__(self, program: tw.alpha.Program, name: str, folder: Path) -> None:
        self.system = program.system(name)
        source = tw.alpha.generateWriteC(program, name, folder)
        library = folder / f"{source.stem}.so"
        command = ["gcc", *FLAGS, "-shared", "-fPIC", str(source), "-o", str(library), "-lm"]
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
    """A random program of integers that is correct by construction: nested cases, restrictions,
    joins of dependences, reductions with canonic and skewed projections, and a use equation.

    Indices are within 0 and N, values of functions of them within 0 and 8N + 8, which is where the
    inputs have values.
    """

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.locals: list[tuple[str, int]] = []

    def text(self) -> str:
        """The program."""
        locals_, equations = [], []
        for number in range(self.random.randint(1, 3)):
            arity = self.random.randint(1, 2)
            names = ("i", "j")[:arity]
            name = f"L{number}"
            value = self.expression(names, self.random.randint(1, 3))
            locals_.append(f"long {name} {{{','.join(names)} | 0<=({','.join(names)})<=N}};"
                           if arity > 1 else f"long {name} {{i | 0<=i<=N}};")  # fmt: skip
            equations.append(f"{name}[{','.join(names)}] = {value};")
            self.locals.append((name, arity))
        equations.append(f"X[i,j] = {self.expression(('i', 'j'), 3)};")
        equations.append(f"Y[i] = {self.expression(('i',), 2)} + R[N-i,i];")
        equations.append(f"Z = {self.expression((), 2)};")
        equations.append("use {e | 0<=e<=N} sums[N+1] ((e,k->e+k)@A) returns (R);")
        return f"""
affine sums {{M | M>0}}
  input long a {{k | 0<=k<M}};
  output long b {{k | 0<=k<M}};
  let b[k] = reduce(+, [l], {{| 0<=l<=k}} : a[l]) + [k];
.
affine main_system {{N | N>0}}
  input long A {{k | 0<=k<8N+8}}; long B {{k,l | 0<=k<8N+8 && 0<=l<2N+2}};
  output long X {{i,j | 0<=(i,j)<=N}}; long Y {{i | 0<=i<=N}}; long Z;
  local {" ".join(locals_)} long R {{e,k | 0<=(e,k)<=N}};
  let
    {chr(10).join(equations)}
.
"""

    def inputs(self, n: int) -> tuple[np.ndarray[Any, Any], ...]:
        """Arrays for a size."""
        generator = np.random.default_rng(self.random.randint(0, 2**31))
        shapes = [(8 * n + 8,), (8 * n + 8, 2 * n + 2)]
        return tuple(generator.integers(-9, 9, shape) for shape in shapes)

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
        kind = self.random.randint(0, 5)
        if kind == 0:
            return str(self.random.randint(0, 5))
        if kind == 1:
            return f"[{self.affine(names)}]"
        if kind == 2 and self.locals:
            name, arity = self.random.choice(self.locals)
            return f"{name}[{','.join(self.small(names) for _ in range(arity))}]"
        if kind == 3:
            return f"B[{self.affine(names)},{self.small(names)}]"
        if kind == 4 and names:  # a join of two functions
            inner = self.random.choice(["x+1", "2x", "x"])
            return f"({','.join(names)}->{self.affine(names)})@(x->{inner})@A"
        return f"A[{self.affine(names)}]"

    def expression(self, names: tuple[str, ...], depth: int) -> str:
        """An expression with a value wherever the indices are within 0 and N."""
        if depth == 0:
            return self.leaf(names)
        below = [self.expression(names, depth - 1) for _ in range(2)]
        operator = self.random.choice(["+", "-", "*", "min", "max"])
        kind = self.random.randint(0, 6)
        if kind == 0 and names:
            first = names[0]
            left, right = self.random.choice(
                [(f"{first}==0", f"{first}>0"), (f"{first}<2", f"2<={first}"),
                 (f"2{first}<=N", f"2{first}>N")]
                + ([(f"{first}<{names[1]}", f"{first}>={names[1]}")] if len(names) > 1 else [])
            )  # fmt: skip
            return f"case {{{left}}} : {below[0]}; {{| {right}}} : {below[1]}; esac"
        if kind == 1:
            return f"(if {self.leaf(names)} < {self.leaf(names)} then {below[0]} else {below[1]})"
        if kind in (2, 3):
            return self.reduction(names, depth)
        if kind == 4 and len(names) == 2:
            body = self.expression(("p", "q", "r"), depth - 1)
            return f"({names[0]},{names[1]}->{names[1]},{names[0]})@({self.unnamed(body)})"
        if operator in ("min", "max"):
            return f"{operator}({below[0]}, {below[1]})"
        return f"({below[0]} {operator} {below[1]})"

    def unnamed(self, body: str) -> str:
        """What stands below a dependence, where array notation has no names: a reduction by them."""
        return f"reduce(+, (p,q,r->p,q), {{p,q,r | r==p && 0<=p<=N && 0<=q<=N}} : {body})"

    def reduction(self, names: tuple[str, ...], depth: int) -> str:
        operator = self.random.choice(["+", "+", "max", "min"])
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
