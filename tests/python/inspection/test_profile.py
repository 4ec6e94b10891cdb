"""profile: times of loop nests, operations and bytes counted over the instances, the roofline."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw

N, M, K, T = tw.params("N M K T")
i, j, k, t = tw.iters("i j k t")


def counts(f: tw.Function, *arrays: object, **parameters: int) -> tw.LoopNest:
    """The only loop nest of a function."""
    found = f.profile(*arrays, repeats=1, roofline=False, **parameters)
    assert len(found.nests) == 1
    return found.nests[0]


def zeros(*shape: int, dtype: str = "float64") -> np.ndarray:
    return np.zeros(shape, dtype)


@pytest.mark.parametrize("schedule", ["default", "declared", "tiled"])
@pytest.mark.parametrize(("n", "m", "length"), [(5, 7, 3), (64, 48, 33), (129, 130, 131)])
def test_a_product(schedule, n, m, length):
    a, b = tw.input("A", [N, K], tw.float32), tw.input("B", [K, M], tw.float32)
    c = tw.computation("C", {i: N, j: M}, tw.sum(a[i, k] * b[k, j], over={k: K}))
    f = tw.function("matmul", outputs=[c], default_schedule=schedule == "default")
    if schedule == "tiled":
        f["C"].tile(i, j, 16, 16).vectorize("j1").parallelize("i0")
    found = f.profile(
        zeros(n, length, dtype="float32"),
        zeros(length, m, dtype="float32"),
        repeats=2,
        roofline=False,
    )
    nests = [nest for nest in found.nests if nest.flops]
    assert sum(nest.flops for nest in nests) == 2 * n * m * length
    assert all(nest.is_exact for nest in found.nests)
    if schedule == "declared":
        (nest,) = found.nests
        assert nest.instances == n * m * (length + 1)  # the sums begin at zero
        assert nest.read == 4 * (n * length + length * m)
        assert nest.written == 4 * n * m
        assert nest.loaded == 4 * 3 * n * m * length
        assert nest.stored == 4 * n * m * (length + 1)
        assert nest.intensity == nest.flops / (nest.read + nest.written)
    assert found.parameters == {"N": n, "M": m, "K": length}


def test_a_stencil():
    x = tw.input("x", [N, M], tw.float64)
    y = tw.computation(
        "y",
        {i: (1, N - 1), j: (1, M - 1)},
        0.2 * (x[i, j] + x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1]),
    )
    nest = counts(tw.function("jacobi", outputs=[y]), zeros(40, 51))
    inside = 38 * 49
    assert nest.flops == 5 * inside
    assert nest.loaded == 5 * 8 * inside and nest.stored == 8 * inside
    assert nest.read == 8 * (40 * 51 - 4)  # all but the corners
    assert nest.written == 8 * inside


def test_steps_in_time_that_share_memory():
    x = tw.input("x", [N], tw.float32)
    u = tw.computation(
        "u",
        {t: T + 1, i: N},
        lambda u: [
            (t == 0, x[i]),
            ((t > 0) & (i > 0) & (i < N - 1), (u[t - 1, i - 1] + u[t - 1, i + 1]) * 0.5),
            ((t > 0) & (i == 0), u[t - 1, i]),
            ((t > 0) & (i > 0) & (i == N - 1), u[t - 1, i]),
        ],
        dtype=tw.float32,
    )
    f = tw.function("heat", outputs=[tw.computation("last", {i: N}, u[T, i])])
    f["u"].storage_fold(t, 2)
    found = f.profile(zeros(100, dtype="float32"), T=9, repeats=1, roofline=False)
    steps = [nest for nest in found.nests if nest.name == "u"]
    assert sum(nest.flops for nest in steps) == 2 * 9 * 98
    assert sum(nest.instances for nest in steps) == 10 * 100
    assert steps[-1].written == 4 * 2 * 100
    assert steps[-1].read == 4 * 100  # what it starts from


@pytest.mark.parametrize("n", [1, 6, 50, 2000])
def test_triangles(n):
    a, b = tw.input("L", [N, N], tw.float64), tw.input("x", [N], tw.float64)
    y = tw.computation("y", {i: N}, tw.sum(a[i, k] * b[k], over={k: (0, i + 1)}))
    f = tw.function("trmv", outputs=[y], default_schedule=False)
    nest = counts(f, zeros(n, n), zeros(n))
    terms = n * (n + 1) // 2
    assert nest.flops == 2 * terms
    assert nest.read == 8 * (terms + n) and nest.written == 8 * n


@pytest.mark.parametrize("n", [3, 40, 300])
def test_products_of_triangles(n):
    """i >= k >= j: two dimensions that meet in a third."""
    a, b = tw.input("A", [N, N], tw.float32), tw.input("B", [N, N], tw.float32)
    c = tw.computation(
        "C", {i: N, j: N}, tw.sum(a[i, k] * b[k, j], over={k: (j, i + 1)}), where=j <= i
    )
    f = tw.function("lower", outputs=[c], default_schedule=False)
    nest = counts(f, zeros(n, n, dtype="float32"), zeros(n, n, dtype="float32"))
    assert nest.flops == 2 * (n * (n + 1) * (n + 2) // 6)
    assert nest.read == 2 * 4 * (n * (n + 1) // 2)


def test_strided_pieces_and_functions():
    x = tw.input("x", [N], tw.float32)
    y = tw.computation(
        "y",
        {i: N},
        [(i % 3 == 0, tw.exp(x[i]) + 1), (i % 3 != 0, tw.sqrt(x[i]) * x[i] - 2)],
    )
    found = tw.function("f", outputs=[y], default_schedule=False).profile(
        zeros(100, dtype="float32"), repeats=1, roofline=False
    )
    assert sum(nest.flops for nest in found.nests) == 34 * 2 + 66 * 3
    assert sum(nest.written for nest in found.nests) == 400


def test_integers_complex_numbers_and_data():
    x, z = tw.input("x", [N], tw.int32), tw.input("z", [N], tw.complex64)
    a = tw.computation("a", {i: N}, x[i] * 3 + i)
    nest = counts(tw.function("f", outputs=[a]), zeros(10, dtype="int32"))
    assert (nest.flops, nest.integer_operations) == (0, 20)
    b = tw.computation("b", {i: N}, z[i] * z[i] + z[i])
    assert counts(tw.function("g", outputs=[b]), zeros(10, dtype="complex64")).flops == 80
    y = tw.input("y", [M], tw.float64)
    c = tw.computation("c", {i: N}, y[x[i]] + 1.0)
    nest = counts(
        tw.function("h", outputs=[c], inputs=[y, x]), zeros(1000), zeros(10, dtype="int32")
    )
    assert not nest.is_exact
    assert nest.read <= 10 * (8 + 4) and nest.flops == 10


def test_several_nests_in_order():
    x = tw.input("x", [N, M], tw.float32)
    rows = tw.computation("rows", {i: N}, tw.sum(x[i, j], over={j: M}))
    scaled = tw.computation("scaled", {i: N, j: M}, x[i, j] / rows[i])
    f = tw.function("normalise", outputs=[scaled], default_schedule=False)
    found = f.profile(np.ones((30, 20), np.float32), repeats=4)
    assert [nest.name for nest in found.nests] == ["rows", "scaled"]
    assert found["scaled"].read == 4 * (600 + 30) and found["rows"].written == 4 * 30
    assert len(found.times) == len(found["rows"].times) == 4
    assert all(0 < nest.seconds for nest in found.nests)
    assert sum(nest.times[2] for nest in found.nests) <= found.times[2]
    with pytest.raises(KeyError, match="there are rows, scaled"):
        found["columns"]
    f["scaled"].fuse_with("rows", i)
    (nest,) = f.profile(np.ones((30, 20), np.float32), repeats=1, roofline=False).nests
    assert nest.computations == ("rows", "scaled")
    assert nest.read == 4 * 600 and nest.written == 4 * (600 + 30)


def test_the_report():
    x = tw.input("x", [N, N], tw.float64)
    y = tw.computation("smooth", {i: (1, N), j: N}, 0.5 * (x[i, j] + x[i - 1, j]))
    f = tw.function("f", outputs=[y])
    found = f.profile(np.ones((300, 300)), repeats=3)
    nest = found.nests[0]
    assert nest.limit == "memory"
    assert nest.machine is not None
    least = max(
        nest.flops / nest.machine.flops["float64"],
        (nest.read + nest.written) / nest.machine.bandwidth,
    )
    assert nest.of_roofline == pytest.approx(least / nest.seconds)
    text = str(found)
    assert text.startswith("f(N = 300): ") and "best of 3" in text
    assert "smooth" in text and "of memory" in text and "GB/s" in text
    assert nest.machine.processor in text
    markup = found._repr_html_()
    assert markup.count("<tr>") == 2 and "smooth" in markup
    bare = f.profile(np.ones((300, 300)), repeats=1, roofline=False)
    assert bare.nests[0].of_roofline is None and "roofline" not in str(bare)
    with pytest.raises(tw.ArgumentError, match="must be at least 1, got 0"):
        f.profile(np.ones((3, 3)), repeats=0)
    with pytest.raises(
        tw.ArgumentTypeError, match=r"number of repetitions of profile.. must be an integer"
    ):
        f.profile(np.ones((3, 3)), repeats=1.5)
    with pytest.raises(tw.ArgumentTypeError, match="got several values for the argument"):
        f.profile(np.ones((3, 3)), x=np.ones((3, 3)))


def test_the_picture():
    pytest.importorskip("matplotlib")
    a, b = tw.input("A", [N, N], tw.float32), tw.input("B", [N, N], tw.float32)
    c = tw.computation("C", {i: N, j: N}, tw.sum(a[i, k] * b[k, j], over={k: N}))
    d = tw.computation("D", {i: N, j: N}, c[i, j] + a[i, j])
    f = tw.function("f", outputs=[c, d], default_schedule=False)
    found = f.profile(*(np.ones((64, 64), np.float32) for _ in range(2)), repeats=2)
    picture = found.plot()
    assert set(picture.points) == {"C", "D"}
    assert picture.points["C"][0] == pytest.approx(2 * 64 / (4 * 3))
    assert picture.points["D"][1] == found["D"].flops_per_second
    assert picture.roofs[0][1] == "float32"
    assert picture._repr_png_().startswith(b"\x89PNG")
    assert picture.axes.get_xscale() == "log"
    bare = f.profile(*(np.ones((8, 8), np.float32) for _ in range(2)), repeats=1, roofline=False)
    with pytest.raises(ValueError, match="nothing to draw"):
        bare.plot()


def test_the_callers_arrays_stay_as_they_are():
    a = tw.input("A", [N], tw.float64)
    c = tw.computation("C", {i: N}, a[i] * 2)
    f = tw.function("f", outputs=[c])
    c.store_in(a[i])
    values = np.arange(5.0)
    f.profile(values, repeats=3, roofline=False)
    assert values.tolist() == [0, 1, 2, 3, 4]


def test_a_timed_kernel_is_another_kernel():
    x = tw.input("x", [N], tw.float64)
    f = tw.function("f", outputs=[tw.computation("y", {i: N}, x[i] + 1)])
    key = f.compile(np.ones(5))["key"]
    f.profile(np.ones(5), repeats=1, roofline=False)
    assert f.compile(np.ones(5))["key"] == key
    np.testing.assert_array_equal(f(np.ones(5)), np.full(5, 2.0))


def test_empty_arrays():
    x = tw.input("x", [N], tw.float64)
    f = tw.function("f", outputs=[tw.computation("y", {i: N}, x[i] + 1)])
    found = f.profile(np.ones(0), repeats=2, roofline=False)
    assert all(nest.flops == 0 for nest in found.nests)
    assert str(found)


def test_the_machine():
    one = tw.machine(1)
    assert one is tw.machine(1)
    assert one.threads == 1 and one.bandwidth > 1e8
    assert one.flops["float32"] > one.flops["float64"] > 1e8
    assert one.attainable(1e9, "float32") == one.flops["float32"]
    assert one.attainable(0.01) == pytest.approx(0.01 * one.bandwidth)
    assert "GB/s" in str(one)
    with pytest.raises(tw.ArgumentError, match="at least 1, got 0"):
        tw.machine(0)
    with pytest.raises(tw.ArgumentTypeError, match=r"must be an integer, got 1.5"):
        tw.machine(1.5)


def test_what_is_stored_of_the_machine_is_not_trusted(monkeypatch):
    from tilewright import _core
    from tilewright.inspection import roofline

    known = tw.machine(1, remeasure=True)  # another test may have cleared the cache
    monkeypatch.setattr(roofline, "_known", {})
    assert tw.machine(1).flops == known.flops  # from the note
    monkeypatch.setattr(roofline, "_known", {})
    monkeypatch.setattr(_core, "cache_load_note", lambda text: '{"flops": 3}')
    monkeypatch.setattr(roofline, "_measure", lambda count: known)
    assert tw.machine(1) is known
