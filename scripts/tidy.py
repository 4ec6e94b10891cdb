"""Runs clang-tidy over the compile database, a file per core at once, and remembers what was clean.

A file is looked at again only when it, a header of ours that it includes, its compile command, or
``.clang-tidy`` has changed. What was clean is remembered by empty files named by a hash, in the
user's cache folder, so that another checkout of the same files is quick too.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
CLEAN = CACHE / "tilewright" / "tidy"
TIDY = "clang-tidy-19"
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


@cache
def read(path: Path) -> str:
    return path.read_text()


@cache
def headers(path: Path) -> frozenset[Path]:
    """The headers of ours that ``path`` includes by name, and those that they include."""
    found: set[Path] = set()
    todo = [path]
    while todo:
        current = todo.pop()
        for name in INCLUDE.findall(read(current)):
            for folder in (current.parent, ROOT / "cpp", ROOT / "tests" / "cpp"):
                header = (folder / name).resolve()
                if header.is_file():
                    if header not in found:
                        found.add(header)
                        todo.append(header)
                    break
    return frozenset(found)


def key(entry: dict[str, str], settings: bytes) -> str:
    """A hash of everything that clang-tidy's answer for one file depends on."""
    path = Path(entry["file"])
    digest = hashlib.sha256(settings)
    digest.update(entry["command"].replace(str(ROOT), "").encode())
    for part in [path, *sorted(headers(path))]:
        digest.update(part.name.encode() + b"\0" + read(part).encode() + b"\0")
    return digest.hexdigest()


def look(path: str) -> str:
    """clang-tidy's findings for one file; empty when there is none."""
    answer = subprocess.run(
        [TIDY, "--quiet", "-p", str(BUILD), path], capture_output=True, text=True, check=False
    )
    if answer.returncode == 0:
        return ""
    # Its standard error only counts the findings in system headers, unless it could not start.
    return (answer.stdout.strip() or answer.stderr.strip()).replace(f"{ROOT}/", "")


def main() -> int:
    version = subprocess.run([TIDY, "--version"], capture_output=True, check=True).stdout
    settings = version + (ROOT / ".clang-tidy").read_bytes()
    CLEAN.mkdir(parents=True, exist_ok=True)
    database = json.loads((BUILD / "compile_commands.json").read_text())
    todo = {
        entry["file"]: CLEAN / key(entry, settings)
        for entry in database
        if Path(entry["file"]).is_relative_to(ROOT)
        and not Path(entry["file"]).is_relative_to(BUILD)
    }
    todo = {path: mark for path, mark in todo.items() if not mark.exists()}
    wrong = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for path, findings in zip(todo, pool.map(look, todo), strict=True):
            if findings:
                print(findings, flush=True)
                wrong += 1
            else:
                todo[path].touch()
    if todo:
        print(f"clang-tidy: {len(todo)} files looked at, {wrong} with findings", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
