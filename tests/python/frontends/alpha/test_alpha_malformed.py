"""Damaged programs are refused with line and column, or work; nothing else comes out."""

from __future__ import annotations

import pytest
from malformed_programs import damaged, fault_of

import tilewright as tw


@pytest.mark.parametrize("seed", range(60))
def test_damaged_programs(seed: int) -> None:
    text = damaged(seed)
    assert not fault_of(text), text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("affine f {N|N>0} output long X; let X = " + "9" * 5000 + "; .", "does not fit into 64 bits"),
        ("affine f {N|N>" + "9" * 5000 + "} output long X; let X = 1; .", "does not fit into 64 bits"),
        ("affine f {N|N>0} output long X {i|0<=i<N}; let X[i] = [9223372036854775808i]; .",
         "9223372036854775808 does not fit into 64 bits"),
    ],
)  # fmt: skip
def test_integers_that_are_too_large(text: str, message: str) -> None:
    with pytest.raises(tw.DeclarationError, match=message) as caught:
        tw.alpha.load(text)
    assert caught.value.details["line"] == "1"


@pytest.mark.parametrize("text", ["", " ", "\n"])
def test_no_text_at_all(text: str) -> None:
    with pytest.raises(tw.DeclarationError, match="the text holds nothing, no system; one begins"):
        tw.alpha.load(text)


def test_a_system_without_outputs_is_no_function() -> None:
    program = tw.alpha.load("affine f {N|N>0} input long A {i|0<=i<N}; let .")
    with pytest.raises(tw.DeclarationError, match="line 1, column 8: f has no output"):
        program["f"]


def test_variables_whose_names_begin_like_words_of_the_language() -> None:
    for word in (
        "letter",
        "inputs",
        "outputs",
        "given2",
        "locals_",
        "throughput",
        "overs",
        "unsigned_",
    ):
        program = tw.alpha.load(
            f"affine f {{N|N>0}} input long {word} {{i|0<=i<N}}; output long B {{i|0<=i<N}};"
            f"local long L{word} {{i|0<=i<N}}; let L{word}[i] = {word}[i]; B[i] = L{word}[i] + {word}[i]; ."
        )
        assert tw.alpha.load(str(program)) == program
