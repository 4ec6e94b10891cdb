"""Jumps forward: `goto`, cases that fall through, a `break` or `return` in the middle of something. The translation,
compiled in the program's order and as scheduled, gives gcc's bits."""

from __future__ import annotations

import pathlib
import re
from typing import Any

import numpy as np
import pytest
from c_oracle import assert_same_bits, check_text, compiled, copies, run_c, schedule

from tilewright.frontends.c import load

PROGRAMS = (pathlib.Path(__file__).parent / "jumps.txt").read_text(encoding="utf-8")
CASES = dict(part.split("\n", 1) for part in re.split(r"^=== ", PROGRAMS, flags=re.M)[1:])


@pytest.mark.parametrize("title", CASES)
def test_the_program_gives_the_bits_of_gcc(title: str) -> None:
    rng = np.random.default_rng(len(title))
    for n in (11, 8):
        arguments: list[Any] = [n, rng.integers(0, 10, n).astype(np.int32), np.full(n, 3, np.int32)]
        check_text(CASES[title], arguments)
    function = load(CASES[title], scop="function").f
    theirs = copies(arguments)
    expected = run_c(compiled(CASES[title]), function, theirs)
    for order in ("program", "found"):
        if order == "found":
            schedule(function)
        ours = copies(arguments)
        assert function(*ours) == expected, order
        for value, wanted in zip(ours[1:], theirs[1:], strict=True):
            assert_same_bits(value, wanted, f"{title}, order: {order}")


def test_forward_jumps_out_of_a_scop_within_it() -> None:
    text = """
    void f(int n, double x[n]) {
    #pragma scop
      for (int i = 0; i < n; i++) { if (i == 3) goto skip; x[i] = i; skip: ; }
    #pragma endscop
    }"""
    x = np.full(6, -1.0)
    load(text).f(6, x)
    assert x.tolist() == [0, 1, 2, -1, 4, 5]
