"""The listings of the report on PENCIL (INRIA RT-0457) by their numbers: what it says of each holds, and
values are gcc's.

The programs are the report's; what they lack to be functions whose results can be seen is added.
"""

from __future__ import annotations

import ctypes
import pathlib
import re
from typing import Any

import numpy as np
import pytest
from c_oracle import assert_same_bits, compiled, copies, run_c

import tilewright as tw
from tilewright import _core
from tilewright.frontends.c import CFunction, CModule

_FILE = (pathlib.Path(__file__).parent / "listings.txt").read_text(encoding="utf-8")
TEXTS = {
    int(n): text for n, text in re.findall(r"^=== (\d+)\n(.*?)(?=^===|\Z)", _FILE, re.M | re.S)
}
RANDOM = np.random.default_rng(5)

#: What the programs call and do not define, in C; the same is compiled for gcc's program.
_FOREIGN = """
int f(int i) { return i * 7 % 5; }
int maybe(int i) { return i % 3 != 0; }
"""


def module(number: int, **options: Any) -> CModule:
    return tw.c.load(TEXTS[number], scop="function", **options)


def listing(number: int, **options: Any) -> CFunction:
    return module(number, **options).functions["listing"]


def check(function: CFunction, number: int, *arguments: Any, foreign: str = "") -> list[Any]:
    """What the function does to the arguments is what gcc's program does."""
    ours, theirs = copies(arguments), copies(arguments)
    expected = run_c(compiled(TEXTS[number] + foreign), function, theirs)
    result = function(*ours)
    for value, wanted, name in zip(ours, theirs, function.arguments, strict=True):
        if isinstance(value, np.ndarray):
            assert_same_bits(value, wanted, name)
    assert result == expected
    return ours


def flow(function: CFunction, source: str, sink: str) -> tw.Map:
    """Pairs of instances of which the second one reads what the first one wrote."""
    found = tw.Map("{ }")
    for each in function.dependences:
        if (each.source, each.sink) == (source, sink):
            found = found | each.map
    return found


def test_listing_1() -> None:
    """A loop that data end is translated as one, or refused where it stands; A and C run n times."""
    library = compiled(
        "int f(int x) { return 40 + x; } _Bool P(int x, int s) { return s > x; }"
        "int g(int s) { return s / 2 - 1; } int h(int s) { return s * 3; }\n"
    )
    externs = {
        "f": tw.extern("f", library.f, [tw.int32], tw.int32),
        "P": tw.extern("P", library.P, [tw.int32, tw.int32], np.bool_),
        "g": tw.extern("g", library.g, [tw.int32], tw.int32),
        "h": tw.extern("h", library.h, [tw.int32], tw.int32),
    }
    function = listing(1, externs=externs)
    assert {"A", "C"} <= set(function.statements)
    B = np.zeros(9, np.int32)
    try:
        function(9, B)
    except tw.TranslationError as error:
        assert error.line == 6 and "while" in error.message
        return
    wanted = []
    for x in range(9):
        s = 40 + x
        while s > x:
            s = int(s / 2) - 1
        wanted.append(3 * s)
    np.testing.assert_array_equal(B, wanted)


@pytest.mark.parametrize("where", [None, 0, 99, "everywhere"])
def test_listing_2(where: Any) -> None:
    """`continue` becomes a condition on data; there are as many instances as without it."""
    function = listing(2)
    A = np.zeros(100, np.int32)
    A[slice(None) if where == "everywhere" else [] if where is None else [where]] = 3
    check(function, 2, 5, A)
    # Both branches write x, so that the statement that chooses between them must.
    inner = [
        each for each in function.access_relations.accesses if each.relation.count() == 100 * 100
    ]
    assert sorted(each.kind for each in inner) == ["must write", "read", "read"]


def test_listing_3() -> None:
    """The value of t comes from the same iteration: i = i', not i <= i'."""
    function = listing(3)
    check(function, 3, RANDOM.integers(-9, 9, 100).astype(np.int32), np.arange(100, dtype=np.int32))
    assert flow(function, "T", "U") == tw.Map("{ T[i] -> U[i] : 0 <= i <= 99 }")
    accesses = function.access_relations
    assert (accesses.may_writes & tw.Map("{ U[i] -> B[i] }")).count() == 100
    assert accesses.must_writes.is_empty


def test_listing_4() -> None:
    """A field of a structure in an array of structures is an array of its own."""
    function = listing(4)
    check(function, 4, np.zeros((10, 10), np.int32))
    found = function.access_relations.must_writes & tw.Map("{ S[i, j] -> s_f_a[k, l] }")
    assert found == tw.Map("{ S[i, j] -> s_f_a[i, j] : 0 <= i <= 9 and 0 <= j <= 9 }")


def test_listing_5() -> None:
    """The copy of a structure reads two fields and writes two."""
    function = listing(5)
    dtype = np.dtype([("a", "i4"), ("b", "i4")])
    b = check(function, 5, np.zeros(10, dtype))[0]
    assert b["a"].tolist() == [42] * 10 and b["b"].tolist() == [57] * 10
    accesses = function.access_relations
    assert accesses.reads == tw.Map(
        "{ U_a[i] -> a_a[] : 0 <= i <= 9; U_b[i] -> a_b[] : 0 <= i <= 9 }"
    )
    assert accesses.must_writes == tw.Map(
        "{ S[] -> a_b[]; T[] -> a_a[]; U_a[i] -> b_a[i] : 0 <= i <= 9; U_b[i] -> b_b[i] : 0 <= i <= 9 }"
    )
    assert len(accesses.accesses) == len({each.reference for each in accesses.accesses})


def test_listing_6() -> None:
    """The index is an affine function of the iterator and the parameter; negative ones are ruled out."""
    function = listing(6)
    check(function, 6, 7, 3, np.arange(10, dtype=np.int32))
    (read,) = [each for each in function.access_relations.accesses if each.kind == "read"]
    assert read.index == ("i + m",)
    assert not function.context & tw.Set("[n, m] -> { : m < 0 and n > 0 }")
    with pytest.raises(tw.ArgumentError):
        function(7, -1, np.zeros(6, np.int32))


def test_listing_7() -> None:
    """What is assumed reaches the dataflow: nothing is carried from iteration to iteration."""
    function = listing(7)
    assert not function.dependences
    function["L"].parallelize("i")
    check(function, 7, 5, 6, 12, np.arange(12, dtype=np.int32))
    assert not function.context & tw.Set("[n, m] -> { : m <= n }")
    with pytest.raises(ValueError, match="m"):
        function(5, 3, 12, np.arange(12, dtype=np.int32))
    without = tw.c.load(TEXTS[7].replace("__pencil_assume(m > n);", ""), scop="function").listing
    with pytest.raises(tw.IllegalScheduleError):
        without["L"].parallelize("i")


def _odd() -> tw.Set:
    return tw.Set("[n] -> { A_a[i] : 0 < i < n and i mod 2 = 1 }")


def _foreign() -> dict[str, Any]:
    library = compiled(_FOREIGN)
    return {
        "f": tw.extern("f", library.f, [tw.int32], tw.int32),
        "maybe": tw.extern("maybe", library.maybe, [tw.int32], tw.int32),
    }


def test_listing_8() -> None:
    """The summary of a body: odd elements may be written, nothing is read for certain or written."""
    whole = module(8, externs=_foreign())
    summary = whole.summary("set_odd")
    assert summary.may_writes == _odd()
    assert summary.must_writes.is_empty and summary.may_reads.is_empty
    function = whole.functions["listing"]
    check(function, 8, 6, np.zeros(12, np.dtype([("a", "i4")])), foreign=_FOREIGN)
    writes = function.access_relations.may_writes.range & tw.Set("{ B_a[i] }")
    assert writes == tw.Set("[n] -> { B_a[i] : 0 < i < 2 * n and i mod 2 = 1 }")


def test_listing_9() -> None:
    """A summary function takes the place of a body that says less."""
    whole = module(9, externs={"f": _foreign()["f"]})
    assert whole.summary("set_odd").may_writes == _odd()
    own = whole.summary("listing").may_writes.intersect_params("[n] -> { : n = 4 }")
    assert own <= tw.Set("[n] -> { B_a[i] : 0 <= i < 2 * n }")
    check(
        whole.functions["listing"],
        9,
        6,
        np.zeros(12, np.dtype([("a", "i4")])),
        foreign="int f(int i) { return i * 7 % 5; }\nint maybe(void) { return 1; }\n",
    )


def test_listing_10() -> None:
    """The promise is printed with the schedule, and parallel loops are found with it."""
    function = listing(10)
    assert "independent" in str(function.schedule)
    assert "parallelize" in str(function.auto_schedule())
    assert "independent" in str(function.schedule)
    n = 6
    A = np.array([RANDOM.permutation(n) for _ in range(n)], np.int32)
    check(function, 10, n, A, np.zeros((n, n), np.int32))


def test_listing_11() -> None:
    """Flow from S1 to S2 within an iteration, and from S2 to the next one, as relation (19) has it;
    the scalar keeps nothing from being tiled."""
    function = listing(11)
    domain = "0 <= i < n and 0 <= j < n"
    assert flow(function, "S1", "S2") == tw.Map(f"[n] -> {{ S1[i, j] -> S2[i, j] : {domain} }}")
    assert flow(function, "S2", "S2") == tw.Map(
        f"[n] -> {{ S2[i, j] -> S2[i, j + 1] : {domain} and j < n - 1 }}"
    )
    with function.transaction():
        function.set_schedule(
            "[n] -> { S1[i, j] -> [ii, jj, i, j, 0] : ii = floor(i / 4) and jj = floor(j / 4);"
            " S2[i, j] -> [ii, jj, i, j, 1] : ii = floor(i / 4) and jj = floor(j / 4);"
            " x1_out[e0] -> [n, e0, 0, 0, 0] }"
        )
    n = 9
    arrays = RANDOM.standard_normal((n, n)), RANDOM.standard_normal(n), RANDOM.standard_normal(n)
    check(function, 11, n, *arrays)


FUSED = (
    "[Nx, Ny, Nz] -> { S1[i, j, k] -> [0, i, j, k, 0]; S2[i, j, k] -> [0, i, j, k, 1];"
    " S3[i, j, k] -> [0, i, j, k, 2]; S4[i, j, k] -> [0, i, j, k + 1, 3];"
    " S5[i, j, k] -> [0, i, j, k + 1, 4]; x_out[i, j, k] -> [1, i, j, k, 0];"
    " rho_out[i, j, k] -> [2, i, j, k, 0] }"
)


def _cubes() -> list[Any]:
    shape = 4, 5, 6
    return [*shape, *(RANDOM.integers(-99, 99, shape).astype(np.int32) for _ in range(3))]


def test_listing_12() -> None:
    """All three loops are fused into one band, of which the outer two are coincident (Figure 2)."""
    function = listing(12)
    check(function, 12, *_cubes())
    free = function.function.function.copy()
    free.reset_schedule()
    found = _core.bands(free)
    (band,) = [each for each in found if {"S1", "S2", "S3", "S4", "S5"} & set(each[0])]
    names, permutable, coincident = band
    assert {"S1", "S2", "S3", "S4", "S5"} <= set(names)
    assert permutable and coincident == [True, True, False]


def test_listing_13() -> None:
    """Its loops: one nest, with one a0 and one am1 for all of it; the outer two run in parallel, with
    scalars of their own."""
    function = listing(12)
    function.set_schedule(FUSED)
    lines = [line.strip() for line in str(function.loops).split("\n")]
    assert [line for line in lines if "empty" not in line] == [
        "for i1 in range(0, Nx):",
        "for j1 in range(0, Ny):",
        "for k1 in range(1, Nz):",
        "a0[()] = a[i1, j1, k1]",
        "am1[()] = a[i1, j1, k1 - 1]",
        "x[i1, j1, k1] = a0[()] + am1[()]",
        "a0[()] = a[i1, j1, k1 - 1]",
        "rho[i1, j1, k1 - 1] = a0[()] + x[i1, j1, k1] - x[i1, j1, k1 - 1]",
    ]
    check(function, 12, *_cubes())
    with function.transaction():
        for statement in ("S1", "S2", "S4"):
            function[statement].private(function[statement].loops[1])
        for statement in ("S1", "S2", "S3", "S4", "S5"):
            function[statement].parallelize(function[statement].loops[1])
    check(function, 12, *_cubes())
    apart = listing(12)
    with pytest.raises(tw.IllegalScheduleError):  # S4 would overwrite a0 before S3 reads it
        apart.set_schedule(
            FUSED.replace("k + 1, 3]", "k + 1, 1]").replace(
                "S2[i, j, k] -> [0, i, j, k, 1]", "S2[i, j, k] -> [0, i, j, k, 0]"
            )
        )


def test_the_library_of_the_foreign_functions() -> None:
    """What the tests above take for the meaning of f and maybe."""
    library = compiled(_FOREIGN)
    assert isinstance(library, ctypes.CDLL)
    assert [library.f(i) for i in range(4)] == [0, 2, 4, 1]
