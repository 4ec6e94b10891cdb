"""Kernels of Python loops that are kept: a module that is run again translates nothing."""

import importlib.util
import itertools
import math
import sys
import types
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.frontends import dataflow
from tilewright.frontends.loops import functions, kernels

TEXT = """
import math
import numpy as np
import tilewright as tw

FACTOR = 3

@tw.jit
def twice(x, more=2):
    return more * x * FACTOR

@tw.jit
def third(x):
    return x / 3

def made(offset):
    @tw.jit
    def stencil(A, B, s):
        for i in range(1, A.shape[0] - 1):
            B[i] = (A[i - 1] + A[i + 1]) * s + math.pi + twice(A[i]) + third(A[i]) + offset
        return np.max(B), A.shape[0]
    return stencil

stencil = made(0.25)

@tw.jit
def gather(A, at):
    for i in range(at.shape[0]):
        A[i] = 2 * A[at[i]]

@tw.jit
def total(A, B):
    return (A * B).sum()
"""

_numbers = itertools.count()


class Module:
    """The text as a module, run anew as a new process would run it; counts translations."""

    def __init__(self, path, monkeypatch) -> None:
        self.path = path / "kept_module.py"
        self.translated = 0
        monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(path / "cache"))
        make = dataflow.to_function

        def counted(*given: Any, **named: Any) -> Any:
            self.translated += 1
            return make(*given, **named)

        monkeypatch.setattr(kernels, "to_function", counted)

    def run(self, text: str = TEXT) -> types.ModuleType:
        tw.cache.clear_memory()
        self.path.write_text(text)
        name = f"kept_module_{next(_numbers)}"
        spec = importlib.util.spec_from_file_location(name, self.path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        # Python's own cache of code goes by seconds.
        exec(compile(text, str(self.path), "exec"), vars(module))
        return module


@pytest.fixture
def module(tmp_path, monkeypatch):
    return Module(tmp_path, monkeypatch)


def call(m: types.ModuleType, n: int = 9) -> list[Any]:
    A, B = np.arange(float(n)), np.zeros(n)
    largest, length = m.stencil(A, B, 0.5)
    return [largest, length, *B.tolist()]


def wanted(n: int = 9, factor: float = 3.0, offset: float = 0.25) -> list[Any]:
    A, B = np.arange(float(n)), np.zeros(n)
    for i in range(1, n - 1):
        B[i] = (A[i - 1] + A[i + 1]) * 0.5 + math.pi + 2 * A[i] * factor + A[i] / 3 + offset
    return [max(B), n, *B.tolist()]


def test_a_module_that_is_run_again_translates_nothing(module):
    for _ in range(3):
        m = module.run()
        assert call(m) == wanted()
        assert call(m, 20) == wanted(20)
        assert module.translated == 1
    assert m.stencil._known_calls == 1


@pytest.mark.parametrize(
    "old, new, factor, offset",
    [
        ("FACTOR = 3", "FACTOR = 4", 4.0, 0.25),
        ("FACTOR = 3", "FACTOR = 3.0", 3.0, 0.25),
        ("more * x * FACTOR", "FACTOR * x * more", 3.0, 0.25),
        ("more=2", "more=4", 6.0, 0.25),
        ("made(0.25)", "made(0.5)", 3.0, 0.5),
        ("return x / 3", "return x / 3.0", 3.0, 0.25),
        ("        for i in", "        # loop: L\n        for i in", 3.0, 0.25),
    ],
)
def test_what_it_was_made_with_is_compared(module, old, new, factor, offset):
    assert call(module.run()) == wanted()
    text = TEXT.replace(old, new)
    assert text != TEXT
    assert call(module.run(text)) == wanted(9, factor, offset)
    assert module.translated == 2
    assert call(module.run(text)) == wanted(9, factor, offset)
    assert module.translated == 2


def test_constants_that_change_later_are_seen(module):
    call(module.run())
    m = module.run()
    assert call(m) == wanted()
    m.FACTOR = 5
    assert call(m) == wanted(9, 5.0)
    assert module.translated == 2


def test_objects_that_nobody_can_know_again_are_not_kept(module):
    text = TEXT.replace("FACTOR = 3", "FACTOR = (3, object())").replace("* FACTOR", "* FACTOR[0]")
    for count in (1, 2):
        assert call(module.run(text)) == wanted()
        assert module.translated == count


def test_what_else_is_asked_of_a_kept_kernel(module):
    said = []
    for _ in range(2):
        m = module.run()
        call(m)
        said.append([str(m.stencil.loops), m.stencil.signatures, str(m.stencil.schedule)])
        before = module.translated
        assert call(m) == wanted()
        assert module.translated == before
    assert said[0] == said[1]
    m = module.run()
    call(m)
    found = m.stencil.auto_schedule()
    assert str(m.stencil.schedule) == str(found)
    assert call(m) == wanted()


@pytest.mark.parametrize("step", [1, -1, 2])
def test_layouts_and_arrays_that_are_given_twice(module, step):
    whole = np.arange(12.0)
    A = whole[::step]
    for _ in range(2):
        m = module.run()
        assert m.total(A, A) == float((A * A).sum())
        assert m.total(A, A.copy()) == float((A * A).sum())
        assert len(m.total.signatures) == 2
    m = module.run()
    count = module.translated
    assert m.total(A, A.copy()) == float((A * A).sum())
    assert m.total(A.astype(np.float32), A[:3].astype(np.float32).repeat(4)[: A.size]) is not None
    assert module.translated == count + 1


def test_a_kept_kernel_that_fails_says_what_the_function_says(module):
    errors = []
    for _ in range(2):
        m = module.run()
        A = np.ones(3)
        m.gather(A, np.array([0, 1, 2]))
        with pytest.raises(tw.TilewrightError) as caught:
            m.gather(A, np.array([0, 1, 7]))
        errors.append(str(caught.value))
    assert errors[0] == errors[1]
    m = module.run()
    before = module.translated
    m.gather(np.ones(3), np.array([0, 1, 2]))
    assert module.translated == before


def test_definitions_are_checked_once(module, monkeypatch):
    module.run()
    monkeypatch.setattr(
        functions.Loops, "check_definition", lambda self: pytest.fail("asked again")
    )
    module.run()
    with pytest.raises(tw.TranslationError):
        monkeypatch.undo()
        module.run(TEXT + "\n@tw.jit\ndef wrong(*all):\n    return all\n")


def test_kept_calls_stay_beside_new_ones(module):
    call(module.run())
    m = module.run()
    B = np.ones(4, np.float32)
    assert call(m) == wanted()
    assert m.total(B, B) == 4  # not kept: translated
    assert m.stencil(B, B.copy(), np.float32(1.0))[1] == 4
    before = module.translated
    assert call(m) == wanted()
    assert module.translated == before
    assert len(m.stencil.signatures) == 2
