"""Executes notebooks and stores their outputs: ``python tests/python/notebooks/refresh.py``.

Names of notebooks may follow; without, it is all of them.
"""

from __future__ import annotations

import os
import pathlib
import sys
from typing import Any

import nbformat
from nbclient import NotebookClient

ROOT = pathlib.Path(__file__).parents[3]
FOLDER = ROOT / "notebooks"
#: All of them: what lies in the folder is tested, shown on the site, and refreshed.
PATHS = sorted(path for path in FOLDER.rglob("*.ipynb") if ".ipynb_checkpoints" not in path.parts)


def executed(path: pathlib.Path, **more: str) -> Any:
    """The notebook with outputs made now, and nothing in it that changes from run to run.

    Args:
        path: of the notebook.
        more: further variables of the environment in which it runs.
    """
    notebook = nbformat.read(path, 4)
    paths = [str(ROOT / "python"), *filter(None, [os.environ.get("PYTHONPATH")])]
    client = NotebookClient(
        notebook,
        timeout=300,
        record_timing=False,
        coalesce_streams=True,
        kernel_name="python3",
        resources={"metadata": {"path": str(FOLDER)}},
    )
    client.execute(env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), **more})
    language = {"name": "python"}
    notebook.metadata = {"kernelspec": notebook.metadata["kernelspec"], "language_info": language}
    return notebook


def main() -> None:
    chosen = [FOLDER / name for name in sys.argv[1:]] or PATHS
    for path in chosen:
        nbformat.write(executed(path), path)
        print(f"written: {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
