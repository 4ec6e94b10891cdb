"""Docstrings as Markdown, for the pages that are made of them."""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["markdown"]

_SECTION = re.compile(r"^(Args|Returns|Raises|Example):$")


def markdown(lines: Sequence[str]) -> str:
    """A docstring's text as Markdown: sections become lists, roles become code."""
    out: list[str] = []
    in_section = False
    for line in lines:
        section = _SECTION.match(line)
        if section is not None:
            in_section = section[1] in ("Args", "Returns", "Raises")
            if section[1] in ("Returns", "Raises"):
                out += ["", f"{section[1]}:", ""]
            elif in_section:
                out.append("")
        elif in_section and line.startswith("    ") and not line.startswith("     "):
            name, colon, rest = line.strip().partition(": ")
            out.append(f"- `{name}`: {rest}" if colon and " " not in name else f"- {line.strip()}")
        elif in_section and line.strip():
            out.append(f"  {line.strip()}")
        else:
            in_section = in_section and not line.strip()
            out.append(line)
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(out)).strip()
    return text.replace("``", "`")
