#include "algorithm/affine.h"
#include "algorithm/function.h"

#include <gtest/gtest.h>

#include <functional>

namespace tilewright {
namespace {

ExprPtr number(std::int64_t value) { return constant(value, Int64); }
ExprPtr n() { return parameter("N", "[N] -> { : N >= 0 }"); }
ExprPtr m() { return parameter("M", "[M] -> { : M >= 0 }"); }
ExprPtr i() { return iterator("i"); }
ExprPtr j() { return iterator("j"); }
ExprPtr k() { return iterator("k"); }
ExprPtr plus(const ExprPtr &a, std::int64_t b) {
  return b < 0 ? binary(Op::Sub, a, number(-b)) : binary(Op::Add, a, number(b));
}
Range range(const std::string &iterator, const ExprPtr &upper) {
  return {iterator, number(0), upper};
}
ReduceRange over(const std::string &iterator, const ExprPtr &upper) {
  return {iterator, number(0), upper};
}
SourceLocation line(int number) { return {"demo.py", number, "..."}; }

ComputationPtr vector_of(const std::string &name, const ExprPtr &extent) {
  return declare_computation(name, {range("i", extent)}, nullptr, Float32, {}, line(1));
}
ComputationPtr input_a() { return declare_input("A", {n()}, Float32, line(2)); }

/// Runs `declare`, which must be refused with the kind and with every text in its message.
Error refused(ErrorKind kind, const std::vector<std::string> &texts,
              const std::function<void()> &declare) {
  try {
    declare();
  } catch (const Error &error) {
    EXPECT_EQ(static_cast<int>(error.kind), static_cast<int>(kind)) << error.what();
    for (const std::string &text : texts) {
      EXPECT_NE(std::string(error.what()).find(text), std::string::npos)
          << text << " is missing in: " << error.what();
    }
    return error;
  }
  ADD_FAILURE() << "nothing was refused";
  return {ErrorKind::Internal, ""};
}

std::string extents_text(const ComputationPtr &computation) {
  std::string text;
  for (const ExprPtr &extent : computation->extents) {
    text += (text.empty() ? "" : ", ") + to_string(extent);
  }
  return text;
}

// ---- names and iterators ----

TEST(Declaration, NamesMustBeIdentifiers) {
  refused(ErrorKind::Declaration, {"\"2d\"", "computation"}, [] { vector_of("2d", n()); });
  refused(ErrorKind::Declaration, {"\"max\""}, [] { vector_of("max", n()); });
  refused(ErrorKind::Declaration, {"\"a b\"", "input"},
          [] { declare_input("a b", {n()}, Float32, {}); });
}

TEST(Declaration, IteratorsAreDistinctAndNotParameters) {
  refused(ErrorKind::Declaration, {"two iterators named i"}, [] {
    declare_computation("C", {range("i", n()), range("i", n())}, nullptr, Float32, {}, line(1));
  });
  refused(ErrorKind::Declaration, {"both named N"},
          [] { declare_computation("C", {range("N", n())}, nullptr, Float32, {}, line(1)); });
  refused(ErrorKind::Declaration, {"both named i"}, [] {
    define_piece(vector_of("C", n()), nullptr, cast(parameter("i"), Float32), line(3));
  });
}

TEST(Declaration, BoundsUseOnlyEarlierIterators) {
  refused(ErrorKind::Declaration, {"upper bound of i in C", "uses the iterator j"}, [] {
    declare_computation("C", {range("i", j()), range("j", n())}, nullptr, Float32, {}, line(1));
  });
  refused(ErrorKind::Declaration, {"upper bound of j in C", "not affine"}, [] {
    declare_computation("C", {range("i", n()), range("j", binary(Op::Mul, i(), n()))}, nullptr,
                        Float32, {}, line(1));
  });
}

TEST(Declaration, UnknownIteratorsAreNamed) {
  const Error error = refused(ErrorKind::Declaration, {"C uses the iterator k", "(i)"}, [] {
    define_piece(vector_of("C", n()), nullptr, cast(k(), Float32), line(9));
  });
  EXPECT_EQ(error.where.line, 9);
  refused(ErrorKind::Declaration, {"iterator k"}, [] {
    define_piece(vector_of("C", n()), binary(Op::Lt, k(), number(3)), cast(i(), Float32), line(9));
  });
}

TEST(Declaration, ReducedIteratorsMayNotShadow) {
  refused(ErrorKind::Declaration, {"reduces over i", "already in scope"}, [] {
    define_piece(vector_of("C", n()), nullptr,
                 cast(reduce(Op::ReduceSum, {over("i", n())}, i()), Float32), line(3));
  });
  refused(ErrorKind::Declaration, {"reduces over k"}, [] {
    const ExprPtr inner = reduce(Op::ReduceSum, {over("k", n())}, k());
    define_piece(vector_of("C", n()), nullptr,
                 cast(reduce(Op::ReduceSum, {over("k", n())}, inner), Float32), line(3));
  });
  // The same name beside each other is fine, and ends with its reduction.
  const ExprPtr one = reduce(Op::ReduceSum, {over("k", n())}, k());
  const ExprPtr other = reduce(Op::ReduceMax, {over("k", n())}, k());
  define_piece(vector_of("C", n()), nullptr, cast(binary(Op::Add, one, other), Float32), line(3));
  refused(ErrorKind::Declaration, {"uses the iterator k"}, [&] {
    define_piece(vector_of("C", n()), nullptr, cast(binary(Op::Add, one, k()), Float32), line(3));
  });
}

// ---- domains and extents ----

TEST(Declaration, DomainAndExtentsFromRanges) {
  const ComputationPtr c = declare_computation("C", {range("i", n()), range("j", plus(m(), -2))},
                                               nullptr, Float32, {}, line(1));
  EXPECT_EQ(to_text(c->domain), "[M, N] -> { C[i, j] : 0 <= i < N and 0 <= j <= -3 + M }");
  EXPECT_EQ(extents_text(c), "N, maximum(0, M - 2)");
}

TEST(Declaration, ExtentsOfTrianglesAndConditions) {
  const ComputationPtr lower = declare_computation("L", {range("i", n()), range("j", plus(i(), 1))},
                                                   nullptr, Float32, {}, line(1));
  EXPECT_EQ(extents_text(lower), "N, N");
  const ComputationPtr band =
      declare_computation("B", {range("i", n()), {"j", i(), m()}}, nullptr, Float32, {}, line(1));
  EXPECT_EQ(extents_text(band), "minimum(M, N), M");
  const ComputationPtr cut =
      declare_computation("D", {range("i", n())}, binary(Op::Lt, i(), m()), Float32, {}, line(1));
  EXPECT_EQ(extents_text(cut), "minimum(N, M)");
  const ComputationPtr half = declare_computation("{ H[i] : 0 <= 2i < N }", Float32, {}, line(1));
  EXPECT_EQ(extents_text(half), "maximum(0, (N + 1) // 2)");
  const ComputationPtr scalar = declare_computation("s", {}, nullptr, Float32, {}, line(1));
  EXPECT_EQ(scalar->rank(), 0u);
  EXPECT_TRUE(scalar->extents.empty());
}

TEST(Declaration, GivenExtentsMustHoldTheDomain) {
  const Error error = refused(ErrorKind::Bounds, {"extent 0 of C is N - 1", "C[0]", "N = 1"}, [] {
    declare_computation("C", {range("i", n())}, nullptr, Float32, {plus(n(), -1)}, line(4));
  });
  EXPECT_EQ(error.where.line, 4);
  EXPECT_EQ(extents_text(declare_computation("C", {range("i", n())}, nullptr, Float32,
                                             {plus(n(), 5)}, line(4))),
            "N + 5");
  refused(ErrorKind::Declaration, {"1 dimension,", "2 extents"}, [] {
    declare_computation("C", {range("i", n())}, nullptr, Float32, {n(), n()}, line(4));
  });
}

TEST(Declaration, NegativeIndicesMoveTheOrigin) {
  const auto origin_text = [](const ComputationPtr &computation) {
    std::string text;
    for (const ExprPtr &first : computation->origin) {
      text += (text.empty() ? "" : ", ") + to_string(first);
    }
    return text;
  };
  const ComputationPtr halo =
      declare_computation("C", {{"i", number(-1), plus(n(), 1)}}, nullptr, Float32, {}, line(1));
  EXPECT_EQ(origin_text(halo), "-1");
  EXPECT_EQ(extents_text(halo), "N + 2");
  const ComputationPtr wide =
      declare_computation("C", {range("j", n()), {"i", unary(Op::Neg, m()), plus(n(), 1)}}, nullptr,
                          Float32, {}, line(1));
  EXPECT_EQ(origin_text(wide), "0, -M");
  EXPECT_EQ(extents_text(wide), "N, M + N + 1");
  const ComputationPtr triangle =
      declare_computation("{ C[i,j] : 0 <= i < 4 and -i <= j <= 0 }", Float32, {}, line(1));
  EXPECT_EQ(origin_text(triangle), "0, -3");
  EXPECT_EQ(extents_text(triangle), "4, 4");
  EXPECT_TRUE(
      declare_computation("C", {range("i", n())}, nullptr, Float32, {}, line(1))->origin.empty());
  refused(ErrorKind::Declaration, {"C[-1]", "begins at 0", "shape="}, [] {
    declare_computation("C", {{"i", number(-1), n()}}, nullptr, Float32, {n()}, line(1));
  });
}

TEST(Declaration, Steps) {
  const ComputationPtr odd =
      declare_computation("C", {{"i", number(1), n(), 2}}, nullptr, Float32, {}, line(1));
  EXPECT_TRUE(checked(
      odd->domain.is_equal(isl::set(isl_context(), "[N] -> { C[i] : 1 <= i < N and i mod 2 = 1 }")),
      "comparing"));
  EXPECT_EQ(extents_text(odd), "N");
  ASSERT_EQ(odd->strides.size(), 1u);
  EXPECT_EQ(odd->strides[0].step, 2);
  refused(ErrorKind::Declaration, {"the step of i in C must be 1 to 1000000000", "not 0"}, [] {
    declare_computation("C", {{"i", number(1), n(), 0}}, nullptr, Float32, {}, line(1));
  });
}

TEST(Declaration, UnboundedDomainsAreRefused) {
  refused(ErrorKind::Declaration, {"unbounded", "i has no upper bound"},
          [] { declare_computation("{ C[i] : 0 <= i }", Float32, {}, line(1)); });
  refused(ErrorKind::Declaration, {"unbounded", "j has no bounds"}, [] {
    declare_computation("C", {range("i", n()), {"j", nullptr, nullptr}}, nullptr, Float32, {},
                        line(1));
  });
  // A condition may bound what has no range.
  const ExprPtr condition =
      binary(Op::And, binary(Op::Le, number(0), i()), binary(Op::Lt, i(), n()));
  EXPECT_EQ(extents_text(declare_computation("C", {{"i", nullptr, nullptr}}, condition, Float32, {},
                                             line(1))),
            "N");
}

TEST(Declaration, IslText) {
  const ComputationPtr c =
      declare_computation("[N] -> { C[i,j] : 0 <= i < N and 0 <= j <= i }", Float32, {}, line(1));
  EXPECT_EQ(c->name, "C");
  EXPECT_EQ(c->iterators, (std::vector<std::string>{"i", "j"}));
  const ComputationPtr same =
      declare_computation("{ C[i,j] : 0 <= i < N and 0 <= j <= i }", Float32, {}, line(1));
  EXPECT_TRUE(checked(same->domain.is_equal(c->domain), "comparing"));
  refused(ErrorKind::Declaration, {"isl cannot read", "{ C[i : }"},
          [] { declare_computation("{ C[i : }", Float32, {}, line(1)); });
  refused(ErrorKind::Declaration, {"dimension 1", "no name"},
          [] { declare_computation("{ C[i,0] : 0 <= i < 4 }", Float32, {}, line(1)); });
  refused(ErrorKind::Declaration, {"must name its computation"},
          [] { declare_computation("{ [i] : 0 <= i < 4 }", Float32, {}, line(1)); });
  refused(ErrorKind::Declaration, {"must name its computation"},
          [] { declare_computation("[N] -> { : N > 3 }", Float32, {}, line(1)); });
}

// ---- pieces ----

TEST(Pieces, OverlapIsReportedAtAPoint) {
  const ComputationPtr c = vector_of("C", n());
  define_piece(c, binary(Op::Le, i(), number(3)), cast(i(), Float32), line(10));
  const Error error =
      refused(ErrorKind::Declaration,
              {"pieces of C overlap at C[3] with N = 4", "demo.py:10", "demo.py:12"}, [&] {
                define_piece(c, binary(Op::Ge, i(), number(3)), cast(i(), Float32), line(12));
              });
  EXPECT_EQ(error.details.at("point"), "C[3]");
  EXPECT_EQ(c->pieces.size(), 1u) << "a refused piece must leave no trace";
  define_piece(c, binary(Op::Gt, i(), number(3)), cast(i(), Float32), line(12));
  EXPECT_EQ(c->pieces.size(), 2u);
}

TEST(Pieces, OverlapOutsideTheContextIsNone) {
  const ExprPtr large = parameter("N", "[N] -> { : N > 3 }");
  const ComputationPtr c = vector_of("C", large);
  define_piece(c, binary(Op::Eq, i(), number(0)), cast(i(), Float32), line(10));
  // Touches C[0] only for N <= 3.
  define_piece(c, binary(Op::Ge, binary(Op::Add, i(), number(3)), large), cast(i(), Float32),
               line(12));
  EXPECT_EQ(c->pieces.size(), 2u);
}

TEST(Pieces, IslText) {
  const ComputationPtr c = vector_of("C", n());
  define_piece_isl(c, "{ C[x] : x = 0 and N > 0 }", cast(i(), Float32), line(2));
  define_piece_isl(c, "[N] -> { C[i] : 1 <= i < N }", cast(i(), Float32), line(3));
  EXPECT_EQ(to_text(c->pieces[0].domain), "[N] -> { C[i = 0] : N > 0 }");
  refused(ErrorKind::Declaration, {"holds C[0] (N = 0)", "outside its domain"}, [&] {
    define_piece_isl(vector_of("C", n()), "{ C[i] : 0 <= i <= N }", cast(i(), Float32), line(2));
  });
  refused(ErrorKind::Declaration, {"a piece of C", "\"{ D[i] : i = 0 }\""},
          [&] { define_piece_isl(c, "{ D[i] : i = 0 }", cast(i(), Float32), line(2)); });
}

TEST(Pieces, ValuesAreCastWithinTheirKind) {
  const ComputationPtr c = vector_of("C", n());
  define_piece(c, nullptr, i(), line(1));
  EXPECT_EQ(c->pieces[0].value->type, Float32);
  const ComputationPtr whole =
      declare_computation("W", {range("i", n())}, nullptr, Int64, {}, line(1));
  refused(ErrorKind::Type, {"W has type int64", "float32", "explicit cast"},
          [&] { define_piece(whole, nullptr, access(input_a(), {i()}), line(1)); });
}

TEST(Pieces, InputsHaveNone) {
  refused(ErrorKind::Declaration, {"A is an input"},
          [] { define_piece(input_a(), nullptr, i(), line(1)); });
}

TEST(Pieces, ConditionsMustBeAffine) {
  refused(ErrorKind::Declaration, {"condition of C", "A[i] > 0", "select"}, [] {
    const ExprPtr positive =
        binary(Op::Gt, access(input_a(), {i()}), WeakNumber{TypeKind::Int, std::int64_t{0}});
    define_piece(vector_of("C", n()), positive, i(), line(1));
  });
}

// ---- reads ----

TEST(Reads, OutsideAnInputIsReportedWithBothPoints) {
  const Error error =
      refused(ErrorKind::Bounds, {"C[0] reads A[-1], outside A's domain 0 <= i < N (N = 1)"}, [] {
        define_piece(vector_of("C", n()), nullptr, access(input_a(), {plus(i(), -1)}, line(20)),
                     line(19));
      });
  EXPECT_EQ(error.where.line, 20);
  EXPECT_EQ(error.details.at("point"), "C[0]");
  EXPECT_EQ(error.details.at("read"), "A[-1]");
  refused(ErrorKind::Bounds, {"C[0] reads A[1]", "N = 1"}, [] {
    define_piece(vector_of("C", n()), nullptr, access(input_a(), {plus(i(), 1)}), line(19));
  });
}

TEST(Reads, ParameterContextDecides) {
  const auto declare = [](const std::string &constraint) {
    const ExprPtr size = parameter("N", constraint);
    const ComputationPtr c =
        declare_computation("C", {range("i", number(4))}, nullptr, Float32, {}, line(1));
    define_piece(c, nullptr, access(declare_input("A", {size}, Float32, {}), {i()}), line(2));
  };
  declare("[N] -> { : N > 3 }");
  refused(ErrorKind::Bounds, {"C[3] reads A[3]", "N = 3"}, [&] { declare("[N] -> { : N >= 3 }"); });
}

TEST(Reads, ReductionsAreCheckedOverTheirDomain) {
  const auto sum_to = [](const ExprPtr &upper) {
    const ExprPtr sum =
        reduce(Op::ReduceSum, {over("k", upper)}, access(input_a(), {binary(Op::Add, i(), k())}));
    define_piece(vector_of("C", n()), nullptr, sum, line(3));
  };
  sum_to(binary(Op::Sub, n(), i()));
  refused(ErrorKind::Bounds, {"C[0] at k = 1 reads A[1]", "N = 1"},
          [&] { sum_to(plus(binary(Op::Sub, n(), i()), 1)); });
}

TEST(Reads, ReductionConditionsCount) {
  const ExprPtr inside = binary(Op::Lt, binary(Op::Add, i(), k()), n());
  const ExprPtr sum = reduce(Op::ReduceSum, {over("k", n())},
                             access(input_a(), {binary(Op::Add, i(), k())}), inside);
  define_piece(vector_of("C", n()), nullptr, sum, line(3));
}

TEST(Reads, SelectGuardsItsBranches) {
  const ComputationPtr a = input_a();
  const ExprPtr first = binary(Op::Eq, i(), number(0));
  const ExprPtr before = access(a, {plus(i(), -1)});
  define_piece(vector_of("C", n()), nullptr, select(first, access(a, {i()}), before), line(3));
  refused(ErrorKind::Bounds, {"C[0] reads A[-1]"}, [&] {
    define_piece(vector_of("C", n()), nullptr, select(first, before, before), line(3));
  });
  // A guard that is not affine guards nothing.
  const ExprPtr unknown =
      binary(Op::Gt, access(a, {i()}), WeakNumber{TypeKind::Int, std::int64_t{0}});
  refused(ErrorKind::Bounds, {"C[0] reads A[-1]"}, [&] {
    define_piece(vector_of("C", n()), nullptr, select(unknown, access(a, {i()}), before), line(3));
  });
}

TEST(Reads, ClampedSubscriptsStayInside) {
  const ExprPtr clamped = binary(Op::Max, binary(Op::Min, plus(i(), 1), plus(n(), -1)), number(0));
  define_piece(vector_of("C", n()), nullptr, access(input_a(), {clamped}), line(3));
}

TEST(Reads, IndirectSubscriptsAreLeftToRunTimeBesideAffineOnes) {
  const ComputationPtr index = declare_input("idx", {n()}, Int64, {});
  const ComputationPtr table = declare_input("T", {m(), n()}, Float32, {});
  define_piece(vector_of("C", n()), nullptr, access(table, {access(index, {i()}), i()}), line(3));
  refused(ErrorKind::Bounds, {"C[0] reads T[idx[i],1]"}, [&] {
    define_piece(vector_of("C", n()), nullptr, access(table, {access(index, {i()}), plus(i(), 1)}),
                 line(3));
  });
  // The read inside a subscript is a read too.
  refused(ErrorKind::Bounds, {"C[0] reads idx[1]"}, [&] {
    define_piece(vector_of("C", n()), nullptr, access(table, {access(index, {plus(i(), 1)}), i()}),
                 line(3));
  });
}

TEST(Reads, ComputationsAreReadInsideTheirDeclaredDomain) {
  const ComputationPtr triangle = declare_computation(
      "L", {range("i", n()), range("j", plus(i(), 1))}, nullptr, Float32, {}, line(1));
  define_piece(triangle, nullptr, i(), line(2));
  const auto transposed = [&](const ExprPtr &row, const ExprPtr &column) {
    const ComputationPtr c =
        declare_computation("C", {range("i", n()), range("j", n())}, nullptr, Float32, {}, line(3));
    define_piece(c, nullptr, access(triangle, {row, column}), line(4));
  };
  transposed(binary(Op::Max, i(), j()), binary(Op::Min, i(), j()));
  refused(ErrorKind::Bounds, {"C[0,1] reads L[0,1]", "N = 2"}, [&] { transposed(i(), j()); });
}

TEST(Reads, ProducersMayOrderTheirParametersOtherwise) {
  const ComputationPtr wide =
      declare_computation("W", {range("i", m()), range("j", n())}, nullptr, Float32, {}, line(1));
  define_piece(wide, nullptr, i(), line(2));
  const ComputationPtr c =
      declare_computation("C", {range("i", n()), range("j", m())}, nullptr, Float32, {}, line(3));
  define_piece(c, nullptr, access(wide, {j(), i()}), line(4));
  refused(ErrorKind::Bounds, {"C[0,1] reads W[0,1]", "W's domain"}, [&] {
    const ComputationPtr d =
        declare_computation("C", {range("i", n()), range("j", m())}, nullptr, Float32, {}, line(3));
    define_piece(d, nullptr, access(wide, {i(), j()}), line(4));
  });
}

TEST(Reads, SelfReadsAreChecked) {
  const ComputationPtr c = vector_of("C", n());
  define_piece(c, binary(Op::Eq, i(), number(0)), i(), line(2));
  define_piece(c, binary(Op::Gt, i(), number(0)), access(c, {plus(i(), -1)}), line(3));
  const ComputationPtr wrong = vector_of("W", n());
  refused(ErrorKind::Bounds, {"W[0] reads W[-1]"},
          [&] { define_piece(wrong, nullptr, access(wrong, {plus(i(), -1)}), line(3)); });
}

TEST(Reads, ScalarsAreReadWithoutSubscripts) {
  const ComputationPtr total = declare_computation("total", {}, nullptr, Float32, {}, line(1));
  define_piece(total, nullptr, reduce(Op::ReduceSum, {over("k", n())}, access(input_a(), {k()})),
               line(2));
  const ComputationPtr c = vector_of("C", n());
  define_piece(c, nullptr, access(total, {}), line(3));
  EXPECT_EQ(c->pieces.size(), 1u);
}

} // namespace
} // namespace tilewright
