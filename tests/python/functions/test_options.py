"""What a person chooses for a function is one value: it compares, prints as what makes it, and goes with
the function into copies and pickles."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import tilewright as tw
from tilewright import _core

N = tw.param("N")
i = tw.iter("i")
x = tw.input("x", [N], tw.float64)

CHOSEN = {
    "fast_math": True,
    "cpu": "x86-64-v2",
    "optimize": "full",
    "default_schedule": False,
    "check_bounds": True,
    "target": "gpu-emulator",
}


def doubled(**options) -> tw.Function:
    return tw.function("doubled", outputs=[tw.computation("C", {i: N}, 2 * x[i])], **options)


def test_a_function_has_what_was_chosen() -> None:
    options = doubled(**CHOSEN).options
    assert {name: getattr(options, name) for name in CHOSEN} == CHOSEN
    assert options == _core.Options(**CHOSEN)
    assert hash(options) == hash(_core.Options(**CHOSEN))
    assert eval(repr(options), {"Options": _core.Options}) == options


@pytest.mark.parametrize("name", CHOSEN)
def test_each_option_counts(name: str) -> None:
    assert _core.Options(**{name: CHOSEN[name]}) != _core.Options()
    assert _core.Options() != "options"


@pytest.mark.parametrize("make", [copy.copy, lambda f: pickle.loads(pickle.dumps(f))])
def test_options_go_with_the_function(make) -> None:
    f = doubled(**{**CHOSEN, "cpu": "native"})
    other = make(f)
    assert other.options == f.options
    np.testing.assert_array_equal(other(np.arange(3.0)), [0, 2, 4])


def test_settings_are_taken_where_nothing_is_given() -> None:
    before = tw.settings.fast_math
    try:
        tw.settings.fast_math = True
        assert doubled().options.fast_math
        assert not doubled(fast_math=False).options.fast_math
    finally:
        tw.settings.fast_math = before


@pytest.mark.parametrize("name", ["fast_math", "default_schedule", "check_bounds"])
@pytest.mark.parametrize("bad", ["yes", 1, [], 0.0])
def test_a_truth_must_be_one(name: str, bad: object) -> None:
    with pytest.raises(tw.DeclarationTypeError, match=f"{name} must be True or False, got"):
        doubled(**{name: bad})


@pytest.mark.parametrize("name", ["cpu", "optimize", "target"])
def test_a_word_must_be_one(name: str) -> None:
    with pytest.raises(tw.DeclarationTypeError, match=f"{name} must be a string, got 3"):
        doubled(**{name: 3})


def test_changes_are_seen() -> None:
    f = doubled()
    f.check_bounds = True
    f.target = "gpu-emulator"
    assert f.options == _core.Options(
        fast_math=tw.settings.fast_math,
        cpu=tw.settings.cpu,
        optimize=tw.settings.optimize,
        default_schedule=tw.settings.default_schedule,
        check_bounds=True,
        target="gpu-emulator",
    )
