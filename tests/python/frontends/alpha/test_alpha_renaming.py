"""Programs in which something has another name read back equal."""

from __future__ import annotations

import tilewright as tw


def test_a_renamed_system_reads_back_equal() -> None:
    text = (
        "affine f {N | N > 2} input double A {i | 0 <= i < N}; "
        "output double X {i | 0 <= i < N}; let X[i] = A[i]; ."
    )
    program = tw.alpha.load(text)
    assert tw.alpha.RenameSystem(program, "f", "f") == program
    renamed = tw.alpha.RenameSystem(program, "f", "g")
    assert tw.alpha.load(str(renamed)) == renamed and renamed != program
