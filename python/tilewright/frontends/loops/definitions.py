"""Which assignments of a variable belong together: reaching definitions, joined into webs.

A Python name may mean several variables (`x = 0` ... `x = A[i]` later on): definitions that reach a
common use are one variable, a web, and get one name, one type and one place. Needs the syntax tree of a
function. The analysis is the textbook one on structured programs (Aho, Lam, Sethi, Ullman, section 9.2;
webs after Muchnick, section 16.3.3).
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from .sugar import Completed

__all__ = ["Webs", "find_webs", "local_names", "runs_always"]

Environment = dict[str, frozenset[int]]
UNDEFINED = -1


class Webs:
    """The variables of a function.

    Attributes:
        name_of: the variable that a node (an `ast.Name` or `ast.arg`, by id) speaks of.
        single: the variables with one definition only, which reaches all their uses.
        once: those with one definition besides augmented assignments, which leave an array in place.
        renamed: those that get an array once, and otherwise names of arrays, as in `u, v = v, u`.
        of_name: the variables that a name of the text means.
        given: the uses (by id of the node) that may mean what an argument was given.
        unassigned: the uses (by id of the node) that may come before any definition.
        dead: the statements (by id) that are never reached.
        names: all names of variables.
        falls_through: the end of the body is reached without a `return`.
    """

    def __init__(self) -> None:
        self.name_of: dict[int, str] = {}
        self.single: set[str] = set()
        self.once: set[str] = set()
        self.renamed: set[str] = set()
        self.of_name: dict[str, set[str]] = {}
        self.given: set[int] = set()
        self.unassigned: set[int] = set()
        self.dead: set[int] = set()
        self.names: set[str] = set()
        self.falls_through = True


def local_names(function: ast.FunctionDef) -> set[str]:
    """The names that the function assigns, its arguments among them."""
    arguments = function.args
    names = {each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
    return names


class _Loop:
    def __init__(self) -> None:
        self.breaks: Environment | None = None
        self.continues: Environment | None = None


def _merge(a: Environment | None, b: Environment | None) -> Environment | None:
    if a is None or b is None:
        return b if a is None else a
    return {name: a[name] | b[name] for name in a}


class _Flow:
    def __init__(self, function: ast.FunctionDef) -> None:
        self.function = function
        self.locals = local_names(function)
        self.definitions: list[ast.AST] = []
        self.number: dict[int, int] = {}
        self.reach: dict[int, frozenset[int]] = {}
        self.nodes: dict[int, ast.Name] = {}
        self.together: list[tuple[int, int]] = []  # a use (node id) and a definition that it feeds
        self.loops: list[_Loop] = []
        self.ends: dict[int, tuple[Environment | None, Environment | None]] = {}
        self.copies: set[int] = set()  # definitions that give another name's value
        self.reached: set[int] = set()
        self.behind: dict[int, int] = {}  # definitions as they are seen behind the loop around them
        self.seen: dict[int, int] = {}  # the same the other way round

    def define(self, node: ast.AST, name: str, env: Environment) -> Environment:
        if id(node) not in self.number:
            self.number[id(node)] = len(self.definitions)
            self.definitions.append(node)
        return {**env, name: frozenset([self.number[id(node)]])}

    def use(self, node: ast.Name, env: Environment) -> None:
        if node.id in self.locals:
            self.nodes[id(node)] = node
            self.reach[id(node)] = self.reach.get(id(node), frozenset()) | env[node.id]

    def expression(self, node: ast.AST | None, env: Environment) -> None:
        if node is None:
            return
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            self.use(node, env)
        if isinstance(node, ast.ListComp | ast.GeneratorExp):
            for generator in node.generators:  # its variables mean nothing elsewhere
                self.expression(generator.iter, env)
                env = self.target(generator.target, env)
                for test in generator.ifs:
                    self.expression(test, env)
            self.expression(node.elt, env)
            return
        for part in ast.iter_child_nodes(node):
            self.expression(part, env)

    def target(self, node: ast.expr, env: Environment) -> Environment:
        match node:
            case ast.Name():
                return self.define(node, node.id, env)
            case ast.Tuple() | ast.List():
                for each in node.elts:
                    env = self.target(each, env)
                return env
        self.expression(node, env)
        return env

    def block(self, body: Sequence[ast.stmt], env: Environment | None) -> Environment | None:
        for statement in body:
            if env is None:
                break
            self.reached.add(id(statement))
            env = self.statement(statement, env)
        return env

    def statement(self, node: ast.stmt, env: Environment) -> Environment | None:
        match node:
            case ast.Assign():
                self.expression(node.value, env)
                for each in node.targets:
                    env = self.target(each, env)
                    self.copies.update(self.number[id(name)] for name in _copies(each, node.value))
                return env
            case ast.AnnAssign():
                self.expression(node.value, env)
                return env if node.value is None else self.target(node.target, env)
            case ast.AugAssign():
                return self.augmented(node, env)
            case ast.For():
                self.expression(node.iter, env)
                return self.loop(node, env)
            case ast.While():
                return self.loop(node, env)
            case Completed():
                self.expression(node.test, env)
                completed, left = self.ends[id(node.loop)]
                return _merge(completed and self.block(node.body, completed), left)
            case ast.If():
                self.expression(node.test, env)
                return _merge(self.block(node.body, env), self.block(node.orelse, env))
            case ast.Break() | ast.Continue():
                loop = self.loops[-1]  # Python's own grammar asks for one around it
                if isinstance(node, ast.Break):
                    loop.breaks = _merge(loop.breaks, env)
                else:
                    loop.continues = _merge(loop.continues, env)
                return None
            case ast.Return():
                self.expression(node.value, env)
                return None
        self.expression(node, env)
        return env

    def augmented(self, node: ast.AugAssign, env: Environment) -> Environment:
        self.expression(node.value, env)
        if not isinstance(node.target, ast.Name):
            self.expression(node.target, env)
            return env
        name = node.target.id
        before = env[name]
        self.nodes[id(node.target)] = node.target
        self.reach[id(node.target)] = self.reach.get(id(node.target), frozenset()) | before
        env = self.define(node.target, name, env)
        self.together.append((id(node.target), self.number[id(node.target)]))
        return env

    def loop(self, node: ast.For | ast.While, env: Environment) -> Environment | None:
        entry: Environment = env
        endless = isinstance(node, ast.While) and (
            isinstance(node.test, ast.Constant) and bool(node.test.value)
        )
        while True:
            loop = _Loop()
            self.loops.append(loop)
            inside = entry
            if isinstance(node, ast.For):
                inside = self.target(node.target, entry)
            else:
                self.expression(node.test, entry)
            end = _merge(self.block(node.body, inside), loop.continues)
            self.loops.pop()
            after = _merge(entry, end)
            assert after is not None
            if after == entry:
                break
            entry = after
        behind: Environment | None = entry
        if isinstance(node, ast.For) and "range" not in self.locals and runs_always(node.iter):
            # The iterators of a loop that runs have memory only if they have a value before it.
            own = {each.id for each in ast.walk(node.target) if isinstance(each, ast.Name)}
            behind = end and {
                name: entry[name]
                if name in own
                else (end[name] if _is_listed(node) else self.leaving(end[name], env[name]))
                for name in end
            }
        left = None if endless or behind is None else self.block(node.orelse, behind)
        breaks = loop.breaks
        if breaks is not None and isinstance(node, ast.For) and not _is_listed(node):
            breaks = {name: self.leaving(breaks[name], env[name]) for name in breaks}
        self.ends[id(node)] = left, breaks
        return _merge(left, breaks)

    def leaving(self, inside: frozenset[int], before: frozenset[int]) -> frozenset[int]:
        """What is defined in a loop, seen behind it: with numbers of its own."""
        found = set(inside & before)
        for number in inside - before:
            if number not in self.seen:
                self.seen[number] = len(self.definitions)
                self.behind[self.seen[number]] = number
                self.definitions.append(self.definitions[number])
            found.add(self.seen[number])
        return frozenset(found)


def _is_listed(loop: ast.For) -> bool:
    """Whether it is over a tuple or a list: then it is written out, and its numbers are known behind it."""
    return isinstance(loop.iter, ast.Tuple | ast.List)


def runs_always(iterated: ast.expr) -> bool:
    """Whether a loop over this has an iteration, whatever the arguments are."""
    if isinstance(iterated, ast.Tuple | ast.List):
        return bool(iterated.elts) and not any(
            isinstance(each, ast.Starred) for each in iterated.elts
        )
    if not (isinstance(iterated, ast.Call) and isinstance(iterated.func, ast.Name)):
        return False
    if iterated.func.id != "range" or iterated.keywords:
        return False
    try:
        return len(range(*(ast.literal_eval(each) for each in iterated.args))) > 0
    except (ValueError, TypeError):
        return False


def _copies(target: ast.expr, value: ast.expr) -> list[ast.Name]:
    """The names of a target that get the value of another name."""
    if isinstance(target, ast.Name) and isinstance(value, ast.Name):
        return [target]
    lists = ast.Tuple | ast.List
    if isinstance(target, lists) and isinstance(value, lists):
        if len(target.elts) == len(value.elts):
            pairs = zip(target.elts, value.elts, strict=True)
            return [name for one, other in pairs for name in _copies(one, other)]
    return []


class _Union:
    def __init__(self, size: int) -> None:
        self.parent = list(range(size))

    def find(self, one: int) -> int:
        while self.parent[one] != one:
            one = self.parent[one]
        return one

    def join(self, members: Iterable[int]) -> None:
        roots = sorted({self.find(each) for each in members})
        for root in roots[1:]:
            self.parent[root] = roots[0]


def find_webs(function: ast.FunctionDef) -> Webs:
    """The variables of a function."""
    flow = _Flow(function)
    env: Environment = {name: frozenset([UNDEFINED]) for name in flow.locals}
    arguments = function.args
    names: dict[int, str] = {}
    for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        env = flow.define(each, each.arg, env)
    end = flow.block(function.body, env)
    union = _Union(len(flow.definitions))
    kept = {number for reached in flow.reach.values() for number in reached} & flow.behind.keys()
    for number, own in flow.behind.items():
        union.join([number, own])
    for reached in flow.reach.values():
        union.join(reached - {UNDEFINED})
    for use, definition in flow.together:
        union.join((flow.reach[use] | {definition}) - {UNDEFINED})
    webs = Webs()
    webs.falls_through = end is not None
    counts: dict[str, int] = {}
    augmented = {definition for _, definition in flow.together}
    given: dict[int, int] = {}  # how often the variable of a root gets a value that no name had
    for number in range(len(flow.definitions)):
        if number not in augmented and number not in flow.copies and number not in flow.behind:
            given[union.find(number)] = given.get(union.find(number), 0) + 1
    for number, node in enumerate(flow.definitions):
        root = union.find(number)
        if number in flow.behind:
            continue
        if root not in names:
            plain = node.arg if isinstance(node, ast.arg) else node.id  # type: ignore[attr-defined]
            counts[plain] = counts.get(plain, 0) + 1
            name = plain if counts[plain] == 1 else f"{plain}_{counts[plain]}"
            while name in webs.names or (name != plain and name in flow.locals):
                counts[plain] += 1
                name = f"{plain}_{counts[plain]}"
            names[root] = name
            webs.names.add(name)
            webs.of_name.setdefault(plain, set()).add(name)
            webs.single.add(name)
            webs.once.add(name)
        else:
            webs.single.discard(names[root])
            if number not in augmented:
                webs.once.discard(names[root])
                if given.get(root, 0) <= 1:
                    webs.renamed.add(names[root])
        webs.name_of[id(node)] = names[root]
    # A number that is read behind the loop that gives it has a place in memory.
    webs.single -= {names[union.find(number)] for number in kept}
    for node_id, reached in flow.reach.items():
        known = reached - {UNDEFINED}
        if UNDEFINED in reached:
            webs.unassigned.add(node_id)
        if any(isinstance(flow.definitions[number], ast.arg) for number in reached - {UNDEFINED}):
            webs.given.add(node_id)
        if known:
            name = names[union.find(min(known))]
            webs.name_of[node_id] = name
    for statement in ast.walk(function):
        if isinstance(statement, ast.stmt) and statement is not function:
            if id(statement) not in flow.reached:
                webs.dead.add(id(statement))
    return webs
