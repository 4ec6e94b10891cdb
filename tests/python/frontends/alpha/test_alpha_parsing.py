"""What reading costs, by counting: tables of the grammar are made once, attributes once for each equation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import lark
import pytest

import tilewright as tw
from children import run_python
from tilewright.base import notes
from tilewright.frontends.alpha import attributes, checking, parsing

PROGRAM = """affine t {N | N>3}
  input  double A {i | 0<=i<N};
  output double X, Y {i | 0<=i<N};
  let
    X[i] = case {i==0} : A[i]; {i>0} : X[i-1] + A[i]; esac;
    Y[i] = reduce(+, [j], {| 0<=j<=i} : X[j]);
.
"""
MALFORMED = (
    "affine t {N | N>3} input double A {i | 0<=i<N} let",
    "affine t {N | N>3} $",
    PROGRAM.replace("esac", ""),
    PROGRAM.replace("[j]", "{j}"),
)


@pytest.fixture
def no_parser() -> Iterator[None]:
    """No parser is there before and after."""
    parsing.parser.cache_clear()
    yield
    parsing.parser.cache_clear()


def complaints() -> list[str]:
    found = []
    for text in MALFORMED:
        with pytest.raises(tw.DeclarationError) as caught:
            tw.alpha.load(text)
        found.append(caught.value.message)
    return found


@pytest.mark.usefixtures("no_parser")
def test_tables_of_the_grammar_are_kept_for_the_next_process(monkeypatch: Any) -> None:
    monkeypatch.setattr(notes, "load", lambda key: None)
    made, expected = str(tw.alpha.load(PROGRAM)), complaints()
    monkeypatch.undo()
    parsing.parser.cache_clear()

    def refused(*arguments: Any, **keywords: Any) -> None:
        raise AssertionError("the tables are made again")

    monkeypatch.setattr(lark.Lark, "__init__", refused)
    assert str(tw.alpha.load(PROGRAM)) == made
    assert complaints() == expected


@pytest.mark.usefixtures("no_parser")
@pytest.mark.parametrize("content", [3, "", "no base 64", "YWJj", [1], None])
def test_tables_that_are_damaged_are_made_again(monkeypatch: Any, content: object) -> None:
    monkeypatch.setattr(notes, "load", lambda key: content)
    assert list(tw.alpha.load(PROGRAM)) == ["t"]


def test_attributes_are_found_once_for_each_equation(monkeypatch: Any) -> None:
    found = []

    def counted(*arguments: Any) -> attributes.Attributes:
        found.append(arguments[1])
        return attributes.attributes_of(*arguments)

    monkeypatch.setattr(checking, "attributes_of", counted)
    program = tw.alpha.load(PROGRAM)
    assert found == [each.expression for each in program.system("t").equations]


LAZY = """
import sys
import numpy as np
import tilewright as tw
p = tw.alpha.load("affine t {N | N>0} input long A {i | 0<=i<N}; output long X {i | 0<=i<N}; let X[i] = 2*A[i]; .")
assert (p["t"](np.arange(3)) == [0, 2, 4]).all()
assert "tilewright.frontends.alpha.commands" not in sys.modules
assert {*tw.alpha.__all__} <= {*dir(tw.alpha)}
assert str(tw.alpha.Rewrites([("Simplify", [], {})])) == "p = tw.alpha.Simplify(p)"
assert [getattr(tw.alpha, each) for each in tw.alpha.__all__]
"""


def test_commands_are_loaded_when_one_is_named() -> None:
    run_python("-c", LAZY)


def test_reads_at_fixed_distances_are_no_question_of_self_dependence(monkeypatch: Any) -> None:
    def asked(*arguments: Any) -> Any:
        raise AssertionError("isl is asked")

    monkeypatch.setattr(checking, "edges_of", asked)
    tw.alpha.load(PROGRAM)
    for read in ("X[N-i]", "reduce(+, [j], {| 0<=j<i} : X[j])"):
        with pytest.raises(AssertionError, match="isl is asked"):
            tw.alpha.load(PROGRAM.replace("X[i-1]", read))
    monkeypatch.undo()
    with pytest.raises(tw.SelfDependenceError, match="X needs its own value, for example at"):
        tw.alpha.load(PROGRAM.replace("X[i-1]", "(i->i+1)@(i->i-1)@X"))
