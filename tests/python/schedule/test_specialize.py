"""specialize: versions for some parameters beside the one for all, chosen by a test of parameters in one kernel."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tilewright as tw

i, j, k = tw.iters("i j k")
N, M = tw.params("N M", "N >= 1 and M >= 1")


def scaled() -> tw.Function:
    A = tw.input("A", [N], tw.float32)
    C = tw.computation("C", {i: N}, 2 * A[i])
    return tw.function("f", outputs=[C], default_schedule=False)


def matrix() -> tw.Function:
    A = tw.input("A", [N, M], tw.float32)
    C = tw.computation("C", {i: N, j: M}, tw.sqrt(A[i, j]) + i * 10 + j)
    return tw.function("f", outputs=[C], default_schedule=False)


def random(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).random(shape, dtype=np.float32)


def test_a_version_has_no_remainder() -> None:
    f = scaled()
    f["C"].split(i, 8)
    f.specialize(N % 8 == 0)
    version, _, general = f.loops.partition("else:")
    assert re.match(r"if N % 8 == 0:\n", version)
    assert "for i1 in range(0, 8):" in version
    assert "min" not in version
    assert "min(8, N - 8 * i0)" in general
    for n in (1, 7, 8, 9, 64, 100):
        np.testing.assert_array_equal(f(random(n)), 2 * random(n))


def test_vectors_of_a_version_are_whole() -> None:
    f = scaled()
    f["C"].vectorize(i, 8)
    f.specialize(N % 8 == 0)
    plain = scaled()
    plain["C"].vectorize(i, 8)
    assert f.llvm.count("<8 x float>") > plain.llvm.count("<8 x float>")
    version, _, general = f.loops.partition("else:")
    assert "min" not in version
    assert "min" in general
    for n in (1, 7, 8, 9, 64, 100):
        np.testing.assert_array_equal(f(random(n)), 2 * random(n))


def test_the_first_that_holds_runs() -> None:
    f = matrix()
    f["C"].tile(i, j, 4, 8)
    f.specialize((N % 4 == 0) & (M % 8 == 0)).specialize(M % 8 == 0).specialize(N >= 32)
    text = f.loops
    assert text.index("N % 4 == 0") < text.index("N >= 32")
    assert text.count("for i0 in") == 4
    for n in (1, 4, 5, 8, 33):
        for m in (1, 3, 8, 16, 21):
            a = random(n, m)
            np.testing.assert_array_equal(f(a), f.evaluate(a))


def test_one_value_is_a_number_in_its_version() -> None:
    f = scaled().specialize(N == 1024)
    version, _, general = f.loops.partition("else:")
    assert "range(0, 1024)" in version
    assert "range(0, N)" in general
    for n in (1023, 1024):
        np.testing.assert_array_equal(f(random(n)), 2 * random(n))


def test_it_is_a_command_of_the_schedule() -> None:
    f = scaled().specialize(N % 8 == 0).specialize("N >= 100")
    assert str(f.schedule) == 'f.specialize("N mod 8 = 0")\nf.specialize("N >= 100")'
    g = f.schedule.apply_to(scaled())
    assert (g.schedule, g.loops) == (f.schedule, f.loops)
    assert len({scaled()._key(), f._key(), scaled().specialize(N % 8 == 0)._key()}) == 3
    assert scaled().specialize(N % 8 == 0)._key() == scaled().specialize("N mod 8 = 0")._key()
    assert "- f.specialize" in str(f.schedule.diff(scaled().specialize(N % 8 == 0).schedule))


def test_commands_after_it_are_of_all_versions() -> None:
    f = scaled().specialize(N % 8 == 0)
    f["C"].split(i, 8)
    assert f.loops.count("for i0 in") == 2
    np.testing.assert_array_equal(f(random(24)), 2 * random(24))


def test_what_fix_decides_is_not_asked() -> None:
    never, always = (scaled().specialize(N % 8 == 0) for _ in range(2))
    assert "if" not in never.fix(N=12).loops
    assert "if" not in always.fix(N=16).loops
    np.testing.assert_array_equal(never(random(12)), 2 * random(12))
    np.testing.assert_array_equal(always(random(16)), 2 * random(16))


def test_temporaries_and_buffers_of_versions() -> None:
    A = tw.input("A", [N, M], tw.float32)
    B = tw.computation("B", {i: N, j: M}, A[i, j] + 1)
    D = tw.computation("D", {i: N, j: M}, B[i, M - 1 - j] * 2)
    C = tw.computation("C", {i: N, j: M}, D[N - 1 - i, j] - B[i, j])
    f = tw.function("f", outputs=[C], default_schedule=False)
    f["D"].split(i, 4).cache("B", "i0")
    f["C"].parallelize(i)
    f.specialize(N % 4 == 0).specialize(M == 16)
    for n, m in ((4, 16), (8, 5), (5, 16), (7, 9)):
        a = random(n, m)
        np.testing.assert_array_equal(f(a), f.evaluate(a))
        f.check_bounds = True
        np.testing.assert_array_equal(f(a), f.evaluate(a))
        f.check_bounds = False


def test_gathers_are_checked_in_each_version() -> None:
    A, P = tw.input("A", [M], tw.float32), tw.input("P", [N], tw.int64)
    f = tw.function("f", outputs=[tw.computation("C", {i: N}, A[P[i]])], default_schedule=False)
    f.specialize(N % 4 == 0)
    for n in (4, 5):
        index = np.arange(n)[::-1].copy()
        np.testing.assert_array_equal(f(random(9), index), random(9)[index])
        with pytest.raises(tw.SubscriptError, match=r"A\[P\[i\]\]"):
            f(random(9), index + 7)


def test_profiles_and_traces_of_versions() -> None:
    f = scaled().specialize(N % 4 == 0)
    profile = f.profile(random(64), repeats=2)
    assert "C" in str(profile)
    assert f.trace_nan(random(8)) is None


def test_on_the_gpu_emulator() -> None:
    f = scaled()
    f.target = "gpu-emulator"
    f["C"].gpu_tile(i, 8)
    f.specialize(N % 8 == 0)
    for n in (8, 13, 32):
        np.testing.assert_array_equal(f(random(n)), 2 * random(n))


def test_refusals() -> None:
    A = tw.input("A", [N], tw.float32)
    f = scaled()
    with pytest.raises(
        tw.ScheduleError, match="the condition reads A; which version runs is decided by parameters"
    ):
        f.specialize(A[0] > 0)
    with pytest.raises(
        tw.ScheduleError, match="depends on the iterator i; a version is chosen once"
    ):
        f.specialize(i < N)
    with pytest.raises(tw.ScheduleError, match="is not affine"):
        f.specialize(N * N == 64)
    with pytest.raises(tw.ScheduleError, match="expected a comparison"):
        f.specialize(N + 1)
    with pytest.raises(tw.ScheduleError, match="never holds in a call of f, where N > 0"):
        f.specialize("N <= 0")
    with pytest.raises(tw.ScheduleError, match="never holds"):
        f.specialize((N % 8 == 0) & (N % 8 == 1))
    with pytest.raises(tw.ScheduleError, match="holds in every call"):
        f.specialize(N >= 1)
    with pytest.raises(tw.ScheduleError, match="one of 2 cases"):
        f.specialize((N == 4) | (N == 8))
    with pytest.raises(tw.ScheduleError, match="'Q' is no parameter of f"):
        f.specialize(tw.param("Q") == 4)
    with pytest.raises(tw.ScheduleError, match="the condition"):
        f.specialize("N mod")
    with pytest.raises(tw.ScheduleTypeError, match="a condition on parameters"):
        f.specialize(3)  # type: ignore[arg-type]
    f.specialize(N % 4 == 0)
    with pytest.raises(tw.ScheduleError, match="asked for earlier runs"):
        f.specialize(N % 8 == 0)
    assert str(f.schedule) == 'f.specialize("N mod 4 = 0")'
