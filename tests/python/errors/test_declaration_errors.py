"""Each mistake in a declaration: its class, a message with a concrete point, and the user's line."""

import pickle
import re

import numpy as np
import pytest

import tilewright as tw

i, j, k = tw.iters("i j k")
N, M = tw.params("N M")
x = tw.input("x", [N], tw.float32)
y = tw.input("y", [M], tw.float32)
A = tw.input("A", [N, M], tw.float32)
index = tw.input("index", [N], tw.int32)


def refuse(error, message, declare):
    """The error that `declare` raises; its class, message and line are as wanted."""
    with pytest.raises(tw.TilewrightError) as caught:
        declare()
    assert type(caught.value) is error
    assert re.search(message, caught.value.message), caught.value.message
    where = caught.value.location
    assert where is not None and where.file == __file__
    assert where.text and str(caught.value).endswith(f":{where.line}: {where.text}")
    return caught.value


def test_reads_outside_an_input():
    error = refuse(
        tw.DomainError,
        r"C\[0\] reads x\[-1\], outside x's domain 0 <= i < N \(N = 1\)",
        lambda: tw.computation("C", {i: N}, x[i] - x[i - 1]),
    )
    assert isinstance(error, IndexError) and isinstance(error, tw.DeclarationError)
    assert "x[i - 1]" in error.location.text
    refuse(
        tw.DomainError,
        r"C\[0\] reads x\[1\], .* \(N = 1\)",
        lambda: tw.computation("C", {i: N}, x[i + 1]),
    )
    refuse(
        tw.DomainError,
        r"C\[0\] reads y\[0\], .*M = 0.*N = 1|N = 1.*M = 0",
        lambda: tw.computation("C", {i: N}, y[i]),
    )


def test_reads_outside_a_computation():
    B = tw.computation("B", {i: (1, N)}, x[i])
    refuse(
        tw.DomainError,
        r"C\[0\] reads B\[0\], outside B's domain 0 < i < N",
        lambda: tw.computation("C", {i: N}, B[i]),
    )


def test_sizes_for_which_a_read_is_inside_are_told():
    T = tw.param("T")
    B = tw.computation("B", {k: T, i: N}, x[i])
    refuse(
        tw.DomainError,
        r"C\[0\] reads B\[-1,0\], .*; it does not if T > 0: .*minimum= of tw.params",
        lambda: tw.computation("C", {i: N}, B[T - 1, i]),
    )
    error = refuse(
        tw.DomainError,
        r"C\[0\] reads x\[1\]",  # for all sizes
        lambda: tw.computation("C", {i: N}, x[i + 1]),
    )
    assert "if" not in error.message


def test_reads_of_a_reduction():
    refuse(
        tw.DomainError,
        r"reads A\[0,0\]",
        lambda: tw.computation("C", {i: N}, tw.sum(A[i, k], over={k: N})),
    )
    tw.computation("C", {i: N}, tw.sum(A[i, k], over={k: N}, where=k < M))


def test_reads_that_a_condition_guards_are_fine():
    C = tw.computation("C", {i: N}, tw.select(i > 0, x[i - 1], 0))
    found = tw.function("f", outputs=[C]).evaluate(np.ones(3, np.float32))
    assert found.tolist() == [0, 1, 1]


def test_earlier_instances_outside_the_domain():
    refuse(
        tw.DomainError,
        r"C\[1\] reads C\[-1\], outside C's domain",
        lambda: tw.computation(
            "C", {i: N}, lambda C: [(i == 0, 0), (i > 0, C[i - 2])], dtype=tw.float64
        ),
    )


def test_pieces_that_overlap():
    error = refuse(
        tw.DeclarationError,
        r"pieces of C overlap at C\[0\] with N = 1",
        lambda: tw.computation("C", {i: N}, [(i <= 0, x[0]), (i >= 0, x[i])]),
    )
    assert isinstance(error, ValueError)
    C = tw.computation("C", {i: N}, dtype=tw.float32)
    C.define(i < 5, x[i])
    refuse(tw.DeclarationError, r"overlap at C\[4\] with N = 5", lambda: C.define(i > 3, 0))
    C.define(i >= 5, 0)
    assert len(C.pieces) == 2


def test_a_domain_that_is_not_covered_is_not_read():
    C = tw.computation("C", {i: N}, dtype=tw.float32)
    C.define(i > 0, x[i])
    D = tw.computation("D", {i: N}, C[i])
    refuse(tw.DomainError, r"D\[0\] reads C\[0\]", lambda: tw.function("f", outputs=[D]))


def test_unbounded_domains_and_reductions():
    refuse(
        tw.DeclarationError,
        "the domain of C is unbounded: i has no upper bound",
        lambda: tw.computation("C", {i: None}, 0),
    )
    refuse(
        tw.DeclarationError,
        "the domain of C is unbounded: j has no bounds",
        lambda: tw.computation("[N] -> { C[i,j] : 0 <= i < N }", 0),
    )
    refuse(
        tw.DeclarationError,
        "the reduction tw.sum is unbounded: k has no upper bound",
        lambda: tw.computation("C", {i: N}, tw.sum(x[k], over=k)),
    )


def test_bounds_and_conditions_that_are_not_affine():
    refuse(
        tw.DeclarationError,
        r"the upper bound of i in C is not affine .*N \* N",
        lambda: tw.computation("C", {i: N * N}, 0),
    )
    refuse(
        tw.DeclarationError,
        r"C is an output, and data decide .* x\[i\] > 0.0; .*otherwise=0",
        lambda: tw.function("f", outputs=[tw.computation("C", {i: N}, 0, where=x[i] > 0)]),
    )
    refuse(
        tw.DeclarationError,
        r"the range of k in the sum is not affine: it reads .*index\[i\].*, and no array that is "
        r"read at k itself .* give that range and compare: .*where=\(0 <= k\) & \(k < ",
        lambda: tw.computation("C", {i: N}, tw.sum(x[k + 1], over={k: index[i]})),
    )
    refuse(
        tw.DeclarationError,
        "not affine",
        lambda: tw.computation("C", {i: N}, tw.sum(x[k], over={k: i * N})),
    )
    refuse(
        tw.DeclarationError,
        r"of C is not affine .* none may hold: end them with \(None, value\)",
        lambda: tw.computation("C", {i: N}, [(x[i] > 0, 1.0), (x[i] <= 0, 2.0)]),
    )


def test_domains_that_start_below_zero():
    refuse(
        tw.DeclarationError,
        r"the domain of C holds C\[-1\].* an output.* shift i",
        lambda: tw.function("f", outputs=[tw.computation("C", {i: (-1, N)}, 0)]),
    )


def test_shapes_that_are_too_small():
    refuse(
        tw.DomainError,
        r"extent 1 of C is 5, too small for C\[0,5\] of its domain \(M = 6, N = 1\)",
        lambda: tw.computation("C", {i: N, j: M}, A[i, j], shape=[N, 5]),
    )
    refuse(
        tw.DeclarationError,
        "the shape of x must not be negative, but -1 is",
        lambda: tw.input("x", [-1], tw.float32),
    )
    refuse(
        tw.DeclarationError,
        "extent 0 of x must be an integer expression that is affine in parameters, got i",
        lambda: tw.input("x", [i], tw.float32),
    )
    refuse(
        tw.DeclarationTypeError,
        "the shape of x must be integers, but 1.5 is of type float",
        lambda: tw.input("x", [1.5], tw.float32),
    )
    refuse(
        tw.DeclarationTypeError,
        "the shape of x must be a list .* got 'N'",
        lambda: tw.input("x", "N", tw.float32),
    )


def test_iterators_that_are_not_there():
    refuse(
        tw.DeclarationError,
        "C uses the iterator k, which is neither one of its iterators .* nor reduced",
        lambda: tw.computation("C", {i: N}, x[k]),
    )
    refuse(tw.DeclarationError, "i", lambda: tw.computation("C", [(i, N), (i, N)], x[i]))


def test_types_that_do_not_fit():
    refuse(
        tw.DeclarationTypeError,
        r"C has type int32, but its value x\[i\] \* 1\.5 has type float32",
        lambda: tw.computation("C", {i: N}, x[i] * 1.5, dtype=tw.int32),
    )
    refuse(
        tw.DeclarationTypeError,
        "C has type uint8, but its value 1.5 has type float64",
        lambda: tw.computation("C", {i: N}, 1.5, dtype=tw.uint8),
    )
    refuse(
        tw.DeclarationTypeError,
        "Python integer 300 out of bounds for uint8",
        lambda: tw.computation("C", {i: N}, 300, dtype=tw.uint8),
    )
    refuse(
        tw.DeclarationTypeError,
        "the type of C is not known yet: give it, as in dtype=tw.float32",
        lambda: tw.computation("C", {i: N}, lambda C: x[i]),
    )
    refuse(
        tw.DeclarationTypeError,
        "the type <U0 is not supported",
        lambda: tw.computation("C", {i: N}, x[i], dtype="str"),
    )
    refuse(
        tw.DeclarationTypeError,
        "where= of C must be a condition such as i < N, but i is of type int64",
        lambda: tw.computation("C", {i: N}, x[i], where=i),
    )


def test_forms_that_are_wrong():
    refuse(
        tw.DeclarationTypeError,
        "the domain of C must be iterators with ranges",
        lambda: tw.computation("C", x[i]),
    )
    refuse(
        tw.DeclarationTypeError,
        "the domain of C must be iterators with ranges",
        lambda: tw.computation("C", [i, j], x[i]),
    )
    refuse(
        tw.DeclarationTypeError,
        r"a piece must be a pair \(condition, expression\)",
        lambda: tw.computation("C", {i: N}, [x[i], x[i]]),
    )
    refuse(
        tw.DeclarationTypeError,
        "the function that defines C must return",
        lambda: tw.computation("C", {i: N}, lambda C: None, dtype=tw.float32),
    )
    refuse(
        tw.DeclarationTypeError,
        "an operand must be an expression or a number, not the str 'x'",
        lambda: tw.computation("C", {i: N}, "x", dtype=tw.float32),
    )
    refuse(
        tw.DeclarationTypeError,
        "the name of a computation must be a str",
        lambda: tw.computation(i, {i: N}, x[i]),
    )
    refuse(
        tw.DeclarationError,
        "'a b' cannot be the name of a computation",
        lambda: tw.computation("a b", {i: N}, x[i]),
    )


def test_isl_text_that_cannot_be_read():
    refuse(
        tw.DeclarationError,
        "isl cannot read .*syntax error",
        lambda: tw.computation("[N] -> { C[i : 0 <= i < N }", x[i]),
    )
    refuse(
        tw.DeclarationError,
        "drop where=",
        lambda: tw.computation("[N] -> { C[i] : 0 <= i < N }", x[i], where=i > 0),
    )
    refuse(
        tw.DeclarationTypeError,
        "takes one value after it",
        lambda: tw.computation("[N] -> { C[i] : 0 <= i < N }", {i: N}, x[i]),
    )


def test_names_used_twice():
    B = tw.computation("B", {i: N}, x[i])
    C = tw.computation("B", {i: N}, B[i])
    refuse(
        tw.DeclarationError,
        "two different declarations named B",
        lambda: tw.function("f", outputs=[C]),
    )
    other = tw.input("x", [N], tw.float32)
    D = tw.computation("D", {i: N}, x[i] + other[i])
    refuse(
        tw.DeclarationError,
        "two different declarations named x",
        lambda: tw.function("f", outputs=[D]),
    )


def test_computations_without_a_value():
    C = tw.computation("C", {i: N}, dtype=tw.float32)
    refuse(
        tw.DeclarationError,
        "the computation C .* has no expression",
        lambda: tw.function("f", outputs=[C]),
    )


def recurrence(pieces, domain=None):
    C = tw.computation("C", domain or {i: N}, pieces, dtype=tw.float64)
    return tw.function("f", outputs=[C])


def mutual():
    A = tw.computation("A", {i: N}, dtype=tw.float64)
    B = tw.computation("B", {i: N}, A[i] + 1)
    A.define(None, B[i] + 1)
    return tw.function("f", outputs=[A])


def three_in_a_ring():
    A = tw.computation("A", {i: N, j: N}, dtype=tw.float64)
    B = tw.computation("B", {i: N, j: N}, A[i, j] + 1)
    D = tw.computation("D", {i: N, j: N}, B[j, i] + 1)
    A.define(j < i, 0.0)
    A.define(j >= i, D[j, i])
    return tw.function("f", outputs=[D])


@pytest.mark.parametrize(
    ("make", "circle"),
    [
        (mutual, r"A\[0\] -> B\[0\] -> A\[0\]"),
        (three_in_a_ring, r"D\[0,0\] -> B\[0,0\] -> A\[0,0\] -> D\[0,0\]"),
        (lambda: recurrence(lambda C: [(i == 0, 0.0), (i > 0, C[N - i])]), r"C\[1\] -> C\[1\]"),
        (
            lambda: recurrence(
                lambda C: [(i == 0, C[N - 1]), (i > 0, C[i - 1])], {i: tw.param("N", minimum=1)}
            ),
            r"C\[0\] -> C\[0\]",
        ),
        (
            lambda: recurrence(lambda C: [(2 * i == 9, 0.0), (2 * i != 9, C[9 - i])], {i: 10}),
            r"C\[0\] -> C\[9\] -> C\[0\]",
        ),
        (
            lambda: recurrence(
                lambda C: [(i == 0, 1.0), (i > 0, tw.sum(C[j], over={j: (0, i + 1)}))]
            ),
            r"C\[1\] -> C\[1\]",
        ),
        (
            lambda: recurrence(lambda C: [(i >= 0, tw.select(i > 2, C[i], 0.0))]),
            r"C\[3\] -> C\[3\]",
        ),
    ],
    ids=["mutual", "ring", "documented", "around", "pair", "sum", "branch"],
)
def test_an_instance_that_needs_itself_is_named_when_the_function_is_made(make, circle):
    with pytest.raises(
        tw.SelfDependenceError, match=rf"needs its own value at .*: {circle}"
    ) as caught:
        make()
    assert caught.value.location is not None


def test_what_data_decide_is_left_to_the_evaluator():
    index = tw.input("index", [N], tw.int64)
    C = tw.computation("C", {i: N}, lambda C: C[tw.clamp(index[i], 0, N - 1)], dtype=tw.float64)
    f = tw.function("f", outputs=[C])
    with pytest.raises(tw.SelfDependenceError, match=r"C\[0\] -> C\[1\] -> C\[0\]"):
        f.evaluate(np.array([1, 0]))


def test_recurrences_are_taken():
    """Each reads itself, all of them only what some order computes earlier."""
    T = tw.param("T")
    E = tw.computation("E", {k: T, i: N}, dtype=tw.float64)
    inner = (k > 0) & (i > 0)
    H = tw.computation(
        "H",
        {k: T, i: N},
        [((k == 0) | (i == N - 1), 1.0), ((k > 0) & (i < N - 1), E[k, i + 1] - E[k, i])],
    )
    E.define(inner, E[k - 1, i] + H[k - 1, i] - H[k - 1, i - 1])
    E.define((k == 0) | (i == 0), 0.0)
    f = tw.function("f", outputs=[H])
    np.testing.assert_array_equal(f(T=5, N=6), f.evaluate(T=5, N=6))

    for reads in (
        lambda C: [(i == N - 1, 0.0), (i < N - 1, C[i + 1])],  # backwards
        lambda C: [(2 * i < N, 1.0), (2 * i >= N, C[0])],
        lambda C: [(i % 2 == 0, 1.0), (i % 2 == 1, C[i - 1])],
        lambda C: [(i < 5, 1.0), (i >= 5, tw.select(i < 2, C[i], C[i - 5]))],
    ):
        g = recurrence(reads)
        np.testing.assert_array_equal(g(N=9), g.evaluate(N=9))

    # From the middle outwards: no dimension goes one way.
    C = tw.computation(
        "C",
        {i: 9},
        lambda C: [(i == 4, 1.0), (i < 4, C[i + 1] + 1), (i > 4, C[8 - i] + 1)],
        dtype=tw.float64,
    )
    h = tw.function("h", outputs=[C])
    assert h.evaluate().tolist() == [5, 4, 3, 2, 1, 3, 4, 5, 6]


def test_a_constant_read_outside_fails_only_for_sizes_that_exist():
    z = tw.input("z", [4], tw.float32)
    refuse(tw.DomainError, r"reads z\[4\]", lambda: tw.computation("C", {i: 5}, z[i]))
    tw.computation("C", {i: 4}, z[i])


def test_the_line_is_the_users_even_when_found_later():
    B = tw.computation("B", {i: N}, dtype=tw.float32)
    C = tw.computation("C", {i: N}, B[i])  # the offending line
    B.define(i > 0, x[i])
    with pytest.raises(tw.DomainError) as caught:
        tw.function("f", outputs=[C])
    assert "the offending line" in caught.value.location.text
    assert caught.value.details["point"] == "C[0]"


def test_an_error_survives_pickling():
    with pytest.raises(tw.DomainError) as caught:
        tw.computation("C", {i: N}, x[i + 1])
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value) and again.location == caught.value.location
    assert again.details == caught.value.details


def blocks(text):
    """The code blocks of a docstring, by the word that comes before: {"Fails": code, ...}."""
    found = {}
    for match in re.finditer(
        r"(Fails|Mended)[^\n]*(?:\n[^\n]+)*?::\n\n((?:        .*\n|\n)+)", text
    ):
        found.setdefault(match[1], []).append(re.sub(r"^        ", "", match[2], flags=re.M))
    return found


def call_everything(scope):
    """Runs what the code declared, for the errors that only values show."""
    C = scope.get("C")
    if C is None or "f" in scope:
        return
    f = tw.function("f", outputs=[C])
    values = {
        "x": np.arange(3.0, dtype=np.float32),
        "y": np.ones(3, np.float32),
        "index": np.array([0, 9, 1], np.int32),
    }
    arguments = {name: values[name] for name in f.inputs}
    if "N" in f.parameters and not set(f.inputs) & {"x", "y", "index"}:
        arguments["N"] = 3
    f.evaluate(**arguments, **({"M": 3} if "M" in f.parameters and "M" not in arguments else {}))


DOCUMENTED = [
    tw.DeclarationError,
    tw.DeclarationTypeError,
    tw.DomainError,
    tw.SelfDependenceError,
    tw.SubscriptError,
    tw.ScheduleError,
    tw.IllegalScheduleError,
]


@pytest.mark.parametrize("error", DOCUMENTED, ids=lambda error: error.__name__)
def test_the_code_in_the_docstrings(error):
    """What is said to fail fails with this error; what is said to be mended runs."""
    code = blocks(error.__doc__ + "\n")
    assert code["Fails"] and len(code["Fails"]) == len(code["Mended"])

    def scope():
        size = tw.param("N")
        common = {"tw": tw, "N": size, "M": tw.param("M"), "i": i, "j": j, "k": k}
        for name, dtype in (("x", tw.float32), ("y", tw.float32), ("index", tw.int32)):
            common[name] = tw.input(name, [size], dtype)
        return common

    for failing, mended in zip(code["Fails"], code["Mended"], strict=True):
        names = scope()
        prepare = "C = tw.computation('C', {i: N}, x[i])\nf = tw.function('f', outputs=[C])\n"
        if error is tw.ScheduleError:
            exec(prepare, names)
        with pytest.raises(error):
            exec(failing, names)
            if error is not tw.SelfDependenceError:  # which tw.function has to raise
                call_everything(names)
        names = scope()
        if error is tw.ScheduleError:
            exec(prepare, names)
        exec(mended, names)
        if error is not tw.SubscriptError:
            call_everything(names)
