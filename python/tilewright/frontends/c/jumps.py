"""Jumps forward, as conditions: `goto` to a label further on, a `break` in the middle of a case, cases that
fall through, a `return` in the middle of a function that is inlined.

All of them leave a list of statements before its end. Outside loops what follows goes into the branches that
come to it: `if (c) goto out; rest; out:` is `if (c) {} else { rest }`. A loop is left with `break`; a flag
says so, and what follows the loop asks it. So is what follows where it would be written too often.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from typing import Any

from pycparser import c_ast

from .parsing import CFile, names_in, nodes
from .refusals import refuse

__all__ = [
    "LeaveLoop",
    "arms_of",
    "leaves",
    "returns_outside_loops",
    "without_gotos",
    "without_returns",
]

#: Nodes of what follows a condition, beyond which it is written once and asks a flag.
MOST_COPIED = 200

Arm = tuple[list[Any], list[Any]]
_LOOPS = (c_ast.For, c_ast.While, c_ast.DoWhile)
_LABELS = (c_ast.Case, c_ast.Default)


class LeaveLoop(c_ast.Break):  # type: ignore[misc]
    """The `break` of a loop, also where it stands in a `switch`."""

    __slots__ = ()


class Flags:
    """Fresh variables of a function, or of a part of one, that say whether something was left."""

    def __init__(self, file: CFile, function: Any) -> None:
        self.file = file
        self._taken = names_in(function) | {
            each.name for each in nodes(function) if isinstance(each, c_ast.Decl)
        }

    def declare(self, wanted: str, coord: Any) -> Any:
        """A declaration of one that is 0."""
        name, count = wanted, 0
        while name in self._taken:
            count += 1
            name = f"{wanted}_{count}"
        self._taken.add(name)
        of = c_ast.TypeDecl(name, [], None, c_ast.IdentifierType(["int"], coord), coord)
        zero = c_ast.Constant("int", "0", coord)
        return c_ast.Decl(name, [], [], [], [], of, zero, None, coord)


class Leaving:
    """Rewrites statements so that some of their jumps come to the end of them.

    Args:
        exits: the jumps, by `id`.
        flags: of the function.
        keep: whether a jump does something besides jumping, as `return x` does: it stays where it was, as
            the last thing that happens.
        name: of flags.
    """

    def __init__(self, exits: set[int], flags: Flags, keep: bool, name: str) -> None:
        self._exits = exits
        self._flags = flags
        self._keep = keep
        self._name = name

    def inside(self, node: Any) -> bool:
        """Whether one of the jumps is in a part of the program."""
        return any(id(each) in self._exits for each in nodes(node))

    def straight(self, items: Sequence[Any]) -> list[Any]:
        """The statements, behind which all that follows is reached, whichever way they are left."""
        result: list[Any] = []
        for at, item in enumerate(items):
            if id(item) in self._exits:
                return [*result, *([item] if self._keep else [])]
            if self.inside(item):
                pragmas: list[Any] = []
                while isinstance(item, _LOOPS) and result and isinstance(result[-1], c_ast.Pragma):
                    pragmas.insert(0, result.pop())
                before, *others = self._divided(item, items[at + 1 :]) or [
                    c_ast.EmptyStatement(item.coord)
                ]
                return [*result, before, *pragmas, *others]
            result.append(item)
            if leaves(item) and not self._is_followed(items[at + 1 :]):
                break
        return result

    def _is_followed(self, rest: Sequence[Any]) -> bool:
        """Whether one of the jumps comes as soon as a flag is set: what stands before it only gives a value."""
        return len(rest) >= 2 and id(rest[1]) in self._exits

    def _divided(self, item: Any, rest: Sequence[Any]) -> list[Any]:
        """A statement with jumps in it, and what follows."""
        match item:
            case c_ast.Compound() if not (_declared(item.block_items or []) & _names(rest)):
                inner = self.straight([*(item.block_items or []), *rest])
                return [c_ast.Compound(inner, item.coord)]
            case c_ast.Label():
                first, *others = self.straight([item.stmt, *rest]) or [
                    c_ast.EmptyStatement(item.coord)
                ]
                return [c_ast.Label(item.name, first, item.coord), *others]
            case c_ast.If() if not self._is_copied_often([[item.iftrue], [item.iffalse]], rest):
                branches = (
                    c_ast.Compound(self.straight([*_own(branch), *rest]), item.coord)
                    for branch in (item.iftrue, item.iffalse)
                )
                return [c_ast.If(item.cond, *branches, item.coord)]
            case c_ast.Switch():
                arms = _all_arms(item, self._flags.file)
                if not self._is_copied_often([body for _, body in arms], rest):
                    return [
                        _switch(item, [(of, self.straight([*body, *rest])) for of, body in arms])
                    ]
        flag = self._flags.declare(self._name, item.coord)
        marked = self._marked(item, flag)
        if not rest:
            return [flag, marked]
        unless = c_ast.UnaryOp("!", c_ast.ID(flag.name, item.coord), item.coord)
        following = c_ast.Compound(self.straight(rest), item.coord)
        return [flag, marked, c_ast.If(unless, following, None, item.coord)]

    @staticmethod
    def _is_copied_often(branches: Sequence[Sequence[Any]], rest: Sequence[Any]) -> bool:
        falling = sum(
            not any(each is not None and leaves(each) for each in own) for own in branches
        )
        size = sum(1 for each in rest for _ in nodes(each))
        return falling > 1 and falling * size > MOST_COPIED

    def _marked(self, node: Any, flag: Any) -> Any:
        """The statement, in which jumps set a flag. They leave the loop that it is; in another statement,
        what follows them is left out."""
        if isinstance(node, _LOOPS):
            return self._set(node, flag, None)
        jumps: list[Any] = []
        changed = self._set(node, flag, jumps)
        inner = Leaving({id(each) for each in jumps}, self._flags, False, self._name)
        return c_ast.Compound(inner.straight([changed]), node.coord)

    def _set(self, node: Any, flag: Any, jumps: list[Any] | None) -> Any:
        """The statement with jumps replaced: by ones that leave loops, or else by those that are noted."""
        if node is None or not self.inside(node):
            return node
        if id(node) in self._exits:
            name = c_ast.ID(flag.name, node.coord)
            one = c_ast.Constant("int", "1", node.coord)
            what = [node] if self._keep else []
            what.append(c_ast.Assignment("=", name, one, node.coord))
            if jumps is None:
                what.append(LeaveLoop(node.coord))
            else:
                jumps.append(c_ast.Goto(flag.name, node.coord))
                what.append(jumps[-1])
            return c_ast.Compound(what, node.coord)
        result = copy(node)
        match node:
            case c_ast.Compound():
                result.block_items = self._all_set(node.block_items or [], flag, jumps)
            case c_ast.Switch():
                arms = arms_of(node, self._flags.file)
                return _switch(node, [(of, self._all_set(body, flag, jumps)) for of, body in arms])
            case c_ast.If():
                result.iftrue = _block(self._all_set(_own(node.iftrue), flag, jumps), node)
                result.iffalse = _block(self._all_set(_own(node.iffalse), flag, jumps), node)
            case c_ast.Label() | c_ast.For() | c_ast.While() | c_ast.DoWhile():
                result.stmt = _block(self._all_set([node.stmt], flag, jumps), node)
        return result

    def _all_set(self, items: Sequence[Any], flag: Any, jumps: list[Any] | None) -> list[Any]:
        """The statements with jumps replaced; an inner loop that was left leaves the outer one, too."""
        result = []
        for item in items:
            result.append(self._set(item, flag, jumps))
            if jumps is None and isinstance(_bare(item), _LOOPS) and self.inside(item):
                left = c_ast.ID(flag.name, item.coord)
                result.append(c_ast.If(left, LeaveLoop(item.coord), None, item.coord))
        return result


# ---- the jumps that there are ----


def without_gotos(items: Sequence[Any], file: CFile, function: Any) -> list[Any]:
    """Statements without `goto`.

    Raises:
        TranslationError: for one that goes back, or into a block.
    """
    if not any(isinstance(each, c_ast.Goto) for item in items for each in nodes(item)):
        return list(items)
    result = _Gotos(file, Flags(file, function)).block(items)
    for item in result:
        for each in nodes(item):
            if isinstance(each, c_ast.Goto):
                labels = {
                    found.name: found for found in nodes(function) if isinstance(found, c_ast.Label)
                }
                if each.name not in labels:
                    refuse(file.place(each), f"there is no label {each.name} in this function")
                refuse(
                    file.place(each),
                    f"the label {each.name} stands neither behind this goto nor behind a block around it, "
                    "within what is translated",
                    "use if and break",
                )
    return result


class _Gotos:
    def __init__(self, file: CFile, flags: Flags) -> None:
        self._file = file
        self._flags = flags

    def block(self, items: Sequence[Any]) -> list[Any]:
        """The statements of a block, inner blocks first."""
        result = [self._inner(item) for item in items]
        at = 0
        while at < len(result):
            for name in _label_names(result[at]):
                result, at = self._led_to(result, at, name)
            at += 1
        return result

    def _led_to(self, items: list[Any], at: int, name: str) -> tuple[list[Any], int]:
        """The block without the jumps to the label of that statement; where it stands now."""
        exits = set()
        for place, item in enumerate(items):
            for each in nodes(item):
                if isinstance(each, c_ast.Goto) and each.name == name:
                    if place >= at:
                        refuse(
                            self._file.place(each),
                            f"this goto leads back to {name}, which has no translation",
                            "write a loop",
                        )
                    exits.add(id(each))
        if not exits:
            return items, at
        leaving = Leaving(exits, self._flags, False, f"to_{name}")
        first = next(place for place, item in enumerate(items) if leaving.inside(item))
        later = _names(items[at:])
        hoisted: list[Any] = []
        moved: list[Any] = []
        for item in items[first:at]:
            if isinstance(item, c_ast.Decl) and item.name in later:
                hoisted.append(self._hoisted(item, name))
                if item.init is not None:
                    target = c_ast.ID(item.name, item.coord)
                    moved.append(c_ast.Assignment("=", target, item.init, item.coord))
            else:
                moved.append(item)
        before = [*items[:first], *hoisted, *leaving.straight(moved)]
        return [*before, *items[at:]], len(before)

    def _hoisted(self, node: Any, name: str) -> Any:
        """A declaration that a goto passes, in front of it."""
        sized = any(
            isinstance(each, c_ast.ArrayDecl) and not isinstance(each.dim, c_ast.Constant)
            for each in nodes(node.type)
        )
        if isinstance(node.init, c_ast.InitList) or sized:
            refuse(
                self._file.place(node),
                f"a goto passes this declaration, and {node.name} is used behind the label {name}",
                "declare it in front of the goto",
            )
        result, of = copy(node), copy(node.type)
        result.init, result.quals, result.type = None, [], of
        if isinstance(of, c_ast.TypeDecl):
            of.quals = []
        return result

    def _inner(self, node: Any) -> Any:
        """A statement whose blocks have no jumps to labels in them."""
        if node is None or not any(isinstance(each, c_ast.Goto) for each in nodes(node)):
            return node
        result = copy(node)
        match node:
            case c_ast.Compound():
                result.block_items = self.block(node.block_items or [])
            case c_ast.If():
                result.iftrue, result.iffalse = self._inner(node.iftrue), self._inner(node.iffalse)
            case c_ast.Label() | c_ast.For() | c_ast.While() | c_ast.DoWhile() | c_ast.Switch():
                result.stmt = self._inner(node.stmt)
            case c_ast.Case() | c_ast.Default():
                result.stmts = self.block(node.stmts or [])
        return result


def without_returns(items: Sequence[Any], file: CFile, function: Any) -> list[Any]:
    """The statements of a function, of which each `return` is the last thing that happens."""
    exits = {id(each) for item in items for each in nodes(item) if isinstance(each, c_ast.Return)}
    if not exits or exits == {id(items[-1])}:
        return list(items)
    return Leaving(exits, Flags(file, function), True, "returned").straight(items)


def returns_outside_loops(
    items: Sequence[Any], file: CFile, function: Any
) -> tuple[list[Any], set[int]]:
    """The statements of a function, of which each `return` outside loops is the last thing that happens;
    these, by `id`."""
    exits = {id(each) for item in items for each in _outside(item, c_ast.Return, _LOOPS)}
    if exits and exits != {id(items[-1])}:
        items = Leaving(exits, Flags(file, function), True, "returned").straight(items)
    return list(items), exits


# ---- switches ----


def arms_of(node: Any, file: CFile) -> list[Arm]:
    """The cases of a switch: the labels of each, and all that runs from there to the end of the switch, in
    which no `break` is left.

    Raises:
        TranslationError: for what stands before the first case, and for a case within another statement.
    """
    items = node.stmt.block_items or [] if isinstance(node.stmt, c_ast.Compound) else [node.stmt]
    arms: list[Arm] = []
    for item in items:
        if isinstance(item, c_ast.Pragma):
            continue
        if not isinstance(item, _LABELS):
            refuse(file.place(item), "this statement stands before the first case of its switch")
        labels, body = [], [item]
        while len(body) == 1 and isinstance(body[0], _LABELS):
            labels.append(body[0])
            body = list(body[0].stmts or [])
        for each in (found for part in body for found in _outside(part, _LABELS, (c_ast.Switch,))):
            refuse(
                file.place(each),
                "a case within another statement has no translation",
                "write the statements of each case behind it",
            )
        arms.append((labels, body))
    flags = Flags(file, node)
    following: list[Any] = []
    for at in reversed(range(len(arms))):
        labels, body = arms[at]
        if not any(map(leaves, body)):
            body = [*body, *following]
        following = body
        breaks = {
            id(each)
            for part in body
            for each in _outside(part, c_ast.Break, (*_LOOPS, c_ast.Switch))
            if not isinstance(each, LeaveLoop)
        }
        if breaks:
            body = Leaving(breaks, flags, False, "left").straight(body)
        arms[at] = labels, body
    return arms


def _all_arms(node: Any, file: CFile) -> list[Arm]:
    """The cases of a switch, with a default."""
    arms = arms_of(node, file)
    if any(isinstance(each, c_ast.Default) for labels, _ in arms for each in labels):
        return arms
    return [*arms, ([c_ast.Default([], node.coord)], [])]


def _switch(node: Any, arms: Sequence[Arm]) -> Any:
    """A switch with these cases, none of which falls through."""
    items = []
    for labels, body in arms:
        inner = [c_ast.Compound(list(body), node.coord), c_ast.Break(node.coord)]
        for label in reversed(labels):
            changed = copy(label)
            changed.stmts = inner
            inner = [changed]
        items += inner
    return c_ast.Switch(node.cond, c_ast.Compound(items, node.coord), node.coord)


# ---- parts of programs ----


def leaves(node: Any) -> bool:
    """Whether a statement does not go on to the next one."""
    match node:
        case c_ast.Return() | c_ast.Continue() | c_ast.Break() | c_ast.Goto():
            return True
        case c_ast.Compound():
            return any(map(leaves, node.block_items or []))
        case c_ast.Label():
            return leaves(node.stmt)
        case c_ast.If():
            return node.iffalse is not None and leaves(node.iftrue) and leaves(node.iffalse)
    return False


def _outside(node: Any, kind: type | tuple[type, ...], others: tuple[type, ...]) -> Iterator[Any]:
    """The nodes of a kind in a part of the program that stand in none of the others."""
    if isinstance(node, kind):
        yield node
    if not isinstance(node, others):
        for _, child in node.children():
            yield from _outside(child, kind, others)


def _label_names(node: Any) -> Iterator[str]:
    while isinstance(node, c_ast.Label):
        yield node.name
        node = node.stmt


def _bare(node: Any) -> Any:
    while isinstance(node, c_ast.Label):
        node = node.stmt
    return node


def _own(node: Any) -> list[Any]:
    return [] if node is None else [node]


def _block(items: list[Any], node: Any) -> Any:
    if not items:
        return None
    return items[0] if len(items) == 1 else c_ast.Compound(items, node.coord)


def _declared(items: Sequence[Any]) -> set[str]:
    return {each.name for each in items if isinstance(each, c_ast.Decl)}


def _names(items: Sequence[Any]) -> set[str]:
    return {name for item in items for name in names_in(item)}
