"""`program_of`: a function of any front door as an Alpha program (CSU TR CS12-101, section 4).

Every computation whose pieces are affine becomes an equation: pieces are the branches of a case, reductions
are reductions, elementary functions are C's. What Alpha has no words for is refused by name.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import tilewright as tw

from ....base.checks import described
from ..domains import Domain, fresh_names
from ..kernels import array_bounds, one_floor
from ..layer_one import FunctionDeclaration, declaration_of, unnamed
from ..linear import Linear
from ..presburger import Constraint
from ..program import Program, origin_of
from ..tree import Case, Constant, Declaration, Equation, Expression, Restrict, System
from ..tree import Program as ProgramTree
from .expressions import Scope, Translator, alpha_type
from .nodes import CannotSay, Node, Nodes, affine_value, refuse

__all__ = ["program_of", "system_of", "text_of"]

#: Words of the language, which no name can be.
_RESERVED = frozenset(
    """affine input given output returns local using let through over while use if then else case esac
    reduce val floor mod min max and or xor nand not true false int long longlong short float double char
    bool unsigned""".split()
)


def program_of(function: tw.Function) -> Program:
    """The Alpha program that says what a function computes.

    Of a system of an Alpha program, that is the program. Of a function that was declared in Python, or by
    another front door, each computation becomes an equation, so that the transformations of this module
    are there for it::

        >>> p = tw.alpha.program_of(f)
        >>> print(p)
        >>> q = tw.alpha.simplify_reductions(p).program
        >>> g = q[f.name]

    Args:
        function: the function.

    Raises:
        DeclarationTypeError: this is no function.
        DeclarationError: Alpha cannot say what it computes; the message names the computation and the
            reason: types such as complex numbers, subscripts and ranges that data give, folds, loops that
            data end, positions of extrema, bits, blocks of code.
    """
    plain = _function_within(function)
    found = origin_of(plain)
    return _Saying(plain).program() if found is None else found[0]


def _function_within(given: Any) -> tw.Function:
    """The function itself, out of what the doors for C and for Python's loops have around it."""
    found = given
    while not isinstance(found, tw.Function):
        if not type(found).__module__.startswith("tilewright."):
            break
        found = getattr(found, "function", None)
    if not isinstance(found, tw.Function):
        raise tw.DeclarationTypeError(
            f"tw.alpha.program_of takes a function, got {described(given)}"
        )
    return found


def system_of(function: tw.Function) -> System:
    """The tree of the system that says what a function computes; see `program_of`.

    Raises:
        DeclarationTypeError: this is no function.
        DeclarationError: Alpha cannot say it.
    """
    program = program_of(function)
    origin = origin_of(_function_within(function))
    return program.system(next(iter(program)) if origin is None else origin[1])


def text_of(function: tw.Function) -> str:
    """The Alpha program that says what a function computes, as `AShow` prints it.

    Raises:
        DeclarationError: Alpha cannot say it.
    """
    return str(program_of(function))


class _Saying:
    """The translation of one function."""

    def __init__(self, function: tw.Function) -> None:
        self.function = function
        self.declaration: FunctionDeclaration = declaration_of(function)
        self.nodes = Nodes(self.declaration.nodes)
        self.arrays = self.declaration.arrays
        given = [*function.parameters, *(each[0] for each in self.arrays)]
        names = dict(zip(given, _allowed(given), strict=True))
        self.parameters = tuple(names[each] for each in function.parameters)
        self.renamed = {old: Linear.of(names[old]) for old in function.parameters}
        self.names = {number: names[each[0]] for number, each in enumerate(self.arrays)}

    def fail(self, array: tuple[Any, ...], reason: str) -> tw.DeclarationError:
        where = None if array[10] is None else tw.SourceLocation(*array[10])
        return tw.DeclarationError(
            f"{array[0]} of {self.function.name} cannot be said in Alpha: {reason}", where, {}
        )

    def program(self) -> Program:
        """The program, checked."""
        if self.declaration.ends_by_data:
            raise tw.DeclarationError(
                f"{self.function.name} cannot be said in Alpha: it iterates until a condition holds"
            )
        declared: list[Declaration] = []
        for number, array in enumerate(self.arrays):
            declared.append(self.in_words(array, self.declared, number, array))
        order = {name: place for place, name in enumerate(self.function.inputs)}
        order |= {name: place for place, name in enumerate(self.function.outputs)}
        originals = {self.names[n]: each[0] for n, each in enumerate(self.arrays)}
        roles = ("input", "output", "local")
        declared.sort(key=lambda e: (roles.index(e.kind), order.get(originals[e.name], 0)))
        system = System(_system_name(self.function.name), self.context, tuple(declared), ())
        translator = Translator(system, self.names)
        equations: list[Equation] = []
        for number, array in enumerate(self.arrays):
            if not array[7]:
                equations.append(self.in_words(array, self.equation, number, array, translator))
        made = System(
            system.name, system.parameters, translator.system.declarations,
            (*equations, *translator.added), translator.system.externals,
        )  # fmt: skip
        tree = ProgramTree((made,), translator.system.externals)
        functions: Any = translator.functions
        try:
            return Program(tree, functions)
        except tw.DeclarationError as error:
            raise tw.DeclarationError(
                f"{self.function.name} cannot be said in Alpha: {error.message}"
            ) from None

    def in_words(self, array: tuple[Any, ...], make: Any, *arguments: Any) -> Any:
        try:
            return make(*arguments)
        except CannotSay as reason:
            raise self.fail(array, str(reason)) from None

    @cached_property
    def context(self) -> Domain:
        """The parameters, for the values that every array is for."""
        domain = self.declaration.context
        for array in self.arrays:
            points = tw.Set(f"[{', '.join(self.function.parameters)}] -> {{ [] }}")
            domain = domain & Domain((), points.intersect_params(tw.Set(array[6])))
        parts = [[each.substituted(self.renamed) for each in part] for part in domain.parts]
        over = [[Constraint(each.linear, each.is_equality) for each in part] for part in parts]
        return Domain.where(self.parameters, over)

    # ---- declarations ----

    def declared(self, number: int, array: tuple[Any, ...]) -> Declaration:
        name, kind = array[0], alpha_type(array[1])
        if array[8]:
            refuse(f"it is a field of the structured array {array[8]}")
        if not array[7] and not array[3]:
            refuse("a block of code computes it")
        domain = self.domain(array[4], array)
        role = "input" if array[7] else "output" if name in self.function.outputs else "local"
        if role == "output":
            self.require_own_shape(array, domain)
        return Declaration(role, kind, self.names[number], domain)

    def domain(self, text: str, array: tuple[Any, ...]) -> Domain:
        """A domain of an array, with names that parameters do not have."""
        plain = unnamed(text, array[0], array[2])
        values = dict(zip(array[2], map(Linear.of, self.indices(array)), strict=True))
        values |= self.renamed
        parts = [[each.substituted(values) for each in part] for part in plain.parts]
        return Domain.where(self.indices(array), parts).within(self.values)

    @cached_property
    def values(self) -> tw.Set:
        """The values of the parameters."""
        return System("", self.context, (), ()).context

    def indices(self, array: tuple[Any, ...]) -> tuple[str, ...]:
        taken = set(self.parameters) | set(self.names.values()) | set(_RESERVED)
        return fresh_names(array[2], taken)

    def require_own_shape(self, array: tuple[Any, ...], domain: Domain) -> None:
        """An output of Alpha is as large as its domain."""
        shape = [self.extent(self.nodes[each]) for each in array[5]]
        if None in shape:
            refuse("its shape is no affine expression of the parameters")
        if shape:
            declared = Declaration("output", "int", array[0], domain)
            system = System("shape", self.context, (declared,), ())
            try:
                bounds = array_bounds(system, declared)
            except tw.DeclarationError as error:
                refuse(error.message)
            if bounds != [one_floor(each) for each in shape if each is not None]:
                refuse("its shape is larger than its domain")

    def extent(self, node: Node) -> Linear | None:
        """An extent, without the maximum with 0."""
        if node.kind == "binary" and node.operation == "Max":
            values = [affine_value(each) for each in node.operands]
            chosen = [each for each in values if each is not None and (each.terms or each.constant)]
            return chosen[0].substituted(self.renamed) if len(chosen) == 1 else None
        value = affine_value(node)
        return None if value is None else value.substituted(self.renamed)

    # ---- equations ----

    def equation(self, number: int, array: tuple[Any, ...], translator: Translator) -> Equation:
        translator.current = self.names[number]
        indices = self.indices(array)
        values = dict(zip(array[2], map(Linear.of, indices), strict=True)) | self.renamed
        whole = self.domain(array[4], array)
        branches: list[tuple[Domain, Expression]] = []
        for text, value, _ in array[3]:
            scope = Scope(self.domain(text, array), values)
            if not scope.domain.is_empty:
                branches.append((scope.domain, translator.assigned(self.nodes[value], scope)))
        if len(branches) == 1 and whole <= branches[0][0]:
            value = branches[0][1]
            return Equation(self.names[number], value, indices)
        if not branches:  # it has no element
            return Equation(self.names[number], Constant(0), indices)
        cases = tuple(Restrict(domain.gist(whole), value) for domain, value in branches)
        return Equation(self.names[number], Case(cases) if len(cases) > 1 else cases[0], indices)


def _system_name(name: str) -> str:
    return f"{name}_" if name in _RESERVED else name


def _allowed(names: list[str]) -> list[str]:
    """Names that are no words of the language, each once."""
    found: list[str] = []
    for name in names:
        word = f"{name}_" if name in _RESERVED or not name.isascii() else name
        word = word if word.isascii() else f"v{len(found)}"
        while word in found:
            word += "_"
        found.append(word)
    return found
