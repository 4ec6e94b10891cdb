"""Iterations until data say so under random schedules: the library's verdict is that of a judge that writes out all
instances, and what is legal computes what NumPy says."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

import tilewright as tw
from fuzz.until_programs import UntilCase, declared, draw_until_case, expected, problem_of, schedule

SIZES = tuple(itertools.product((3, 2, 1, 0), (4, 3, 2, 1)))


def verdict(f, case):
    """Why the library refuses it, or None."""
    try:
        schedule(f, case)
    except tw.IllegalScheduleError as error:
        return str(error)
    return None


@pytest.mark.parametrize("seed", range(12))
def test_the_library_judges_iterations_alike(seed: int) -> None:
    rng = random.Random(f"until {seed}")
    legal = illegal = 0
    while not (legal and illegal) or legal + illegal < 8:
        case = draw_until_case(rng)
        refused = verdict(declared(case), case)
        problems = [found for sizes in SIZES if (found := problem_of(case, *sizes))]
        if refused is None:
            assert not problems, f"{case}: found legal, but {problems[0]}"
            legal += 1
        else:
            assert problems, f"{case}: refused for nothing: {refused}"
            illegal += 1


@pytest.mark.parametrize("seed", range(4))
def test_legal_schedules_of_iterations_compute_the_same(seed: int) -> None:
    rng = random.Random(f"values {seed}")
    compared = 0
    while compared < 3:
        case = draw_until_case(rng)
        f = declared(case)
        if verdict(f, case) is not None:
            continue
        for n in (4, 1, 0):
            x = np.random.default_rng(seed).integers(-9, 9, n)
            for values, steps in (f(x), f.evaluate(x)):
                wanted, made = expected(case, x)
                assert steps == made, case
                np.testing.assert_array_equal(values, wanted, err_msg=str(case))
        compared += 1


@pytest.mark.parametrize("written", ["", "places", "T"])
def test_the_library_refuses_a_late_computation(written: str) -> None:
    """Nobody in the loop reads z, and each z[t] waits for all tests; but z[T - 1] would run in an iteration that is
    never made."""
    case = UntilCase(1, False, False, False, kept={"v": 2}, iterations="later", of="z")
    case.written = written
    refused = verdict(declared(case), case)
    assert refused is not None and "has to be the outermost one" in refused


def test_the_library_says_what_does_not_wait() -> None:
    case = UntilCase(1, False, False, False, iterations="reversed", of="z")
    refused = verdict(declared(case), case)
    assert refused is not None and "has said whether its iteration is made" in refused
    case = UntilCase(1, False, False, False, early="n")
    refused = verdict(declared(case), case)
    assert refused is not None and "has said which iteration is the last" in refused
