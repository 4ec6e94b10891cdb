"""What `help` shows of the functions' side: everything public is documented; commands show loops."""

from __future__ import annotations

import inspect

import pytest

import tilewright as tw

COMMANDS = [
    *("split", "tile", "interchange", "reverse", "shift", "skew", "after", "before", "then"),
    *("parallelize", "vectorize", "unroll", "set_schedule", "store_in"),
]


@pytest.mark.parametrize("name", COMMANDS)
def test_commands_show_the_loops_before_and_after(name):
    text = inspect.getdoc(getattr(tw.Computation, name))
    assert text is not None
    assert "Before::" in text
    assert "After" in text
    assert getattr(tw.ComputationHandle, name) is not None


@pytest.mark.parametrize(
    "owner", [tw.Function, tw.Schedule, tw.ComputationHandle, tw.Buffer, tw.cache, tw.CacheInfo]
)
def test_public_things_are_documented(owner):
    assert inspect.getdoc(owner)
    for name, member in vars(owner).items():
        if name.startswith("_") or not (callable(member) or isinstance(member, property)):
            continue
        assert inspect.getdoc(member), f"{owner.__name__}.{name}"


def test_everything_public_exists():
    for name in tw.__all__:
        assert hasattr(tw, name)
