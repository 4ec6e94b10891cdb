"""What of `tw.alpha` is loaded when somebody first names one of it; reading and calling programs needs none of it."""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["load"]

_MODULES = (
    ".commands",
    ".graphs",
    ".mapping.commands",
    ".saying.functions",
    ".scripts",
    ".simplification.simplify",
    ".verifier",
)


def load() -> dict[str, Any]:
    """All that these modules have, by name; commands among it register themselves with `history`."""
    modules = [importlib.import_module(name, __package__) for name in _MODULES]
    return {name: getattr(module, name) for module in modules for name in module.__all__}
