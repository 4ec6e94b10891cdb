"""What a function shows of itself: layers, loops, LLVM IR, assembly."""

from __future__ import annotations

import tilewright as tw
from tilewright.base.display import Text

i, j, k = tw.iters("i j k")
N, M, K = tw.params("N M K")


def matmul():
    a = tw.input("A", [N, K], tw.float32)
    b = tw.input("B", [K, M], tw.float32)
    c = tw.computation("C", {i: N, j: M}, tw.sum(a[i, k] * b[k, j], over={k: K}))
    return tw.function("matmul", outputs=[c])


def test_layers():
    text = matmul().layers
    assert text.index("Layer I\n") < text.index("Layer II\n") < text.index("Layer III\n")
    assert "C[i,j]" in text.replace(" ", "")
    assert "sum(A[i, k] * B_cache[k, j]" in text  # what really runs


def test_loops():
    f = matmul()
    plain = f.loops
    assert plain.count("for ") >= 3
    f["C"].tile(i, j, 32, 8).parallelize("i0").vectorize("j1")
    tiled = f.loops
    assert tiled != plain
    assert "parallel" in tiled
    assert "i0" in tiled


def test_llvm():
    f = matmul()
    assert "define" in f.llvm
    assert "<8 x float>" not in f.llvm
    f["C"].interchange(j, k).vectorize(j, 8)
    assert "<8 x float>" in f.llvm


def test_assembly():
    assert "ret" in matmul().asm


def test_texts_show_themselves():
    text = matmul().loops
    assert isinstance(text, str)
    assert repr(text) == str(text)
    assert text._repr_html_().startswith("<pre")
    assert "&lt;" in Text("a < b")._repr_html_()


def test_nothing_is_compiled_for_a_look():
    f = matmul()
    assert f.loops
    assert f.layers
    assert f.last_compile is None
