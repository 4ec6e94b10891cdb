"""Random programs over unbounded time, in random chunks and periods, beside their definition in plain
Python; `drawn_streams` runs any number of them."""

from __future__ import annotations

import pytest
from drawn_streams import check


@pytest.mark.parametrize("seed", range(30))
def test_random_programs(seed: int) -> None:
    assert check(seed)


def test_random_programs_with_rows_in_place() -> None:
    kinds = [check(seed, in_place=True) for seed in range(2000, 2010)]
    assert sum(kind.startswith("in ") for kind in kinds) >= 6
    assert sum(kind.startswith("in tiles") for kind in kinds) >= 3
