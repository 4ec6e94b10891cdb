"""Files in the cache that are not what was stored: bits flipped and ends cut in every region, other
files under the right name. Nothing of them is run; the kernel is compiled again, without a word."""

from __future__ import annotations

import fcntl
import os
import pathlib
import socket
import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest

import tilewright as tw
from tilewright import _core

N = tw.param("N")
i = tw.iter("i")
x = tw.input("x", [N], tw.float64)

# The format: kernels_cache/README.md.
MAGIC, KEY, CHECKSUM = 18, 64, 32
HEADER = MAGIC + 4 + KEY + 3 * 8


def make(factor: int) -> tw.Function:
    y = tw.computation("y", {i: N}, x[i] * factor + 1)
    return tw.function("scaled", outputs=[y], optimize="light")


@pytest.fixture
def cache(tmp_path, monkeypatch) -> Iterator[pathlib.Path]:
    """An empty cache in this process."""
    directory = tmp_path / "kernels"
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(directory))
    _core.cache_clear_memory()
    yield directory
    _core.cache_clear_memory()


def run(factor: int = 3) -> bool:
    """Whether the kernel came from the disk; its values are right in any case."""
    _core.cache_clear_memory()
    f = make(factor)
    data = np.arange(11.0)
    np.testing.assert_array_equal(f(data), data * factor + 1)
    info = f.last_compile
    assert info is not None
    return bool(info["from_cache"])


def entry_of(cache: pathlib.Path) -> pathlib.Path:
    (entry,) = cache.rglob("*.twk")
    return entry


def test_a_bit_of_every_region(cache):
    assert not run()
    assert run()
    entry = entry_of(cache)
    whole = entry.read_bytes()
    payload = HEADER + CHECKSUM
    assert whole[:MAGIC] == b"tilewright kernel\n"
    places = [*range(payload), *np.linspace(payload, len(whole) - 1, 60, dtype=int).tolist()]
    for number, place in enumerate(places):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << (number % 8)
        entry.write_bytes(damaged)
        assert not run(), f"byte {place}"
        assert entry.read_bytes() == whole, f"byte {place}"  # replaced by what is right
    assert run()


def test_every_length(cache):
    assert not run()
    entry = entry_of(cache)
    whole = entry.read_bytes()
    borders = (0, MAGIC, MAGIC + 4, MAGIC + 4 + KEY, HEADER, HEADER + CHECKSUM, len(whole))
    lengths = {border + step for border in borders for step in (-1, 0, 1)} - {len(whole)}
    lengths |= set(np.linspace(0, len(whole) - 1, 20, dtype=int).tolist())
    for length in sorted(length for length in lengths if length >= 0):
        entry.write_bytes((whole + b"\0\0")[:length])
        assert not run(), length
    assert run()


def test_sizes_that_lie(cache):
    """Lengths in the header that go beyond the file, or overflow."""
    assert not run()
    entry = entry_of(cache)
    whole = entry.read_bytes()
    for field in range(3):
        for value in (0, 1, len(whole), 2**31, 2**32, 2**63 - 1, 2**63, 2**64 - 1):
            damaged = bytearray(whole)
            at = MAGIC + 4 + KEY + 8 * field
            if damaged[at : at + 8] == value.to_bytes(8, "little"):
                continue
            damaged[at : at + 8] = value.to_bytes(8, "little")
            entry.write_bytes(damaged)
            assert not run(), (field, value)
    assert run()


def test_the_entry_of_another_kernel_under_the_right_name(cache):
    """It is whole, and its code would compute something else."""
    assert not run(3)
    mine = entry_of(cache)
    own = mine.read_bytes()
    assert not run(5)
    (other,) = set(cache.rglob("*.twk")) - {mine}
    mine.write_bytes(other.read_bytes())
    assert not run(3)
    assert mine.read_bytes() == own
    # With the right name written into it, too, the checksum does not fit.
    forged = bytearray(other.read_bytes())
    forged[MAGIC + 4 : MAGIC + 4 + KEY] = own[MAGIC + 4 : MAGIC + 4 + KEY]
    mine.write_bytes(forged)
    assert not run(3)
    assert run(3)
    assert run(5)


def symbolic_link(entry: pathlib.Path, elsewhere: pathlib.Path) -> None:
    elsewhere.write_bytes(entry.read_bytes())
    entry.unlink()
    entry.symlink_to(elsewhere)


def writable_by_others(entry: pathlib.Path, elsewhere: pathlib.Path) -> None:
    entry.chmod(0o666)


def foreign_owner(entry: pathlib.Path, elsewhere: pathlib.Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    try:
        os.chown(entry, 12345, 12345)
    except OSError:
        pytest.skip("files cannot be given away here")


def pipe(entry: pathlib.Path, elsewhere: pathlib.Path) -> None:
    entry.unlink()
    os.mkfifo(entry)


def listening_socket(entry: pathlib.Path, elsewhere: pathlib.Path) -> None:
    entry.unlink()
    here = os.getcwd()
    os.chdir(entry.parent)  # names of sockets are short
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(entry.name[:100])
        os.rename(entry.name[:100], entry.name)
    finally:
        os.chdir(here)


def folder(entry: pathlib.Path, elsewhere: pathlib.Path) -> None:
    entry.unlink()
    entry.mkdir()
    (entry / "file").write_text("in the way")


def sparse_giant(entry: pathlib.Path, elsewhere: pathlib.Path) -> None:
    with entry.open("r+b") as file:
        file.truncate(1 << 40)


@pytest.mark.parametrize(
    "plant",
    [
        symbolic_link,
        writable_by_others,
        foreign_owner,
        pipe,
        listening_socket,
        folder,
        sparse_giant,
    ],
)
def test_files_that_are_not_the_cache_s_own(
    cache, tmp_path, plant: Callable[[pathlib.Path, pathlib.Path], None]
):
    """Whatever stands under the right name, it is neither loaded, nor followed, nor waited for."""
    assert not run()
    entry = entry_of(cache)
    elsewhere = tmp_path / "elsewhere"
    plant(entry, elsewhere)
    before = elsewhere.read_bytes() if elsewhere.exists() else b""
    with tw.settings(silence=("cache-in-memory",)):  # of a folder, which is not replaced
        assert not run()
        assert (elsewhere.read_bytes() if elsewhere.exists() else b"") == before
        assert run() == (plant is not folder)


def two_steps() -> tw.Function:
    y = tw.computation("y", {i: N}, x[i] * 2)
    z = tw.computation("z", {i: N}, y[i] + 1)
    return tw.function("two_steps", outputs=[z], optimize="light")


def test_notes_on_schedules(cache):
    """What was found legal is kept beside the kernels; a damaged note is as good as none."""
    f = two_steps()
    f["z"].split(i, 4)
    f(np.arange(5.0))
    (note,) = cache.rglob("*.twn")
    whole = note.read_bytes()
    contents = [whole[:length] for length in (0, 1, len(whole) // 2, len(whole) - 1)]
    contents += [os.urandom(len(whole)), whole + whole, b"\xff" * 4096]
    for number, place in enumerate(np.linspace(0, len(whole) - 1, 40, dtype=int).tolist()):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << (number % 8)
        contents.append(bytes(damaged))
    for content in contents:
        note.write_bytes(content)
        g = two_steps()
        g["z"].split(i, 4)
        np.testing.assert_array_equal(g(np.arange(5.0)), np.arange(5.0) * 2 + 1)
        with pytest.raises(tw.IllegalScheduleError):
            two_steps()["y"].store_in("window[i % 2]")


def test_verify_finds_what_is_damaged(cache):
    for factor in range(2, 6):
        assert not run(factor)
    first, second, *_ = sorted(cache.rglob("*.twk"))
    first.write_bytes(first.read_bytes()[:-1])
    second.write_bytes(second.read_bytes()[:-40] + bytes(40))
    checked, damaged = _core.cache_verify()
    assert damaged == 2
    assert checked >= 2
    assert sorted(run(factor) for factor in range(2, 6)) == [False, False, True, True]


@pytest.mark.parametrize("ending", [".twk", ".twn"])
@pytest.mark.parametrize(
    "clean", [tw.cache.verify, lambda: tw.cache.prune(1 << 30), tw.cache.clear]
)
def test_what_a_killed_writer_leaves_is_removed_and_what_a_live_one_writes_is_not(
    cache, ending, clean
):
    assert not run(2)
    left, locked, young = (
        cache / f"{'0' * 64}{ending}.{name}" for name in ("Abc123", "Def4", "Ghi5")
    )
    for path in (left, locked, young):
        path.write_bytes(b"tilewright kernel")
    for path in (left, locked):
        os.utime(path, (time.time() - 120,) * 2)
    with locked.open("rb") as writer:
        fcntl.flock(writer, fcntl.LOCK_EX)
        found = clean()
        assert (left.exists(), locked.exists(), young.exists()) == (False, True, True)
    if isinstance(found, tw.cache.CacheCheck):
        assert found.deleted == 1
    os.utime(locked, (time.time() + 9999,) * 2)  # the clock was set back
    clean()
    assert (locked.exists(), young.exists()) == (False, True)
