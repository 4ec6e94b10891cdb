"""Iterations of arrays until their data say so: until= of tw.function, beside NumPy's own loops."""

import copy
import os
import pickle
import signal
import threading
import time

import numpy as np
import pytest

import tilewright as tw

i, j, k, t = tw.iters("i j k t")
N, M = tw.params("N M")
T = tw.param("T", minimum=1)


def run(f, *arrays, **named):
    """The values by the evaluator; compiled code must give the same."""
    evaluated, compiled = f.evaluate(*arrays, **named), f(*arrays, **named)
    for one, other in zip(evaluated, compiled, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(other, one, rtol=1e-12, atol=0)
    return compiled


def jacobi(limit=None, **options):
    """A x = b by Jacobi's iteration, until the largest change of an element is small."""
    A, b = tw.input("A", [N, N], tw.float64), tw.input("b", [N], tw.float64)
    others = lambda x: tw.sum(A[i, k] * x[t - 1, k], over={k: N}, where=k != i)  # noqa: E731
    x = tw.computation(
        "x",
        {t: T, i: N},
        lambda x: [(t == 0, 0.0), (t > 0, (b[i] - others(x)) / A[i, i])],
        dtype=tw.float64,
    )
    change = tw.computation(
        "change", {t: (1, T)}, tw.max(tw.abs(x[t, k] - x[t - 1, k]), over={k: N}, initial=0.0)
    )
    done = tw.computation("done", {t: (1, T)}, change[t] < 1e-10)
    root = tw.computation("root", {i: N}, x[T - 1, i])
    steps = tw.computation("steps", {}, T)
    return tw.function(
        "jacobi", inputs=[A, b], outputs=[root, steps], until={T: done}, limit=limit, **options
    )


def jacobi_by_numpy(A, b, limit=10**6):
    x, steps = np.zeros_like(b), 1
    while steps < limit:
        new = (b - (A @ x - np.diag(A) * x)) / np.diag(A)
        change, x, steps = np.abs(new - x).max(initial=0), new, steps + 1
        if change < 1e-10:
            break
    return x, steps


def system(n, seed=1):
    rng = np.random.default_rng(seed)
    return rng.random((n, n)) + n * np.eye(n), rng.random(n)


@pytest.mark.parametrize("n", [1, 2, 7, 33])
def test_jacobi(n):
    A, b = system(n)
    x, steps = run(jacobi(), A, b)
    expected, made = jacobi_by_numpy(A, b)
    assert steps == made
    np.testing.assert_allclose(x, expected, rtol=1e-12)
    np.testing.assert_allclose(A @ x, b, rtol=1e-6)


def test_of_no_elements():
    _, steps = run(jacobi(), np.zeros((0, 0)), np.zeros(0))
    assert steps == 2


SCHEDULES = {
    "none": lambda f: None,
    "parallel": lambda f: f["x"].parallelize(i),
    "vector": lambda f: f["root"].vectorize(i, 4),
    "tiles": lambda f: f["x"].split(i, 4).parallelize("i0").unroll("i1", 4),
    "reversed": lambda f: f["x"].reverse(i),
    "after": lambda f: f["root"].split(i, 8).parallelize("i0").vectorize("i1", 8),
    "partial results": lambda f: f["change"].parallelize("k", partial=4),
    "in lanes": lambda f: f["change"].vectorize("k", 4, partial=True),
    "of partial results": lambda f: (
        f["change"].parallelize("k", partial=2),
        f["change"].vectorize("k0", 4, partial=True),
    ),
    "of a part": lambda f: f["change"].split("k", "(N + 2) // 3").rfactor("k0").parallelize("k0"),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules_within_an_iteration(name):
    A, b = system(19)
    f = jacobi()
    SCHEDULES[name](f)
    x, steps = run(f, A, b)
    expected, made = jacobi_by_numpy(A, b)
    assert steps == made
    np.testing.assert_allclose(x, expected, rtol=1e-12)
    g = jacobi()
    f.schedule.apply_to(g)
    np.testing.assert_array_equal(g(A, b)[0], x)


def test_the_loop_and_its_buffers():
    text = jacobi(limit=50, default_schedule=False).loops
    lines = [line.strip() for line in text.splitlines()]
    assert "while next <= last and next < T:" in lines
    assert "last = t" in lines and "T_2 = last + 1" in lines and "next = t + 1" in lines
    assert "x = empty((2, N), float64)" in lines and "change = empty((1,), float64)" in lines


def test_partial_results_are_those_of_one_iteration():
    f = jacobi(default_schedule=False)
    f["change"].parallelize("k", partial=8)
    lines = [line.strip() for line in str(f.loops).splitlines()]
    assert any(line.startswith("change_partial = empty((1, ") for line in lines)


@pytest.mark.parametrize("limit", [1, 2, 3, 5])
def test_a_limit(limit):
    A, b = system(9)
    x, steps = run(jacobi(limit), A, b)
    expected, made = jacobi_by_numpy(A, b, limit)
    assert steps == made == limit
    np.testing.assert_allclose(x, expected, rtol=1e-12)
    for own in (1, 3, 4):  # of one call
        x, steps = run(jacobi(limit), A, b, T=own)
        expected, made = jacobi_by_numpy(A, b, own)
        assert steps == made == own
        np.testing.assert_allclose(x, expected, rtol=1e-12)


def test_transitive_closure_to_a_fixed_point():
    E = tw.input("E", [N, N], tw.bool)
    R = tw.computation(
        "R",
        {t: T, i: N, j: N},
        lambda R: [
            (t == 0, E[i, j]),
            (t > 0, R[t - 1, i, j] | tw.any(R[t - 1, i, k] & R[t - 1, k, j], over={k: N})),
        ],
        dtype=tw.bool,
    )
    same = tw.computation(
        "same",
        {t: (1, T)},
        tw.all(R[t, i, j] == R[t - 1, i, j], over={i: N, j: N}),
    )
    closure = tw.computation("closure", {i: N, j: N}, R[T - 1, i, j])
    steps = tw.computation("steps", {}, T)
    f = tw.function("closure_of", outputs=[closure, steps], until={T: same})
    edges = np.zeros((12, 12), bool)
    edges[np.arange(11), np.arange(1, 12)] = True
    found, made = run(f, edges)
    np.testing.assert_array_equal(found, np.triu(np.ones((12, 12), bool), 1))
    assert made == 6


def test_power_iteration_reads_two_iterations_back():
    A = tw.input("A", [N, N], tw.float64)
    v = tw.computation("v", {t: T, i: N}, dtype=tw.float64)
    w = tw.computation("w", {t: T, i: N}, tw.sum(A[i, k] * v[t, k], over={k: N}))
    norm = tw.computation("norm", {t: T}, tw.sqrt(tw.sum(w[t, k] * w[t, k], over={k: N})))
    v.define(t == 0, 1.0)
    v.define(t > 0, w[t - 1, i] / norm[t - 1])
    still = tw.computation(
        "still", {t: (2, T)}, tw.abs(norm[t] - 2 * norm[t - 1] + norm[t - 2]) < 1e-12
    )
    value = tw.computation("value", {}, norm[T - 1])
    f = tw.function("power", outputs=[value, tw.computation("n", {}, T)], until={T: still})
    rng = np.random.default_rng(0)
    a = rng.random((6, 6))
    a += a.T
    found, made = run(f, a)
    np.testing.assert_allclose(found, np.abs(np.linalg.eigvalsh(a)).max(), rtol=1e-6)
    assert made > 3
    with pytest.raises(tw.ScheduleError):
        f["norm"].storage_fold(t, 2)


def test_integers_and_a_test_that_holds_at_once():
    x = tw.input("x", [N], tw.int64)
    y = tw.computation(
        "y", {t: T, i: N}, lambda y: [(t == 0, x[i]), (t > 0, y[t - 1, i] // 2)], dtype=tw.int64
    )
    zero = tw.computation("zero", {t: T}, tw.all(y[t, k] == 0, over={k: N}))
    last = tw.computation("last", {i: N}, y[T - 1, i] + T)
    f = tw.function("halve", outputs=[last, tw.computation("n", {}, T)], until={T: zero})
    for values in ([0, 0], [1, 0], [5, 9, 1000], []):
        found, made = run(f, np.array(values, np.int64))
        expected = max([v.bit_length() for v in values], default=0) + 1
        assert made == expected
        np.testing.assert_array_equal(found, np.full(len(values), made))


def test_the_first_iterations_may_fail_only_where_they_are_made():
    """The evaluator computes no iteration behind the last one: there, the table ends."""
    table = tw.input("table", [M], tw.int32)
    at = tw.computation(
        "at",
        {t: T},
        lambda at: [(t == 0, 0), (t > 0, table[at[t - 1]])],
        dtype=tw.int32,
    )
    end = tw.computation("end", {t: T}, at[t] >= M)
    f = tw.function(
        "follow",
        outputs=[tw.computation("n", {}, T), tw.computation("p", {}, at[T - 1])],
        until={T: end},
    )
    made, place = run(f, np.array([2, 7, 1], np.int32))
    assert (made, place) == (4, 7)
    with pytest.raises(tw.SubscriptError):
        f(np.array([2, 7, -5], np.int32))
    with pytest.raises(tw.TilewrightError):
        f.evaluate(np.array([2, 7, -5], np.int32))


def test_what_needs_no_iteration_may_stand_anywhere():
    x = tw.input("x", [N], tw.float64)
    scaled = tw.computation("scaled", {i: N}, 2 * x[i])
    y = tw.computation(
        "y",
        {t: T, i: N},
        lambda y: [(t == 0, 0.0), (t > 0, y[t - 1, i] + scaled[i])],
        dtype=tw.float64,
    )
    big = tw.computation("big", {t: T}, tw.any(y[t, k] > 10, over={k: N}))
    n = tw.computation("n", {}, T)
    twice = tw.computation("twice", {}, 2 * n[()])
    apart = tw.computation("apart", {i: N}, x[i] + 1)
    f = tw.function(
        "f",
        outputs=[n, twice, apart, tw.computation("last", {i: N}, y[T - 1, i]), scaled],
        until={T: big},
        limit=100,
    )
    found = run(f, np.array([0.25, 1.0]))
    assert found[0] == 7 and found[1] == 14
    np.testing.assert_array_equal(found[3], [3.0, 12.0])


# ---- refusals ----


@pytest.mark.parametrize(
    "command",
    [
        lambda f: f["x"].parallelize(t),
        lambda f: f["x"].reorder(i, t),
        lambda f: f["x"].split(t, 4),
        lambda f: f["x"].tile(t, i, 2, 2),
        lambda f: f["x"].skew(i, t, 1),
        lambda f: f["x"].unroll(t, 2),
        lambda f: f["x"].fission(t),
        lambda f: f["change"].fission(t),
        lambda f: f["x"].reverse(t),
        lambda f: f["x"].shift(t, 1),
        lambda f: f["root"].before("x"),
        lambda f: f["steps"].before("x"),
        lambda f: f["T_reached"].fission(t),
    ],
)
def test_commands_across_the_stop_are_refused(command):
    f = jacobi()
    A, b = system(5)
    before = str(f.schedule)
    with pytest.raises((tw.IllegalScheduleError, tw.ScheduleError)) as refusal:
        command(f)
    if isinstance(refusal.value, tw.IllegalScheduleError):
        assert refusal.value.source_instance and refusal.value.sink_instance
    assert str(f.schedule) == before
    np.testing.assert_allclose(f(A, b)[0], jacobi_by_numpy(A, b)[0], rtol=1e-12)


def test_the_number_of_iterations_cannot_be_fixed():
    f = jacobi()
    with pytest.raises(tw.ScheduleError, match="T is the number of iterations until T_reached"):
        f.fix(T=5)
    with pytest.raises(tw.ScheduleError, match="T is the number of iterations"):
        f.specialize(T > 5)


def test_declarations_that_are_refused():
    x = tw.input("x", [N], tw.float64)
    y = tw.computation(
        "y", {t: T, i: N}, lambda y: [(t == 0, x[i]), (t > 0, y[t - 1, i] / 2)], dtype=tw.float64
    )
    small = tw.computation("small", {t: T}, tw.all(y[t, k] < 1, over={k: N}))
    last = tw.computation("last", {i: N}, y[T - 1, i])

    def refused(match, outputs=(last,), until=None, error=tw.DeclarationError, **options):
        with pytest.raises(error, match=match):
            tw.function("f", outputs=list(outputs), until=until or {T: small}, **options)

    refused("y has T in its shape", outputs=[y])
    refused("got y of 2 iterators and type float64", until={T: y})
    refused("takes one parameter and its condition", until={T: small, N: small})
    refused("until= must be until=", until={T: 3}, error=tw.DeclarationTypeError)
    refused("limit= must be at least 1", limit=0)
    with pytest.raises(tw.DeclarationError, match="limit= is the most iterations"):
        tw.function("f", outputs=[last], limit=3)
    z = tw.computation("z", {t: T, i: N}, y[t, i] * T)
    refused("its value cannot use T", outputs=[tw.computation("o", {i: N}, z[T - 1, i])])
    first = tw.computation("first", {t: T, i: N}, y[0, i] + y[t, i])
    refused(
        "are read however many iterations later",
        outputs=[tw.computation("o", {i: N}, first[T - 1, i])],
    )
    history = tw.computation("history", {i: N}, tw.sum(y[k, i], over={k: T}))
    refused("are read however many iterations later", outputs=[history])
    ahead = tw.computation("ahead", {t: T, i: N}, y[tw.minimum(t + 1, T - 1), i])
    refused("cannot use T", outputs=[tw.computation("o", {i: N}, ahead[T - 1, i])])
    upside = tw.computation("upside", {t: T, k: (t, T)}, 1.0)
    refused("otherwise than to say", outputs=[tw.computation("o", {}, upside[T - 1, T - 1])])
    even = tw.computation("even", {t: (0, T, 2)}, tw.all(y[t, k] < 1, over={k: N}))
    refused("a range with a step", until={T: even})
    back = tw.computation("back", {t: T, i: N}, y[t, i] + last[i])
    refused(
        "computed from the iterations when all",
        outputs=[tw.computation("o", {i: N}, back[T - 1, i])],
    )


def test_gpus_refuse_it():
    f = jacobi(target="gpu-emulator")
    A, b = system(5)
    np.testing.assert_allclose(f(A, b)[0], jacobi_by_numpy(A, b)[0], rtol=1e-12)
    f["root"].split(i, 32).gpu_block("i0").gpu_thread("i1")
    with pytest.raises(tw.ScheduleError, match="a GPU, or the emulator, does not run such"):
        f(A, b)


# ---- the rest of the house ----


def test_copies_and_pickles():
    A, b = system(6)
    f = jacobi(limit=40)
    f["x"].parallelize(i)
    expected = f(A, b)
    for other in (pickle.loads(pickle.dumps(f)), copy.deepcopy(f), f.copy()):
        found = run(other, A, b)
        np.testing.assert_array_equal(found[0], expected[0])
        assert found[1] == expected[1]
        with pytest.raises(tw.IllegalScheduleError):
            other["x"].reorder(i, t)


def test_the_limit_is_in_no_kernel_and_the_test_is():
    A, b = system(6)
    f, g = jacobi(limit=40), jacobi(limit=3)
    assert g(A, b)[1] == 3
    assert f(A, b)[1] == jacobi_by_numpy(A, b)[1]
    assert g(A, b)[1] == 3


def test_ctrl_c_ends_iterations_without_end():
    P = tw.param("P", minimum=1)
    x = tw.input("x", [P], tw.float64)
    y = tw.computation(
        "y", {t: T, i: P}, lambda y: [(t == 0, x[i]), (t > 0, y[t - 1, i] + 1)], dtype=tw.float64
    )
    never = tw.computation("never", {t: T}, y[t, 0] < 0)
    f = tw.function("endless", outputs=[tw.computation("z", {i: P}, y[T - 1, i])], until={T: never})
    f.compile(np.zeros(4))
    timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # tests in parallel ignore it
    try:
        timer.start()
        began = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            f(np.zeros(4))
        timer.join()
    finally:
        signal.signal(signal.SIGINT, before)
    assert time.monotonic() - began < 20
    assert f(np.zeros(4), T=3).tolist() == [2.0] * 4


def test_checks_and_watched_calls():
    A, b = system(6)
    f = jacobi()
    f.check_bounds = True
    np.testing.assert_allclose(f(A, b)[0], jacobi_by_numpy(A, b)[0], rtol=1e-12)
    f.check_bounds = False
    assert f.trace_nan(A, b) is None
    A[2, 2] = np.nan
    found = f.trace_nan(A[:, ::-1].copy()[:, ::-1] * 0, b, T=4)
    assert found is not None and found.computation == "x"
    with pytest.raises(tw.ArgumentError, match="follows from data; profile"):
        f.profile(A, b)


def test_as_text():
    text = str(jacobi(limit=7).layers)
    assert "T_reached" in text


# ---- random schedules: whatever is accepted computes the same ----


def waves():
    """Three computations in an iteration, of which one reads two iterations back; a triangle of loops."""
    x = tw.input("x", [N], tw.int64)
    u = tw.computation("u", {t: T, i: N}, dtype=tw.int64)
    v = tw.computation("v", {t: T, i: N}, u[t, i] + tw.sum(u[t, k], over={k: (0, i)}) % 7)
    u.define(t < 2, x[i] + t)
    u.define(t > 1, v[t - 1, N - 1 - i] - u[t - 2, i] % 3)
    top = tw.computation("top", {t: T}, tw.max(v[t, k], over={k: N}))
    done = tw.computation("done", {t: T}, top[t] > 60)
    last = tw.computation("last", {i: N}, v[T - 1, i] + u[T - 1, i])
    n = tw.computation("n", {}, T)
    return tw.function("waves", outputs=[last, n], until={T: done}, limit=40, context=N > 0)


COMMANDS = [
    ("split", [4]),
    ("split", [3]),
    ("tile", [2, 2]),
    ("parallelize", []),
    ("vectorize", [4]),
    ("unroll", [2]),
    ("reverse", []),
    ("skew", [1]),
    ("reorder", []),
    ("shift", [1]),
    ("fission", []),
    ("after", []),
    ("before", []),
    ("compute_at", []),
    ("storage_fold", []),
    ("inline", []),
    ("rfactor", []),
    ("private", []),
]


def random_command(f, rng):
    name = str(rng.choice(list(f.computations)))
    command, rest = COMMANDS[rng.integers(len(COMMANDS))]
    pick = lambda: str(rng.choice(["t", "i", "i", "k", "i0", "i1", "t0"]))  # noqa: E731
    other = str(rng.choice(list(f.computations)))
    arguments = {
        "tile": [pick(), pick(), *rest],
        "skew": [pick(), pick(), *rest],
        "reorder": [pick(), pick()],
        "after": [other, pick()] if rng.random() < 0.7 else [other],
        "before": [other, pick()] if rng.random() < 0.7 else [other],
        "compute_at": [other, pick()],
        "inline": [],
    }.get(command, [pick(), *rest])
    getattr(f[name], command)(*arguments)


@pytest.mark.parametrize("seed", range(12))
def test_random_schedules_compute_the_same(seed):
    rng = np.random.default_rng(seed)
    x = rng.integers(-3, 4, 11)
    expected = waves().evaluate(x)
    f = waves()
    accepted = 0
    for _ in range(25):
        try:
            random_command(f, rng)
        except tw.ScheduleError:
            continue
        accepted += 1
        if accepted % 3 == 0:
            found = f(x)
            assert found[1] == expected[1], f.schedule
            np.testing.assert_array_equal(found[0], expected[0], err_msg=str(f.schedule))
    found = f(x)
    np.testing.assert_array_equal(found[0], expected[0], err_msg=str(f.schedule))
    assert found[1] == expected[1]
    np.testing.assert_array_equal(f.evaluate(x)[0], expected[0])


# ---- the times of all computations ----


def maps_of(f, places=False, **given):
    """A map for each computation; `places`: with its place in the order in front."""
    maps = []
    for position, name in enumerate(f.computations):
        one = f[name]
        iterators = [str(x) for x in one.loops]
        behind = "t" not in iterators
        time = [f"{position}", *[x for x in iterators if x != "t"]]
        time = [given.get(name, ("T" if behind else "t") if not places else "t"), *time]
        if places and behind:
            time = time[1:]
        if places:
            time = [str(int(behind)), *time]
        maps.append((name, iterators, time))
    width = max(len(time) for *_, time in maps)
    text = [
        f"{n}[{', '.join(i)}] -> [{', '.join(t + ['0'] * (width - len(t)))}]" for n, i, t in maps
    ]
    return "[N, T] -> { " + "; ".join(text) + " }"


@pytest.mark.parametrize("places", [False, True])
def test_times_of_all_computations(places):
    f = jacobi(default_schedule=False)
    f.set_schedule(maps_of(f, places))
    A, b = system(6)
    found, steps = run(f, A, b)
    root, expected = jacobi_by_numpy(A, b)
    assert steps == expected
    np.testing.assert_allclose(found, root, rtol=1e-12)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"root": "T - 1"}, "T_reached"),  # in the last iteration, which nobody knows
        ({"steps": "-1"}, "which iteration is the last"),
        ({"x": "-t"}, "reads what|before T_reached"),
        ({"change": "t + 1"}, "reads what|outermost"),
    ],
)
def test_times_that_the_end_forbids(given, message):
    f = jacobi(default_schedule=False)
    before = f.schedule
    with pytest.raises(tw.IllegalScheduleError, match=message) as caught:
        f.set_schedule(maps_of(f, **given))
    assert "for example: " in str(caught.value)
    assert f.schedule == before
