"""Runs clang-tidy over the compile database, a group of files per core at once, and remembers what
was clean.

A file is looked at again only when it, a header of ours that it includes, its flags, or
``.clang-tidy`` has changed. What was clean is remembered by empty files named by a hash, in the
user's cache folder, so that another checkout of the same files is quick too.

Files of one library are looked at in groups (``groups.py`` says why), whether they are
compiled so or not. A group with a finding is looked at again file by file: what is reported is always
about one file.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import subprocess
import sys
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

from groups import INCLUDE, ROOTS, groups, headers, read, source_of

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
CLEAN = CACHE / "tilewright" / "tidy"
TIDY = "clang-tidy-19"
SIZE = 24  # files in a group: nothing is compiled again when one of them changes


def key(path: Path, flags: tuple[str, ...], settings: bytes) -> str:
    """A hash of everything that clang-tidy's answer for one file depends on."""
    digest = hashlib.sha256(settings)
    digest.update(" ".join(flags).replace(str(ROOT), "").encode())
    for part in [path, *sorted(headers(path))]:
        digest.update(part.name.encode() + b"\0" + read(part).encode() + b"\0")
    return digest.hexdigest()


def flags_of_files() -> dict[Path, tuple[str, ...]]:
    """Our sources, with the flags that the compiler gets for each; those of a group are its own."""
    found = {}
    for entry in json.loads((BUILD / "compile_commands.json").read_text()):
        words = shlex.split(entry["command"])
        flags = tuple(words[1 : words.index("-o")])
        path = Path(entry["file"])
        if path.is_relative_to(BUILD / "groups"):
            roots = [Path(flag[2:]) for flag in flags if flag.startswith("-I")]
            for name in INCLUDE.findall(path.read_text()):
                found[next(root / name for root in roots if (root / name).exists())] = flags
        elif path.is_relative_to(ROOT) and not path.is_relative_to(BUILD):
            found[path] = flags
    return found


def look(path: Path, flags: tuple[str, ...]) -> str:
    """clang-tidy's findings for a source and the sources that it includes; empty if there is none."""
    command = [TIDY, "--quiet", f"--config-file={ROOT / '.clang-tidy'}"]
    command += [r"--header-filter=(^|/)(cpp|tests/cpp)/.*\.(h|cpp)$", str(path), "--", *flags]
    command += ["-Wno-unknown-warning-option"]  # the flags are those of GCC, which has more
    answer = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    if answer.returncode == 0:
        return ""
    # Its standard error only counts the findings in system headers, unless it could not start.
    return (answer.stdout.strip() or answer.stderr.strip()).replace(f"{ROOT}/", "")


def main() -> int:
    version = subprocess.run([TIDY, "--version"], capture_output=True, check=True).stdout
    settings = version + (ROOT / ".clang-tidy").read_bytes()
    CLEAN.mkdir(parents=True, exist_ok=True)
    flags = flags_of_files()
    marks = {path: CLEAN / key(path, flags[path], settings) for path in sorted(flags)}
    todo = [path for path, mark in marks.items() if not mark.exists()]
    alike = defaultdict(list)
    for path in todo:
        root = next(root for root in ROOTS if path.is_relative_to(root))
        alike[flags[path], path.relative_to(root).parts[0]].append(path)
    together = [group for files in alike.values() for group in groups(files, SIZE)]
    again: list[Path] = []
    wrong = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool, TemporaryDirectory() as folder:

        def look_at(group: list[Path]) -> str:
            source = Path(folder) / f"{todo.index(group[0])}.cpp"
            source.write_text(source_of(group))
            return look(source, flags[group[0]])

        for group, findings in zip(together, pool.map(look_at, together), strict=True):
            if findings:
                again += group
            else:
                for path in group:
                    marks[path].touch()
        for path, findings in zip(again, pool.map(lambda p: look(p, flags[p]), again), strict=True):
            if findings:
                print(findings, flush=True)
                wrong += 1
            else:
                marks[path].touch()
    if todo:
        print(
            f"clang-tidy: {len(todo)} files looked at in {len(together)} groups, {len(again)} of "
            f"them one by one, {wrong} with findings",
            flush=True,
        )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
