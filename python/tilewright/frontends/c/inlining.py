"""Calls of functions that the file defines: the body takes the place of the call.

Numbers are passed by value, arrays by where they lie. Recursion is refused.
"""

from __future__ import annotations

from typing import Any

from pycparser import c_ast

from ...base.plurals import counted
from .c_types import ArrayOf, Number, Pointer, Structure, Void
from .jumps import without_gotos, without_returns
from .opaque_calls import OpaqueCalls
from .parsing import assigned_names, nodes, root_name
from .places import same_type
from .pointers import moved_pointers
from .refusals import refuse
from .renaming import renamed_pointers
from .scopes import Known, PointerVariable, Scope, Storage
from .state import Frame, is_static
from .values import Address, Place, Value, converted

__all__ = [
    "Inlining",
    "parameters_of",
    "read_outside_loops",
    "shared_names",
]


class Inlining(OpaqueCalls):
    """Translates calls of functions in the file."""

    def call_function(self, name: str, node: Any) -> Value | Place | Address | None:
        """The body of a function, in place of its call; gives where the result is."""
        here = self.place(node)
        callee = self.file.functions[name]
        if any(frame.function == name for frame in self.frames):
            refuse(here, f"{name} calls itself: recursion has no translation", "write a loop")
        given = node.args.exprs if node.args is not None else []
        formals = parameters_of(callee)
        if len(given) != len(formals):
            refuse(
                here,
                f"{name} has {counted(len(formals), 'argument')}, and is called with {len(given)}",
            )
        outer = self.scope
        arguments = [self.operand(each) for each in given]
        scope = Scope(self.file_scope())
        self.scope = scope
        frame = Frame(
            name,
            None,
            Void(),
            read_outside_loops(callee.body),
            shared_names(callee.body),
            moved_pointers(callee.body) - renamed_pointers(callee.body),
            inlined=True,
            depth=len(self.blocks),
            renamed=renamed_pointers(callee.body),
        )
        self.frames.append(frame)
        try:
            changed = assigned_names(callee.body)
            for formal, argument, actual in zip(formals, arguments, given, strict=True):
                self._bind(formal, argument, actual, formal.name in changed)
            frame.result_type = self.type_of(callee.decl.type.type)
            if not isinstance(frame.result_type, Void):
                if not isinstance(frame.result_type, Number | Structure):
                    refuse(here, f"{name} returns a {frame.result_type}", "return a number")
                frame.result = self.temporary(f"{name}_result", frame.result_type, here)
            body = without_gotos(callee.body.block_items or [], self.file, callee)
            body = without_returns(body, self.file, callee)
            with self.inner_scope():
                self.sequence(body)
            self.end_of_life(scope)
        finally:
            self.frames.pop()
            self.scope = outer
        for each in given:  # what is passed by address may have changed
            if isinstance(each, c_ast.UnaryOp) and each.op == "&":
                entity = self.scope.find(root_name(each.expr))
                if isinstance(entity, Storage):
                    self.known.pop(entity.root, None)
        return frame.result

    def file_scope(self) -> Scope:
        """The scope of the file."""
        scope = self.scope
        while scope.outer is not None:
            scope = scope.outer
        return scope

    def _bind(self, formal: Any, argument: Any, actual: Any, changed: bool) -> None:
        """What an argument's name means in the body."""
        here = self.place(actual)
        of = self.type_of(formal)
        if isinstance(of, Pointer | ArrayOf):
            target = of.target if isinstance(of, Pointer) else of.element
            if not self._is_pointer(argument):
                refuse(here, f"{formal.name} is an array, and this is none")
            address = self._address(argument, actual)
            if not same_type(address.target, target):
                refuse(
                    here,
                    f"{formal.name} has elements of type {target}, and these are of type "
                    f"{address.target}",
                    "declare both with the same type",
                )
            self._check_extents(address.target, target, actual)
            kind = of if isinstance(of, Pointer) else Pointer(target)
            pointer = PointerVariable(formal.name, kind, here, address)
            self.scope.names[formal.name] = pointer
            if formal.name in self.frames[-1].renamed:
                self.rename(pointer)
                self.check_meaning(pointer, actual)
            elif formal.name in self.frames[-1].moved:
                pointer.moves = True
                self.let_move(pointer, address, actual)
            else:
                pointer.address = self.kept(pointer, address, actual)
            return
        if isinstance(of, Structure):
            if not isinstance(argument, Place) or not same_type(argument.type, of):
                refuse(here, f"{formal.name} is of type {of}, and this is not")
            storage = Storage(formal.name, of, here)
            self.scope.names[formal.name] = storage
            self.copy(Place(self.root_of(storage), (), (), of), argument, actual)
            return
        assert isinstance(of, Number)
        value = argument if isinstance(argument, Value) else None
        if isinstance(argument, Place):
            value = self.load(argument, here)
        if value is None:
            refuse(here, f"{formal.name} is a number, and this is a pointer")
        value = converted(value, of, here)
        if not changed and is_static(value.tree):
            self.scope.names[formal.name] = Known(value)
            return
        storage = Storage(formal.name, of, here, shared=formal.name in self.frames[-1].shared)
        self.scope.names[formal.name] = storage
        self.store(Place(self.root_of(storage), (), (), of), value, here)


def parameters_of(function: Any) -> list[Any]:
    """The declarations of a function's arguments."""
    arguments = function.decl.type.args
    found = [] if arguments is None else list(arguments.params)
    if len(found) == 1 and isinstance(found[0], c_ast.Typename):
        return []  # (void)
    return found


def shared_names(body: Any) -> set[str]:
    """The variables whose address is taken."""
    return {
        root_name(each.expr)
        for each in nodes(body)
        if isinstance(each, c_ast.UnaryOp) and each.op == "&"
    } - {""}


def read_outside_loops(body: Any) -> set[str]:
    """The variables that are read somewhere else than within the loops that they count."""
    found: set[str] = set()

    def visit(node: Any, counting: frozenset[str]) -> None:
        match node:
            case c_ast.ID():
                if node.name not in counting:
                    found.add(node.name)
            case c_ast.For():
                names = frozenset(_started(node.init))
                for part in _parts(node.init):
                    visit(part.rvalue if isinstance(part, c_ast.Assignment) else part, counting)
                inner = counting | names
                for part in (node.cond, node.next, node.stmt):
                    if part is not None:
                        visit(part, inner)
            case c_ast.Assignment() if node.op == "=" and isinstance(node.lvalue, c_ast.ID):
                visit(node.rvalue, counting)
            case c_ast.FuncCall():
                kills = isinstance(node.name, c_ast.ID) and node.name.name == "__pencil_kill"
                if node.args is not None and not kills:
                    visit(node.args, counting)
            case _:
                for _, child in node.children():
                    visit(child, counting)

    visit(body, frozenset())
    return found


def _parts(node: Any) -> list[Any]:
    if node is None:
        return []
    if isinstance(node, c_ast.ExprList):
        return list(node.exprs)
    return list(node.decls) if isinstance(node, c_ast.DeclList) else [node]


def _started(init: Any) -> set[str]:
    """The variables that the first part of a loop assigns."""
    found = set()
    for part in _parts(init):
        if isinstance(part, c_ast.Decl):
            found.add(part.name)
        elif isinstance(part, c_ast.Assignment) and isinstance(part.lvalue, c_ast.ID):
            found.add(part.lvalue.name)
    return found
