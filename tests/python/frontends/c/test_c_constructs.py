"""Each construct of the subset of C that is translated, in a program whose results are compared with
gcc's, bit for bit."""

from __future__ import annotations

import pathlib
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from c_oracle import assert_same_bits, check_text, compiled, copies, run_c

import tilewright as tw
from tilewright.frontends.c import load


@dataclass(frozen=True)
class Case:
    """A C function `f` and the arguments that it is called with."""

    title: str
    text: str
    arguments: tuple[Any, ...]

    def __str__(self) -> str:
        return self.title


def _ints(*shape: int, dtype: Any = np.int32, low: int = -50, high: int = 50) -> np.ndarray:
    info = np.iinfo(dtype)
    values = np.random.default_rng(7).integers(max(low, info.min), min(high, info.max), shape)
    return values.astype(dtype)


def _reals(*shape: int, dtype: Any = np.float64) -> np.ndarray:
    return np.random.default_rng(8).standard_normal(shape).astype(dtype)


def _zeros(*shape: int, dtype: Any = np.float64) -> np.ndarray:
    return np.zeros(shape, dtype)


# The arguments of each program of functions.txt.
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "pointers that count": (7, _reals(7), _zeros(7)),
    "pointers that step by rows": (
        3,
        4,
        5,
        _reals(15, dtype=np.float32),
        _reals(20, dtype=np.float32),
        _zeros(12, dtype=np.float32),
    ),
    "unsigned counter below zero": (9, _ints(9, dtype=np.uint64)),
    "blocks of four": (12, _reals(12)),
    "pointers that meet": (9, _reals(9)),
    "difference of pointers": (9, _reals(9), _ints(1, dtype=np.int64)),
    "pointer that a function moves": (4, 5, _reals(20), _reals(5)),
    "pointer under a condition": (9, _ints(9), _ints(10)),
    "pointer that is set again": (4, _ints(4)),
    "pointer that is set in a loop": (6, _reals(7, dtype=np.float32)),
    "counter": (3, 4, _reals(12), _zeros(12)),
    "counter behind loops": (3, 4, _zeros(12)),
    "counter under a condition": (9, _ints(9), _ints(10)),
    "counter that is left": (9, _ints(9), _ints(10)),
    "counters of other counters": (6, _ints(6, dtype=np.int64)),
    "counter of steps": (11, _ints(11), _ints(12)),
    "counter of steps that end before they begin": (7, _ints(7), _ints(7)),
    "pointers of different steps": (
        5,
        _ints(15, dtype=np.uint8),
        _ints(5, dtype=np.uint8),
        _ints(10, dtype=np.uint8),
    ),
    "pointers of different steps that meet": (
        5,
        _reals(10, dtype=np.float32),
        _reals(5, dtype=np.float32),
        _reals(5, dtype=np.float32),
    ),
    "countdown of data that is left": (6, np.array([1, 2, 11, 0, 5, 7], np.int32), _ints(6)),
    "reversal by indices": (8, _ints(10)),
    "reversal by pointers": (9, _reals(9)),
    "reversal by sizes": (10, _ints(10, dtype=np.int16)),
    "both ends until data end it": (9, np.array([1, 2, 3, 4, 0, 4, 2, 9, 1], np.int32)),
    "both ends to the same side": (11, _ints(11)),
    "triangle by a counter": (4, _reals(16), _zeros(10)),
    "random numbers are no counter": (6, _ints(6, dtype=np.uint64)),
    "sizes of type size_t": (4, _reals(16), _zeros(16)),
    "sizes converted to size_t": (3, 4, _reals(12), _zeros(3)),
    "sizes that are products": (3, 4, _reals(12)),
    "rows of data behind pointers": (
        3,
        np.array([0, 2, 2, 5], np.int32),
        _ints(5, low=0, high=3),
        _reals(6),
        _reals(3),
        _zeros(3),
    ),
    "memset and memcpy": (4, 5, _reals(4, 5), _reals(4, 5), _ints(4), _ints(4, dtype=np.uint8)),
    "structures set and copied": (4, _reals(3)),
    "bounds that are chosen": (13, 4, _reals(19)),
    "parts of a row by remainders": (9, _reals(9)),
    "breadth first": (
        5,
        np.arange(0, 10, 2, dtype=np.int32),
        np.full(5, 2, np.int32),
        np.array([1, 2, 3, 0, 4, 1, 0, 4, 2, 3], np.int32),
        np.array([1, 0, 0, 0, 0], np.int32),
        np.zeros(5, np.int32),
        np.array([1, 0, 0, 0, 0], np.int32),
        np.zeros(5, np.int32),
    ),
    "half of a size": (9, _reals(9)),
    "the smaller of two sizes": (9, 6, _reals(9)),
    "blocks of loops": (9, 4, _reals(9)),
    "tiles by hand": (9, _reals(9), _reals(9, 9)),
    "counter in two branches": (
        20,
        _reals(20, dtype=np.float32),
        _reals(20, dtype=np.float32),
        _reals(20, dtype=np.float32),
        _reals(20, dtype=np.float32),
        _reals(20, dtype=np.float32),
    ),
    "red and black": (8, _reals(64), 2),
    "blocked product": (9, _reals(9, 9), _reals(9, 9), _reals(9, 9)),
    "sizes that are halves": (9, _reals(5, 9)),
    "neighbour that is clipped": (7, _reals(7, dtype=np.float32), _reals(14, dtype=np.float32)),
    "clamped rows": (6, 7, _reals(42, dtype=np.float32), _reals(42, dtype=np.float32)),
    "mirrored border": (9, _reals(9, dtype=np.float32), _reals(9, dtype=np.float32)),
    "periodic border": (9, _reals(9, dtype=np.float32), _reals(9, dtype=np.float32)),
    "matrix": (3, 5, _reals(3, 5), _zeros(5, 3)),
    "structures without a name": (6, _reals(6), _zeros(6)),
    "lists without inner braces": (12, _ints(12)),
    "static tables that nothing writes": (9, _ints(9)),
    "words of isl as names": (
        6,
        _reals(6) * 9,
        np.zeros(6, np.dtype([("max", "f8"), ("mod", "i4")], align=True)),
    ),
    "insertion sort with sizes that have no sign": (9, _ints(9)),
    "indices that wrap around": (9, _ints(9)),
    "work list with counters that are known": (9, _ints(9), _ints(9), _ints(9)),
    "tests of pointers": (5, _reals(5), _zeros(5)),
    "ranges of data behind counters that are known": (9, _ints(9), _ints(9), _ints(9)),
    "texts of the C library": (9, *(_ints(9, dtype=np.int8) for _ in range(3))),
    "roundings to integers": (7, np.array([0.2, 0.6, -1.0, 1.3, -0.2, 3.0, -2.2])),
    "switches on truth values": (6, _reals(3)),
    "constants that are called like words of isl": (9, _ints(9)),
    "addresses that stay where they were": (
        9,
        _ints(9),
        _ints(4),
        np.arange(9, dtype=np.int32).reshape(3, 3),
        np.array([(5, 2), (3, 4), (7, 1)], [("x", "i4"), ("y", "i4")]),
    ),
    "words and where they begin": (
        np.array([1, 3, 1, 1, 3, 3, 1, 2, 2, 2, 2, 0], np.int8),
        _zeros(6, dtype=np.int32),
    ),
    "unsigned counters that are left": (
        6,
        np.array([5, 6, 7, 8, 9, 0, 1, 1, 1, 1], np.int32)[:6],
        3,
        _zeros(2, dtype=np.uint32),
    ),
    "conditions before and behind a store": (
        np.array([1, 1, 1, 0], np.int32),
        np.arange(20, dtype=np.int32),
    ),
    "memory that is asked for where it is given": (6, _reals(6)),
    "topological order": (9, _ints(9), _ints(9), _ints(9)),
    "static const restrict": (4, _reals(4, 4), _zeros(4)),
    "sizes after the array": (4, _zeros(4, 9)),
    "pointers": (6, _zeros(6), _reals(6), _zeros(1)),
    "pointer to rows": (3, _zeros(3, 5)),
    "linearised": (3, 4, _zeros(12)),
    "linearised, three dimensions": (2, 3, 4, _zeros(24)),
    "linearised stencil": (5, _zeros(25), _reals(25)),
    "row of a matrix": (3, 4, _zeros(3, 4)),
    "calls": (7, _reals(7), _reals(7), _ints(7)),
    "calls that change scalars": (6, _zeros(6)),
    "arguments that are changed": (5, 2.5, _ints(5)),
    "result": (5, _reals(5)),
    "early result": (9, _ints(9)),
    "integer types": (
        9,
        _ints(9, dtype=np.int8),
        _ints(9, dtype=np.uint8, low=0),
        _ints(9, dtype=np.int16),
        _ints(9, dtype=np.uint16, low=0),
        _ints(9, dtype=np.uint32, low=0),
        _ints(9, dtype=np.int64),
        _ints(9, dtype=np.uint64, low=0),
    ),
    "shifts": (
        9,
        _ints(9),
        _ints(9, dtype=np.uint32, low=0),
        _ints(9, dtype=np.uint8, low=0),
        _ints(9, dtype=np.int64),
    ),
    "_Bool": (5, np.array([0, 1, 0, 1, 0], bool), np.array([0.0, 0.25, -3, 0, 5])),
    "floats and doubles": (6, _reals(6, dtype=np.float32), _reals(6)),
    "conversions": (
        8,
        _ints(8),
        _zeros(8, dtype=np.float32),
        _reals(8),
        _ints(8, dtype=np.uint8, low=0),
    ),
    "mathematics that is exact": (8, _reals(8), _reals(8, dtype=np.float32), _ints(8)),
    "structures": (
        5,
        np.array(
            [(1.5 * i, -i, i * i) for i in range(5)],
            np.dtype([("x", "f8"), ("y", "f8"), ("id", "i4")], align=True),
        ),
    ),
    "nested structures": (
        2,
        np.zeros(
            2,
            np.dtype(
                [
                    ("f", np.dtype([("a", "i4", (4,)), ("g", "f4")], align=True), (3,)),
                    ("c", "i1"),
                ],
                align=True,
            ),
        ),
        np.zeros(
            1,
            np.dtype(
                [
                    ("f", np.dtype([("a", "i4", (4,)), ("g", "f4")], align=True), (3,)),
                    ("c", "i1"),
                ],
                align=True,
            ),
        ),
    ),
    "typedef of a structure": (
        4,
        np.array([(1.5, 2), (0.25, -1), (3, 4), (1, 1)], [("re", "f4"), ("im", "f4")]),
    ),
    "constant table": (7, _zeros(7), _reals(7)),
    "macros": (6, _ints(6)),
    "GNU spellings": (4, _ints(4)),
}


def _sections(name: str) -> dict[str, str]:
    """The programs of a text file by their titles."""
    text = pathlib.Path(__file__).with_name(name).read_text(encoding="utf-8")
    parts = (part.partition("\n") for part in re.split(r"^=== ", text, flags=re.M)[1:])
    return {title: body.strip("\n") for title, _, body in parts}


# Bodies of functions of n and A[n], and whole files.
CASES = [
    *(
        Case(title, f"void f(int n, int A[n]) {{\n{body}\n}}", (13, _ints(13)))
        for title, body in _sections("loops.txt").items()
    ),
    *(Case(title, text, ARGUMENTS[title]) for title, text in _sections("functions.txt").items()),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_construct(case: Case) -> None:
    text = (
        case.text
        if "malloc" not in case.text and "calloc" not in case.text
        else "#include <stdlib.h>\n" + case.text
    )
    before = [value.copy() if isinstance(value, np.ndarray) else value for value in case.arguments]
    after = check_text(text + "\n", case.arguments)
    changed = [
        not np.array_equal(a, b, equal_nan=True)
        if a.dtype.names is None
        else a.tobytes() != b.tobytes()
        for a, b in zip(before, after, strict=True)
        if isinstance(a, np.ndarray)
    ]
    if not load(text + "\n", scop="function").f._translated.result:
        assert (
            any(changed) or case.title == "no iterations"
        )  # a program that does nothing shows nothing


def test_compiler_is_asked_without_contraction() -> None:
    """The oracle rounds products before it adds: else it would be none."""
    text = "double f(double a, double b, double c) {\n return a * b + c; }"
    call = compiled(text).f
    import ctypes

    call.argtypes, call.restype = [ctypes.c_double] * 3, ctypes.c_double
    assert call(1 + 2.0**-30, 1 - 2.0**-30, -1.0) == 0.0


# Programs whose loops or subscripts only data decide about, which the dataflow may refuse.
DECIDED_BY_DATA = {
    "two iterators",
    "iterator that the body changes",
    "bound that the body changes",
    "bound in memory",
    "bound in memory that changes",
    "symbolic step",
    "doubling",
    "no third part",
    "no condition",
    "do",
    "do with continue",
    "continue in a general for",
    "known scalars in branches",
    "known scalars in loops",
    "known scalar of an iterator",
    "increments in expressions",
    "arguments that are changed",
    "subscript before the array",
}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_compiled(case: Case) -> None:
    """What the function does that the dataflow makes and the library compiles."""
    include = "#include <stdlib.h>\n" if "alloc" in case.text else ""
    text = f"{include}{case.text}\n"
    function = load(text, scop="function").f
    ours, theirs = copies(case.arguments), copies(case.arguments)
    expected = run_c(compiled(text), function, theirs)
    try:
        found = function(*ours)
    except tw.TranslationError:
        if case.title not in DECIDED_BY_DATA:
            raise
        return
    for value, wanted, name in zip(ours, theirs, function.arguments, strict=True):
        if isinstance(value, np.ndarray):
            assert_same_bits(value, wanted, name)
    if expected is not None:
        assert_same_bits(found, np.asarray(expected, found.dtype), "result")


@pytest.mark.parametrize(
    ("title", "shown"),
    [
        ("pointers that count", "y[p_] = 2.0 * x[p_]"),
        ("pointers that step by rows", "a[i, k] * b[k, j]"),
        ("counter", "y[i, j] = x[i, j] + float64(int32(j))"),
        ("counters of other counters", "y[0] = y[0] + "),
        ("counter of steps", "y[i] = x[3 * i + 1]"),
        ("pointers of different steps", "b[2 * s_ + 1] = s[3 * s_ + 2]"),
        ("pointers of different steps that meet", "b[s_] = s[2 * s_ + 1]"),
        ("reversal by indices", "x[turn_] = x[n - turn_ - 1]"),
        ("reversal by pointers", "x[turn_] = x[n - turn_ - 1]"),
        ("reversal by sizes", "x[turn_] = x[n - turn_ - 1]"),
        ("both ends to the same side", "x[turn_] = x[turn_] + x[3 * turn_ + 4]"),
    ],
)
def test_what_counts_needs_no_memory(title: str, shown: str) -> None:
    """Counters and offsets of pointers are polynomials of the iterators: no iteration waits for one."""
    (case,) = (each for each in CASES if each.title == title)
    loops = str(load(case.text + "\n", scop="function").f.function.loops)
    assert shown in loops
    assert not re.search(r"\b(l|p_at|q_at|y_at|c_at|s_at|a_at|b_at)\[\(\)\]", loops)
    assert not re.search(r"\[[^\]]*\b[ijk]\[\(\)\]", loops)  # nor do subscripts


def test_large_numbers_that_become_locals() -> None:
    text = """
    unsigned high(unsigned long a) { unsigned s = a >> 32; return s; }
    unsigned long square(unsigned long a) { unsigned long h = a >> 32; return h * h; }
    """
    module = load(text, scop="function")
    assert module.high(2**63 + (7 << 32)) == 2**31 + 7
    assert module.square(2**64 - 1) == (2**32 - 1) ** 2


def test_runs_of_a_sorted_array_are_merged() -> None:
    """Three loops that data end within two others: most of what is read may have been written by any of them."""
    text = """
    void f(int n, int *a, int *b) {
      for (int w = 1; w < n; w *= 2) {
        for (int i = 0; i < n; i += 2 * w) {
          int m = i + w < n ? i + w : n, r = i + 2 * w < n ? i + 2 * w : n, p = i, q = m, k = i;
          while (p < m && q < r) b[k++] = a[p] <= a[q] ? a[p++] : a[q++];
          while (p < m) b[k++] = a[p++];
          while (q < r) b[k++] = a[q++];
        }
        for (int i = 0; i < n; i++) a[i] = b[i];
      }
    }"""
    function = load(text, scop="function").f
    a = np.random.default_rng(4).integers(0, 99, 21).astype(np.int32)
    expected = np.sort(a)
    function(21, a, np.zeros(21, np.int32))
    np.testing.assert_array_equal(a, expected)
