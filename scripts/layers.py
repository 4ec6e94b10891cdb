"""Checks that each folder of cpp/ includes, and each wing of python/tilewright imports, only what
stands below it.

The order is the architecture's picture in the README: a folder may use the folders named for it
here and those that they may use. ``hardware``, ``polyhedral`` and ``runtime`` stand on the ground.
The order of the wings is in `python_layers`.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import python_layers

USES: dict[str, set[str]] = {
    "polyhedral": {"hardware"},
    "hardware": set(),
    "runtime": {"hardware"},
    "algorithm": {"polyhedral"},
    "dataflow": {"algorithm"},
    "mapping": {"algorithm"},
    "analysis": {"mapping"},
    "planning": {"analysis"},
    "loops": {"mapping"},
    "passes": {"loops"},
    "lowering": {"analysis", "passes"},
    "targets": {"loops", "runtime"},
    "compiler": {"planning", "lowering", "targets"},
    "scheduling": {"compiler", "dataflow"},
    "bindings": {"scheduling"},
}
# The core's one error type: a header without code, and so without a layer.
EVERYWHERE = {"polyhedral/error.h"}
INCLUDE = re.compile(r'^\s*#\s*include\s+"(([a-z_]+)/[^"]+)"')
LLVM_FOLDERS = {"runtime", "targets", "compiler"}
# Containers and other support of LLVM may be used above them too; its IR and code generation not.
LLVM_INCLUDE = re.compile(r"^\s*#\s*include\s+<(llvm/(?!ADT/|Support/)|llvm-c/)")
LLVM_SUPPORT_INCLUDE = re.compile(r"^\s*#\s*include\s+<llvm/(ADT|Support)/")
LLVM_SUPPORT_FOLDERS = LLVM_FOLDERS | {"bindings"}


def reach(folder: str) -> set[str]:
    """The folders that ``folder`` may include, itself among them."""
    seen = {folder}
    for below in USES[folder]:
        seen |= reach(below)
    return seen


def main() -> int:
    root = Path(__file__).resolve().parent.parent
    wrong = 0
    for path in sorted([*root.glob("cpp/*/**/*.h"), *root.glob("cpp/*/**/*.cpp")]):
        folder = path.relative_to(root / "cpp").parts[0]
        if folder not in USES:
            print(f"{path.relative_to(root)}: cpp/{folder} is not a known folder")
            wrong += 1
            continue
        allowed = reach(folder)
        for number, line in enumerate(path.read_text().splitlines(), start=1):
            where = f"{path.relative_to(root)}:{number}"
            found = INCLUDE.match(line)
            if (
                found
                and found[2] in USES
                and found[2] not in allowed
                and found[1] not in EVERYWHERE
            ):
                print(f"{where}: cpp/{folder} may not use cpp/{found[2]}")
                wrong += 1
            if LLVM_INCLUDE.match(line) and folder not in LLVM_FOLDERS:
                print(f"{where}: cpp/{folder} may not use LLVM")
                wrong += 1
            if LLVM_SUPPORT_INCLUDE.match(line) and folder not in LLVM_SUPPORT_FOLDERS:
                print(f"{where}: cpp/{folder} may not use LLVM's support library")
                wrong += 1
    wrong += python_layers.main()
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
