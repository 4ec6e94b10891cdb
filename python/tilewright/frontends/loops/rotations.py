"""Arrays that move on by one name in each turn of a loop, as the steps of a recurrence over time do.

Before::

    for t in range(T):
        w = 2 * v - u
        u, v = v, w

NumPy makes a new array in each turn, and the oldest one has no name any more. So one array more than
there are names is enough, and they take turns::

    u, v, w = u.copy(), v.copy(), np.empty_like(v)
    for t in range(T):
        w[:] = 2 * v - u
        u, v, w = v, w, u

where names of arrays change as `loop_statements` has it.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from ..tree import Statement
from .indices import constant_of
from .memory_orders import MemoryOrders
from .values import ArrayValue, RangeValue, Turning, Value

__all__ = ["Rotations"]


@dataclass(frozen=True)
class _Rotation:
    """The variables (webs) that move on, and the one that is new in each turn."""

    moving: tuple[str, ...]
    new: str


class Rotations(MemoryOrders):
    """Loops with such names."""

    def begin_rotation(self, node: ast.For) -> str:
        """Gives the arrays of a loop memory of their own; the variable that is new in each turn, or ""."""
        found = self._rotation(node)
        if found is None:
            return ""
        memories: list[ArrayValue] = []
        copied: set[str] = set()
        for web in found.moving:
            array = self.frame.bindings[web]
            assert isinstance(array, ArrayValue)
            if array.base not in self.unchanged:
                # By another name, what is copied here would change without the copy.
                reason = f"{array.base} takes turns with other arrays in a loop, and is changed"
                self.unchanged[array.base] = self.at(node), reason, frozenset(self.labels)
                copied.add(array.base)
            memories.append(self.in_memory(array, node))
            self.frame.bindings[web] = memories[-1]
        like = memories[-1]
        name = self.new_array(found.new, like.dtype, like.room, node)
        memories.append(self.view(name, like.dtype, like.shape, like.room, node))
        self.rotating[found.new] = Turning(found.moving, tuple(memories), frozenset(copied))
        return found.new

    def end_rotation(
        self, new: str, node: ast.For, over: RangeValue, body: tuple[Statement, ...]
    ) -> None:
        """Ends what `begin_rotation` began. After enough turns no name means what was copied any more."""
        turning = self.rotating.pop(new, None)
        if turning is None:
            return
        distance = constant_of(over.distance) or 0
        ends_early = any(isinstance(each, ast.Break | ast.Return) for each in ast.walk(node))
        if distance >= len(turning.moving) * abs(over.step) and not ends_early:
            self.check_unchanged(body)
            for base in turning.copied:
                del self.unchanged[base]

    def bind_rotating(self, web: str, value: Value, target: ast.Name, node: ast.stmt) -> bool:
        """The new array of a turn: into the memory that has no name now."""
        turning = self.rotating.get(web)
        if turning is None or not isinstance(value, ArrayValue):
            return False
        named = [self.frame.bindings[each] for each in turning.moving]
        (memory,) = (each for each in turning.memories if all(each is not one for one in named))
        if value.dtype != memory.dtype:
            self.refuse(
                node,
                f"{target.id} holds {value.dtype}, and the array that it replaces in the next turn "
                f"holds {memory.dtype}",
                "convert one",
            )
        self.claim_same_shape(memory.shape, value.shape, target.id, node)
        if not value.uninitialised:
            self.store_elements(memory, value, node)
        self.frame.bindings[web] = memory
        return True

    def _rotation(self, node: ast.For) -> _Rotation | None:
        """What moves on in a loop whose last statements only give names to arrays."""
        sources: dict[str, str] = {}
        names: dict[str, ast.Name] = {}
        rest = list(node.body)
        moves: list[ast.Assign] = []
        while rest and isinstance(rest[-1], ast.Assign) and _renames(rest[-1]):
            moves.insert(0, rest.pop())  # type: ignore[arg-type]
        for move in moves:
            before = dict(sources)
            for to, what in _renames(move):
                sources[to.id] = before.get(what.id, what.id)
                names[to.id] = to
                names.setdefault(what.id, what)
        sources = {to: what for to, what in sources.items() if to != what}
        fresh = set(sources.values()) - sources.keys()
        if len(fresh) != 1 or len(set(sources.values())) != len(sources):
            return None
        new = fresh.pop()
        webs = self.frame.webs
        web = webs.name_of.get(id(names[new]), "")
        moving = tuple(webs.name_of.get(id(names[name]), "") for name in sources)
        if web not in webs.once or not all(
            each in webs.renamed and isinstance(self.frame.bindings.get(each), ArrayValue)
            for each in moving
        ):
            return None
        made = [
            each
            for each in rest
            if isinstance(each, ast.Assign)
            and any(isinstance(one, ast.Name) and one.id == new for one in each.targets)
        ]
        stored = [
            each
            for each in ast.walk(node)
            if isinstance(each, ast.Name) and each.id == new and not isinstance(each.ctx, ast.Load)
        ]
        if len(made) != 1 or len(stored) != 1 or _changes(rest, set(sources)):
            return None
        # After few turns a name may still mean an argument, which would change with it.
        behind = [
            each
            for each in ast.walk(self.frame.source.tree)
            if isinstance(each, ast.stmt) and each.lineno > (node.end_lineno or node.lineno)
        ]
        bases = [self.frame.bindings[each].base for each in moving]  # type: ignore[union-attr]
        if not all(self.arrays[base].local for base in bases) and _changes(behind, set(sources)):
            return None
        return _Rotation(moving, web)

    def store_elements(self, target: ArrayValue, value: Value, node: ast.AST) -> None:
        raise NotImplementedError


def _renames(move: ast.Assign) -> list[tuple[ast.Name, ast.Name]]:
    """The pairs of a statement that gives names to what has some."""
    if len(move.targets) != 1:
        return []
    target, value = move.targets[0], move.value
    if isinstance(target, ast.Name) and isinstance(value, ast.Name):
        return [(target, value)]
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        pairs = list(zip(target.elts, value.elts, strict=False))
        if len(target.elts) == len(value.elts) and all(
            isinstance(to, ast.Name) and isinstance(what, ast.Name) for to, what in pairs
        ):
            return pairs  # type: ignore[return-value]
    return []


_VIEWS = frozenset(
    "asarray atleast_1d broadcast_to diagonal expand_dims flip fliplr flipud moveaxis ravel real imag "
    "reshape rot90 split array_split hsplit vsplit dsplit squeeze swapaxes transpose view".split()
)
"""What may give a part of an array that it is given, of NumPy's functions and methods."""


def _base(node: ast.AST) -> str:
    """The name of the array of which this is all or a part."""
    while isinstance(node, ast.Subscript | ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _shares(value: ast.expr, names: set[str]) -> bool:
    """Whether a value may be one of these arrays, or a part of one."""
    match value:
        case ast.Tuple() | ast.List():
            return any(_shares(each, names) for each in value.elts)
        case ast.IfExp():
            return _shares(value.body, names) or _shares(value.orelse, names)
        case ast.Call(func=ast.Attribute(attr=attr)) if attr not in _VIEWS:
            return False
        case ast.Call():
            return any(isinstance(each, ast.Name) and each.id in names for each in ast.walk(value))
    return _base(value) in names


def _changes(body: list[ast.stmt], names: set[str]) -> bool:
    """Whether elements of these arrays are assigned, by whatever name, or they are lent to a call that may
    do so."""
    nodes = [node for statement in body for node in ast.walk(statement)]
    shared = set(names)
    for _ in nodes:  # until no name more is one of a part
        more = {
            name.id
            for node in nodes
            if isinstance(node, ast.Assign) and _shares(node.value, shared)
            for target in node.targets
            for name in ast.walk(target)
            if isinstance(name, ast.Name)
        }
        if more <= shared:
            break
        shared |= more
    for node in nodes:
        match node:
            case ast.Subscript(ctx=ast.Store()) | ast.Attribute(ctx=ast.Store()):
                if _base(node) in shared:
                    return True
            case ast.AugAssign():
                if _base(node.target) in shared:
                    return True
            case ast.Name(ctx=ast.Store()):
                if node.id in names:
                    return True
            case ast.Expr(ast.Call() as call):  # for what it changes
                if shared.intersection(_base(each) for each in (call.func, *call.args)):
                    return True
    return False
