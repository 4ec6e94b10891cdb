"""The loops run with checked arrays notice what leaves an array and what nobody has written."""

from __future__ import annotations

import pytest

import tilewright as tw
from fuzz.checked_loops import CheckedLoops, OutOfPlace, Undecided, run_loops

ARGUMENTS = {"A": ((4,), True), "C": ((4,), False)}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("for i in range(0, N + 1):\n  C[i] = A[i]", r"A\[4\] lies outside of \[4\]"),
        ("for i in range(0, N):\n  C[i - 1] = A[i]", r"C\[-1\] lies outside of \[4\]"),
        ("C[0, 0] = A[0]", r"C\[0, 0\] lies outside of \[4\]"),
        ("for i in range(0, N):\n  C[i] = C[i] + A[i]", r"C\[0\] is read, and nothing"),
        ("B = empty((N - 5,), float64)", r"B has the extents \(-1,\)"),
        ("B = empty((), float64)\nC[0] = B[()]", r"B\[\] is read, and nothing has written it"),
        ("C[0] = A[0 if N >= 5 else 4]", r"A\[4\] lies outside"),
        ("max = A[0]\nmax = max(max, A[min(5, N)])", r"A\[4\] lies outside"),
    ],
)
def test_what_is_noticed(text: str, told: str) -> None:
    with pytest.raises(OutOfPlace, match=told):
        CheckedLoops(text).run({"N": 4}, ARGUMENTS)


@pytest.mark.parametrize(
    "text",
    [
        "for i in range(0, N):\n  C[i] = A[i]\nfor i in range(0, N):\n  C[i] = C[i] + float64(i)",
        "B = empty((N,), float64)\nB[A[0]] = A[1]\nC[0] = B[3]",  # data say which one
        "for i in range(0, N):\n  C[i] = fmin(A[i], -inf) if i >= 1 else A[3 - i]",
    ],
)
def test_what_is_in_order(text: str) -> None:
    CheckedLoops(text).run({"N": 4}, ARGUMENTS)


@pytest.mark.parametrize(
    "text",
    [
        "if A[0] >= A[1]:\n  C[5] = A[0]",
        "for i in range(0, int64(A[0])):\n  C[i] = A[i]",
        "for i in range(0, 1000000):\n  C[0] = A[0]",
    ],
)
def test_what_is_left_off(text: str) -> None:
    with pytest.raises(Undecided):
        CheckedLoops(text).run({"N": 4}, ARGUMENTS)


def test_a_function() -> None:
    (i,) = tw.iters("i")
    n = tw.param("N", "N >= 1")
    A = tw.input("A", [n, n - 1], tw.float64)
    C = tw.computation("C", {i: n - 1}, A[i + 1, i])
    f = tw.function("f", outputs=[C])
    C.split(i, 4)
    run_loops(f, {"N": 1}, {"N": 2}, {"N": 7})


@pytest.mark.parametrize("memory", ["memory", "A"])
def test_an_output_in_memory_of_another_name(memory: str) -> None:
    (i,) = tw.iters("i")
    n = tw.param("N", "N >= 1")
    A = tw.input("A", [n], tw.float64)
    C = tw.computation("C", {i: n}, A[i] + 1)
    f = tw.function("f", outputs=[C])
    C.store_in(A[i] if memory == "A" else tw.Buffer(memory, [n])[i])
    assert f"{memory}[i] = A[i]" in f.loops
    run_loops(f, {"N": 3})
