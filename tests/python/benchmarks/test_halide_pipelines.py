"""Pipelines of images in Halide: the values of ours under each autoscheduler, or a line that says how to get Halide."""

from __future__ import annotations

import pathlib
import sys

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "benchmarks"))

import halide_pipelines
import peers
from harness import Context, Missing
from topics import pipelines


def image(name: str) -> np.ndarray:
    channels = pipelines.PIPELINES[name].channels
    shape = (70, 90, channels) if channels else (70, 90)
    return np.random.default_rng(0).random(shape, np.float32)


def test_without_halide_it_is_said_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "halide", None)
    missing = halide_pipelines.kernel("unsharp", "Li2018", image("unsharp"), 1)
    assert isinstance(missing, Missing)
    assert missing.reason.startswith("halide is not installed")
    assert missing.reason.endswith("scripts/bench --install-peers")


def test_a_missing_program_is_said_to_be_a_package_where_it_is_one(monkeypatch):
    monkeypatch.setattr(peers.shutil, "which", lambda name: None)
    assert str(peers.program("clang-19")).count("sudo apt-get install clang-19") == 1
    assert "apt-get" not in str(peers.program("polycc"))


@pytest.mark.parametrize("name", ["unsharp", "unsharp, 3 channels", "six blurs", "Harris"])
def test_halide_has_our_values(name):
    pytest.importorskip("halide")
    x = image(name)
    run = halide_pipelines.kernel(name, "Li2018", x, 2)
    assert not isinstance(run, Missing), run
    np.testing.assert_allclose(run(), pipelines.PIPELINES[name].numpy(x), rtol=1e-3, atol=1e-4)


def test_cases_that_are_not_asked_for_are_not_made(monkeypatch):
    made = []
    monkeypatch.setattr(pipelines, "case", lambda name, size, threads: made.append((name, size)))
    list(pipelines.cases(Context(threads=1, only="Harris, 512 x 512")))
    list(pipelines.cases(Context(threads=1, only="unsharp, 3 channels, 128")))
    assert made == [("Harris", 512), ("unsharp, 3 channels", 128)]


def test_the_names_of_cases_have_the_channels():
    assert pipelines.title("unsharp, 3 channels", 64) == "unsharp, 3 channels, 64 x 64 x 3"
    assert pipelines.title("six blurs", 64) == "six blurs, 64 x 64"
