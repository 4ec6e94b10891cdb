"""Variables that are kept in the memory of another one: in the array of an output, as in public AlphaZ scripts
(`setMemoryMap(prog, system, "T", "C", "(i,j,k->i,j)")`)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from test_alpha_mapping import verified

import tilewright as tw
from tilewright.frontends import alpha

PRODUCT = """affine g {N | N>2}
input double A {i,k | 0<=i,k<N}; double B {k,j | 0<=k,j<N};
output double C {i,j | 0<=i,j<N};
local double T {i,j,k | 0<=i,j,k<N};
let
T[i,j,k] = case {| k==0}: A[i,0]*B[0,j]; {| k>0}: T[i,j,k-1]+A[i,k]*B[k,j]; esac;
C[i,j] = T[i,j,N-1];
.
"""


def product(place: str = "(i,j,k->i,j)", last: str = "(i,j->i,N,j)") -> alpha.Program:
    p = alpha.SetSTMap(alpha.load(PRODUCT), "T", "(i,j,k->i,k,j)")
    p = alpha.SetSTMap(p, "C", last)
    return alpha.SetMemoryMapping(p, "T", place)


def test_partial_sums_are_kept_where_the_output_comes_to_be(tmp_path: Path) -> None:
    p = alpha.SetMemorySpace(product(), "C", "T,C")
    assert alpha.SetMemorySpace(product(), "C", "T") == p
    assert alpha.verify(p)
    f = p["g"]
    assert "empty" not in str(f.loops) and "C[i, j] = C[i, j] + A[i, k] * B[k, j]" in str(f.loops)
    a, b = np.random.default_rng(2).random((2, 6, 6))
    expected = a[:, :1] * b[0]
    for k in range(1, 6):
        expected = expected + a[:, k : k + 1] * b[k]
    np.testing.assert_array_equal(f(a, b), expected)
    assert "malloc" not in verified(p, "g", tmp_path, 12)


def test_what_overwrites_an_output_is_shown() -> None:
    p = alpha.SetMemorySpace(product("(i,j,k->j,i)"), "C", "T")
    found = alpha.verify(p)
    assert not found
    assert "memory of C, an array of the caller: C[0, 1]" in str(found)
    assert "is overwritten by T[1, 0, 0]" in str(found)
    with pytest.raises(tw.IllegalScheduleError, match="overwrites an element of the output C"):
        p["g"]


def test_what_an_output_overwrites_is_shown() -> None:
    text = PRODUCT.replace("T[i,j,N-1]", "T[i,j,N-1] + T[i,N-1-j,N-1]")
    p = alpha.SetSTMap(alpha.load(text), "T", "(i,j,k->i,k,j)")
    p = alpha.SetMemoryMapping(alpha.SetSTMap(p, "C", "(i,j->i,N,j)"), "T", "(i,j,k->i,j)")
    assert alpha.verify(p)
    shared = alpha.SetMemorySpace(p, "C", "T")
    assert "overwritten by C" in str(alpha.verify(shared))
    with pytest.raises(tw.IllegalScheduleError):
        shared["g"]


def test_locals_are_kept_in_the_memory_of_another_local() -> None:
    text = PRODUCT.replace("local double T", "local double S {i,j | 0<=i,j<N}; double T")
    text = text.replace("C[i,j] = T[i,j,N-1];", "S[i,j] = T[i,j,N-1]; C[i,j] = 2*S[i,j];")
    p = alpha.SetMemoryMapping(alpha.load(text), "T", "(i,j,k->i,j)")
    p = alpha.SetSTMap(p, "T", "(i,j,k->i,k,j)")
    p = alpha.SetSTMap(alpha.SetSTMap(p, "S", "(i,j->i,N,j)"), "C", "(i,j->i,N+1,j)")
    p = alpha.SetMemorySpace(p, "S", "T")
    assert alpha.verify(p)
    a, b = np.random.default_rng(2).random((2, 6, 6))
    np.testing.assert_allclose(p["g"](a, b), 2 * (a @ b))
    assert str(p["g"].loops).count("empty") == 1


def test_types_and_inputs_are_refused() -> None:
    with pytest.raises(tw.DeclarationError, match="array of the caller"):
        alpha.SetMemorySpace(product(), "A", "T")
    other = alpha.load(PRODUCT.replace("local double", "local float"))
    with pytest.raises(tw.DeclarationError, match="have types double, float"):
        alpha.SetMemorySpace(other, "C", "T")


def test_the_spelling_of_public_scripts(tmp_path: Path) -> None:
    (tmp_path / "g.ab").write_text(PRODUCT, encoding="utf-8")
    script = tmp_path / "g.cs"
    script.write_text(
        'prog = ReadAlphabets("g.ab"); system = "g";\n'
        'setSpaceTimeMap(prog, system, "T", "(i,j,k->i,k,j)");\n'
        'setSpaceTimeMap(prog, system, "C", "(i,j->i,N,j)");\n'
        'setMemorySpace(prog, system, "C", "T, C");\n'
        'setMemoryMap(prog, system, "T", "C", "(i,j,k->i,j)");\n'
        'setMemoryMap(prog, system, "C", "C", "(i,j->i,j)");\n'
        'generateScheduledCode(prog, system, "out");\n',
        encoding="utf-8",
    )
    alpha.run_script(script)
    text = (tmp_path / "out" / "g.c").read_text(encoding="utf-8")
    assert "malloc" not in text


def test_a_public_script_that_tiles(tmp_path: Path) -> None:
    """A reduction is serialised, summed up in the output's array, and all of it is tiled."""
    (tmp_path / "g.ab").write_text(
        "affine g {N | N>2} input double A,B {i,j | 0<=(i,j)<N}; output double C {i,j | 0<=(i,j)<N};"
        " let C[i,j] = reduce(+, [k], A[i,k]*B[k,j]);",
        encoding="utf-8",
    )
    for shares in (False, True):
        (tmp_path / "g.cs").write_text(
            'prog = ReadAlphabets("g.ab"); system = "g"; outDir = "out";\n'
            'SerializeReduction(prog, "(0,0,0)", "(i,j,k->i,j,k)");\n'
            "Simplify(prog, system);\n"
            'setSpaceTimeMap(prog, system, "_serC", "(i,j,k->i,k,j)");\n'
            'setSpaceTimeMap(prog, system, "C", "(i,j->i,N,j)");\n'
            + (
                'setMemorySpace(prog, system, "C", "_serC, C");\n'
                'setMemoryMap(prog, system, "_serC", "C", "(i,j,k->i,j)");\n'
                if shares
                else ""
            )
            + "options = createTiledCGOptionForScheduledC();\n"
            'setDefaultDTilerConfiguration(prog, system, "sequential");\n'
            "generateScheduledCode(prog, system, options, outDir);\n"
            "generateWrapper(prog, system, options, outDir);\n"
            "generateMakefile(prog, system, outDir);\n",
            encoding="utf-8",
        )
        alpha.run_script(tmp_path / "g.cs")
        text = (tmp_path / "out" / "g.c").read_text(encoding="utf-8")
        assert ("g_tiles(" in text) != shares and (" 32" in text or shares)


@pytest.mark.parametrize(("variables", "space"), [("T", "C"), ("T,U", "room"), ("T,U", "U")])
def test_arrays_of_other_ranks_do_not_share_a_memory(variables: str, space: str) -> None:
    text = PRODUCT.replace("local", "local double U {i | 0<=i<N};").replace(
        "C[i,j] = T[i,j,N-1]", "U[i] = T[i,i,0]; C[i,j] = T[i,j,N-1] + U[i]"
    )
    p = alpha.SetMemorySpace(alpha.load(text), space, variables)
    found = alpha.verify(p)
    assert not found
    (problem,) = found.problems
    counted = "T 3, C 2" if space == "C" else "T 3, U 1"
    assert "has several numbers of dimensions" in problem.message
    assert sorted(counted.split(", ")) == sorted(problem.message.split(": ")[1].split(", "))
    with pytest.raises(tw.ScheduleError, match="cannot be stored in buffer"):
        p["g"]
