"""What to write in place of what is no Alpha: ways out for syntax errors that people make who come from C,
Python or mathematics.

Each entry looks at the text around the place of the error. None of them changes what is accepted.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["advice_on", "meant_by"]

_EQUATIONS = "equations stand behind the word let"
_TYPES = "int, long, float, double, char and bool"


@dataclass(frozen=True)
class _Entry:
    """Advice for a place.

    Attributes:
        before: what the text up to the place ends with, as a regular expression.
        after: what it goes on with.
        advice: what to write, as a format: ``{0}`` is the first group of `before`, or of `after` if that has none.
    """

    before: str
    after: str
    advice: str


_PROGRAM = (
    _Entry(r"(?:^|[.;]\s*)\Z", r"(?:system|module|program|def|void)\b",
           "a system begins with affine NAME {{parameters | conditions}}"),
    _Entry(r"\baffine\s+\w+\s*\Z", r"\(",
           "parameters stand in a domain: {{N, M | N > 0 && M > 0}}"),
    _Entry(r"\b(?:input|output|local|given|returns|using)\b(?:[^={}]|\{[^}]*\})*\Z",
           r"(\w+)\s+\w+\s*[{,;]",
           "{0} is no type; types are " + _TYPES),
    _Entry(r"\b(?:input|output|local|given|returns|using)\b(?:[^={}]|\{[^}]*\})*\Z",
           r"\w+\s*(?:\[[^\]]*\]\s*)?=(?!=)", _EQUATIONS),
    _Entry(r"\b(?:input|output|local|given|returns|using)\b(?:[^={}]|\{[^}]*\})*\Z",
           r"\w+\s*[{,;]",
           "a declaration begins with a type: " + _TYPES),
    _Entry(r"\b(?:int|long|float|double|char|bool)\s+(?:\w+\s*,\s*)*(\w+)\s*\Z", r"\[",
           "{0} is declared with a domain, as in {0} {{i | 0 <= i < N}}"),
    _Entry(r"\b(?:int|long|float|double|char|bool)\s+(?:\w+\s*,\s*)*\Z", r"(\w+)",
           "{0} is a word of the language and no name of a variable"),
    _Entry(r"\|[^:}]*\Z", r"(?:and|,)",
           "conditions of a domain are joined by &&"),
    _Entry(r"[|{][^:}]*\w\s*\Z", r"!=", "of a domain, i != 1 is a union: {{i | i < 1}} || {{i | i > 1}}"),
    _Entry(r"[|{][^:}]*\w\s*%\s*\Z", r"[A-Za-z_]", "a domain is affine: i % 2 with a number, not a parameter"),
    _Entry(r"\|[^:}]*\Z", r"or\b", "conditions of a domain are joined by ||"),
    _Entry(r"\bcase\b(?:(?!\besac\b).)*\belse\s*\Z", r"",
           "a case has no else: each branch has its domain, as in {{| i > 0}} : E;"),
    _Entry(r"\bcase\b(?:(?!\besac\b).)*\b(otherwise|auto|default)\s*\Z", r":",
           "a case has no such branch: each has its domain, as in {{| i > 0}} : E;"),
    _Entry(r"[-+*/%]\s*if\b(?:(?!\bthen\b).)*\Z", r"",
           "a choice within an expression stands in parentheses: A[i] + (if C then E1 else E2)"),
    _Entry(r"\bcase\b(?:(?!\besac\b).)*;\s*\Z", r"(?:\.|\Z)",
           "a case ends with esac;"),
    _Entry(r"\bif\b(?:(?!\bthen\b).)*\Z", r"[\w(]",
           "a choice is if CONDITION then E1 else E2"),
    _Entry(r"\breduce\s*\(\s*\Z", r"(\w+)",
           "{0} is no operator of a reduction; these are +, *, min, max, and, or"),
    _Entry(r"\breduce\s*\(\s*[^,]*,\s*\Z", r"",
           "a reduction is reduce(+, [j], {{| 0 <= j < N}} : E): operator, reduced indices, body"),
    _Entry(r"\bfor\s*\Z", r"\w",
           "there are no loops: an equation is of all points of its variable's domain"),
    _Entry(r"\w\s*\Z", r"\([\w\s,+*-]*\)\s*=",
           "subscripts stand in brackets, as in X[i] = A[i];"),
    _Entry(r"\b(val|reduce|floor)\s*\Z", r"\[",
           "{0} is a word of the language and no name of a variable"),
    _Entry(r"\]\s*\Z", r"\[", "several subscripts stand in one pair of brackets, as in A[i,j]"),
    _Entry(r"\w\[[^\]]*\Z", r"/", "a subscript is affine: floor(i/2) rounds down"),
    _Entry(r"\w\[[^\]]*\w\s*\Z", r"\[",
           "a subscript reads no variable; choose the element, as in "
           "reduce(+, [j], if B[i] == [j] then A[j] else 0)"),
    _Entry(r"\w\[[^\]]*\Z", r":",
           "there are no slices: each equation names one element, and reduce goes over several"),
    _Entry(r"\*\Z", r"\*", "there is no power; multiply, or declare double pow(double, double); in front"),
    _Entry(r"\*\s*\*\s*\Z", r"",
           "there is no power; multiply, or declare double pow(double, double); in front"),
    _Entry(r"", r"\?", "choose by if CONDITION then E1 else E2, or by a case"),
    _Entry(r"", r"#", "a comment begins with // or stands in /* */"),
    _Entry(r"[+*/-]\Z", r"=", "a variable has one value at each point; a sum is a reduce"),
    _Entry(r"[\w\])]\s*\Z", r"\.\s*(?:\Z|affine\b)", "an equation ends with ;"),
)  # fmt: skip
_FUNCTION = (
    _Entry(r"\A\s*\Z", r"\w[^(]*->", "a function stands in parentheses, as in (i,j -> i+j)"),
)
_DOMAIN = (
    _Entry(r"\A\s*\Z", r"[^{]", "a domain stands in braces, as in {{i,j | 0 <= i < N && j == i}}"),
)
_ENTRIES = {"program": _PROGRAM, "function": _FUNCTION, "domain": (*_DOMAIN, *_PROGRAM)}


def advice_on(text: str, place: int, start: str) -> str | None:
    """What to write instead, if it is known.

    Args:
        text: what was read.
        place: where it stops being Alpha, from 0.
        start: what it was read as: ``program``, ``domain`` or ``function``.
    """
    plain = re.sub(r"//[^\n]*|/\*.*?\*/", lambda found: " " * len(found[0]), text, flags=re.DOTALL)
    before, after = plain[max(0, place - 2000) : place], plain[place:]
    for entry in _ENTRIES[start]:
        earlier = re.search(entry.before, before, re.DOTALL)
        later = re.match(entry.after, after, re.DOTALL)
        if earlier is not None and later is not None:
            groups = earlier.groups() or later.groups() or ("",)
            return entry.advice.format(*groups)
    return None


def meant_by(name: str, indices: Sequence[str], parameters: Sequence[str]) -> str:
    """What somebody may have meant who takes an index or a parameter for a variable."""
    if name not in indices and name not in parameters:
        return ""
    kind = "an index" if name in indices else "a parameter"
    return f"{name} is {kind}, whose value is [{name}]; an element of A is A[{name}]; "
