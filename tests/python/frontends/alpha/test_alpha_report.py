"""The examples, table rows and figures of the report by number (CSU TR CS12-101, sections 3 to 6)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tilewright as tw
from tilewright.frontends.alpha.attributes import attributes_of
from tilewright.frontends.alpha.domains import AffineFunction, Domain
from tilewright.frontends.alpha.reading import read_domain, read_function
from tilewright.frontends.alpha.tree import Reduce, System, walk

alpha = tw.alpha
RNG = np.random.default_rng(7)

# ---- section 4.1 ----


def test_4_1_chains_lists_and_unions() -> None:
    plain = read_domain("{i,j | i>=0 && i<N && j>=0 && j<N}", ("N",))
    assert read_domain("{i,j | 0<=(i,j)<N}", ("N",)) == plain
    assert read_domain("{i,j | N > (i,j) >= 0}", ("N",)) == plain
    assert read_domain("{i,j | 0<=i<N && 0<=j<N}", ("N",)) == plain
    union = read_domain("{i,j|0<=i<N && 0<=j<M} || {x,y|0<=x<P && 0<=y<Q}", tuple("NMPQ"))
    assert len(union.parts) == 2
    with pytest.raises(tw.DeclarationError, match="same way"):
        read_domain("{i | 0<=i>N}", ("N",))


def test_4_1_2_index_names_do_not_count() -> None:
    texts = ["{i,j|0<=i<N && 0<=j<M}", "{x,y|0<=x<N && 0<=y<M}", "{j,i|0<=j<N && 0<=i<M}",
             "{i,x|0<=i<N && 0<=x<M}"]  # fmt: skip
    domains = [read_domain(text, ("N", "M")) for text in texts]
    assert all(each == domains[0] for each in domains)
    assert read_function("(i,j->j,i)", ()) == read_function("(x,y->y,x)", ())
    assert read_function("(i -> N-i)", ("N",)).results[0].terms == {"N": 1, "i": -1}


# ---- section 4.2 ----


@pytest.mark.parametrize(
    ("kind", "dtype"),
    [("int", np.int32), ("long", np.int64), ("float", np.float32), ("double", np.float64),
     ("char", np.int8), ("bool", np.bool_)],
)  # fmt: skip
def test_4_2_types(kind: str, dtype: type) -> None:
    p = alpha.load(
        f"affine t {{N|N>0}} input {kind} A {{i|0<=i<N}}; output {kind} B {{i|0<=i<N}}; let B = A;"
    )
    values = np.array([1, 0, 1], dtype)
    found = p["t"](values)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, values)


# ---- section 4.3: the table, row by row ----

TABLE = """
affine t {N | N>2}
  input double V {i | 0<=i<N}; double W {i | 2<=i<=N}; bool C {i | 1<=i<2N};
  output double Y; local double X {i | i==2};
  let Y = 0.0; X[i] = """


def domain_of(text: str) -> Domain:
    system: System = alpha.load(f"{TABLE}{text};").system("t")
    return attributes_of(system, system.equation("X").expression, ("i",)).expression[()]


@pytest.mark.parametrize(
    ("row", "text", "expected"),
    [
        ("constants", "1.5", "{i | }"),
        ("variables", "V", "{i | 0<=i<N}"),
        ("operators", "V + W", "{i | 2<=i<N}"),
        ("case", "case {i | i<2} : V; W; esac", "{i | 0<=i<=N}"),
        ("if", "if C then V else W", "{i | 2<=i<N}"),
        ("restriction", "{i | i>=1} : V", "{i | 1<=i<N}"),
        ("dependence", "(i->i-1)@V", "{i | 1<=i<=N}"),
        ("index", "val(i->i+N)", "{i | }"),
        ("reduction", "reduce(+, (i,j->i+j), (i,j->i)@V * (i,j->j)@V)", "{i | 0<=i<=2N-2}"),
    ],
)
def test_4_3_expression_domains(row: str, text: str, expected: str) -> None:
    context = tw.Set("[N] -> { : N > 2 }")
    assert domain_of(text) == read_domain(expected, ("N",)).within(context), row


def test_4_3_joins_compose_from_left_to_right() -> None:
    p = alpha.load(
        "affine t {N|N>0} input double A {i|0<=i<3N}; output double B {i|0<=i<N};"
        "let B = (i->i+1)@(j->2j)@A;"
    )
    a = RNG.random(12)
    np.testing.assert_array_equal(p["t"](a), a[2:10:2])


def test_4_3_1_reduction_is_a_sum() -> None:
    p = alpha.load(
        "affine t {n,M|n>=0 && M>0} input double A {i,j|0<=i<M && 0<=j<=n}; output double X {i|0<=i<M};"
        "let X = reduce(+, (i,j->i), A);"
    )
    a = RNG.random((3, 5))
    np.testing.assert_allclose(p["t"](a), a.sum(1), rtol=1e-14)


def test_4_3_2_context_domains() -> None:
    text = """affine t {N|N>4} input double A {i|0<=i<2N}; output double X {i|0<=i<N};
      let X = reduce(+, (i,j->i), {i,j|0<=j<=i} : (i,j->i+j)@A);"""
    system = alpha.load(text).system("t")
    declared = system.declaration("X").domain
    found = attributes_of(system, system.equation("X").expression, ("i",), declared).context
    context = system.context
    body = read_domain("{i,j | 0<=j<=i && i<N}", ("N",)).within(context)
    assert found[()] == declared
    assert found[0,] == body  # the preimage of the projection, where the body has a value
    assert found[0, 0] == body
    assert found[0, 0, 0] == body.image(read_function("(i,j->i+j)", ()))


# ---- sections 4.5 and 4.6 ----

PRODUCT = """affine matrix_product {N|0<N}
  input
    double A,B {i,j|0<=(i,j)<N};
  output
    double C {i,j|0<=(i,j)<N};
"""
SERIAL = "  local\n    double temp_C {i,j,k|0<=(i,j,k)<N};\n"
PRODUCTS = [
    PRODUCT + "  let C = reduce(+, (i, j, k → i, j), (i, j, k → i, k)@A * (i, j, k → k, j)@B);",
    PRODUCT + SERIAL + """  let
    C = (i,j,k->i,j,N-1)@temp_C;
    temp_C = case
      {i,j,k|k==0} : (i,j,k->i,k)@A * (i,j,k->k,j)@B;
      {i,j,k|k> 0} : (i,j,k->i,k)@A * (i,j,k->k,j)@B
                    + (i,j,k->i,j,k-1)@temp_C;
    esac;""".replace("C = (i,j,k->", "C = (i,j->", 1),
    PRODUCT + "  let C = reduce(+, [k], A[i,k] * B[k,j]);",
    PRODUCT + SERIAL + """  let
    C[i,j] = temp_C[i,j,N-1];
    temp_C[i,j,k] = case
      {k==0} : A[i,k] * B[k,j];
      {k> 0} : A[i,k] * B[k,j] + temp_C[i,j,k-1];
    esac;""",
]  # fmt: skip


@pytest.mark.parametrize("text", PRODUCTS)
def test_4_6_matrix_product(text: str) -> None:
    a, b = RNG.random((2, 6, 6))
    np.testing.assert_allclose(alpha.load(text)["matrix_product"](a, b), a @ b, rtol=1e-13)


def test_4_6_array_notation_means_the_same() -> None:
    assert alpha.load(PRODUCTS[0]) == alpha.load(PRODUCTS[2])
    assert alpha.load(PRODUCTS[1]) == alpha.load(PRODUCTS[3])


def test_4_6_listings_with_slips_are_located() -> None:
    """The report writes C, of two dimensions, by a function of three; and two names for temp_C's three."""
    with pytest.raises(tw.DeclarationError, match="takes 3 indices"):
        alpha.load(PRODUCTS[1].replace("C = (i,j->", "C = (i,j,k->", 1))
    with pytest.raises(tw.DeclarationError, match="temp_C has 3 dimensions, not 2"):
        alpha.load(PRODUCTS[3].replace("temp_C[i,j,k] =", "temp_C[i,j] ="))


def test_4_5_reductions_change_the_context() -> None:
    p = alpha.load("""affine t {N|N>0}
      input double X {i,j|0<=(i,j)<N}; double Y {i|-N<=i<=2N};
      output double A {i,j|0<=(i,j)<N};
      let A[i, j] = X[i, j] + reduce(+, (x, y, z -> x, z), {|0<=y<=z} : Y[x-y+z]);""".replace(
        "-N<=i<=2N", "0<=i<=2N"))  # fmt: skip
    x, y = RNG.random((4, 4)), RNG.random(9)
    expected = np.array(
        [[x[i, j] + sum(y[i - k + j] for k in range(j + 1)) for j in range(4)] for i in range(4)]
    )
    np.testing.assert_allclose(p["t"](x, y), expected, rtol=1e-13)


# ---- section 4.7 ----

SUBSYSTEMS = """
affine mat_product {N,M,K | N>0 && M>0 && K>0}
input
  long A {i,k | 0<=i<N && 0<=k<K};
  long B {k,j | 0<=k<K && 0<=j<M};
output
  long C {i,j | 0<=i<N && 0<=j<M};
let
  use {row,col|0<=row<N && 0<=col<M} dot_product [K]
      ((r,c,k->r,k)@A,(r,c,k->k,c)@B) returns (C);
.

affine dot_product {N | N>0}
input
  double vector1, vector2 {i | 0<=i<N };
output
  double result;
let
  result = reduce(+, (i->), vector1[i] * vector2[i]);
.
"""


def test_4_7_use_equation() -> None:
    p = alpha.load(SUBSYSTEMS)
    a, b = RNG.integers(-9, 9, (3, 5)), RNG.integers(-9, 9, (5, 4))
    np.testing.assert_array_equal(p["mat_product"](a, b), a @ b)
    x = RNG.random(7)
    np.testing.assert_allclose(p["dot_product"](x, x), x @ x, rtol=1e-14)


# ---- section 5 ----

IDENTIFIERS = """affine example {N|N>10}
  input int A {i|10<=i<N};
  output int X {i|0<=i<N};
  let
  X[i] = case
    {i==0} : 0;
    {0<i<10} : [i-1];
    A[i];
  esac;"""


def test_5_1_identifiers(capsys: pytest.CaptureFixture[str]) -> None:
    """[0, 0, 0] is the case, as the report says. Its second example, [0, 0, 1, 0] for [i-1], leaves out
    the 0 of the equation's expression; here each step is one number."""
    p = alpha.load(IDENTIFIERS)
    text = alpha.PrintAST(p)
    assert capsys.readouterr().out.strip() == text.strip()
    lines = {line.strip().partition("] ")[0] + "]": line for line in text.splitlines()}
    assert " case " in lines["[0, 0, 0]"]
    assert "index (i->i-1)" in lines["[0, 0, 0, 1, 0]"]
    assert "D {i | } " in lines["[0, 0, 0, 1, 0]"] and "X {i | 1<=i<=9}" in lines["[0, 0, 0, 1, 0]"]
    a = np.arange(100, 114, dtype=np.int32)
    np.testing.assert_array_equal(p["example"](a), [0, *range(9), *range(110, 114)])


def test_5_2_1_read_and_5_2_5_save(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "x.ab"
    file.write_text(SUBSYSTEMS, encoding="utf-8")
    p = alpha.ReadAlphabets(file)
    for show, save in ((alpha.Show, alpha.Save), (alpha.AShow, alpha.ASave)):
        text = show(p)
        assert capsys.readouterr().out == text + "\n"
        assert save(p, tmp_path).read_text(encoding="utf-8") == text
        assert alpha.load(tmp_path / "mat_product.ab") == p
    assert "vector1[i] * vector2[i]" in str(p)
    assert "vector1 * vector2" in p.show()


def test_5_2_2_rename() -> None:
    p = alpha.RenameSystem(alpha.load(SUBSYSTEMS), "dot_product", "dot")
    assert list(p) == ["mat_product", "dot"]
    p = alpha.RenameVariable(p, "mat_product", "A", "Left")
    assert p["mat_product"].signature.startswith("mat_product(Left:")
    with pytest.raises(tw.DeclarationError, match="B is the name of something else"):
        alpha.RenameVariable(p, "mat_product", "Left", "B")
    with pytest.raises(tw.DeclarationError, match="there is a system dot already"):
        alpha.RenameSystem(p, "mat_product", "dot")


def test_5_2_3_remove_unused() -> None:
    p = alpha.load("""affine t {N|N>0} input int A {i|0<=i<N}; output int Y {i|0<=i<N};
      local int U, V, L {i|0<=i<N}; let U = A; V = U + L; L = A * 2; Y = L;""")
    removed = alpha.RemoveUnusedVariables(p)
    assert [each.name for each in removed.system("t").declarations] == ["A", "Y", "L"]


CHANGE = """affine t {T,N | T>2 && N>1}
  input double A {i | 0<=i<N+T};
  output double Y {i | 0<=i<N};
  local double X {t,i | 0<=t<T && 0<=i<N+T-t};
  let X[t,i] = case {t==0} : A[i]; {t>0} : X[t-1,i+1] * 2; esac;
      Y[i] = X[T-1,i];
"""


def test_5_3_change_of_basis() -> None:
    p = alpha.load(CHANGE)
    q = alpha.CoB(p, "t", "X", "(t,i->t,t+i)")
    moved = q.system("t")
    assert "X[t-1,z1]" in str(q)  # (t-1, i+1) has become (t-1, i)
    image = read_domain("{t,i | 0<=t<T && t<=i<N+T}", ("T", "N")).within(moved.context)
    assert moved.declaration("X").domain == image
    a = RNG.random(9)
    np.testing.assert_array_equal(p["t"](a, T=4), q["t"](a, T=4))
    back = alpha.CoB(q, "t", "X", "(t,i->t,i-t)")
    assert back == p


def test_5_3_injective_on_the_domain_is_enough() -> None:
    text = """affine t {N|N>0} input int A {i|0<=i<N}; output int Y {i|0<=i<N};
      local int X {i,j | 0<=i<N && WHERE}; let X[i,j] = A[i]; Y[i] = X[i,0];"""
    p = alpha.load(text.replace("WHERE", "j==0"))
    q = alpha.CoB(p, "t", "X", "(i,j->i+j)")
    assert q.system("t").declaration("X").domain.arity == 1
    a = np.arange(5, dtype=np.int32)
    np.testing.assert_array_equal(q["t"](a), a)
    with pytest.raises(tw.DeclarationError, match="two points of X to one, for example at"):
        alpha.CoB(alpha.load(text.replace("WHERE", "0<=j<=1")), "t", "X", "(i,j->i+j)")


def test_5_4_inline() -> None:
    p = alpha.load("""double foo(double, double); double bar(double);
    affine t {N|N>0} input double A, B {i|0<=i<N}; output double Y {i|0<=i<N};
      local double X {i|0<=i<N}; let X[i] = foo(A[i], B[i]); Y[i] = bar(X[i]);""")
    q = alpha.Inline(p, "t", "Y", "X")
    assert "Y[i] = bar(foo(A[i], B[i]));" in str(q)
    assert "X[i] = foo(A[i], B[i]);" in str(q)
    chain = alpha.load(CHANGE)
    with pytest.raises(tw.DeclarationError, match="X reads itself"):
        alpha.Inline(chain, "t", "Y", "X")


def test_5_5_split() -> None:
    p = alpha.load("""affine t {N|N>1} input int A {i|0<=i<N}; output int Y {i|0<=i<N};
      local int X {i|0<=i<N}; let X[i] = A[i] * 2; Y[i] = X[N-1-i];""")
    q = alpha.Split(p, "t", "X", "{i==0}")
    found, context = q.system("t"), q.system("t").context
    assert found.declaration("X_1").domain == read_domain("{i|1<=i<N}", ("N",)).within(context)
    assert found.declaration("X_2").domain == read_domain("{i|i==0}", ("N",)).within(context)
    a = RNG.integers(0, 99, 6).astype(np.int32)
    np.testing.assert_array_equal(q["t"](a), 2 * a[::-1])


def test_5_6_split_union() -> None:
    p = alpha.load("""affine t {N|N>9} input int A {i|0<=i<N}; output int Y {i|0<=i<N};
      let Y[i] = case {i<3} || {5<=i} : A[i]; {3<=i<5} : 0; esac;""")
    q = alpha.SplitUnion(p, "[0, 0, 0, 0]")
    branches = alpha.Normalize(q).system("t").equation("Y").expression.branches
    assert len(branches) == 3
    a = RNG.integers(0, 99, 12).astype(np.int32)
    np.testing.assert_array_equal(q["t"](a), p["t"](a))


def test_5_7_simplify() -> None:
    p = alpha.load("""affine t {N|N>1} input int A {i|0<=i<N}; input int C {i,j|0<=i<N && 0<=j<2N};
      output int X {i|0<=i<N}; int Y {i|0<=i<N};
      let X[i] = case {|i==0 && N>0} : A[i]; {|1<=i<N} : A[i-1]; esac;
          Y[i] = reduce(+, (i,j->i), {i,j | j==2i} : C[i,j]);""")
    q = alpha.Simplify(p)
    assert "{| i>=1} : A[i-1]" in str(q)
    assert "Y[i] = C[i,2i];" in str(q)
    a, c = np.arange(4, dtype=np.int32), RNG.integers(0, 9, (4, 8)).astype(np.int32)
    for one, other in zip(p["t"](a, c), q["t"](a, c), strict=True):
        np.testing.assert_array_equal(one, other)


FIGURE_1 = """
affine jacobi1D {N,T|N>0 && T>0}
  input
    double Ain {i|0<=i<N};
  output
    double Aout {i|0<=i<N};
  local
    double A {t,i|0<=i<N && 0<=t<=T};
  let
    A[t,i] = case
      {t==0} : Ain[i];
      {t>0 && 1<=i<N-1} :
        (A[t-1,i] + A[t-1,i-1] + A[t-1,i+1]) * 0.333333;
      {t>0 && i==0} || {t>0 && i==N-1} : A[t-1,i];
    esac;
  Aout[i] = A[T,i];
"""


def jacobi(x: np.ndarray, steps: int) -> np.ndarray:
    for _ in range(steps):
        x = np.concatenate([x[:1], (x[1:-1] + x[:-2] + x[2:]) * 0.333333, x[-1:]])
    return x


def test_figure_1() -> None:
    x = RNG.random(20)
    np.testing.assert_allclose(alpha.load(FIGURE_1)["jacobi1D"](x, T=5), jacobi(x, 5), rtol=1e-14)
    with pytest.raises(tw.DeclarationError, match="j is neither an index nor a parameter"):
        alpha.load(FIGURE_1.replace("Ain[i];", "Ain[i,j];"))  # as it is printed


def test_3_5_and_5_8_dependence_graph(tmp_path: Path) -> None:
    """E1 to the input, E2 to E4 of the stencil, one for the border, one of the output."""
    graph = alpha.BuildPRDG(alpha.load(FIGURE_1), "jacobi1D", inputs=True)
    own = [each for each in graph if each.consumer == "A"]
    assert [str(each.function) for each in own if each.producer == "Ain"] == ["(t,i->i)"]
    inner = [each for each in own if each.producer == "A"]
    assert [str(each.function) for each in inner] == [
        "(t,i->t-1,i)", "(t,i->t-1,i-1)", "(t,i->t-1,i+1)", "(t,i->t-1,i)"]  # fmt: skip
    context = graph.system.context
    stencil = read_domain("{t,i | 1<=t<=T && 1<=i<N-1}", ("N", "T")).within(context)
    assert all(each.domain == stencil for each in inner[:3])
    without = alpha.BuildPRDG(alpha.load(FIGURE_1), "jacobi1D")
    assert "Ain" not in without.nodes and len(without.edges) == 5
    text = alpha.ExportPRDG(graph, tmp_path / "g.dot").read_text(encoding="utf-8")
    assert text.startswith('digraph "jacobi1D" {') and text.count(" -> ") == 6 and "E6" in text


# ---- section 6 ----


def changed_by(p: alpha.Program, q: alpha.Program, name: str, *arrays: np.ndarray) -> None:
    """The outputs are the same."""
    np.testing.assert_array_equal(p[name](*arrays), q[name](*arrays))
    assert alpha.load(str(q)) == q


def sums(domain: str, operator: str = "+", kind: str = "long") -> alpha.Program:
    return alpha.load(f"""affine t {{N|N>5}} input {kind} A {{i|0<=i<N}}; output {kind} X {{i|0<=i<N}};
      let X[i] = reduce({operator}, [j], {{| {domain}}} : A[j]);""")


VALUES = RNG.integers(-99, 99, 11)


def test_6_1_prefix_sums_become_linear() -> None:
    p = sums("0<=j<=i")
    q = alpha.SimplifyingReduction(p, "t", "X", "[1, 0]")
    system = q.system("t")
    body = system.equation("X_add").expression
    assert isinstance(body, Reduce)
    found = attributes_of(system, body, ("i",)).expression[0,]
    assert found.points.count(N=9) == 9  # it was 45
    changed_by(p, q, "t", VALUES)
    again = alpha.Simplify(q)
    assert "X_add[i] = A[i];" in str(again)
    changed_by(p, again, "t", VALUES)


def test_6_1_windows_have_the_three_cases() -> None:
    p = sums("i-3<=j<=i")
    q = alpha.SimplifyingReduction(p, "t", "X", [1, 0])
    branches = q.system("t").equation("X").expression.branches
    domains = [each.domain for each in branches]
    context = q.system("t").context
    for domain, text in zip(domains, ["{i|i==0}", "{i|1<=i<=3}", "{i|4<=i<N}"], strict=True):
        assert domain == read_domain(text, ("N",)).within(context)
    changed_by(p, q, "t", VALUES)


def test_6_1_what_is_checked() -> None:
    for program, vector, message in (
        (sums("0<=j<=i", "max"), [-1, 0], "max has no inverse"),
        (sums("0<=j<=i"), [0, 1], "takes \\[0, 1\\] to 0"),
        (sums("0<=j<=i"), [1, 1], "changes along"),
        (sums("0<=j<=i"), [1], "one for each index"),
        (sums("j==i"), [1, 0], "no two answers of X share"),
        (sums("0<=j<=i", kind="double"), [1, 0], "reassociate=True"),
    ):
        with pytest.raises(tw.DeclarationError, match=message):
            alpha.SimplifyingReduction(program, "t", "X", vector)
    p = sums("0<=j<=i", "max")
    changed_by(p, alpha.SimplifyingReduction(p, "t", "X", [1, 0]), "t", VALUES)
    backwards = sums("i<=j<N")
    changed_by(backwards, alpha.SimplifyingReduction(backwards, "t", "X", [-1, 0]), "t", VALUES)
    forwards = alpha.SimplifyingReduction(backwards, "t", "X", [1, 0])
    assert "X_sub" in str(forwards)
    changed_by(backwards, forwards, "t", VALUES)
    x = RNG.random(9)
    scan = alpha.SimplifyingReduction(
        sums("0<=j<=i", kind="double"), "t", "X", [1, 0], reassociate=True
    )
    np.testing.assert_allclose(scan["t"](x), np.cumsum(x), rtol=1e-13)


def test_6_2_permutation_case_reduce() -> None:
    p = alpha.load("""affine t {N|N>9} input long A, B {i|0<=i<N}; output long X {i|0<=i<N};
      let X[i] = reduce(+, [j], case {| 0<=j && j<=i-3} : A[j]; {| i-1<=j && j<=5 && j>=0} : B[j];
        {| i==N-1 && j==i} : [7]; {| 9<=i<N-1 && j==i-1} : [5]; esac);""")
    q = alpha.PermutationCaseReduce(p, "t", "X")
    assert {"X_1", "X_2"} <= {each.name for each in q.system("t").of_kind("local")}
    a, b = RNG.integers(-9, 9, (2, 13))
    changed_by(p, q, "t", a, b)
    text = str(q)
    assert "X_1[i] + X_2[i];" in text  # D12
    with pytest.raises(tw.DeclarationError, match="is no case"):
        alpha.PermutationCaseReduce(sums("0<=j<=i"), "t", "X")


def test_6_3_reduction_decomposition() -> None:
    p = alpha.load("""affine ones {N,M|N>0 && M>0} input int A {i,j|0<=i<N && 0<=j<M};
      output int R {i|0<=i<N}; int X;
      let R = reduce(+, (i,j->i), A); X = reduce(+, (i,j->), A);""")
    q = alpha.ReductionDecomposition(p, "[0,1,0]", "(i->)", "(i,j->i)")
    assert "reduce(+, [i], reduce(+, [j], A[i,j]))" in str(q)
    rows, total = q["ones"](np.ones((3, 4), np.int32))
    assert rows.tolist() == [4, 4, 4] and total == 12
    skewed = alpha.ReductionDecomposition(p, "[0,1,0]", "(k->)", "(i,j->i-j)")
    assert skewed["ones"](np.ones((3, 4), np.int32))[1] == 12
    with pytest.raises(tw.DeclarationError, match="is not the projection"):
        alpha.ReductionDecomposition(p, "[0,0,0]", "(i->)", "(i,j->j)")


def test_6_4_normalize_reduction() -> None:
    p = alpha.load("""affine t {N|N>0} input long A {i|0<=i<2N}; output long E {i|0<=i<N};
      let E[i] = A[i] * reduce(+, [j], {| 0<=j<N} : A[j] * reduce(max, [k], {| j<=k<=j+i} : A[k])) + 1;""")
    q = alpha.NormalizeReduction(p)
    for equation in q.system("t").equations:
        for path, node in walk(equation.expression):
            assert not path or not isinstance(node, Reduce)
    changed_by(p, q, "t", RNG.integers(-9, 9, 12))
    assert alpha.NormalizeReduction(q) == q


def test_6_5_factor_out() -> None:
    p = alpha.load("""affine t {N|N>1} input long A, B, C {i|0<=i<N}; double F {i|0<=i<N};
      output long X {i|0<=i<N}; long Y {i|0<=i<N}; double Z {i|0<=i<N}; long W;
      let X[i] = reduce(max, [j], A[i] + B[j]);
          Y[i] = reduce(max, [j], max(C[j], A[i] + B[j]));
          Z[i] = reduce(+, [j], F[i] * F[j]);
          W = reduce(+, (i,j->), {i,j | i==j+1} : A[i] * B[j]);""")
    q = alpha.FactorOutFromReduction(p, "[0,0,0]")
    assert "X[i] = A[i] + reduce(max, [j], " in str(q)
    with pytest.raises(tw.DeclarationError, match="neither operand"):
        alpha.FactorOutFromReduction(p, "[0,1,0]")
    with pytest.raises(tw.DeclarationError, match="reassociate=True"):
        alpha.FactorOutFromReduction(p, "[0,2,0]")
    with pytest.raises(tw.DeclarationError, match="neither operand"):
        alpha.FactorOutFromReduction(p, "[0,3,0]")
    r = alpha.FactorOutFromReduction(q, "[0,2,0]", reassociate=True)
    arrays = [*RNG.integers(-9, 9, (3, 7)), RNG.random(7)]
    before, after = p["t"](*arrays), r["t"](*arrays)
    np.testing.assert_array_equal(before[0], after[0])
    np.testing.assert_allclose(before[2], after[2], rtol=1e-13)


def test_6_5_equalities_of_the_body_count() -> None:
    """A[j] is constant where i is, because j = i in the body."""
    p = alpha.load("""affine t {N|N>0} input long A, B {i|0<=i<N}; output long X {i|0<=i<N};
      let X[i] = reduce(+, [j,k], {| j==i && 0<=k<N} : A[j] * B[k]);""")
    q = alpha.FactorOutFromReduction(p, "[0,0,0]")
    assert "X[i] = A[i] * reduce(" in str(q)
    changed_by(p, q, "t", *RNG.integers(-9, 9, (2, 7)))


def test_6_6_serialize() -> None:
    p = alpha.load("""affine t {N|N>0} input long A {i|0<=i<N}; output long X;
      let X = reduce(+, (i->), A[i]);""")
    q = alpha.SerializeReduction(p, "[0,0,0]", "(i->i)")
    assert "X = X_serial[N-1];" in str(q)
    assert "{| i==0} : A[i];" in str(q) and "{| 1<=i<N} : X_serial[i-1] + A[i];" in str(q)
    changed_by(p, q, "t", VALUES)
    backwards = alpha.SerializeReduction(p, "[0,0,0]", "(i->N-i)")
    changed_by(p, backwards, "t", VALUES)
    with pytest.raises(tw.DeclarationError, match="two points of the body one time"):
        alpha.SerializeReduction(sums("0<=j<=i"), "[0,0,0]", "(i,j->i)")
    prefix = sums("0<=j<=i")
    changed_by(prefix, alpha.SerializeReduction(prefix, "[0,0,0]", "(i,j->j,i)"), "t", VALUES)
    convolution = alpha.load("""affine t {N|N>0} input long A {i|0<=i<N}; output long X {i|0<=i<2N-1};
      let X = reduce(+, (i,j->i+j), A[i] * A[j]);""")
    serial = alpha.SerializeReduction(convolution, "[0,0,0]", "(i,j->i,j)")
    changed_by(convolution, serial, "t", VALUES)
    np.testing.assert_array_equal(serial["t"](VALUES), np.convolve(VALUES, VALUES))


def test_6_7_split_body() -> None:
    p = alpha.load("""affine t {N|N>0} input long A {i|0<=i<N}; output long X;
      let X = reduce(max, (i->), A[i]);""")
    q = alpha.SplitReductionBody(p, "[0,0,0]", "{i | i==0}")
    assert "{| N==1} :" in str(q) and "{| N>=2} :" in str(q)
    for values in (VALUES, VALUES[:1]):
        changed_by(p, q, "t", values)
    with pytest.raises(tw.DeclarationError, match="one side"):
        alpha.SplitReductionBody(p, "[0,0,0]", "{i | i<0}")


def test_6_8_transform_body() -> None:
    p = sums("i-3<=j<=i")
    q = alpha.TransformReductionBody(p, "[0,0,0]", "(i,j->i-j,i)")
    changed_by(p, q, "t", VALUES)
    node = q.system("t").equation("X").expression
    assert node.projection == AffineFunction(("a", "b"), read_function("(a,b->b)", ()).results)
    with pytest.raises(tw.DeclarationError, match="no inverse"):
        alpha.TransformReductionBody(p, "[0,0,0]", "(i,j->i+j)")
