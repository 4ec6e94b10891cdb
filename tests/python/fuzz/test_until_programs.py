"""Iterations until data say so under random schedules: the library's verdict is that of a judge that writes out all
instances, and what is legal computes what NumPy says."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

import tilewright as tw
from fuzz.until_programs import declared, draw_until_case, expected, problem_of, schedule

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
