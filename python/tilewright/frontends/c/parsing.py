"""A C file, parsed: its functions and its file scope, and where each node of the tree stands.

pycparser reads C99; its errors become located ones. Node positions lead through the preprocessor's
map back to the user's files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from pycparser import c_ast, c_parser

from ... import _core
from ..tree import Location
from .null_tests import without_null_tests
from .preprocessing import HEADERS, Preprocessed
from .refusals import refuse

__all__ = [
    "CFile",
    "asked_names",
    "assigned_names",
    "dimension_names",
    "names_in",
    "nodes",
    "parse",
    "passed_names",
    "root_name",
]


@dataclass
class CFile:
    """A parsed file.

    Attributes:
        name: of the file.
        functions: those with a body, in the order of the text.
        declarations: of the file scope, functions' prototypes among them.
        renamed: the names that variables have in the text, by those that they have in the tree.
        asked: by function, the pointers that are compared with NULL, and taken to be none.
    """

    name: str
    source: Preprocessed
    functions: dict[str, c_ast.FuncDef] = field(default_factory=dict)
    declarations: list[Any] = field(default_factory=list)
    renamed: dict[str, str] = field(default_factory=dict)
    asked: dict[str, frozenset[str]] = field(default_factory=dict)

    def place(self, node: Any) -> Location:
        """Where a node stands; one that does not know it stands where its first part does."""
        coord = getattr(node, "coord", None)
        if coord is None and isinstance(node, c_ast.Node):
            for _, child in node.children():
                if getattr(child, "coord", None) is not None:
                    coord = child.coord
                    break
        if coord is None:
            return Location(self.name, 1, 1)
        return self.source.place(coord.line, coord.column or 1)

    def may_write(self, declared: Any) -> bool:
        """Whether some function of the file writes a variable of this name, or lets another one do so: an
        array that stands without a subscript, or an address that is taken."""
        name, is_number = declared.name, _is_number(declared)
        for function in self.functions.values():
            for each in nodes(function.body):
                if _written_name(each) == name:
                    return True
                reads = is_number or isinstance(each, c_ast.ArrayRef)
                if not reads and any(_is_named(child, name) for _, child in each.children()):
                    return True
        return False


def parse(source: Preprocessed, name: str) -> CFile:
    """Parses preprocessed C.

    Raises:
        TranslationError: for what is no C99.
    """
    file = CFile(name, source)
    try:
        tree = c_parser.CParser().parse(source.text, "C")
    except c_parser.ParseError as error:
        found = re.match(r"(?:[C?](?::(\d+):(\d+))?:)?\s*(.*)", str(error), re.S)
        assert found is not None
        if found[1]:
            where = source.place(int(found[1]), int(found[2]))
        else:
            where = source.place(source.text.count("\n") + 1, 1 << 30)
        text = found[3].strip()
        text = re.sub(r"^before: (.*)$", r"not C99: unexpected \1", text, flags=re.S)
        if text.lower().startswith("at end of input"):
            text = "not C99: the file ends within a declaration or a block"
        refuse(where, text, "gcc -std=c99 -fsyntax-only says more")
    except RecursionError:
        refuse(Location(name, 1, 1), "statements or expressions are nested too deeply to be read")
    except Exception as error:  # pycparser trips over some malformed declarations
        refuse(Location(name, 1, 1), f"the parser cannot read this file ({error!r})")
    for each in nodes(tree):
        if isinstance(each, c_ast.Decl) and isinstance(each.type, c_ast.ArrayDecl):
            _spell_out(each)
        if isinstance(each, c_ast.Decl) and isinstance(each.init, c_ast.InitList):
            _spell_out_below(each.init)
    file.asked = without_null_tests(tree, nodes)
    file.renamed = _rename_words(tree)
    for each in tree.ext:
        if isinstance(each, c_ast.FuncDef):
            known = file.functions.get(each.decl.name)
            if known is not None and not file.place(known).file.startswith(HEADERS):
                refuse(file.place(each), f"{each.decl.name} is defined a second time")
            file.functions[each.decl.name] = each
        file.declarations.append(each)
    for function, (summary, where) in source.summaries.items():
        if summary not in file.functions:
            refuse(
                where,
                f"{function} is to be summarised by {summary}, which is not defined in the file",
                f"define {summary} with the same arguments",
            )
    return file


def _rename_words(tree: c_ast.FileAST) -> dict[str, str]:
    """Gives variables that are called like a word of isl's notation (`max`, `mod`, `exists`) an underscore.

    Returns:
        their names in the text, by their new ones.
    """
    kinds = c_ast.ID | c_ast.Decl | c_ast.Enumerator
    named = {each.name for each in nodes(tree) if isinstance(each, kinds)}
    words = {name for name in named if name and not _core.is_identifier(name)}
    functions = {each.decl.name for each in tree.ext if isinstance(each, c_ast.FuncDef)}
    functions |= {
        each.name
        for each in tree.ext
        if isinstance(each, c_ast.Decl) and isinstance(each.type, c_ast.FuncDecl)
    }
    renamed = {}
    for word in words - functions:
        renamed[word] = f"{word.replace('$', '_')}_"
        while renamed[word] in named:
            renamed[word] += "_"
    if not renamed:
        return {}
    others = set()  # names of functions, and of fields
    for each in nodes(tree):
        if isinstance(each, c_ast.FuncCall):
            others.add(id(each.name))
        elif isinstance(each, c_ast.StructRef):
            others.add(id(each.field))
        elif isinstance(each, c_ast.Struct | c_ast.Union):
            others |= {
                id(part)
                for one in each.decls or ()
                for part in nodes(one)
                if isinstance(part, c_ast.Decl | c_ast.TypeDecl)
            }
        elif isinstance(each, c_ast.NamedInitializer):
            others |= {id(part) for part in each.name}
    for each in nodes(tree):
        if id(each) in others:
            continue
        if isinstance(each, kinds):
            each.name = renamed.get(each.name, each.name)
        elif isinstance(each, c_ast.TypeDecl):
            each.declname = renamed.get(each.declname, each.declname)
    return {new: word for word, new in renamed.items()}


_CHARACTER = re.compile(r"\\(?:x[0-9a-fA-F]+|[0-7]{1,3}|.)|.", re.S)


class Text(c_ast.InitList):  # type: ignore[misc]
    """The characters of a text and the 0 behind them, for which there need not be room (C99 6.7.8)."""

    __slots__ = ()


def _characters(text: Any) -> list[Any]:
    spelt = {"'": "\\'", '\\"': '"'}
    found = [spelt.get(each, each) for each in _CHARACTER.findall(text.value[1:-1])]
    return [c_ast.Constant("char", f"'{each}'", text.coord) for each in found]


def _is_text(node: Any) -> bool:
    return isinstance(node, c_ast.Constant) and node.value[:1] == '"'


def _spell_out_below(values: Any) -> None:
    """Texts among the values of a list: of rows of characters, or of a structure that has some."""
    for at, each in enumerate(values.exprs):
        value = each.expr if isinstance(each, c_ast.NamedInitializer) else each
        if isinstance(value, c_ast.InitList):
            _spell_out_below(value)
        elif _is_text(value):
            zero = c_ast.Constant("int", "0", value.coord)
            made = Text([*_characters(value), zero], value.coord)
            if value is each:
                values.exprs[at] = made
            else:
                each.expr = made


def _spell_out(declaration: Any) -> None:
    """`char a[] = "ab"` is an array of numbers, 'a', 'b' and 0, of which the last is left out where the
    size says so."""
    text = declaration.init
    if isinstance(text, c_ast.InitList) and len(text.exprs) == 1:
        text = text.exprs[0]
    if not _is_text(text):
        return
    characters = _characters(text)
    size = declaration.type.dim
    if not (isinstance(size, c_ast.Constant) and size.value == str(len(characters))):
        characters.append(c_ast.Constant("int", "0", text.coord))
    declaration.init = c_ast.InitList(characters, text.coord)


def nodes(node: Any) -> Iterator[Any]:
    """The node and all below it."""
    if node is None:
        return
    stack = [node]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(child for _, child in reversed(node.children()))


def _is_named(node: Any, name: str) -> bool:
    return isinstance(node, c_ast.ID) and node.name == name


def names_in(node: Any) -> set[str]:
    """The identifiers that are named in a part of the program."""
    return {each.name for each in nodes(node) if isinstance(each, c_ast.ID)}


def root_name(node: Any) -> str:
    """The variable that an lvalue begins with, or ""."""
    while True:
        match node:
            case c_ast.ID():
                return str(node.name)
            case c_ast.ArrayRef() | c_ast.StructRef():
                node = node.name
            case c_ast.UnaryOp() | c_ast.Cast():
                node = node.expr
            case c_ast.BinaryOp():
                node = node.left
            case _:
                return ""


def _written_name(node: Any) -> str:
    """What an assignment writes, or what the address is taken of; "" for other nodes."""
    match node:
        case c_ast.Assignment():
            return root_name(node.lvalue)
        case c_ast.UnaryOp() if node.op in ("++", "--", "p++", "p--", "&"):
            return root_name(node.expr)
    return ""


def assigned_names(node: Any) -> set[str]:
    """The variables that a part of the program may write: by assignments, and by addresses that are
    taken. Those that it declares itself are others, even if they have the names of outer ones. Arrays
    that are given to functions are `passed_names`."""
    found: set[str] = set()
    match node:
        case None:
            return found
        case c_ast.Assignment() | c_ast.UnaryOp():
            found.add(_written_name(node))
        case c_ast.Compound():
            declared: set[str] = set()
            for item in node.block_items or []:
                found |= assigned_names(item) - declared
                if isinstance(item, c_ast.Decl):
                    declared.add(item.name)
            return found - {""}
    for _, child in node.children():
        found |= assigned_names(child)
    if isinstance(node, c_ast.For) and isinstance(node.init, c_ast.DeclList):
        found -= {each.name for each in node.init.decls}
    return found - {""}


def passed_names(node: Any) -> set[str]:
    """The variables that are arguments of calls in a part of the program."""
    found = set()
    for each in nodes(node):
        if isinstance(each, c_ast.FuncCall) and each.args is not None:
            found |= {root_name(argument) for argument in each.args.exprs}
    return found - {""}


_ARITHMETIC = frozenset("char short int long signed unsigned float double _Bool bool".split())


def _is_number(declared: Any) -> bool:
    """Whether it is a variable that is no pointer, no array and no structure in its text."""
    of = declared.type
    if not (isinstance(of, c_ast.TypeDecl) and isinstance(of.type, c_ast.IdentifierType)):
        return False
    return all(word in _ARITHMETIC or word.endswith("_t") for word in of.type.names)


def asked_names(body: Any) -> set[str]:
    """The names in bounds, sizes, subscripts, conditions, and arguments of calls, and those that
    variables of such names are made of."""
    found: set[str] = set()
    for each in nodes(body):
        match each:
            case c_ast.For():
                for part in (each.init, each.cond, each.next):
                    found |= names_in(part)
            case c_ast.ArrayRef():
                found |= names_in(each.subscript)
            case c_ast.ArrayDecl():
                found |= names_in(each.dim)
            case c_ast.If() | c_ast.TernaryOp() | c_ast.While() | c_ast.DoWhile() | c_ast.Switch():
                found |= names_in(each.cond)
            case c_ast.FuncCall():
                found |= names_in(each.args)
            case c_ast.Decl() if each.init is not None and not _is_number(each):
                found |= names_in(each.init)
            case c_ast.UnaryOp() if each.op == "*":
                found |= names_in(each.expr)
    assigned = [
        (each.lvalue.name, names_in(each.rvalue))
        for each in nodes(body)
        if isinstance(each, c_ast.Assignment) and isinstance(each.lvalue, c_ast.ID)
    ]
    assigned += [
        (each.name, names_in(each.init))
        for each in nodes(body)
        if isinstance(each, c_ast.Decl) and each.init is not None and _is_number(each)
    ]
    before = -1
    while before < len(found):
        before = len(found)
        found |= {name for of, names in assigned if of in found for name in names}
    return found


def dimension_names(node: Any) -> set[str]:
    """The names in the sizes of arrays that a part of the program declares."""
    return {
        name
        for each in nodes(node)
        if isinstance(each, c_ast.ArrayDecl)
        for name in names_in(each.dim)
    }
