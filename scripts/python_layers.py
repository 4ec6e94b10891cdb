"""Checks that each wing of python/tilewright imports only what stands below it, and that there is no
circle: neither between wings nor between the files of one.

The order is that of the README's picture: a wing may import the wings named for it here and those
that they may import. Imports count wherever they stand: at the top of a file, inside functions, and
those that only type checkers see.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

PACKAGE = "tilewright"
USES: dict[str, set[str]] = {
    "base": set(),
    "sets": {"base"},
    "language": {"sets"},
    "schedule": {"language"},
    "inspection": {"schedule"},
    "devices": {"language"},
    "export": {"schedule"},
    "tuning": {"schedule", "devices"},
    "functions": {"inspection", "devices", "export", "tuning"},
    "streams": {"functions"},
    # The package's own names, __init__.py and cuda.py: what people import.
    PACKAGE: {"functions", "streams"},
    # Written as people write programs: by `import tilewright as tw`.
    "kernels": {PACKAGE},
    "frontends": {PACKAGE},
    "tools": {"kernels", "frontends"},
    # Modules that are run, `python -m tilewright.demo`: the names that the documentation gives.
    "commands": {"tools"},
}
WING_OF_FILE = {
    f"{PACKAGE}.__main__": "commands",
    f"{PACKAGE}.demo": "commands",
    f"{PACKAGE}.error_codes": "commands",
    f"{PACKAGE}.reference": "commands",
}
# The extension module stands below everything.
CORE = f"{PACKAGE}._core"

# (file, what it names) -> why. Only type checkers follow these.
ONLY_TYPES = {
    (f"{PACKAGE}.base.errors", f"{PACKAGE}.functions.functions"): (
        "the error of a refused command carries the function that it was given to: people's "
        "programs are checked against its type"
    ),
    (f"{PACKAGE}.schedule.commands", f"{PACKAGE}.functions.functions"): (
        'f["C"].function is the function that people have, of the class that they know'
    ),
    (f"{PACKAGE}.schedule.scans", f"{PACKAGE}.functions.functions"): (
        "a scan is a function of the class that people know"
    ),
    (PACKAGE, f"{PACKAGE}.kernels"): "tw.kernels is loaded when somebody names it",
    (PACKAGE, f"{PACKAGE}.frontends.alpha"): "tw.alpha is loaded when somebody names it",
    (PACKAGE, f"{PACKAGE}.frontends.loops"): "tw.jit is loaded when somebody names it",
    (PACKAGE, f"{PACKAGE}.frontends.c"): "tw.c is loaded when somebody names it",
}


def reach(wing: str) -> set[str]:
    """The wings that ``wing`` may import, itself among them."""
    seen = {wing}
    for below in USES[wing]:
        seen |= reach(below)
    return seen


def module_name(path: Path, folder: Path) -> str:
    """``tilewright.base.errors``; a package is named without its ``__init__``."""
    parts = (PACKAGE, *path.relative_to(folder).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def wing_of(module: str, packages: set[str]) -> str:
    """The wing that a module belongs to."""
    if module in WING_OF_FILE:
        return WING_OF_FILE[module]
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and f"{PACKAGE}.{parts[1]}" in packages else PACKAGE


def only_for_types(tree: ast.Module) -> set[ast.AST]:
    """The nodes in blocks of ``if TYPE_CHECKING:``."""
    return {
        node
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and "TYPE_CHECKING" in ast.unparse(block.test)
        for statement in block.body
        for node in ast.walk(statement)
    }


def imported(node: ast.AST, module: str, modules: dict[str, Path]) -> Iterator[str]:
    """The modules of the package that a statement imports."""
    if isinstance(node, ast.Import):
        for name in node.names:
            if name.name.split(".")[0] == PACKAGE:
                yield name.name
        return
    if not isinstance(node, ast.ImportFrom):
        return
    base = node.module or ""
    if node.level:
        is_package = modules[module].name == "__init__.py"
        parts = module.split(".")
        parts = parts[: len(parts) - node.level + (1 if is_package else 0)]
        base = ".".join([*parts, base] if base else parts)
    if base.split(".")[0] != PACKAGE:
        return
    for name in node.names:
        below = f"{base}.{name.name}"
        yield below if below in modules or below == CORE else base


def circles(edges: dict[str, set[str]]) -> Iterator[list[str]]:
    """The sets of modules that import each other (Tarjan: strongly connected components)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []

    def visit(node: str) -> Iterator[list[str]]:
        index[node] = low[node] = len(index)
        stack.append(node)
        for following in sorted(edges.get(node, ())):
            if following not in index:
                yield from visit(following)
                low[node] = min(low[node], low[following])
            elif following in stack:
                low[node] = min(low[node], index[following])
        if low[node] == index[node]:
            members = [stack.pop()]
            while members[-1] != node:
                members.append(stack.pop())
            if len(members) > 1 or node in edges.get(node, ()):
                yield sorted(members)

    for node in sorted(edges):
        if node not in index:
            yield from visit(node)


def problems(folder: Path) -> Iterator[str]:
    """What is wrong in a package's folder, a line each."""
    modules = {module_name(path, folder): path for path in sorted(folder.rglob("*.py"))}
    packages = {name for name, path in modules.items() if path.name == "__init__.py"}
    edges: dict[str, set[str]] = {}
    used: set[tuple[str, str]] = set()
    for module, path in modules.items():
        wing = wing_of(module, packages)
        shown = path.relative_to(folder.parent)
        if wing not in USES:
            yield f"{shown}: {wing} is not a known wing"
            continue
        allowed = reach(wing)
        tree = ast.parse(path.read_text(encoding="utf-8"))
        typing_only = only_for_types(tree)
        for node in ast.walk(tree):
            for other in imported(node, module, modules):
                if other == CORE or other.startswith(CORE + "."):
                    continue
                if (module, other) in ONLY_TYPES and node in typing_only:
                    used.add((module, other))
                    continue
                edges.setdefault(module, set()).add(other)
                if wing_of(other, packages) not in allowed:
                    line = getattr(node, "lineno", 0)
                    yield f"{shown}:{line}: {wing} may not import {other}"
    for circle in circles(edges):
        yield "these import each other: " + ", ".join(circle)
    for module, other in ONLY_TYPES.keys() - used:
        yield f"{module} does not name {other} any more: take it out of ONLY_TYPES"


def main() -> int:
    found = list(problems(Path(__file__).resolve().parent.parent / "python" / PACKAGE))
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
