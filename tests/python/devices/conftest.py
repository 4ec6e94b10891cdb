"""The tests of this folder run on a test double of libcuda that stands for two devices."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from fake_cuda import Fake, two_devices


@pytest.fixture(scope="module")
def fake() -> Iterator[Fake]:
    with two_devices() as double:
        yield double


@pytest.fixture
def nothing_stays(fake: Fake) -> Iterator[None]:
    before = fake.bytes_in_use(0), fake.bytes_in_use(1)
    yield
    gc.collect()
    assert (fake.bytes_in_use(0), fake.bytes_in_use(1)) == before
    assert fake.depth() == 0
