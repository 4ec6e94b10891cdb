"""Loops that end when their data say so: tw.while_loop against Python's own loops."""

import math

import numpy as np
import pytest

import tilewright as tw

i, j, k = tw.iters("i j k")
N, M, K = tw.params("N M K")


def run(f, *arrays):
    """The values by the evaluator; compiled code must give the same."""
    evaluated, compiled = f.evaluate(*arrays), f(*arrays)
    pairs = (
        [(evaluated, compiled)] if len(f.outputs) == 1 else zip(evaluated, compiled, strict=True)
    )
    for one, other in pairs:
        assert one.dtype == other.dtype
        np.testing.assert_allclose(other, one, rtol=1e-6)
    return compiled


def function_of(*outputs, inputs=None, commands=None):
    names = [tw.computation(f"C{n}", {i: N}, value) for n, value in enumerate(outputs)]
    f = tw.function("f", inputs=inputs, outputs=names)
    for name in names:
        if commands is not None:
            commands(f[name.name])
    return f


def collatz(x):
    steps = 0
    while x > 1:
        x = x // 2 if x % 2 == 0 else 3 * x + 1
        steps += 1
    return steps


def collatz_steps(start):
    return tw.while_loop(
        lambda x, steps: x > 1,
        lambda x, steps: (tw.select(x % 2 == 0, x // 2, 3 * x + 1), steps + 1),
        (start, 0),
    )[1]


SCHEDULES = [
    lambda C: C,
    lambda C: C.parallelize(i),
    lambda C: C.vectorize(i, 4),
    lambda C: C.split(i, 4).unroll("i1", 4),
    lambda C: C.reverse(i),
]


@pytest.mark.parametrize("commands", SCHEDULES)
def test_collatz(commands):
    n = tw.input("n", [N], tw.int64)
    f = function_of(collatz_steps(n[i]), commands=commands)
    for count in (0, 1, 30):
        start = np.arange(count)
        np.testing.assert_array_equal(run(f, start), [collatz(x) for x in range(count)])


@pytest.mark.parametrize("commands", SCHEDULES)
@pytest.mark.parametrize("dtype", [tw.complex64, tw.complex128], ids=str)
def test_mandelbrot(commands, dtype):
    c = tw.input("c", [N], dtype)
    point, count = tw.while_loop(
        lambda z, n: (z * tw.conj(z)).real < 4,
        lambda z, n: (z * z + c[i], n + 1),
        (tw.cast(0, dtype), 0),
        limit=50,
    )
    f = function_of(count, point, commands=commands)
    points = (np.linspace(-2, 1, 40) + 0.3j).astype(dtype)
    counts, last = run(f, points)
    assert last.dtype == np.dtype(dtype) and counts.dtype == np.int64
    expected = []
    for at in points:
        z = np.dtype(dtype).type(0)
        n = 0
        while n < 50 and (z * z.conjugate()).real < 4:
            z, n = z * z + at, n + 1
        expected.append(n)
    np.testing.assert_array_equal(counts, expected)
    assert len(set(expected)) > 5


@pytest.mark.parametrize("dtype", [tw.float32, tw.float64], ids=str)
def test_mandelbrot_of_real_numbers_keeps_the_type_of_the_body(dtype):
    cr, ci = tw.input("cr", [N], dtype), tw.input("ci", [N], dtype)
    x, y, n = tw.while_loop(
        lambda x, y, n: x * x + y * y < 4,
        lambda x, y, n: (x * x - y * y + cr[i], 2 * x * y + ci[i], n + 1),
        (0.0, 0.0, 0),
        limit=100,
    )
    assert x.dtype == dtype and y.dtype == dtype and n.dtype == tw.int64
    f = function_of(n, inputs=[cr, ci])
    real = np.linspace(-2, 0.5, 50).astype(dtype)
    imag = np.full(50, 0.4, dtype)
    expected = []
    for a, b in zip(real, imag, strict=True):
        x, y, n = dtype_zero(dtype), dtype_zero(dtype), 0
        while n < 100 and x * x + y * y < 4:
            x, y, n = x * x - y * y + a, 2 * x * y + b, n + 1
        expected.append(n)
    np.testing.assert_array_equal(run(f, real, imag), expected)


def dtype_zero(dtype):
    return np.dtype(dtype).type(0)


def search(array, size, value):
    """The first position whose element is not below `value` (np.searchsorted)."""
    return tw.while_loop(
        lambda low, high: low < high,
        lambda low, high: (
            tw.select(array[(low + high) // 2] < value, (low + high) // 2 + 1, low),
            tw.select(array[(low + high) // 2] < value, high, (low + high) // 2),
        ),
        (0, size),
    )[0]


@pytest.mark.parametrize("commands", SCHEDULES)
@pytest.mark.parametrize("dtype", [tw.float32, tw.float64, tw.int32], ids=str)
def test_binary_search(commands, dtype):
    a, v = tw.input("a", [M], dtype), tw.input("v", [N], dtype)
    f = function_of(search(a, M, v[i]), inputs=[a, v], commands=commands)
    generator = np.random.default_rng(0)
    for size in (0, 1, 2, 17):
        table = np.sort(generator.integers(0, 20, size)).astype(dtype)
        values = generator.integers(-2, 23, 31).astype(dtype)
        np.testing.assert_array_equal(run(f, table, values), np.searchsorted(table, values))


def test_a_loop_reads_computations():
    """Reads that may happen wait for all of what they may read."""
    a, v = tw.input("a", [M], tw.float64), tw.input("v", [N], tw.float64)
    squares = tw.computation("squares", {j: M}, a[j] * a[j])
    at = tw.computation("at", {i: N}, search(squares, M, v[i]))
    f = tw.function("f", inputs=[a, v], outputs=[at])
    table, values = np.arange(9.0), np.array([0.0, 5, 16, 17, 99])
    np.testing.assert_array_equal(run(f, table, values), np.searchsorted(table**2, values))
    with pytest.raises(tw.IllegalScheduleError):
        f["squares"].after("at")


def test_subscripts_inside_are_checked():
    a = tw.input("a", [M], tw.int64)
    # Follows the chain a[a[...]] until it comes to 0.
    length = tw.while_loop(lambda at, n: at != 0, lambda at, n: (a[at], n + 1), (i + 1, 0))[1]
    C = tw.computation("C", {i: N}, length)
    f = tw.function("f", outputs=[C])
    out = np.zeros(3, np.int64)
    np.testing.assert_array_equal(f(np.array([0, 0, 1, 2]), out=out), [1, 2, 3])
    for call in (f, f.evaluate):
        with pytest.raises(tw.SubscriptError):
            call(np.array([0, 7, 1, 2]), out=out)
        with pytest.raises(tw.SubscriptError):
            call(np.array([0, -1, 1, 2]), out=out)


def test_the_limit_comes_before_the_condition():
    """At the limit nothing more is read."""
    a = tw.input("a", [M], tw.float64)
    first = tw.while_loop(lambda at: a[at] > 0, lambda at: at + 1, 0, limit=M)
    C = tw.computation("C", {i: 1}, first)
    f = tw.function("f", outputs=[C])
    for table, expected in [([1, 2, -1, 3], 2), ([1, 1, 1], 3), ([], 0)]:
        assert run(f, np.array(table, float))[0] == expected


def test_limits_that_are_data():
    n, most = tw.input("n", [N], tw.int64), tw.input("most", [N], tw.int32)
    x = tw.while_loop(lambda x: x > 1, lambda x: x // 2, n[i], limit=most[i] - 1)
    f = function_of(x, inputs=[n, most])
    start, limits = np.array([100, 100, 100, 1]), np.array([0, 1, 4, 9], np.int32)
    np.testing.assert_array_equal(run(f, start, limits), [100, 100, 12, 1])


def test_states_change_at_once():
    """Fibonacci numbers, and a swap."""
    n = tw.input("n", [N], tw.int64)
    a, _b, _n = tw.while_loop(
        lambda a, b, n: n > 0, lambda a, b, n: (b, a + b, n - 1), (0, 1, n[i])
    )
    x, y, _ = tw.while_loop(lambda x, y, n: n > 0, lambda x, y, n: (y, x, n - 1), (7, 9, n[i]))
    f = function_of(a, x * 10 + y)
    fibonacci, swapped = run(f, np.arange(8))
    np.testing.assert_array_equal(fibonacci, [0, 1, 1, 2, 3, 5, 8, 13])
    np.testing.assert_array_equal(swapped, [79, 97] * 4)


@pytest.mark.parametrize("dtype", [tw.int32, tw.uint16, tw.int64], ids=str)
def test_greatest_common_divisor(dtype):
    a, b = tw.input("a", [N], dtype), tw.input("b", [N], dtype)
    found, _ = tw.while_loop(lambda x, y: y != 0, lambda x, y: (y, x % y), (a[i], b[i]))
    assert found.dtype == dtype
    generator = np.random.default_rng(1)
    one, other = (generator.integers(0, 60, 40).astype(dtype) for _ in range(2))
    np.testing.assert_array_equal(
        run(function_of(found, inputs=[a, b]), one, other), np.gcd(one, other)
    )


@pytest.mark.parametrize("dtype", [tw.float32, tw.float64], ids=str)
def test_newton(dtype):
    a = tw.input("a", [N], dtype)
    root = tw.while_loop(
        lambda x: tw.abs(x * x - a[i]) > a[i] * 1e-6, lambda x: (x + a[i] / x) / 2, a[i], limit=60
    )
    values = np.linspace(0.5, 90, 23).astype(dtype)
    np.testing.assert_allclose(run(function_of(root), values), np.sqrt(values), rtol=1e-5)


def test_loops_inside_loops():
    """The sum of the Collatz steps of 1 .. n, by loops only."""
    n = tw.input("n", [N], tw.int64)
    total, _ = tw.while_loop(
        lambda x, at: at <= n[i], lambda x, at: (x + collatz_steps(at), at + 1), (0, 1)
    )
    expected = [sum(collatz(x) for x in range(1, last + 1)) for last in range(12)]
    np.testing.assert_array_equal(run(function_of(total), np.arange(12)), expected)


def test_loops_inside_reductions_and_reductions_inside_loops():
    n = tw.input("n", [N], tw.int64)
    a = tw.input("a", [K], tw.float64)
    total = tw.computation("total", {}, tw.sum(collatz_steps(n[i]), over={i: N}))
    masked = tw.computation("masked", {}, tw.sum(n[i], over={i: N}, where=collatz_steps(n[i]) > 6))
    start = np.arange(30)
    steps = np.array([collatz(x) for x in start])
    assert run(tw.function("f", outputs=[total]), start) == steps.sum()
    assert run(tw.function("f", outputs=[masked]), start) == start[steps > 6].sum()

    def above(level):
        return tw.sum(1, over={k: K}, where=a[k] > level)

    # The smallest level above which at most three elements lie.
    level = tw.while_loop(lambda level: above(level) > 3, lambda level: level + 1, 0)
    half = tw.while_loop(
        lambda level, n: n < 4, lambda level, n: (level + above(level), n + 1), (0, 0)
    )[0]
    C = tw.computation("C", {j: 1}, level)
    D = tw.computation("D", {j: 1}, half)
    data = np.random.default_rng(2).random(40) * 20
    found, sums = run(tw.function("f", outputs=[C, D]), data)
    assert found[0] == next(x for x in range(21) if (data > x).sum() <= 3)
    expected = 0
    for _ in range(4):
        expected += (data > expected).sum()
    assert sums[0] == expected


def test_a_loop_runs_only_in_the_branch_taken():
    """In the other branch it would never end."""
    n = tw.input("n", [N], tw.int64)
    halves = tw.while_loop(lambda x, c: x != 1, lambda x, c: (x // 2, c + 1), (n[i], 0))[1]
    f = function_of(tw.select(n[i] > 0, halves, -1))
    start = np.array([1, 0, 8, -5, 1000])
    np.testing.assert_array_equal(run(f, start), [0, -1, 3, -1, 9])


def test_branches_may_share_a_loop():
    n = tw.input("n", [N], tw.int64)
    steps = collatz_steps(n[i])
    even = tw.select(n[i] % 2 == 0, steps, 0)
    odd = tw.select(n[i] % 2 == 0, 0, -steps)
    f = function_of(even + odd + tw.sum(steps * k, over={k: 3}, where=steps > 3))
    start = np.arange(1, 12)
    expected = []
    for x in start.tolist():
        count = collatz(x)
        expected.append((count if x % 2 == 0 else -count) + (3 * count if count > 3 else 0))
    np.testing.assert_array_equal(run(f, start), expected)


def test_integer_logarithms_of_all_types():
    for dtype in (tw.uint8, tw.int16, tw.uint32, tw.int64, tw.uint64):
        n = tw.input("n", [N], dtype)
        log, _ = tw.while_loop(lambda c, x: x > 1, lambda c, x: (c + 1, x >> 1), (0, n[i]))
        values = np.array([1, 2, 3, 64, 100, 127]).astype(dtype)
        expected = [int(math.log2(x)) for x in values.tolist()]
        np.testing.assert_array_equal(run(function_of(log), values), expected)


def test_types_are_promoted():
    n = tw.input("n", [N], tw.int32)
    x = tw.while_loop(lambda x: x < 10, lambda x: x * 1.5 + 1, n[i])
    assert x.dtype == tw.float64
    y = tw.while_loop(lambda y: y < 10, lambda y: y * 1.5 + 1, 0.5)
    assert y.dtype == tw.float64
    z = tw.while_loop(lambda z: z < 10, lambda z: z + n[i], np.int8(1))
    assert z.dtype == tw.int32
    w = tw.while_loop(lambda w: w < 10, lambda w: 10, n[i])
    assert w.dtype == tw.int32
    start = np.array([3, 5, 20], np.int32)
    expected = []
    for first in start.tolist():
        while first < 10:
            first = first * 1.5 + 1
        expected.append(first)
    np.testing.assert_array_equal(run(function_of(x), start), expected)


def test_the_evaluator_gives_up():
    n = tw.input("n", [N], tw.int64)
    forever = tw.while_loop(lambda x: x == x, lambda x: x, n[i])
    f = function_of(forever)
    with pytest.raises(tw.AnalysisLimitError, match=r"C0\[0\] has a while_loop that does not end"):
        f.evaluate(np.array([1]))


def test_inlining_and_caching_keep_loops():
    n = tw.input("n", [N], tw.int64)
    P = tw.computation("P", {i: N}, collatz_steps(n[i]))
    C = tw.computation("C", {i: (1, N)}, P[i] * 100 + P[i - 1])
    f = tw.function("f", outputs=[C])
    f["P"].inline()
    start = np.arange(9)
    steps = [collatz(x) for x in range(9)]
    expected = [0] + [steps[at] * 100 + steps[at - 1] for at in range(1, 9)]
    out = np.zeros(9, np.int64)
    np.testing.assert_array_equal(f(start, out=out), expected)
    g = tw.function("g", outputs=[C])
    g["P"].compute_at("C", i)
    np.testing.assert_array_equal(g(start, out=out), expected)


def test_all_of_a_loop_reaches_the_cache_key():
    n = tw.input("n", [N], tw.int64)

    def loop(bound=1, step=1, start=0, limit=None, position=0):
        states = tw.while_loop(
            lambda x, y: x < n[i] * bound, lambda x, y: (x + step, y + 2), (start, 0), limit
        )
        return function_of(states[position])(np.array([7]))[0]

    assert loop() == 7
    assert loop(bound=2) == 14
    assert loop(step=3) == 9
    assert loop(start=20) == 20
    assert loop(limit=4) == 4
    assert loop(position=1) == 14


def test_the_printed_layers_and_loops():
    n = tw.input("n", [N], tw.int64)
    f = function_of(collatz_steps(n[i]))
    assert (
        "while_loop(x > 1, x -> select(x % 2 == 0, x // 2, 3 * x + 1), steps -> steps + 1, "
        "initial=(n[i], 0))[1]" in str(f.layers)
    )
    assert (
        str(f.loops).rstrip()
        == """\
# parallel loops of work < 60000: one thread
for i in range(0, N):  # parallel
  x = n[i]
  steps = 0
  while x > 1:
    x = x // 2 if x % 2 == 0 else 3 * x + 1
    steps = steps + 1
  C0[i] = steps"""
    )


def test_what_is_refused():
    n = tw.input("n", [N], tw.int64)
    with pytest.raises(tw.DeclarationTypeError, match="must be an expression of type bool"):
        tw.while_loop(lambda x: x + 1, lambda x: x, n[i])
    with pytest.raises(tw.DeclarationTypeError, match="a tuple of 2 states"):
        tw.while_loop(lambda x, y: x > y, lambda x, y: (x,), (n[i], 0))
    with pytest.raises(tw.DeclarationTypeError, match="must give one state"):
        tw.while_loop(lambda x: x > 0, lambda x: (x, x), n[i])
    with pytest.raises(
        tw.DeclarationTypeError, match=r"limit= of tw\.while_loop must be an integer"
    ):
        tw.while_loop(lambda x: x > 0, lambda x: x - 1, n[i], limit=0.5)
    with pytest.raises(tw.DeclarationError, match="at least one state"):
        tw.while_loop(lambda: True, lambda: (), ())
    leaked = []

    def body(x):
        leaked.append(x)
        return x - 1

    inside = tw.while_loop(lambda x: x > 0, body, n[i])
    with pytest.raises(tw.DeclarationError, match="uses x, a state variable of a while_loop"):
        tw.computation("C", {i: N}, inside + leaked[-1])
