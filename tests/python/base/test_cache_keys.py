"""What a kernel is kept under: the same for the same program wherever it is written and declared,
another one for whatever makes other code."""

from __future__ import annotations

import contextlib
import copy
import os
import pathlib
import random

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

import tilewright as tw
from children import PACKAGE, run_python
from fuzz.cases import Runner
from fuzz.generator import draw_program
from fuzz.judge import TooLarge
from fuzz.programs import Declaration, walk
from fuzz.starting import Unknown
from tilewright import _core

PYTHON = pathlib.Path(__file__).parents[1]
SEEDS = st.integers(0, 10**6)


def program_of(seed):
    return draw_program(random.Random(seed))


def declared(program):
    """The function; programs that are refused (some need their own values) are not looked at."""
    try:
        return Declaration(program).function
    except tw.DeclarationError:
        assume(False)


def scheduled(program, seed):
    """The function with some random commands that are legal."""
    declared(program)
    return run(program, seed)


def run(program, seed):
    case = {"seed": str(seed), "program": program, "sizes": [(2, 2, 2)], "commands": None}
    runner = Runner(case, compiled=False)
    with contextlib.suppress(TooLarge, Unknown):
        runner.run()
    return runner.function if hasattr(runner, "function") else Declaration(program).function


def key_of(function):
    try:
        return function.key
    except tw.TilewrightError:
        assume(False)


# ---- the same program, the same key ----


@given(SEEDS)
@settings(max_examples=60, deadline=None)
def test_declared_again(seed):
    program = program_of(seed)
    assert key_of(declared(program)) == key_of(declared(program))


@given(SEEDS)
@settings(max_examples=40, deadline=None)
def test_another_order_of_declarations(seed):
    """It is another function exactly if its calls take the inputs in another order."""
    program = program_of(seed)
    function = declared(program)
    key = key_of(function)
    shuffled = copy.deepcopy(program)
    random.Random(seed).shuffle(shuffled["inputs"])
    i, N = tw.iter("i"), tw.param("N")
    tw.computation("unrelated", {i: N}, tw.input("unrelated_input", [N], tw.float32)[i])
    other = declared(shuffled)
    assert (key_of(other) == key) == (list(other.inputs) == list(function.inputs))


def test_an_order_of_inputs_that_is_given_hides_that_of_declarations():
    i, N = tw.iter("i"), tw.param("N")
    keys = set()
    for names in ("xy", "yx"):
        made = {name: tw.input(name, [N], tw.float32) for name in names}
        x, y = made["x"], made["y"]
        C = tw.computation("C", {i: N}, x[i] - y[i])
        keys.add(key_of(tw.function("f", outputs=[C], inputs=[x, y])))
    assert len(keys) == 1


CHILD = """
import sys
sys.path[:0] = [sys.argv[1]]
import test_cache_keys
print(" ".join(test_cache_keys.keys_of(range(int(sys.argv[2])))))
"""


def keys_of(seeds):
    keys = []
    for seed in seeds:
        try:
            keys.append(run(program_of(seed), seed).key)
        except tw.TilewrightError as error:
            keys.append(error.code)
    return keys


def test_another_process():
    count = 25
    here = keys_of(range(count))
    assert len(set(here)) > count // 2
    for hash_seed in ("1", "2"):
        folders = [PACKAGE, pathlib.Path(__file__).parents[1], pathlib.Path(__file__).parent]
        child = run_python(
            *("-c", CHILD, str(pathlib.Path(__file__).parent), str(count)),
            PYTHONHASHSEED=hash_seed,
            PYTHONPATH=os.pathsep.join(map(str, folders)),
        )
        assert child.stdout.split() == here


MATMUL = """{blank}
{first} = tw.input("A", [{n}, K], tw.float32)
{second} = tw.input("B", [K, M], tw.float32)
C = tw.computation("C", {{i: {n}, j: M}}, tw.sum({first}[i, k] * {second}[k, j], over={{k: K}}))
f = tw.function("matmul", outputs=[C])
"""


def matmul(**names):
    scope = {"tw": tw}
    scope["i"], scope["j"], scope["k"] = tw.iters("i j k")
    scope["N"], scope["M"], scope["K"] = tw.params("N M K")
    text = MATMUL.format(**{"blank": "", "first": "A", "second": "B", "n": "N", **names})
    exec(compile(text, names.get("file", "a.py"), "exec"), scope)
    return scope["f"], scope["C"]


def test_another_file_line_and_other_variables():
    f, _ = matmul()
    g, _ = matmul(blank="\n\n# a comment\n", first="left", second="right", file="b.py")
    assert f.key == g.key == f.compile()["key"]


def test_two_ways_to_one_schedule():
    f, C = matmul()
    g, D = matmul()
    C.tile("i", "j", 8, 16)
    D.split("i", 8, "i0", "i1").split("j", 16, "j0", "j1").interchange("i1", "j0")
    assert f.loops == g.loops and f.key == g.key
    h, E = matmul()
    E.interchange("i", "j").interchange("i", "j")
    plain, _ = matmul()
    plain["C"].interchange("i", "i")
    assert h.key == plain.key


def test_commands_on_different_computations_commute():
    i, N = tw.iter("i"), tw.param("N")
    x = tw.input("x", [N], tw.float32)
    keys = set()
    for order in ("BC", "CB"):
        B = tw.computation("B", {i: N}, x[i] + 1)
        C = tw.computation("C", {i: N}, B[i] * 2)
        f = tw.function("f", outputs=[C])
        for name in order:
            f[name].split("i", 8, "o", "n").unroll("n")
        keys.add(f.key)
    assert len(keys) == 1


# ---- another program, another key ----


def mutate(program, rng):
    """The program with one thing changed, or None where nothing was found to change."""
    program = copy.deepcopy(program)
    computation = rng.choice(program["computations"])
    nodes = [node for _, value in computation["pieces"] for node in walk(value)]
    swaps = {"add": "sub", "sub": "add", "mul": "add", "min": "max", "max": "min"}
    choices = []
    for node in nodes:
        if node[0] == "const":
            choices.append(lambda node=node: node.__setitem__(1, node[1] + 1))
        elif node[0] in swaps:
            choices.append(lambda node=node: node.__setitem__(0, swaps[node[0]]))
        elif node[0] == "read":
            for subscript in node[2]:
                if not isinstance(subscript[0], str):
                    choices.append(lambda s=subscript: s.__setitem__(0, s[0] + 1))
                    choices.append(lambda s=subscript: s.__setitem__(0, s[0] - 1))
    other = {"float32": "float64", "float64": "float32", "int32": "int64", "int64": "int32"}
    for array in program["inputs"]:
        if array["dtype"] in other:
            choices.append(lambda a=array: a.__setitem__("dtype", other[a["dtype"]]))
    if not choices:
        return None
    rng.choice(choices)()
    return program


@given(SEEDS)
@settings(max_examples=60, deadline=None)
def test_a_change_of_the_program(seed):
    program = program_of(seed)
    function = declared(program)
    key, loops = key_of(function), function.loops
    changed = mutate(program, random.Random(seed + 1))
    assume(changed is not None)
    try:
        other = declared(changed)
        other_loops = other.loops
    except (tw.TilewrightError, ValueError, OverflowError):
        assume(False)
    # Where the change is in a piece that holds nowhere, the keys differ and the loops do not.
    if key == other.key:
        assert loops == other_loops and function.signature == other.signature


@given(SEEDS, SEEDS)
@example(967, 965)  # an order of terms that are none
@settings(max_examples=25, deadline=None)
def test_two_schedules(seed, first):
    """One key for two schedules only where they make the same loops."""
    program = program_of(seed)
    functions = [scheduled(program, first + n) for n in range(3)]
    texts = {}
    for function in functions:
        key = key_of(function)
        assert texts.setdefault(key, function.loops) == function.loops


@pytest.mark.parametrize(
    "change",
    [
        {"fast_math": True},
        {"cpu": "x86-64"},
        {"cpu": "x86-64-v2"},
        {"optimize": "full"},
        {"default_schedule": False},
    ],
    ids=str,
)
def test_options(change):
    i, N = tw.iter("i"), tw.param("N")
    x = tw.input("x", [N], tw.float32)
    C = tw.computation("C", {i: N}, tw.exp(x[i]))
    plain = tw.function("f", outputs=[C], optimize="light")
    assert tw.function("f", outputs=[C], **{"optimize": "light", **change}).key != plain.key
    assert tw.function("f", outputs=[C], optimize="light").key == plain.key
    (name, value) = next(iter(change.items()))
    with tw.settings(optimize="light"), tw.settings(**{name: value}):
        assert tw.function("f", outputs=[C]).key != plain.key


def test_packed_dimensions_are_compiled_in():
    """The constant strides of an image's channels are part of the code; other arrays, other code."""
    i, c = tw.iters("i c")
    N = tw.param("N")
    x = tw.input("x", [N, 3], tw.float32)
    C = tw.computation("C", {i: N, c: 3}, 2 * x[i, c])
    f = tw.function("f", outputs=[C])
    packed = np.arange(12, dtype=np.float32).reshape(4, 3)
    apart = np.arange(24, dtype=np.float32).reshape(4, 6)[:, ::2]
    keys = {f.compile(a)["key"] for a in (packed, apart)}
    assert len(keys) == 2 and f.key in keys
    for a in (packed, apart):
        np.testing.assert_array_equal(f(a), 2 * a)


@pytest.mark.parametrize("in_each", [False, True], ids=["shared", "in each iteration"])
def test_promises_leave_out_what_others_need(in_each):
    """A promise narrows what compute_at computes and what store_at keeps: a function that makes none
    must not find that kernel."""

    def gather(*promises):
        a, idx = tw.input("A", [n], tw.float64), tw.input("idx", [n], tw.int64)
        p = tw.computation("P", {i: n}, a[i] * 2)
        c = tw.computation("C", {i: n}, p[idx[i]] + 0)
        f = tw.function("gather", outputs=[c], inputs=[a, idx])
        for promise in promises:
            c.assume(promise(idx))
        p.compute_at(c, i)
        if in_each:
            p.store_at(c, i)
        return f

    i, n = tw.iter("i"), tw.param("N")
    promises = (lambda idx: idx[i] <= i, lambda idx: idx[i] >= i - 1)
    f, g = gather(*promises), gather()
    a, reversed_ = np.arange(50.0), np.arange(50)[::-1].copy()
    np.testing.assert_array_equal(f(a, np.arange(50)), 2 * a)
    np.testing.assert_array_equal(g(a, reversed_), 2 * a[reversed_])
    keys = {key_of(f), key_of(g), key_of(gather(promises[0])), key_of(gather(promises[1]))}
    assert len(keys) == 4
    assert key_of(f) == key_of(gather(*promises))


def test_independence_is_in_the_key():
    i, n = tw.iter("i"), tw.param("N")
    x = tw.input("x", [n], tw.float64)
    c = tw.computation("C", {i: n}, x[i] + 1)
    f = tw.function("f", outputs=[c], default_schedule=False)
    before = key_of(f)
    c.independent(i)
    assert key_of(f) != before


def test_files_are_known_by_names_lengths_and_times(tmp_path: pathlib.Path) -> None:
    seen = {_core.files_identity(str(tmp_path))}

    def is_new() -> bool:
        found = _core.files_identity(str(tmp_path))
        assert found == _core.files_identity(str(tmp_path))
        seen_before = found in seen
        seen.add(found)
        return not seen_before

    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "a.py").write_text("x = 1\n")
    assert is_new()
    (inner / "a.py").write_text("x = 10\n")
    assert is_new()
    os.utime(inner / "a.py", ns=(1, 1))
    assert is_new()
    (inner / "a.py").rename(inner / "b.py")
    assert is_new()
    (inner / "__pycache__").mkdir()
    (inner / "__pycache__" / "b.pyc").write_text("")
    assert not is_new()
    assert _core.files_identity(str(tmp_path / "nowhere"))
