"""Peers: optional packages and programs that we are measured beside, and the machine they run on.

Nothing here is needed to use tilewright. `install` makes a virtual environment for those of PyPI;
those of the distribution are only named, and the user installs them.
"""

from __future__ import annotations

import ctypes.util
import importlib
import importlib.metadata
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
from typing import Any

from harness import Missing

__all__ = [
    "DEBIAN",
    "PYPI",
    "blas_libraries",
    "install",
    "library",
    "machine",
    "missing_system_packages",
    "module",
    "program",
    "threads_environment",
    "versions",
]

ROOT = pathlib.Path(__file__).resolve().parents[1]
VENV = pathlib.Path(
    os.environ.get("TILEWRIGHT_BENCHMARK_VENV", ROOT / "build" / "benchmarks" / "venv")
)

# What the runner itself needs stands first.
PYPI = [
    "numpy",
    "ml_dtypes",
    "lark",
    "pcpp",
    "pycparser",
    "matplotlib",
    "threadpoolctl",
    "pytest",
    "scipy",
    "numba",
    "jax[cpu]",
    "halide",
    "opencv-python-headless",
    "numexpr",
    "pythran",
    "networkx<3.5",  # DaCe 0.16 fails with what its dominators are in later ones
    "dace",
]
#: What all of them have to live with: JAX needs it, and DaCe would take an earlier one.
TOGETHER = ["numpy>=2"]
DEBIAN = [
    "gcc",
    "clang-19",
    "libpolly-19-dev",
    "libxsmm-dev",
    "libopenblas-dev",
    "liblapacke-dev",
    "faust",
]


def install(venv: pathlib.Path = VENV) -> None:
    """Makes the virtual environment of the peers and installs them, one by one: a package that
    cannot be had is said to be missing and the others are there all the same. None of them may bring a
    version of another one that breaks a third (`TOGETHER`)."""
    python = venv / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
    together = venv / "together.txt"
    together.write_text("\n".join(TOGETHER) + "\n")
    for package in PYPI:
        done = subprocess.run(
            [str(python), "-m", "pip", "install", "--quiet", "-c", str(together), package],
            capture_output=True,
            text=True,
            check=False,
        )
        state = "installed" if done.returncode == 0 else f"MISSING: {done.stderr.strip()[-200:]}"
        print(f"  {package:<24} {state}")
    absent = missing_system_packages()
    if absent:
        print("not installed on this system; by hand, as far as you want these peers:")
        print(f"  sudo apt-get install --no-install-recommends {' '.join(absent)}")


def missing_system_packages() -> list[str]:
    """The Debian packages among `DEBIAN` that are not installed."""
    if shutil.which("dpkg-query") is None:
        return list(DEBIAN)
    absent = []
    for package in DEBIAN:
        done = subprocess.run(
            ["dpkg-query", "-W", "-f", "${Status}", package],
            capture_output=True,
            text=True,
            check=False,
        )
        if "install ok installed" not in done.stdout:
            absent.append(package)
    return absent


def module(name: str) -> Any:
    """An optional Python package, or `Missing`: it is not there, or does not go with what is."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        return Missing(f"{name} is not installed ({error}): scripts/bench --install-peers")
    except AttributeError as error:
        return Missing(f"{name} cannot be loaded ({error}): scripts/bench --install-peers")


def program(name: str) -> str | Missing:
    """The path of an optional program, or `Missing`."""
    how = f": sudo apt-get install {name}" if name in DEBIAN else ""
    return shutil.which(name) or Missing(f"{name} is not installed{how}")


def library(name: str) -> str | Missing:
    """The file name of an optional shared library (``"xsmm"``), or `Missing`."""
    return ctypes.util.find_library(name) or Missing(f"lib{name} is not installed")


def threads_environment(threads: int) -> dict[str, str]:
    """What makes every peer use so many threads, for a process that starts; its affinity mask is
    set as well (see `run.py`), which is what XLA counts."""
    count = str(threads)
    names = (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "NUMBA_NUM_THREADS",
        "NUMEXPR_NUM_THREADS",
        "NUMEXPR_MAX_THREADS",
        "HL_NUM_THREADS",
    )
    multi = "true" if threads > 1 else "false"
    return dict.fromkeys(names, count) | {
        "XLA_FLAGS": f"--xla_cpu_multi_thread_eigen={multi} intra_op_parallelism_threads={count}",
        "JAX_PLATFORMS": "cpu",
        "JAX_ENABLE_X64": "1",
    }


# ---- where the figures were taken ----


def _first_line(path: str, key: str) -> str:
    try:
        for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
            if line.startswith(key):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return ""


def _caches() -> dict[str, str]:
    found = {}
    for folder in sorted(pathlib.Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        try:
            level, kind, size = (
                (folder / name).read_text().strip() for name in ("level", "type", "size")
            )
        except OSError:
            continue
        found[f"L{level} {kind}"] = size
    return found


def versions() -> dict[str, str]:
    """The versions of the peers that are there; "missing" for the others."""
    found = {}
    for package in PYPI:
        name = re.split(r"[\[<]", package)[0]
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "missing"
    for tool in ("gcc", "clang-19"):
        path = shutil.which(tool)
        if path is None:
            found[tool] = "missing"
            continue
        done = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
        found[tool] = done.stdout.splitlines()[0] if done.stdout else "?"
    found["libxsmm"] = ctypes.util.find_library("xsmm") or "missing"
    return found


def blas_libraries() -> list[dict[str, Any]]:
    """What threadpoolctl says of the BLAS and OpenMP libraries of this process, as the core type
    that OpenBLAS chose."""
    control = module("threadpoolctl")
    if isinstance(control, Missing):
        return [{"problem": control.reason}]
    return [
        {key: value for key, value in entry.items() if key != "filepath"}
        for entry in control.threadpool_info()
    ]


def machine() -> dict[str, Any]:
    """The processor, its caches and the software."""
    import tilewright as tw

    flags = _first_line("/proc/cpuinfo", "flags").split()
    wanted = ("sse4_2", "avx", "fma", "avx2", "avx512f", "avx512bw", "avx512_bf16", "amx_tile")
    family = [_first_line("/proc/cpuinfo", key) for key in ("cpu family", "model\t", "stepping")]
    return {
        "processor": _first_line("/proc/cpuinfo", "model name") or platform.machine(),
        "family, model, stepping": " ".join(family).strip(),
        "features": [flag for flag in wanted if flag in flags],
        "caches": _caches(),
        "cores": len(os.sched_getaffinity(0)),
        "system": platform.platform(),
        "python": platform.python_version(),
        "tilewright": tw.__version__,
        "versions": versions(),
    }
