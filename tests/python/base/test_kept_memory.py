"""The memory of temporaries is kept between calls, and never more of it than the limit."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import tilewright as tw

MIB = 1 << 20
i, j = tw.iters("i j")


@pytest.fixture(autouse=True)
def limit() -> Iterator[None]:
    tw.release_memory()
    tw.set_kept_memory_limit(64 * MIB)
    yield
    del tw.settings.keep_memory
    tw.release_memory()


def stored_twice() -> tw.Function:
    N = tw.param("N", "N >= 1")
    A = tw.input("A", [N], tw.float32)
    B = tw.computation("B", {i: N}, A[i] * 2)
    C = tw.computation("C", {i: N}, B[i] + B[N - 1 - i])
    return tw.function("stored", outputs=[C])


def test_kept_for_the_next_call() -> None:
    f = stored_twice()
    a = np.random.default_rng(0).random(MIB, dtype=np.float32)
    expected = 2 * a + 2 * a[::-1]
    np.testing.assert_allclose(f(a), expected, rtol=1e-6)
    kept = tw.kept_memory()
    assert kept == 4 * MIB
    for _ in range(3):
        np.testing.assert_allclose(f(a), expected, rtol=1e-6)
    assert tw.kept_memory() == kept
    tw.release_memory()
    assert tw.kept_memory() == 0


def test_never_more_than_the_limit() -> None:
    f = stored_twice()
    for size in range(1, 24):
        a = np.ones(size * MIB, dtype=np.float32)
        assert f(a)[size] == 4
        assert tw.kept_memory() <= 64 * MIB
    tw.set_kept_memory_limit(8 * MIB)
    assert tw.kept_memory() <= 8 * MIB
    tw.set_kept_memory_limit(0)
    f(np.ones(MIB, dtype=np.float32))
    assert tw.kept_memory() == 0


def test_the_limit_is_a_setting() -> None:
    assert tw.settings.keep_memory == 64
    assert "keep_memory = 64  # program" in repr(tw.settings)
    tw.set_kept_memory_limit(3 * MIB // 2)
    assert tw.settings.keep_memory == 1.5
    f = stored_twice()
    f(np.ones(MIB // 4, dtype=np.float32))
    assert tw.kept_memory() == MIB
    with tw.settings(keep_memory=0.5):
        assert tw.kept_memory() == 0
        f(np.ones(MIB // 4, dtype=np.float32))
        assert tw.kept_memory() == 0
    assert tw.settings.keep_memory == 1.5
    del tw.settings.keep_memory
    assert tw.settings.keep_memory == 512


def test_limits_that_are_none() -> None:
    with pytest.raises(ValueError, match="at least 0, got -1"):
        tw.set_kept_memory_limit(-1)
    with pytest.raises(TypeError, match=r"must be an integer, got 1.5"):
        tw.set_kept_memory_limit(1.5)  # type: ignore[arg-type]
