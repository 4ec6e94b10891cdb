"""Cases that a fuzzer found, and that were mended in the library or in its judge: `scripts/fuzz --replay` shows one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fuzz.cases import Runner

CASES = sorted((Path(__file__).parent / "mended").glob("*.json"))


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_mended(path: Path) -> None:
    statistics = Runner(json.loads(path.read_text(encoding="utf-8")), compiled=False).run()
    assert statistics["cases"] == 1
