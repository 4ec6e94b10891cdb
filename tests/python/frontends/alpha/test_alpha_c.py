"""WriteC, WrapperC and the Makefile, compiled by gcc (CSU TR CS12-101, section 9)."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from alpha_programs import CompiledSystem
from test_alpha_report import FIGURE_1, PRODUCTS, SUBSYSTEMS, jacobi

import tilewright as tw

alpha = tw.alpha
RNG = np.random.default_rng(9)


def test_9_1_fibonacci_is_memoised(tmp_path: Path) -> None:
    p = alpha.load("""affine fib {N|N>1} output long F; local long f {i|0<=i<=N};
      let F = f[N]; f[i] = case {i<2} : [i]; {i>=2} : f[i-1] + f[i-2]; esac;""")
    compiled = CompiledSystem(p, "fib", tmp_path)
    assert compiled(N=10)[0] == 55
    assert compiled(N=90)[0] == 2880067194370816120  # which takes forever without memory


def test_9_1_long_chains(tmp_path: Path) -> None:
    p = alpha.load("""affine chain {N|N>0} input double A {i|0<=i<N}; output double r;
      local double S {i|0<=i<N};
      let S[i] = case {i==0} : A[i]; {i>0} : S[i-1] + A[i]; esac; r = S[N-1];""")
    a = RNG.random(1_000_000)
    assert CompiledSystem(p, "chain", tmp_path)(a, N=len(a))[0] == np.cumsum(a)[-1]


def run(
    folder: Path, name: str, *arguments: str, text: str = ""
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [folder / name, *arguments], input=text, capture_output=True, text=True, timeout=60
    )


def made(p: alpha.Program, name: str, folder: Path, *rules: str) -> None:
    for generate in (alpha.generateWriteC, alpha.generateWrapperC, alpha.generateMakefile):
        generate(p, name, folder)
    subprocess.run(
        ["make", "-s", "-C", str(folder), *rules, "CFLAGS=-O1 -std=gnu11 -fwrapv -Wall -Werror"],
        check=True, timeout=120,
    )  # fmt: skip


def test_9_1_self_dependence_is_found_at_run_time(tmp_path: Path) -> None:
    p = alpha.load("""affine loop {N|N>2} output int R; local int X, Y {i|0<=i<N};
      let X[i] = Y[i]; Y[i] = case {i<2} : 1; {i>=2} : X[i]; esac; R = X[2];""")
    made(p, "loop", tmp_path, "all")
    found = run(tmp_path, "loop", "5")
    assert found.returncode == 1
    assert "self dependence on X at (2)" in found.stderr


def test_9_1_only_what_is_demanded_is_computed(tmp_path: Path) -> None:
    """The branch of an `if` that is not taken is not demanded: here it would never end."""
    p = alpha.load("""affine lazy {N|N>2} input int A {i|0<=i<N}; output int R; local int X {i|0<=i<N};
      let X[i] = if A[i] > 0 then A[i] else Y[i]; R = X[1]; Y[i] = X[i];
      """.replace("local int X", "local int X, Y"))  # fmt: skip
    compiled = CompiledSystem(p, "lazy", tmp_path)
    assert compiled(np.array([0, 7, 0]), N=3)[0] == 7


@pytest.mark.parametrize("text", PRODUCTS)
def test_9_1_matrix_product(text: str, tmp_path: Path) -> None:
    a, b = RNG.random((2, 5, 5))
    (found,) = CompiledSystem(alpha.load(text), "matrix_product", tmp_path)(a, b, N=5)
    np.testing.assert_allclose(found, a @ b, rtol=1e-13)


def test_9_1_use_equations_and_figure_1(tmp_path: Path) -> None:
    a, b = RNG.integers(-9, 9, (3, 5)), RNG.integers(-9, 9, (5, 4))
    compiled = CompiledSystem(alpha.load(SUBSYSTEMS), "mat_product", tmp_path)
    np.testing.assert_array_equal(compiled(a, b, N=3, M=4, K=5)[0], a @ b)
    x = RNG.random(20)
    (found,) = CompiledSystem(alpha.load(FIGURE_1), "jacobi1D", tmp_path)(x, N=20, T=5)
    np.testing.assert_allclose(found, jacobi(x, 5), rtol=1e-14)


def test_9_1_arithmetic_is_that_of_the_kernel(tmp_path: Path) -> None:
    p = alpha.load("""affine a {N|N>0}
      input int A, B {i|0<=i<N}; char S {i|0<=i<N}; float F {i|0<=i<N}; bool P, Q {i|0<=i<N};
      output int D {i|0<=i<N}; int R {i|0<=i<N}; char C {i|0<=i<N}; float G {i|0<=i<N};
        bool L {i|0<=i<N}; bool X; long K {i|0<=i<N}; float M; double E {i|0<=i<N};
      let D = A / B; R = A % B; C = S * S + A; G = F * 0.1f + S; E = F * 0.1 / A;
          L = P and not Q or (A < F) xor (A nand B); X = reduce(xor, (i->), P[i]); K = A * B + [i-N];
          M = reduce(max, (i->), F[i]);""")
    n = 200
    arrays = [RNG.integers(-(2**31), 2**31, n).astype(np.int32), RNG.integers(-3, 4, n).astype(np.int32),
              RNG.integers(-128, 128, n).astype(np.int8), RNG.normal(size=n).astype(np.float32),
              RNG.random(n) < 0.5, RNG.random(n) < 0.5]  # fmt: skip
    arrays[0][:3], arrays[1][:3] = -(2**31), -1
    expected = p["a"](*arrays)
    for one, other in zip(CompiledSystem(p, "a", tmp_path)(*arrays, N=n), expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_9_4_and_9_5_wrapper_and_rules(tmp_path: Path) -> None:
    p = alpha.load("""affine double_it {N|N>0} input int A {i|0<=i<N}; double s;
      output int B {i|0<=i<N}; double c; let B = A * 2; c = s * 3.0;""")
    verify = """#include <stdint.h>
    void double_it_verify(int64_t N, const int32_t *A, const double s, int32_t *B, double *c) {
      for (int64_t i = 0; i < N; i++) B[i] = A[i] + A[i];
      *c = 3 * s; }"""
    (tmp_path / "double_it_verify.c").write_text(verify, encoding="utf-8")
    made(p, "double_it", tmp_path, "all", "check", "check-noprompt", "verify", "verify-rand")
    plain = run(tmp_path, "double_it", "4")
    assert plain.returncode == 0 and plain.stdout == "" and "Execution time" in plain.stderr
    asked = run(tmp_path, "double_it.check", "2", text="5 -7 1.5")
    assert asked.stdout == "A[0] = A[1] = s[0] = B[0] = 10\nB[1] = -14\nc[0] = 4.5\n"
    bare = run(tmp_path, "double_it.check-noprompt", "2", text="5 -7 1.5")
    assert bare.stdout == "10\n-14\n4.5\n"
    assert run(tmp_path, "double_it.verify", "1", text="3 1").stdout.endswith("TEST PASSED\n")
    assert run(tmp_path, "double_it.verify-rand", "50").stdout == "TEST PASSED\n"
    (tmp_path / "double_it_verify.c").write_text(verify.replace("3 * s", "2 * s"), encoding="utf-8")
    made(p, "double_it", tmp_path, "verify-rand")
    failed = run(tmp_path, "double_it.verify-rand", "50")
    assert failed.returncode == 1 and failed.stdout == "c[0] differs\nTEST FAILED\n"
    assert run(tmp_path, "double_it").returncode == 2


@pytest.mark.parametrize("generate", ["generateWriteC", "generateScheduledC"])
def test_9_4_arrays_of_half_the_size(generate: str, tmp_path: Path) -> None:
    p = alpha.load("""affine halves {N|N>0} input long A {i|0<=i<N}; output long Y {i, j|0<=2i<N && 0<=3j<=N};
      let Y[i,j] = A[2i] + [j];""")
    getattr(alpha, generate)(alpha.SetSTMap(p, "halves", "Y", "(i,j->i,j)"), "halves", tmp_path)
    alpha.generateWrapperC(p, "halves", tmp_path)
    alpha.generateMakefile(p, "halves", tmp_path)
    subprocess.run(["make", "-s", "check-noprompt"], cwd=tmp_path, check=True, timeout=120)
    for n in (1, 4, 5, 6):
        values = [3 * each - 4 for each in range(n)]
        found = run(tmp_path, "halves.check-noprompt", str(n), text=" ".join(map(str, values)))
        expected = p["halves"](np.array(values))
        assert expected.shape == ((n + 1) // 2, n // 3 + 1)
        assert found.stdout.split() == [str(each) for each in expected.ravel()]
        np.testing.assert_array_equal(expected, np.array(values)[::2, None] + np.arange(n // 3 + 1))


def test_names_that_c_has_are_refused(tmp_path: Path) -> None:
    p = alpha.load(
        "affine t {stack|stack>0} output int y1, gamma {i|0<=i<stack}; let y1 = 1; gamma = y1;"
    )
    with pytest.raises(tw.DeclarationError, match="stack means something else in C"):
        alpha.generateWriteC(p, "t", tmp_path)
    q = alpha.load("affine t {N|N>0} output int y1, gamma {i|0<=i<N}; let y1 = 1; gamma = y1 + 1;")
    found = CompiledSystem(q, "t", tmp_path)(N=2)
    assert [each.tolist() for each in found] == [[1, 1], [2, 2]]


SKEWED = "{x,y | 0<=x && 0<=y && x+y<N}"


@pytest.mark.parametrize(
    "kind, reduction, expected",
    [
        ("long", f"reduce(max, (x,y->x+y), {SKEWED} : 1)", [1, 1, 1, 1]),
        ("long", f"reduce(+, (x,y->x+y), {SKEWED} : 1)", [1, 2, 3, 4]),
        ("short", f"reduce(*, (x,y->x+y), {SKEWED} : [x-y])", [0, -1, 0, 9]),
        ("int", f"reduce(or, (x,y->x+y), {SKEWED} : [x-y])", [0, 1, 1, 1]),
        ("char", f"reduce(xor, (x,y->x+y), {SKEWED} : [x+2])", [1, 0, 1, 0]),
        ("double", f"reduce(min, (x,y->x+y), {SKEWED} : [x-y])", [0, -1, -2, -3]),
    ],
)
def test_9_2_reductions_in_another_type(
    kind: str, reduction: str, expected: list[int], tmp_path: Path
) -> None:
    """A reduction is converted when it is done; its variable has another type."""
    p = alpha.load(f"affine z {{N|N>0}} output {kind} Z {{i|0<=i<N}}; let Z[i] = {reduction}; .")
    for generate in (alpha.generateWriteC, alpha.generateScheduledC):
        found = CompiledSystem(p, "z", tmp_path / generate.__name__, generate)(N=4)[0]
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(p["z"](N=4), expected)


def test_9_1_what_no_value_needs_is_not_written(tmp_path: Path) -> None:
    """The body reads U only where the answer would be below 0."""
    p = alpha.load("""affine part {N|N>0} output long Z {i|0<=i<N}; local long U {i|0<=i<N};
      let U[i] = [i]; Z[i] = reduce(max, (x,y->x-y), {x,y | 0<=x<N && 0<=y<=x+1} :
        case {| y>x} : U[x]; {| y<=x} : [x+y]; esac);""")
    (found,) = CompiledSystem(p, "part", tmp_path)(N=4)
    np.testing.assert_array_equal(found, p["part"](N=4))
    assert "read_v_U" not in (tmp_path / "part.c").read_text()


def test_9_1_memory_of_what_a_parity_bounds(tmp_path: Path) -> None:
    """The other index bounds half of an index, not the index."""
    p = alpha.load("""affine even {N|N>0} output long Z {i|0<=i<N};
      local long S {x, y | x+y==2*floor((x+y)/2) && x>=0 && 0<=y<N-x};
      let S[x,y] = [x+3y]; Z[i] = case {| i%2==0} : S[i,0]; {| i%2==1} : 7; esac;""")
    (found,) = CompiledSystem(p, "even", tmp_path)(N=5)
    np.testing.assert_array_equal(found, [0, 7, 2, 7, 4])


@pytest.mark.parametrize(
    ("value", "other", "equal"),
    [
        ("1e6f", "1e6f + 30", True),
        ("1.0f", "1.001f", False),
        ("0.0f / zero", "1.0f", False),
        ("1.0f", "0.0f / zero", False),
        ("0.0f / zero", "0.0f / zero", True),
        ("1.0f / zero", "3.0f", False),
        ("1.0f / zero", "-1.0f / zero", False),
        ("1.0f / zero", "1.0f / zero", True),
    ],
)
def test_9_4_fractions_are_compared_beside_the_largest(
    value: str, other: str, equal: bool, tmp_path: Path
) -> None:
    p = alpha.load("affine one {N|N>0} output float X {i|0<=i<N}; let X[i] = 1.0f; .")
    for name, text in (("one", value), ("one_verify", other)):
        source = f"""#include <stdint.h>
        void {name}(int64_t N, float *X) {{ volatile float zero = 0;
          for (int64_t i = 0; i < N; i++) X[i] = {text}; X[0] = 7; (void)zero; }}"""
        (tmp_path / f"{name}.c").write_text(source, encoding="utf-8")
    alpha.generateWrapperC(p, "one", tmp_path)
    alpha.generateMakefile(p, "one", tmp_path)
    subprocess.run(["make", "-s", "verify-rand"], cwd=tmp_path, check=True, timeout=120)
    assert ("PASSED" in run(tmp_path, "one.verify-rand", "3").stdout) == equal


@pytest.mark.skipif(
    " fma " not in Path("/proc/cpuinfo").read_text("utf-8"), reason="no instruction for fma here"
)
def test_9_5_products_and_sums_are_no_calls(tmp_path: Path) -> None:
    p = alpha.load("""affine mm {N|N>0} input double A, B {i,j|0<=(i,j)<N};
      output double C {i,j|0<=(i,j)<N}; let C[i,j] = reduce(+, [k], A[i,k] * B[k,j]); .""")
    p = alpha.SetSTMap(p, "C", "(i,j,k->i,k,j)")
    assert "fma(" in alpha.generateScheduledC(p, "mm", tmp_path).read_text("utf-8")
    alpha.generateWrapperC(p, "mm", tmp_path)
    alpha.generateMakefile(p, "mm", tmp_path)
    subprocess.run(["make", "-s"], cwd=tmp_path, check=True, timeout=120)
    needed = subprocess.run(["nm", "-u", "mm"], cwd=tmp_path, capture_output=True, text=True)
    assert "clock_gettime" in needed.stdout and "fma" not in needed.stdout.split()
    assert "fma@" not in needed.stdout


def test_9_4_elements_are_named_by_their_indices(tmp_path: Path) -> None:
    p = alpha.load("""affine turned {N, M|N>0 && M>0} input long A {i,j|0<=i<N && 0<=j<M};
      output long B {j,i|0<=i<N && 0<=j<M}; let B[j,i] = A[i,j]; .""")
    alpha.generateWriteC(p, "turned", tmp_path)
    alpha.generateWrapperC(p, "turned", tmp_path)
    alpha.generateMakefile(p, "turned", tmp_path)
    subprocess.run(["make", "-s", "check"], cwd=tmp_path, check=True, timeout=120)
    asked = run(tmp_path, "turned.check", "2", "3", text="1 2 3 4 5 6")
    assert asked.stdout == (
        "A[0,0] = A[0,1] = A[0,2] = A[1,0] = A[1,1] = A[1,2] = "
        "B[0,0] = 1\nB[0,1] = 4\nB[1,0] = 2\nB[1,1] = 5\nB[2,0] = 3\nB[2,1] = 6\n"
    )
    short = run(tmp_path, "turned.check", "2", "3", text="1 2 3 4")
    assert short.returncode == 2
    assert short.stderr == "there is no number for A[1,1] in the input\n"


def test_9_1_prototypes_of_the_library_are_its_own(tmp_path: Path) -> None:
    text = """{prototype}
      affine t {{N|N>0}} input double A {{i|0<=i<N}}; output double X {{i|0<=i<N}}; let X[i] = {name}(A[i]); ."""
    for prototype, name, known in (
        ("double abs(double);", "abs", "int abs(int)"),
        ("int round(double);", "round", "double round(double)"),
        ("float sqrtf(double);", "sqrtf", "float sqrtf(float)"),
    ):
        p = alpha.load(text.format(prototype=prototype, name=name))
        for write in (alpha.generateWriteC, alpha.generateScheduledC):
            with pytest.raises(tw.DeclarationError, match=re.escape(known)):
                write(p, "t", tmp_path)
    p = alpha.load(text.format(prototype="double round(double);", name="round"))
    given = np.array([-2.5, -0.5, -0.2, 0.49999999999999994, 0.5, 1.5, 2.5])
    wanted = np.copysign(np.floor(np.abs(given) + 0.5), given)
    wanted[3] = 0
    np.testing.assert_array_equal(p["t"](given), wanted)
    for write in (alpha.generateWriteC, alpha.generateScheduledC):
        write(p, "t", tmp_path)
        alpha.generateWrapperC(p, "t", tmp_path)
        alpha.generateMakefile(p, "t", tmp_path)
        subprocess.run(["make", "-s", "check-noprompt"], cwd=tmp_path, check=True, timeout=120)
        found = run(tmp_path, "t.check-noprompt", "7", text=" ".join(map(repr, map(float, given))))
        assert [float(each) for each in found.stdout.split()] == wanted.tolist()


WRAPPED = """affine ch {N, M | N>3 && M%2==0} input long A {i | 0<=i<N-5}; output long S {i,j | 0<=i<N && 0<=j<M};
let S[i,j] = [i-j]; ."""


@pytest.mark.parametrize(
    ("given", "status", "said"),
    [
        ("4 2", 0, ""),
        ("4 0", 0, ""),
        ("4", 2, "usage: "),
        ("3 2", 2, "the parameters of ch must satisfy M==2*floor((M)/2) && N>=4"),
        ("4 3", 2, "the parameters of ch must satisfy"),
        ("x 2", 2, "N must be an integer of 64 bits, got x"),
        ("4 2.5", 2, "M must be an integer of 64 bits, got 2.5"),
        ("99999999999999999999 2", 2, "N must be an integer of 64 bits, got 99999999999999999999"),
        ("1000000000000000000 2", 2, "there is no memory for A"),
        ("4 2 3 5", 0, ""),
        ("4 2 3", 2, "usage: "),
        ("4 2 0 5", 2, "rows must be an integer of 64 bits above 0, got 0"),
        ("4 2 3 y", 2, "columns must be an integer of 64 bits above 0, got y"),
    ],
)
def test_9_4_main_checks_its_arguments(given: str, status: int, said: str, tmp_path: Path) -> None:
    p = alpha.SetTiling(
        alpha.SetSTMap(alpha.load(WRAPPED), "S", "(i,j->i,j)"), "0,1", "rows,columns"
    )
    for generate in (alpha.generateScheduledC, alpha.generateWrapperC, alpha.generateMakefile):
        generate(p, "ch", tmp_path)
    flags = "CFLAGS=-O1 -std=gnu11 -Wall -Werror -fopenmp"
    subprocess.run(["make", "-s", "-C", tmp_path, flags], check=True)
    done = subprocess.run(
        [tmp_path / "ch", *given.split()], capture_output=True, text=True, check=False
    )
    assert done.returncode == status
    assert said in done.stderr


def test_9_4_main_without_arguments(tmp_path: Path) -> None:
    p = alpha.load("affine one {} output long S; let S = 3; .")
    for generate in (alpha.generateWriteC, alpha.generateWrapperC, alpha.generateMakefile):
        generate(p, "one", tmp_path)
    flags = "CFLAGS=-O1 -std=gnu11 -Wall -Werror -fopenmp"
    subprocess.run(["make", "-s", "-C", tmp_path, flags], check=True)
    assert subprocess.run([tmp_path / "one"], check=False).returncode == 0


def test_9_2_sizes_that_a_system_is_not_defined_for_end_the_program(tmp_path: Path) -> None:
    """With a main of one's own, which does not ask as the wrapper's does."""
    alpha.generateScheduledC(alpha.load(WRAPPED), "ch", tmp_path)
    (tmp_path / "main.c").write_text(
        "#include <stdint.h>\nvoid ch(int64_t N, int64_t M, int64_t *A, int64_t *S);\n"
        "int main(void) { int64_t a[1], s[9]; ch(3, 2, a, s); return 0; }\n"
    )
    sources = [tmp_path / "ch.c", tmp_path / "main.c"]
    command = ["gcc", "-std=gnu11", "-O1", "-fopenmp", *sources, "-o", tmp_path / "main", "-lm"]
    subprocess.run(command, check=True, timeout=120)
    done = subprocess.run(
        [tmp_path / "main"], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 1 and "not defined for these parameters" in done.stderr
