"""Blocks under random schedules: the library's verdict is that of a judge that writes out all instances, and what is
legal computes what NumPy says."""

from __future__ import annotations

import random

import numpy as np
import pytest

import tilewright as tw
from fuzz.block_programs import (
    SIZES,
    declared,
    draw_block_case,
    expected,
    problem_of,
    schedule,
)


def verdict(f, case):
    """Why the library refuses it, or None."""
    try:
        schedule(f, case)
    except tw.ScheduleError as error:
        return str(error)
    return None


@pytest.mark.parametrize("seed", range(12))
def test_the_library_judges_blocks_alike(seed: int) -> None:
    rng = random.Random(f"blocks {seed}")
    legal = illegal = 0
    for _ in range(12):
        case = draw_block_case(rng)
        f = declared(case)
        refused = verdict(f, case)
        problems = [found for sizes in SIZES if (found := problem_of(case, *sizes))]
        if refused is None:
            assert not problems, f"{case}: found legal, but {problems[0]}"
            legal += 1
        else:
            assert problems, f"{case}: refused for nothing: {refused}"
            illegal += 1
    assert legal and illegal


@pytest.mark.parametrize("seed", range(4))
def test_legal_schedules_of_blocks_compute_the_same(seed: int) -> None:
    rng = random.Random(f"values {seed}")
    compared = 0
    while compared < 4:
        case = draw_block_case(rng)
        f = declared(case)
        if verdict(f, case) is not None:
            continue
        for n, m in ((4, 3), (1, 1), (0, 2), (3, 0)):
            x = np.random.default_rng(seed).integers(-9, 9, (n + 2, m))
            np.testing.assert_array_equal(f(x), expected(case, x), err_msg=str(case))
        # In one kernel with the loops as declared, whose arrays have other numbers.
        f["A"].cache("x", "i")
        f.when_work(rng.choice((10, 40)))
        for n, m in ((4, 3), (1, 1), (5, 0)):
            x = np.random.default_rng(seed).integers(-9, 9, (n + 2, m))
            np.testing.assert_array_equal(f(x), expected(case, x), err_msg=f"{case}, versions")
            np.testing.assert_array_equal(f.evaluate(x), expected(case, x), err_msg=str(case))
        compared += 1
