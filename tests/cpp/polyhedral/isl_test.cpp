#include "polyhedral/isl.h"
#include "polyhedral/set_text.h"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

isl::set set(const char *text) { return isl::set(isl_context(), text); }

std::string sample_text(const char *text) {
  Point point;
  return sample_point(set(text), point)
             ? parameter_text(point) + instance_text(" C", point.coordinates)
             : "empty";
}

TEST(Isl, NamesTheVersionThatAnswers) {
  EXPECT_EQ(isl_version_text().rfind("isl-", 0), 0u) << isl_version_text();
  EXPECT_EQ(isl_version_text().find('\n'), std::string::npos);
}

/// isl before 0.27 joins parts of which one has one value of the other's integer division.
TEST(Isl, JoinedPartsAreWhatTheyWere) {
  for (const char *text :
       {"{ [i] : 0 <= i <= 10 and i mod 2 = 0; [i] : 0 <= i <= 1 }",
        "{ [i] : 0 <= i <= 10 and i mod 4 = 0; [i] : 0 <= i <= 1 }",
        "[N] -> { [i] : 0 <= i <= N and i mod 3 = 0; [i] : 0 <= i <= 1 and N > 0 }",
        "[N] -> { [i] : 0 <= i <= N and i mod 2 = 0; [i] : 0 <= i <= N and (1 + i) mod 2 = 0 and "
        "i <= 2; [0] : N > 0 }",
        "{ [i, k] : 0 <= i <= 10 and i mod 2 = 0 and 0 <= k < 3; [i, k] : 0 <= i <= 1 and "
        "0 <= k < 3 }",
        "{ [a] : 0 < a <= 341; [a] : 0 < a <= 701 and 360*floor(a/360) >= -340 + a }"}) {
    const isl::set parts = set(text);
    EXPECT_TRUE(checked(parts.coalesce().is_equal(parts), "joined parts")) << text;
  }
}

TEST(Isl, FailureIsAnErrorAndTheNextOperationWorks) {
  const isl::set wrong = set("{ C[i] : 0 <= 1 < 2 < } }");
  try {
    checked(wrong, "reading a set");
    FAIL() << "a null set passed";
  } catch (const Error &error) {
    EXPECT_EQ(error.kind, ErrorKind::Internal);
    EXPECT_NE(std::string(error.what()).find("reading a set"), std::string::npos);
  }
  EXPECT_FALSE(checked(set("{ C[i] : i = 1 }").is_empty(), "emptiness"));
}

TEST(Isl, OperationLimitGivesALimitErrorAndEnds) {
  {
    const OperationLimit limit(20);
    try {
      const isl::set a = set("[N] -> { C[i,j,k] : 0 <= i < N and i <= j <= 2i and j <= k <= N and "
                             "(i+j+k) mod 7 = 3 }");
      const isl::set b = set(
          "[N] -> { C[i,j,k] : 0 <= i < N and i <= j <= 3i and j <= k <= N and (i+2j) mod 5 = 3 }");
      checked(a.subtract(b).is_empty(), "a hard question");
      FAIL() << "the limit was not reached";
    } catch (const Error &error) {
      EXPECT_EQ(error.kind, ErrorKind::Limit) << error.what();
    }
  }
  EXPECT_FALSE(checked(set("[N] -> { C[i] : 0 <= i < N }").is_empty(), "emptiness"));
}

TEST(Isl, NestedLimitsRestoreTheOuterOne) {
  isl_ctx *context = isl_context().get();
  const OperationLimit outer(1000);
  {
    const OperationLimit looser(1'000'000);
    EXPECT_EQ(isl_ctx_get_max_operations(context), 1000u);
  }
  {
    const OperationLimit tighter(10);
    EXPECT_EQ(isl_ctx_get_max_operations(context), 10u);
  }
  EXPECT_EQ(isl_ctx_get_max_operations(context), 1000u);
}

TEST(SamplePoint, ChoosesSmallParametersThenTheLexicographicMinimum) {
  EXPECT_EQ(sample_text("[N] -> { C[i,j] : 0 <= i < N and 0 <= j < i }"), "N = 2 C[1,0]");
  EXPECT_EQ(sample_text("[N] -> { C[i] : N <= i < 10 }"), "N = 0 C[0]");
  EXPECT_EQ(sample_text("[N] -> { C[i] : i = -N and N >= 3 }"), "N = 3 C[-3]");
  EXPECT_EQ(sample_text("[N] -> { C[] : N < -20 }"), "N = -21 C[]");
  EXPECT_EQ(sample_text("{ C[i] : i <= 5 }"), " C[0]");
  EXPECT_EQ(sample_text("[N] -> { : N > 3 }"), "N = 4 C[]");
  EXPECT_EQ(sample_text("[N] -> { C[i] : i > N and i < N }"), "empty");
}

TEST(SamplePoint, TakesUnionsAndDivisions) {
  EXPECT_EQ(sample_text("{ C[i] : i > 6 and i mod 5 = 2; C[i] : 10 < i < 12 }"), " C[7]");
}

TEST(SetText, DeclaresParametersThatAreNotListed) {
  const auto read = [](const char *text) { return to_text(read_set(text, "a set", {})); };
  EXPECT_EQ(read("{ C[i,j] : 0 <= i < N and 0 <= j <= i }"),
            to_text(set("[N] -> { C[i,j] : 0 <= i < N and 0 <= j <= i }")));
  EXPECT_EQ(read("[M] -> { C[i] : 0 <= i < M }"), to_text(set("[M] -> { C[i] : 0 <= i < M }")));
  EXPECT_EQ(read("{ C[i] : exists (e : i = 2e) and 0 <= i < N; C[i] : i = M }"),
            to_text(set("[N,M] -> { C[i] : exists (e : i = 2e) and 0 <= i < N; C[i] : i = M }")));
  EXPECT_EQ(read("{ C[i] : 0 <= i < 4 }"), "{ C[i] : 0 <= i <= 3 }");
  EXPECT_EQ(to_text(read_parameter_set("N > 3", "a constraint", {})), "[N] -> { : N >= 4 }");
}

TEST(SetText, RefusesWhatIslCannotRead) {
  const SourceLocation where{"demo.py", 7, ""};
  try {
    read_set("{ C[i : 0 <= i }", "the domain of C", where);
    FAIL();
  } catch (const Error &error) {
    EXPECT_EQ(error.kind, ErrorKind::Declaration);
    EXPECT_EQ(error.where.line, 7);
    EXPECT_NE(std::string(error.what()).find("{ C[i : 0 <= i }"), std::string::npos);
  }
}

TEST(SetText, ShowsConstraintsAlone) {
  EXPECT_EQ(constraint_text(set("[N] -> { C[i] : 0 <= i < N }")), "0 <= i < N");
  EXPECT_EQ(constraint_text(set("{ C[i] }")), "");
  EXPECT_FALSE(is_isl_identifier("max"));
  EXPECT_FALSE(is_isl_identifier("3d"));
  EXPECT_FALSE(is_isl_identifier(""));
  EXPECT_TRUE(is_isl_identifier("blur_x2"));
}

} // namespace
} // namespace tilewright
