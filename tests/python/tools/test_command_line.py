"""``python -m tilewright``: the cache's files and the doctor."""

from __future__ import annotations

import os
import pathlib

import pytest

import tilewright as tw
from children import run_python
from tilewright.tools import cli, doctor

KERNELS = """
import numpy as np
import tilewright as tw
i = tw.iter("i")
N = tw.param("N")
x = tw.input("x", [N], tw.float64)
for factor in range(3):
    y = tw.computation("y", {i: N}, x[i] * (factor + 2))
    f = tw.function(f"times{factor}", outputs=[y])
    assert (f(np.ones(3)) == factor + 2).all()
"""


@pytest.fixture
def cache(tmp_path: pathlib.Path) -> pathlib.Path:
    directory = tmp_path / "kernels"
    run_python("-c", KERNELS, TILEWRIGHT_CACHE_DIR=str(directory))
    assert len(list(directory.glob("*.twk"))) == 3
    return directory


def command(directory: pathlib.Path, *arguments: str, status: int = 0) -> str:
    done = run_python(
        *("-m", "tilewright", *arguments), status=status, TILEWRIGHT_CACHE_DIR=str(directory)
    )
    return done.stdout


def test_info(cache):
    text = command(cache, "cache", "info")
    assert str(cache) in text
    assert "3 kernels" in text


def test_verify_deletes_what_is_damaged(cache):
    files = len(list(cache.iterdir()))
    assert command(cache, "cache", "verify").startswith(f"{files} files are whole, 0 ")
    entry = min(cache.glob("*.twk"))
    entry.write_bytes(entry.read_bytes()[:-1])
    (cache / ("0" * 64 + ".twk")).write_text("not ours")
    text = command(cache, "cache", "verify")
    assert text.startswith(f"{files - 1} files are whole, 2 ")
    assert not entry.exists()


def test_prune_keeps_what_was_used_last(cache):
    entries = sorted(cache.glob("*.twk"))
    for other in cache.glob("*.twn"):
        other.unlink()
    for age, entry in enumerate(entries):
        os.utime(entry, (1_600_000_000 - age, 1_600_000_000 - age))
    keep = entries[0].stat().st_size + entries[1].stat().st_size
    command(cache, "cache", "prune", str(keep))
    assert sorted(cache.glob("*.twk")) == entries[:2]
    command(cache, "cache", "prune", "0")
    assert not list(cache.iterdir())


def test_clear(cache):
    assert command(cache, "cache", "clear").startswith("3 kernels")
    assert not list(cache.iterdir())


def test_without_a_directory(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    below = blocked / "below"
    assert command(below, "cache", "info").startswith("nothing is kept on disk: ")
    command(below, "cache", "clear", status=1)
    report = command(below, "doctor")
    assert "TILEWRIGHT_CACHE_DIR" in report


def test_the_doctor_runs_a_kernel(tmp_path):
    text = command(tmp_path / "kernels", "doctor")
    lines = {line[3:].split("  ")[0].strip(): line for line in text.splitlines() if line[2] == " "}
    for part in (
        "tilewright",
        "processor",
        "threads",
        "OpenMP",
        "cache",
        "a kernel",
        "CUDA driver",
    ):
        assert part in lines, text
    assert lines["a kernel"].startswith("ok")
    assert "values as NumPy's" in lines["a kernel"]
    assert "!!" not in text


def test_the_doctor_counts_threads(monkeypatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda process: {0, 1, 2, 3})
    monkeypatch.setattr(doctor.threads, "get_num_threads", lambda: 3)
    for granted, advised in ((None, ""), (2.5, ""), (2.0, "ask for 2 at most"), (0.5, "for 1 at")):
        monkeypatch.setattr(
            doctor._core, "control_group_processors", lambda granted=granted: granted
        )
        finding = doctor._threads()
        assert advised in finding.advice and bool(advised) == bool(finding.advice)
        assert "4 by the affinity mask" in finding.found
        assert ("by the control group" in finding.found) == (granted is not None)


def test_the_doctor_looks_for_openmp(monkeypatch):
    monkeypatch.delenv("TILEWRIGHT_THREADS", raising=False)
    assert doctor._openmp().found.startswith("not used, the library has threads of its own")
    monkeypatch.setenv("TILEWRIGHT_THREADS", "openmp")
    monkeypatch.setattr("ctypes.util.find_library", lambda name: "lib" if name == "gomp" else None)
    assert "GNU's" in doctor._openmp().found
    monkeypatch.setattr("ctypes.util.find_library", lambda name: None)
    monkeypatch.setattr("pathlib.Path.read_text", lambda path: "")
    assert "install libomp5" in doctor._openmp().advice


def test_the_doctor_reports_what_fails(monkeypatch, capsys):
    def broken() -> doctor.Finding:
        raise RuntimeError("no such thing")

    monkeypatch.setattr(doctor, "_self_test", broken)
    assert doctor.main() == 1
    assert "!! broken" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "size"), [("0", 0), ("512", 512), ("1.5K", 1536), ("2 MiB", 2 << 20), ("1g", 1 << 30)]
)
def test_sizes(text, size):
    assert cli.parse_size(text) == size


@pytest.mark.parametrize("text", ["", "-1", "many", "1T", "1.2.3"])
def test_what_is_no_size(text, capsys):
    with pytest.raises(ValueError, match="a size is a number of bytes"):
        cli.parse_size(text)
    with pytest.raises(SystemExit):
        cli.main(["cache", "prune", "--", text])
    assert "a size is a number of bytes" in capsys.readouterr().err


def test_prune_refuses_a_negative_size():
    with pytest.raises(ValueError, match="got -1"):
        tw.cache.prune(-1)
