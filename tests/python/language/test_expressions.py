"""Expressions: how they are built, printed and refused."""

import copy
import operator
import pickle

import numpy as np
import pytest

import tilewright as tw

i, j, k = tw.iters("i j k")
N, M = tw.params("N M")
x = tw.input("x", [N], tw.float32)
n = tw.input("n", [N], tw.int32)


def test_iterators_of_one_name_are_one_object():
    assert tw.iter("i") is i
    assert {i: 1, j: 2}[tw.iter("j")] == 2
    assert len({i, tw.iter("i"), j}) == 2
    assert copy.deepcopy(i) is i and pickle.loads(pickle.dumps(i)) is i
    assert [loop.name for loop in tw.iters("a, b", "c")] == ["a", "b", "c"]


def test_parameters_know_their_constraint():
    assert N.name == "N" and N.constraint == "[N] -> { : N >= 0 }"
    assert tw.param("P", minimum=None).constraint == ""
    assert tw.param("P", minimum=4).constraint == "[P] -> { : P >= 4 }"
    a, b = tw.params("a b", "a > 3 and b >= a")
    assert (
        a.constraint == b.constraint == "[a, b] -> { : a >= 0 and b >= 0 and (a > 3 and b >= a) }"
    )
    assert pickle.loads(pickle.dumps(a)).constraint == a.constraint


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (i + 1, "i + 1"),
        (2 * i - j, "2 * i - j"),
        ((i + j) * 2, "(i + j) * 2"),
        (i // 2 % 3, "i // 2 % 3"),
        (x[i - 1] * x[i], "x[i - 1] * x[i]"),
        ((i < N) & (j >= 0), "(i < N) & (j >= 0)"),
        (tw.sqrt(x[i]), "sqrt(x[i])"),
        (tw.select(i < 3, x[i], 0), "select(i < 3, x[i], 0.0)"),
        (tw.clamp(x[i], 0, 1), "minimum(maximum(x[i], 0.0), 1.0)"),
        (tw.cast(i, tw.float32), "float32(i)"),
        (tw.sum(x[k], over={k: N}), "sum(x[k] for k in range(0, N))"),
        (-x[i], "-x[i]"),
        (x[n[i]], "x[n[i]]"),
    ],
    ids=str,
)
def test_an_expression_prints_as_it_was_written(expression, text):
    assert repr(expression) == text


def test_reflected_operators():
    assert repr(1 - i) == "1 - i"
    assert repr(7 // i) == "7 // i"
    assert repr(2 ** n[i]) == "2 ** n[i]"
    assert repr(1 << n[i]) == "1 << n[i]"
    assert repr(3 & n[i]) == "3 & n[i]"
    assert [repr(part) for part in divmod(i, 4)] == ["i // 4", "i % 4"]
    assert [repr(part) for part in divmod(9, i)] == ["9 // i", "9 % i"]


def test_numpy_scalars_on_the_left():
    assert repr(np.int64(2) * i) == "2 * i"
    assert (np.float32(2) < x[i]).dtype == tw.bool
    assert (np.float64(2) / x[i]).dtype == tw.float64


def test_min_and_max_of_several_values():
    assert repr(tw.min(x[i], 1)) == "minimum(x[i], 1.0)"
    assert repr(tw.max(x[i], 1, 2)) == "maximum(maximum(x[i], 1.0), 2.0)"


def test_a_value_without_dimensions_takes_part_in_operators():
    scale = tw.input("scale", [], tw.float32)
    assert repr(scale * x[i]) == repr(scale[()] * x[i])
    assert repr(2 - scale) == repr(2 - scale[()])
    assert repr(np.float32(2) * scale) == repr(np.float32(2) * scale[()])


@pytest.mark.parametrize(
    "use",
    [
        lambda: 0 <= i < N,
        lambda: (i < N) and (j < M),
        lambda: not (i < N),
        lambda: 1 if i == 0 else 2,
        lambda: i in [j],
    ],
    ids=["chained", "and", "not", "if", "in"],
)
def test_an_expression_has_no_truth_value(use):
    with pytest.raises(tw.DeclarationTypeError, match=r"no truth value .* use|& \| ~") as caught:
        use()
    assert isinstance(caught.value, TypeError)


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda: x[i] + "a", "must be an expression or a number, not the str 'a'"),
        (lambda: x[i] + None, "must be an expression or a number, not NoneType"),
        (lambda: x[i] + [1, 2], "must be an expression or a number, not list"),
        (lambda: x[i] + np.ones(3), r"an array of shape \(3,\) .* tw\.input"),
        (lambda: np.ones(3) * x[i], r"an array of shape \(3,\) .* tw\.input"),
        (lambda: x + 1, r"x has 1 dimension: read an element of it, as x\[i\]"),
        (lambda: x[i] + x, r"x has 1 dimension: read an element of it"),
        (lambda: np.add.reduce(x[i]), "np.add.reduce has no counterpart"),
        (lambda: np.frexp(x[i]), "np.frexp has no counterpart"),
        (lambda: np.sqrt(x[i], out=np.ones(1)), "np.sqrt of an expression takes no out="),
        (lambda: np.heaviside(x[i], 1), "np.heaviside has no counterpart"),
        (lambda: x[i] & 1, "'&' does not take float32"),
        (lambda: tw.sqrt("a"), "not the str 'a'"),
        (lambda: x[i] + 2**70, "does not fit into 64 bits"),
        (lambda: tw.uint8(i) + 300, "300 out of bounds for uint8"),
        (lambda: x[i, j], "has 1 dimension.* but is read with 2 subscripts"),
        (lambda: x[x[i]], "a subscript of 'x' must be an integer, but x"),
        (lambda: x[1.0], r"a subscript of x must be an integer, not 1\.0"),
        (lambda: x[True], r"a subscript of x must be an integer, not True"),
        (lambda: x[:], r"x is read element by element, as x\[.*\]: a slice is no subscript"),
        (lambda: x[...], r"Ellipsis is no subscript"),
        (lambda: x["i"], "not the str 'i'"),
    ],
)
def test_operands_that_do_not_go_together(use, message):
    with pytest.raises(tw.DeclarationTypeError, match=message) as caught:
        use()
    assert isinstance(caught.value, TypeError)
    assert caught.value.location.file == __file__


def test_arrays_are_no_sequences():
    with pytest.raises(TypeError):
        list(x)
    with pytest.raises(TypeError):
        operator.contains(x, i)


@pytest.mark.parametrize("name", ["", "2x", "a-b", "and", "exists", "x y z!"])
def test_names_that_are_none(name):
    with pytest.raises(tw.DeclarationError):
        tw.iter(name)
    with pytest.raises(tw.DeclarationError):
        tw.input(name, [N], tw.float32)


def test_names_given_twice_or_not_at_all():
    with pytest.raises(tw.DeclarationError, match="contain one twice"):
        tw.iters("i j i")
    with pytest.raises(tw.DeclarationError):
        tw.iters("")
    with pytest.raises(tw.DeclarationError, match="takes one name"):
        tw.param("N M")
    with pytest.raises(tw.DeclarationTypeError):
        tw.iters(3)


@pytest.mark.parametrize(
    ("constraint", "message"),
    [
        ("N > and M", "isl cannot read \"N > and M\": column 5: syntax error at 'and'"),
        ("N > K", "uses 'K'; it may use what is declared here: N, M"),
        ("[N] -> { : N > 3 }", "has a brace in column 8; write the condition alone"),
        ("N > 3) or (N < 9", r"column 6: syntax error at .\)."),
        ("N > 3 and N < 2", "no values of N, M satisfy 'N > 3 and N < 2' with minimum=0"),
        ("N < 0", "no values of N, M satisfy"),
    ],
)
def test_constraints_that_cannot_be(constraint, message):
    with pytest.raises(tw.DeclarationError, match=message):
        tw.params("N M", constraint)


def test_a_constraint_is_text():
    with pytest.raises(tw.DeclarationTypeError, match="isl text"):
        tw.param("N", N > 3)


def test_functions_of_numpy_that_have_a_counterpart() -> None:
    n = tw.param("n")
    i = tw.iter("i")
    x = tw.input("x", [n], tw.float64)
    parts = [
        np.where(x[i] > 0, x[i], -1),
        np.clip(x[i], -0.5, 1),
        np.clip(x[i], None, 1),
        np.round(x[i]),
        np.around(x[i] / 3, 2),
        np.real(x[i]),
    ]
    outputs = [tw.computation(f"y{k}", {i: n}, part) for k, part in enumerate(parts)]
    given = np.array([-2.0, -0.5, 0.5, 1.5, 2.5])
    wanted = [
        np.where(given > 0, given, -1),
        np.clip(given, -0.5, 1),
        np.clip(given, None, 1),
        np.round(given),
        np.around(given / 3, 2),
        given,
    ]
    for found, value in zip(tw.function("f", outputs=outputs)(given), wanted, strict=True):
        np.testing.assert_array_equal(found, value)


@pytest.mark.parametrize(
    ("apply", "advice"),
    [
        (np.sum, r"tw\.sum\(x\[i\], over=\{i: N\}\)"),
        (np.max, r"tw\.max\("),
        (np.amin, r"tw\.min\("),
        (np.argmax, r"tw\.argmax\("),
        (np.mean, r"tw\.sum\(x\[i\], over=\{i: N\}\) / N"),
        (np.sort, "sort the array before the call"),
        (np.cumsum, "a computation that reads itself"),
        (round, r"tw\.round"),
    ],
)
def test_functions_of_whole_arrays_say_what_there_is_instead(apply: object, advice: str) -> None:
    x = tw.input("x", [tw.param("n")], tw.float64)
    with pytest.raises(tw.DeclarationTypeError, match=advice) as caught:
        apply(x[tw.iter("i")])
    assert caught.value.location.file == __file__
