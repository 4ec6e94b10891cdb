"""Guards that read data become loop bounds and indirect writes."""

import re

import numpy as np

import tilewright as tw

i, p, b = tw.iters("i p b")
N, M, B, NNZ = tw.params("N M B NNZ")


def test_a_sparse_product_loops_over_its_rows():
    val = tw.input("val", [NNZ], tw.float64)
    col = tw.input("col", [NNZ], tw.int32)
    row = tw.input("row", [N + 1], tw.int32)
    x = tw.input("x", [M], tw.float64)
    y = tw.computation(
        "y",
        {i: N},
        tw.sum(val[p] * x[col[p]], over={p: NNZ}, where=(row[i] <= p) & (p < row[i + 1])),
    )
    f = tw.function("spmv", inputs=[val, col, row, x], outputs=[y])
    f["y"].parallelize(i)
    assert (
        str(f.loops).rstrip()
        == """\
for i in range(0, N):  # parallel
  y[i] = 0.0
  if 0 < NNZ:
    start = int64(row[i])
    stop = int64(row[i + 1])
    for p in range(max(0, start), min(NNZ, stop)):
      index = int64(col[p])
      assert 0 <= index < M  # x[int64(col[p])]
      y[i] = y[i] + val[p] * x[index]"""
    )


def test_a_histogram_writes_indirectly():
    img = tw.input("img", [N], tw.uint8)
    H = tw.computation("H", {b: B}, tw.sum(1, over={i: N}, where=img[i] == b))
    f = tw.function("histogram", outputs=[H])
    f["H"].interchange(b, i)
    assert (
        str(f.loops).rstrip()
        == """\
for b in range(0, B):
  H[b] = 0
for i in range(0, N):
  if 0 < B:
    b = int64(img[i])
    if 0 <= b and b < B:
      H[b] = H[b] + 1"""
    )
    data = np.random.default_rng(0).integers(0, 256, 1000).astype(np.uint8)
    out = np.zeros(256, np.int64)
    f(data, out=out)
    np.testing.assert_array_equal(out, np.bincount(data, minlength=256))


def test_threads_share_a_histogram_by_atomic_updates():
    img = tw.input("img", [N], tw.uint8)
    H = tw.computation("H", {b: B}, tw.sum(1, over={i: N}, where=img[i] == b))
    f = tw.function("histogram", outputs=[H])
    f["H"].interchange(b, i).atomic().parallelize(i)
    assert "for i in range(0, N):  # parallel" in str(f.loops)
    assert "H[b] += 1  # atomic" in str(f.loops)
    data = np.random.default_rng(1).integers(0, 200, 100_000).astype(np.uint8)
    out = np.zeros(256, np.int64)
    f(data, out=out)
    np.testing.assert_array_equal(out, np.bincount(data, minlength=256))


def test_row_starts_out_of_range_are_clipped():
    """Data never take a loop out of the range that was declared."""
    a = tw.input("a", [M], tw.float64)
    row = tw.input("row", [N + 1], tw.int64)
    s = tw.computation(
        "s", {i: N}, tw.sum(a[p], over={p: M}, where=(row[i] <= p) & (p < row[i + 1]))
    )
    f = tw.function("f", inputs=[a, row], outputs=[s])
    values = np.arange(1.0, 6.0)
    extreme = np.iinfo(np.int64)
    starts = np.array([extreme.min, 2, 1, extreme.max, -7, 99, 3])
    expected = [
        sum(v for at, v in enumerate(values) if first <= at < last)
        for first, last in zip(starts.tolist(), starts.tolist()[1:], strict=False)
    ]
    np.testing.assert_array_equal(f(values, starts), expected)
    np.testing.assert_array_equal(f.evaluate(values, starts), expected)
    f["s"].split(p, 2)
    np.testing.assert_array_equal(f(values, starts), expected)


def test_what_a_check_says_is_asked_no_more():
    def histogram(values, counts):
        for i in range(values.shape[0]):
            counts[values[i]] += 1

    compiled = tw.jit(histogram)
    values, counts = np.random.default_rng(0).integers(-5, 5, 60), np.zeros(5, np.int64)
    compiled(values, counts)
    np.testing.assert_array_equal(counts, np.bincount(values % 5, minlength=5))
    loops = str(compiled.loops)
    assert loops.splitlines()[-1].strip() == "counts[index] = counts[index] + 1"
    assert "0 <= index and" not in loops
    before = counts.copy()
    with np.testing.assert_raises(IndexError):
        compiled(np.array([7]), counts)
    np.testing.assert_array_equal(counts, before)


def test_single_numbers_are_in_registers():
    """What a loop counts is neither allocated nor stored in each iteration, nor is it in C."""

    def collatz(n, out):
        for i in range(1, n):
            c = 0
            x = i
            while x != 1:
                x = x // 2 if x % 2 == 0 else 3 * x + 1
                c += 1
            out[i] = c

    compiled = tw.jit(collatz)
    ours, plain = np.zeros(50, np.int64), np.zeros(50, np.int64)
    compiled(50, ours)
    collatz(50, plain)
    np.testing.assert_array_equal(ours, plain)
    assert "tilewright_allocate" not in str(compiled.inspect(50, ours).asm)
    source = str(compiled.inspect(50, ours).c)
    assert re.search(r"int64_t x\w* = i;", source)
    assert "alloc" not in source.split("#include")[-1]
