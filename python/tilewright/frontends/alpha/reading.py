"""From text to the tree: the grammar of `grammar.lark`, then names resolved by their context.

Array notation (CSU TR CS12-101, section 4.5) is what needs the context: the index names of the
left-hand side, or of the projection of the reduction around. `.ab` files of AlphaZ are read as well.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

import tilewright as tw

from ... import _core
from ...base.checks import described
from ...base.plurals import counted
from .advice import meant_by
from .domains import AffineFunction, Domain
from .errors import Source, complaint
from .linear import Floor, Linear
from .mathematics import prototype_of, text_of
from .parsing import parsed
from .presburger import Constraint, relation_of
from .tree import (
    Binary,
    Call,
    Case,
    Constant,
    Declaration,
    Dependence,
    Equation,
    Expression,
    External,
    If,
    Index,
    Position,
    Program,
    Reduce,
    Restrict,
    System,
    Unary,
    UseEquation,
    Variable,
)

if TYPE_CHECKING:
    from lark import Token, Tree

    Branch: TypeAlias = Tree[Token]

__all__ = ["read", "read_domain", "read_function"]

Names: TypeAlias = "tuple[str, ...] | None"

_SECTIONS = {"inputs": "input", "outputs": "output", "locals": "local"}
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)  # as in the grammar
_LOGIC = {"&&": "and", "||": "or"}


def _dimensions(declared: Declaration) -> str:
    return counted(declared.domain.arity, "dimension")


def read(text: str, file: str = "<alpha>") -> Program:
    """The systems of a text, with names resolved; `checking.check` says whether they make sense.

    Raises:
        DeclarationError: for text that is no Alpha, and names that nothing has; with the place.
    """
    source = Source(file, text)
    if not _COMMENT.sub("", text).strip():
        found = "only comments" if text.strip() else "nothing"
        raise complaint(
            source, Position(1, 1),
            f"the text holds {found}, no system; one begins as in affine name {{N | N > 0}}",
        )  # fmt: skip
    tree = parsed(source, "program")
    externals = tuple(
        _Reader(source, ()).external(each) for each in tree.children if _kind(each) == "external"
    )
    systems: list[System] = []
    for each in tree.children:
        if _kind(each) != "system":
            continue
        system = _Reader(source, ()).system(_tree(each), externals)
        if any(other.name == system.name for other in systems):
            _Reader(source, ()).fail(each, f"there are two systems of the name {system.name}")
        systems.append(system)
    return Program(tuple(systems), externals)


def read_domain(text: str, parameters: Sequence[str], names: Names = None) -> Domain:
    """A domain from its text, ``{i,j | 0<=i<N}``.

    Args:
        text: the text.
        parameters: the names that are parameters.
        names: of the indices, where the text leaves them out.
    """
    _require_text(text, "a domain", "{i | i==0}")
    source = Source("<domain>", text)
    return _Reader(source, parameters).domain(parsed(source, "domain"), names)


def read_function(text: str, parameters: Sequence[str]) -> AffineFunction:
    """A function from its text, ``(i,j -> i+j)`` or ``(i,j) -> (i+j)``."""
    _require_text(text, "a function", "(i,j -> i+j)")
    plain = text.replace(" ", "").replace(")->(", "->").replace("→", "->")
    source = Source("<function>", plain)
    return _Reader(source, parameters).function(parsed(source, "function"))


def _require_text(text: object, what: str, example: str) -> None:
    if not isinstance(text, str):
        raise tw.DeclarationTypeError(
            f'{what} is given as text, such as "{example}", got {described(text)}'
        )


def _kind(tree: object) -> str:
    return str(getattr(tree, "data", ""))


def _tree(node: Any) -> Branch:
    tree: Branch = node
    return tree


def _at(node: Any) -> Position | None:
    """Where a token is, or the first one of a tree: having lark note it for each tree takes as long as parsing."""
    token = _first_token(node)
    return None if token is None else Position(token.line, token.column)


def _first_token(node: Any) -> Any:
    if not hasattr(node, "data"):
        return node
    for each in node.children:
        if (found := _first_token(each)) is not None:
            return found
    return None


class _Reader:
    """Reads the parts of one system."""

    def __init__(self, source: Source, parameters: Sequence[str]) -> None:
        self.source = source
        self.parameters = tuple(parameters)
        self.renamed: dict[str, str] = {}
        self.variables: dict[str, Declaration] = {}
        self.functions: dict[str, External] = {}

    def fail(self, node: Any, message: str) -> NoReturn:
        raise complaint(self.source, _at(node), message)

    # ---- systems ----

    def external(self, tree: Any) -> External:
        result, name, *arguments = tree.children
        types = tuple(self.type(each) for each in arguments if each is not None)
        return External(self.type(result), str(name), types, position=_at(name))

    def type(self, tree: Any) -> str:
        unsigned, name = tree.children if len(tree.children) == 2 else (tree.children[0], "int")
        text = "long" if name == "longlong" else str(name)
        if unsigned is None:
            return text
        if text in ("float", "double", "bool"):
            self.fail(tree, f"there is no unsigned {text}")
        return f"unsigned {text}"

    def system(self, tree: Branch, externals: tuple[External, ...]) -> System:
        name, domain, *sections = tree.children
        parameters = self.domain(domain, ())
        for word in self.renamed:
            self.fail(
                domain, f"{word} is a word of isl's notation, so no parameter can have this name"
            )
        self.parameters = parameters.indices
        self.functions = {each.name: each for each in externals}
        declarations: list[Declaration] = []
        equations: list[Equation | UseEquation] = []
        system = System(
            str(name),
            parameters,
            (),
            (),
            externals,
            self.source.file,
            self.source.text,
            position=_at(name),
        )
        for section in map(_tree, sections):
            if _kind(section) == "over":
                self.fail(section, "while loops (over ... while) are not read: this is Alpha, "
                                   "whose systems have no iterations that data end")  # fmt: skip
            if _kind(section) in _SECTIONS:
                declarations += self.declared(section, system.context)
            else:
                equations += [self.equation(_tree(each)) for each in section.children[1:]]
        declarations.sort(key=lambda each: ("input", "output", "local").index(each.kind))
        return System(
            str(name), parameters, tuple(declarations), tuple(equations), externals,
            self.source.file, self.source.text, position=_at(name),
        )  # fmt: skip

    def declared(self, section: Branch, context: tw.Set) -> list[Declaration]:
        kind = _SECTIONS[_kind(section)]
        found: list[Declaration] = []
        for each in section.children:
            if _kind(each) != "declaration":
                continue
            type_, *names, domain = _tree(each).children
            read = Domain.universe(()) if domain is None else self.domain(domain, ())
            for name in names:
                if name in self.variables or name in self.parameters:
                    self.fail(name, f"{name} is declared twice")
                declared = Declaration(
                    kind, self.type(type_), str(name), read.within(context), position=_at(name)
                )
                self.variables[declared.name] = declared
                found.append(declared)
        return found

    def equation(self, tree: Branch) -> Equation | UseEquation:
        if _kind(tree) == "use":
            return self.use(tree)
        name, left, value = tree.children
        declared = self.variable(name)
        names = declared.domain.indices
        if left is not None:
            (indices,) = _tree(left).children
            names = () if indices is None else self.indices(_tree(indices))
        if len(names) != declared.domain.arity:
            self.fail(name, f"{name} has {_dimensions(declared)}, not {len(names)}")
        expression = self.expression(value, names)
        return Equation(str(name), expression, names, position=_at(name))

    def use(self, tree: Branch) -> UseEquation:
        extension, name, parameters, *rest = tree.children
        domain = Domain.universe(()) if extension is None else self.domain(extension, ())
        values = tuple(self.affine(each, domain.indices) for each in self.list(parameters))
        inputs = [each for each in rest if hasattr(each, "data")]
        outputs = [each for each in rest if each is not None and not hasattr(each, "data")]
        for output in outputs:
            self.variable(output)
        return UseEquation(
            domain,
            str(name),
            AffineFunction(domain.indices, values),
            tuple(self.expression(each, None) for each in inputs),
            tuple(map(str, outputs)),
            position=_at(name),
        )

    def variable(self, name: Any, names: Names = None) -> Declaration:
        if str(name) not in self.variables:
            known = ", ".join(self.variables) or "none"
            known = f"{meant_by(str(name), names or (), self.parameters)}declared are {known}"
            self.fail(name, f"there is no variable {name}; {known}")
        return self.variables[str(name)]

    # ---- domains and functions ----

    def spelled(self, token: Any) -> str:
        """The name of an index. Only its position means anything, so words that isl knows get another name: `and_`."""
        name = str(token)
        if name not in self.renamed and not _core.is_identifier(name):
            new = f"{name}_"
            while re.search(rf"\b{new}\b", self.source.text):
                new += "_"
            self.renamed[name] = new
        return self.renamed.get(name, name)

    def indices(self, tree: Branch) -> tuple[str, ...]:
        names = tuple(map(self.spelled, tree.children))
        for number, name in enumerate(names):
            if name in names[:number]:
                self.fail(tree, f"the index {name} is named twice")
            if name in self.parameters:
                self.fail(tree, f"the index {name} has the name of a parameter")
        return names

    def domain(self, tree: Any, context: Names) -> Domain:
        result: Domain | None = None
        for each in tree.children:
            one = self.polyhedron(_tree(each), context)
            if result is not None and result.arity != one.arity:
                self.fail(
                    each,
                    f"the parts of a union have {result.arity} and {counted(one.arity, 'dimension')}",
                )
            result = one if result is None else result | one
        assert result is not None
        return result

    def polyhedron(self, tree: Branch, context: Names) -> Domain:
        constraints: Any = None
        if _kind(tree) == "unnamed":
            names, constraints = context or (), tree.children[-1]
        elif len(tree.children) > 1:
            names = self.indices(_tree(tree.children[1]))
            constraints = tree.children[2] if _kind(tree) == "named" else None
        else:
            names = context or ()
        parts = [[]] if constraints is None else self.constraints(constraints, names)
        return Domain.where(names, parts)

    def constraints(self, tree: Any, names: tuple[str, ...]) -> list[list[Constraint]]:
        found: list[list[Constraint]] = []
        for conjunction in tree.children:
            parts: list[list[Constraint]] = [[]]
            for chain in conjunction.children:
                others = (
                    self.constraints(chain.children[0], names)
                    if _kind(chain) == "grouped"
                    else [self.chain(chain, names)]
                )
                parts = [left + right for left in parts for right in others]
            found += parts
        return found

    def chain(self, tree: Branch, names: tuple[str, ...]) -> list[Constraint]:
        sides = [
            [self.affine(each, names) for each in _tree(side).children]
            for side in tree.children[::2]
        ]
        signs = [
            {"==": "=", "≤": "<=", "≥": ">="}.get(str(each), str(each))
            for each in tree.children[1::2]
        ]
        directions = {each[0] for each in signs if each != "="}
        if len(directions) > 1:
            self.fail(tree, "the signs of a chain must point the same way, as in 0 <= i < N")
        found: list[Constraint] = []
        for left, sign, right in zip(sides, signs, sides[1:], strict=False):
            found += [relation_of(one, sign, other) for one in left for other in right]
        return found

    def function(self, tree: Any) -> AffineFunction:
        _, first, *rest = tree.children
        if not rest:
            return AffineFunction((), tuple(self.affine(each, ()) for each in self.list(first)))
        names = self.indices(first)
        results = tuple(self.affine(each, names) for each in self.list(rest[0]))
        return AffineFunction(names, results)

    def list(self, tree: Any) -> list[Any]:
        return [each for each in tree.children if each is not None]

    def affine(self, tree: Any, names: tuple[str, ...]) -> Linear:
        result, sign = Linear(), ""
        for each in tree.children:
            if not hasattr(each, "data"):
                sign = str(each or "")
                continue
            term = self.term(each, names)
            result = result - term if sign == "-" else result + term
        return result

    def term(self, tree: Any, names: tuple[str, ...]) -> Linear:
        kind, parts = _kind(tree), tree.children
        match kind:
            case "term" | "group":
                return self.term(parts[0], names)
            case "grouped_affine":
                return self.affine(parts[1], names)
            case "number":
                return Linear(None, self.integer(parts[0]))
            case "name":
                return self.index(parts[0], names)
            case "scaled":
                return self.index(parts[1], names) * self.integer(parts[0])
            case "scaled_group":
                return self.term(parts[1], names) * self.integer(parts[0])
            case "floor":
                numerator = self.affine(parts[0], names)
                return Linear({Floor(numerator, self.divisor(parts[1])): 1})
            case "modulo":
                value, divisor = self.term(parts[0], names), self.divisor(parts[1])
                return value - Linear({Floor(value, divisor): divisor})
            case _:
                left, right = self.term(parts[0], names), self.term(parts[1], names)
                if left.terms and right.terms:
                    self.fail(tree, f"{left} times {right} is not affine")
                return right * left.constant if not left.terms else left * right.constant

    def divisor(self, token: Any) -> int:
        if self.integer(token) == 0:
            self.fail(token, "division by 0")
        return self.integer(token)

    def integer(self, token: Any) -> int:
        """The value of an integer."""
        text = str(token).lstrip("0") or "0"
        if len(text) > 19 or int(text) >= 2**63:
            self.fail(token, f"{text[:24]}{'...' * (len(text) > 24)} does not fit into 64 bits")
        return int(text)

    def index(self, token: Any, names: tuple[str, ...]) -> Linear:
        name = self.spelled(token)
        if name not in names and name not in self.parameters:
            known = ", ".join([*names, *self.parameters]) or "none"
            self.fail(
                token,
                f"{token} is neither an index nor a parameter here; there are {known} (index names "
                "are those of the domain or function, else of the left-hand side)",
            )
        return Linear.of(name)

    # ---- expressions ----

    def expression(self, tree: Any, names: Names) -> Expression:
        parts, at = tree.children, _at(tree)
        match _kind(tree):
            case "parenthesized":
                return self.expression(parts[1], names)
            case "if_":
                return If(*(self.expression(each, names) for each in parts[1:]), position=at)
            case "case":
                branches = tuple(self.expression(each, names) for each in parts[1:])
                return Case(branches, position=at)
            case "restrict":
                domain = self.domain(parts[0], names)
                if names is not None and domain.arity != len(names):
                    self.fail(
                        parts[0],
                        f"the domain of this restriction has {counted(domain.arity, 'dimension')}, but "
                        f"expressions here have {len(names)}",
                    )
                return Restrict(domain, self.expression(parts[1], names), position=at)
            case "binary":
                left, operator, right = parts
                name = {"=": "==", "≤": "<=", "≥": ">="}.get(operator, str(operator))
                return Binary(
                    _LOGIC.get(name, name),
                    self.expression(left, names),
                    self.expression(right, names),
                    position=at,
                )
            case "negated" | "inverted" as kind:
                operator = "-" if kind == "negated" else "not"
                return Unary(operator, self.expression(parts[1], names), position=at)
            case "folded":
                name = _LOGIC.get(str(parts[0]), str(parts[0]))
                values = [self.expression(each, names) for each in parts[1:]]
                return functools.reduce(lambda a, b: Binary(name, a, b, position=at), values)
            case _:
                return self.atom(tree, names)

    def atom(self, tree: Any, names: Names) -> Expression:
        parts, at = tree.children, _at(tree)
        match _kind(tree):
            case "reduce":
                return self.reduce(tree, names)
            case "dependence":
                function = self.function(parts[0])
                if names is not None and len(function.indices) != len(names):
                    self.fail(
                        parts[0],
                        f"this function takes {counted(len(function.indices), 'index')}, but expressions "
                        f"here have {counted(len(names), 'dimension')}",
                    )
                return Dependence(function, self.expression(parts[1], None), position=at)
            case "access":
                return self.access(tree, names)
            case "variable":
                variable = Variable(str(parts[0]), position=at)
                # A single value is the same everywhere: X for X[].
                if self.variable(parts[0], names).domain.arity or not names:
                    return variable
                return Dependence(AffineFunction(names, ()), variable, position=at)
            case "index":
                known = self.context(tree, names)
                return Index(AffineFunction(known, (self.affine(parts[1], known),)), position=at)
            case "value":
                function = self.function(parts[1])
                if len(function.results) != 1:
                    self.fail(tree, f"val takes one value, not {len(function.results)}")
                return Index(function, position=at)
            case "call":
                return self.call(tree, names)
            case "real":
                text = str(parts[0])
                number = float(text.rstrip("fF"))
                return Constant(number, text, text[-1] in "fF", position=at)
            case "suffixed":
                return self.suffixed(str(parts[0]), tree)
            case "integer":
                return Constant(self.integer(parts[0]), str(parts[0]), position=at)
            case _:
                return Constant(str(parts[0]) == "true", str(parts[0]), position=at)

    def suffixed(self, text: str, tree: Any) -> Constant:
        """An integer with a type, as in C: 3L, 3U, 3UL."""
        digits = text.rstrip("uUlL")
        marks = set(text[len(digits) :].upper())
        suffix = "".join(each for each in "UL" if each in marks)
        value, bits = int(digits) if len(digits) < 30 else 2**64, 32 if suffix == "U" else 64
        if value >= 2 ** (bits - (suffix == "L")):
            self.fail(tree, f"{text} does not fit into {bits} bits")
        return Constant(value, digits + suffix, suffix=suffix, position=_at(tree))

    def access(self, tree: Any, names: Names) -> Expression:
        """Array notation of a dependence; the identity is left out."""
        name, subscripts = tree.children
        declared = self.variable(name)
        known = self.context(tree, names)
        results = tuple(self.affine(each, known) for each in self.list(subscripts))
        if len(results) != declared.domain.arity:
            self.fail(
                tree,
                f"{name} has {_dimensions(declared)}, but {counted(len(results), 'subscript')}",
            )
        function = AffineFunction(known, results)
        variable = Variable(str(name), position=_at(tree))
        if function.is_identity:
            return variable
        return Dependence(function, variable, position=_at(tree))

    def call(self, tree: Any, names: Names) -> Expression:
        name, *arguments = tree.children
        given = tuple(self.expression(each, names) for each in arguments if each is not None)
        if str(name) not in self.functions:
            known = prototype_of(str(name))
            example = f"double {name}(double)" if known is None else text_of(known)
            self.fail(name, f"there is no external function {name}; declare it before the systems, "
                            f"as in {example};")  # fmt: skip
        wanted = len(self.functions[str(name)].arguments)
        if len(given) != wanted:
            self.fail(tree, f"{name} takes {counted(wanted, 'argument')}, got {len(given)}")
        return Call(str(name), given, position=_at(tree))

    def reduce(self, tree: Any, names: Names) -> Expression:
        _, operator, projection, body = tree.children
        symbol = _LOGIC.get(str(operator.children[0]), str(operator.children[0]))
        if symbol == "nand":
            self.fail(operator, "nand is not associative and cannot reduce")
        inner = projection.children[0]
        if inner is None or _kind(inner) == "indices":
            known = self.context(tree, names)
            added = () if inner is None else self.indices(inner)
            if shared := set(known) & set(added):
                self.fail(inner, f"the index {shared.pop()} is there already")
            function = AffineFunction((*known, *added), tuple(map(Linear.of, known)))
        else:
            function = self.function(inner)
            if names is not None and len(function.results) != len(names):
                self.fail(
                    inner,
                    f"this projection gives {counted(len(function.results), 'index')}, but expressions here "
                    f"have {counted(len(names), 'dimension')}",
                )
        value = self.expression(body, function.indices)
        return Reduce(symbol, function, value, position=_at(tree))

    def context(self, tree: Any, names: Names) -> tuple[str, ...]:
        if names is None:
            self.fail(tree, "array notation needs index names, and there are none below a "
                            "dependence or in the inputs of a use equation: write the function, "
                            "as in (i, j -> i)@A")  # fmt: skip
        return names
