"""Normalize: the 22 rules that bring cases to the top (CSU TR CS12-101, section 4.4.1; Mauras 1989).

Afterwards a case stands only at the top of an equation or of the body of a reduction, restrictions
only just inside of it, and dependences only in front of variables, constants and reductions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import tilewright as tw

from ..conversions import promoted, type_of
from ..tree import (
    Binary,
    Call,
    Case,
    Dependence,
    Expression,
    If,
    Index,
    Restrict,
    System,
    Unary,
    children,
    with_children,
)
from .converting import of_type, with_types_kept

__all__ = ["RULES", "normalize", "normalized"]

Rule = Callable[[Expression], "Expression | None"]


def rule_1(node: Expression) -> Expression | None:
    """f@E => E, if f(z) = z"""
    if isinstance(node, Dependence) and node.function.is_identity:
        return node.body
    return None


def _over_operands(node: Expression, kind: type[Expression]) -> Expression | None:
    """f@op(E1, ...) => op(f@E1, ...)"""
    if not (isinstance(node, Dependence) and isinstance(node.body, kind)):
        return None
    function = node.function
    below = [Dependence(function, each, position=node.position) for each in children(node.body)]
    return with_children(node.body, below)


def rule_2(node: Expression) -> Expression | None:
    """f@(E1 op E2) => (f@E1) op (f@E2), external functions too"""
    return _over_operands(node, Binary) or _over_operands(node, Call)


def _restriction_out(node: Expression, number: int) -> Expression | None:
    """op(..., D : E, ...) => D : op(..., E, ...), for the operand of this number"""
    below = list(children(node))
    inner = below[number]
    if not isinstance(inner, Restrict):
        return None
    below[number] = inner.body
    return Restrict(inner.domain, with_children(node, below), position=inner.position)


def _case_out(node: Expression, number: int) -> Expression | None:
    """op(..., case E1; ... esac, ...) => case op(..., E1, ...); ... esac"""
    below = list(children(node))
    inner = below[number]
    if not isinstance(inner, Case):
        return None
    branches = []
    for each in inner.branches:
        below[number] = each
        branches.append(with_children(node, below))
    return Case(tuple(branches), position=inner.position)


def _of(
    kinds: type[Expression] | tuple[type[Expression], ...],
    number: int | None,
    out: Callable[[Expression, int], Expression | None],
) -> Rule:
    """A rule for one operand of a kind of node; for all but the first if the number is None."""

    def rule(node: Expression) -> Expression | None:
        if not isinstance(node, kinds):
            return None
        count = len(children(node))
        chosen = range(1, count) if number is None else range(number, min(number + 1, count))
        for each in chosen:
            found = out(node, each)
            if found is not None:
                return found
        return None

    return rule


def rule_5(node: Expression) -> Expression | None:
    """f2@(f1@E) => f@E, where f = f1 o f2"""
    if isinstance(node, Dependence) and isinstance(node.body, Dependence):
        return replace(node, function=node.body.function.after(node.function), body=node.body.body)
    return None


def rule_6(node: Expression) -> Expression | None:
    """D1 : (D2 : E) => D1 and D2 : E"""
    if isinstance(node, Restrict) and isinstance(node.body, Restrict):
        return replace(node, domain=node.domain & node.body.domain, body=node.body.body)
    return None


def rule_7(node: Expression) -> Expression | None:
    """f@(D : E) => D' : (f@E), where D' is the preimage of D by f"""
    if isinstance(node, Dependence) and isinstance(node.body, Restrict):
        inner = replace(node, body=node.body.body)
        return Restrict(node.body.domain.preimage(node.function), inner, position=node.position)
    return None


def rule_8(node: Expression) -> Expression | None:
    """f@u(E) => u(f@E)"""
    return _over_operands(node, Unary)


def rule_10(node: Expression) -> Expression | None:
    """A case in a case: its branches among those of the outer one."""
    if not isinstance(node, Case) or not any(isinstance(each, Case) for each in node.branches):
        return None
    branches: list[Expression] = []
    for each in node.branches:
        branches += each.branches if isinstance(each, Case) else (each,)
    return replace(node, branches=tuple(branches))


def rule_14(node: Expression) -> Expression | None:
    """f@(case E1; ... esac) => case (f@E1); ... esac"""
    return _over_operands(node, Case)


def rule_15(node: Expression) -> Expression | None:
    """D : (case E1; ... esac) => case D : E1; ... esac"""
    if not (isinstance(node, Restrict) and isinstance(node.body, Case)):
        return None
    branches = tuple(replace(node, body=each) for each in node.body.branches)
    return replace(node.body, branches=branches)


def rule_16(node: Expression) -> Expression | None:
    """f@(if E1 then E2 else E3) => if (f@E1) then (f@E2) else (f@E3)"""
    return _over_operands(node, If)


#: The rules by their numbers in the report. Calls of external functions are operators of any number of
#: operands, of which rules 3 and 12 take the first, rules 4 and 11 the others.
RULES: dict[int, Rule] = {
    1: rule_1,
    2: rule_2,
    3: _of((Binary, Call), 0, _restriction_out),
    4: _of((Binary, Call), None, _restriction_out),
    5: rule_5,
    6: rule_6,
    7: rule_7,
    8: rule_8,
    9: _of(Unary, 0, _restriction_out),
    10: rule_10,
    11: _of((Binary, Call), None, _case_out),
    12: _of((Binary, Call), 0, _case_out),
    13: _of(Unary, 0, _case_out),
    14: rule_14,
    15: rule_15,
    16: rule_16,
    17: _of(If, 0, _restriction_out),
    18: _of(If, 1, _restriction_out),
    19: _of(If, 2, _restriction_out),
    20: _of(If, 0, _case_out),
    21: _of(If, 1, _case_out),
    22: _of(If, 2, _case_out),
}


def _index_rule(node: Expression) -> Expression | None:
    """f@val(g) => val(g o f): an index expression is a leaf that has a function already."""
    if isinstance(node, Dependence) and isinstance(node.body, Index):
        return replace(node.body, function=node.body.function.after(node.function))
    return None


def normalized(
    node: Expression, context: tw.Set, kind_of: Callable[[Expression], str] = lambda _: "double"
) -> Expression:
    """An expression in normal form; branches that no point has are left out.

    Args:
        node: the expression.
        context: the parameter domain.
        kind_of: the type of an expression of the system; without it, all are of one type.
    """
    below = [normalized(each, context, kind_of) for each in children(node)]
    node = with_types_kept(with_children(node, below), kind_of)
    for rule in (*RULES.values(), _index_rule):
        found = rule(node)
        if found is not None:
            return normalized(found, context, kind_of)
    if isinstance(node, Case):
        kept = tuple(each for each in node.branches if not _is_nowhere(each, context))
        if 0 < len(kept) < len(node.branches):
            whole = kind_of(node)
            left = kind_of(replace(node, branches=kept))
            if promoted(left) != promoted(whole):
                kept = tuple(of_type(each, kind_of(each), whole) for each in kept)
            node = replace(node, branches=kept)
    return node


def _is_nowhere(node: Expression, context: tw.Set) -> bool:
    return isinstance(node, Restrict) and node.domain.within(context).is_empty


def normalize(system: System) -> System:
    """All equations in normal form::

    U = (i, j -> i+j)@(Y + Z) * case {i, j | i==0} : W; {i, j | i>0} : V; esac;

    U = case
      {i, j | i==0} : ((i, j -> i+j)@Y + (i, j -> i+j)@Z) * W;
      {i, j | i>0} : ((i, j -> i+j)@Y + (i, j -> i+j)@Z) * V;
    esac;
    """
    return system.mapped(
        lambda expression, _: normalized(
            expression, system.context, lambda node: type_of(system, node)
        )
    )
