"""Programs that tests run in processes of their own."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import tilewright as tw

PACKAGE = pathlib.Path(tw.__file__).parents[1]

# What a process needs to load an extension that is built with a sanitizer.
_OF_SANITIZERS = ("LD_PRELOAD", "ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS")


def environment(inherit: bool = True, **more: str) -> dict[str, str]:
    """An environment in which this tilewright is imported.

    Args:
        inherit: without it little is taken over from this process's environment.
        more: further variables; empty ones are as good as none to tilewright.
    """
    if not inherit:
        kept = {name: os.environ[name] for name in _OF_SANITIZERS if name in os.environ}
        return {**kept, "PYTHONPATH": str(PACKAGE), **more}
    folders = [str(PACKAGE), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(folders), **more}


def run_python(
    *arguments: str | os.PathLike[str],
    status: int | None = 0,
    timeout: float = 300,
    inherit: bool = True,
    **more: str,
) -> subprocess.CompletedProcess[str]:
    """Runs Python, ``run_python("-c", program)``, in such an environment, and waits for its end.

    Args:
        status: what it must exit with; None: whatever it likes.
        timeout: in seconds.
    """
    done = subprocess.run(
        [sys.executable, *arguments],
        env=environment(inherit, **more),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    if status is not None:
        assert done.returncode == status, f"exit status {done.returncode}\n{done.stderr}"
    return done
