"""The cache across processes: hits, and entries that are damaged or cannot be written."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess

import pytest

import tilewright as tw
from children import run_python

PROGRAM = """
import json, sys
import numpy as np
import tilewright as tw
i, j, k = tw.iters("i j k")
N, M, K = tw.params("N M K")
A = tw.input("A", [N, K], tw.float64)
B = tw.input("B", [K, M], tw.float64)
C = tw.computation("C", {i: N, j: M}, tw.sum(A[i, k] * B[k, j], over={k: K}))
f = tw.function("matmul", outputs=[C])
tile = int(sys.argv[1])
if tile:
    C.tile(i, j, tile, tile).parallelize("i0")
a, b = np.arange(12.0).reshape(3, 4), np.arange(20.0).reshape(4, 5)
assert (f(a, b) == a @ b).all()
info = tw.cache.info()
print(json.dumps({
    "from_cache": f.last_compile["from_cache"], "key": f.last_compile["key"],
    "phases": sorted(f.last_compile["milliseconds"]), "entries": info.entries,
    "bytes": info.bytes, "hits": info.hits, "misses": info.misses,
    "directory": str(info.directory),
}))
"""


def run(directory: pathlib.Path, tile: int = 0, warns: str = "") -> dict:
    done = run_python("-c", PROGRAM, str(tile), TILEWRIGHT_CACHE_DIR=str(directory))
    # One warning, which Python prints with the line of the program.
    assert done.stderr.count("TilewrightWarning") == bool(warns) and warns in done.stderr
    assert warns or not done.stderr
    return json.loads(done.stdout)


def entries(directory: pathlib.Path) -> list[pathlib.Path]:
    return list(directory.rglob("*.twk"))


def test_the_second_process_starts_warm(tmp_path):
    first = run(tmp_path)
    assert not first["from_cache"]
    assert first["misses"] == 1
    assert first["entries"] == 1
    assert first["bytes"] > 0
    assert pathlib.Path(first["directory"]) == tmp_path
    second = run(tmp_path)
    assert second["from_cache"]
    assert second["key"] == first["key"]
    assert (second["hits"], second["misses"], second["entries"]) == (1, 0, 1)
    # Nothing was built: no phase of code generation has a time.
    assert not {"emit", "optimise", "codegen"} & set(second["phases"])


def test_another_schedule_is_another_entry(tmp_path):
    keys = {run(tmp_path, tile)["key"] for tile in (0, 2, 4)}
    assert len(keys) == 3
    assert run(tmp_path, 2)["entries"] == 3
    assert run(tmp_path, 4)["from_cache"]


@pytest.mark.parametrize("damage", ["flip", "truncate", "empty", "garbage"])
def test_a_damaged_entry_is_compiled_again(tmp_path, damage):
    first = run(tmp_path)
    (entry,) = entries(tmp_path)
    content = bytearray(entry.read_bytes())
    if damage == "flip":
        content[len(content) // 2] ^= 0x40
    elif damage == "truncate":
        content = content[: len(content) // 2]
    elif damage == "empty":
        content = bytearray()
    else:
        content = bytearray(b"\x7fELF" + os.urandom(len(content)))
    entry.write_bytes(bytes(content))
    second = run(tmp_path)
    assert not second["from_cache"]
    assert second["key"] == first["key"]
    assert run(tmp_path)["from_cache"]


def test_a_directory_that_cannot_be_made(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a directory")
    result = run(blocked / "cache", warns="[cache-in-memory]")
    assert not result["from_cache"]
    assert blocked.read_text() == "not a directory"


def test_clear(tmp_path):
    run(tmp_path)
    clear = (
        "from tilewright import cache; "
        "print(cache.info().entries, cache.clear(), cache.info().entries)"
    )
    done = run_python("-c", clear, TILEWRIGHT_CACHE_DIR=str(tmp_path))
    assert done.stdout.split() == ["1", "1", "0"]
    assert not run(tmp_path)["from_cache"]


LEGAL = """
import sys
import numpy as np
import tilewright as tw
i, k = tw.iters("i k")
N = tw.param("N")
x = tw.input("x", [N], tw.float64)
y = tw.computation("y", {i: N}, tw.sum(x[k], over={k: i + 1}))
z = tw.computation("z", {i: N}, y[i] + 1)
f = tw.function("sums", outputs=[z])
y.split(i, 4, "a", "b").parallelize("a")
z.split(i, 4, "a", "b")
z.after(y, "a")
y.store_in(f"window[i % {sys.argv[1]}]") if len(sys.argv) > 1 else None
a = np.arange(9.0)
assert (f(a) == np.cumsum(a) + 1).all()
"""


def legal(directory: pathlib.Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    where = str(directory)
    return run_python("-c", LEGAL, *arguments, status=None, TILEWRIGHT_CACHE_DIR=where)


def test_verdicts_are_kept_beside_the_kernels_and_refusals_are_not(tmp_path):
    for _ in range(2):
        done = legal(tmp_path)
        assert done.returncode == 0, done.stderr
    (note,) = tmp_path.rglob("*.twn")
    before = note.read_bytes()
    refusals = [legal(tmp_path, "2").stderr.splitlines() for _ in range(2)]
    assert "IllegalScheduleError" in "".join(refusals[0])
    assert refusals[0] == refusals[1]  # witness and all
    assert note.read_bytes() == before
    note.write_bytes(before[:-1])
    done = legal(tmp_path)
    assert done.returncode == 0, done.stderr


def test_info_in_this_process():
    N = tw.param("N")
    i = tw.iter("i")
    A = tw.input("A", [N], tw.float32)
    before = tw.cache.info()
    made = [
        tw.function("seen_by_info", outputs=[tw.computation("C", {i: N}, 3.25 * A[i])]).compile()
        for _ in range(2)
    ]
    assert [each["from_cache"] for each in made] == [False, True]
    after = tw.cache.info()
    assert after.entries == before.entries + 1
    assert after.bytes > before.bytes
    assert after.hits == before.hits + 1
    assert after.misses == before.misses + 1
