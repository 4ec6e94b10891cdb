#include "polyhedral/set_text.h"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

std::string problem_of(const std::string &text) {
  std::string problem;
  const isl::set set = parse_set(text, problem);
  return set.is_null() ? problem : "read as " + to_text(set);
}

TEST(SetText, ReadsAllOfASet) {
  EXPECT_EQ(problem_of(" [N] -> { C[i] : 0 <= i < N }\n"), "read as [N] -> { C[i] : 0 <= i < N }");
  EXPECT_EQ(problem_of("{ C[i] : 0 <= i < 2N1 }"), "read as [N1] -> { C[i] : 0 <= i < 2N1 }");
  EXPECT_EQ(problem_of("{C[e3]:0<=e3 and 9e3<=20 and e3//2=-1+1}"),
            "read as { C[e3] : 0 <= e3 <= 1 }");
}

TEST(SetText, SaysTheColumnOfWhatItCannotRead) {
  EXPECT_EQ(problem_of("{ C[i] : 0<=i<9 } and i > 3"),
            "column 19: 'and i > 3' follows the closing brace");
  EXPECT_EQ(problem_of("{ C[i] : 0<=i<9 : i > 3 }"), "column 17: syntax error at ':'");
  EXPECT_EQ(problem_of("[N -> { C[i] }"), "column 4: syntax error at '->'");
  EXPECT_EQ(problem_of("{ C[i] : 0<=i<9.5 }"), "column 16: syntax error at '.'");
  EXPECT_EQ(problem_of("{ C[i] : 0<=i<9"), "column 16: the text ends too early");
  EXPECT_EQ(problem_of("{ C[i] :\n 0<=i<9 and }"), "line 2, column 13: syntax error at '}'");
  EXPECT_EQ(problem_of("{ C[i] : i = 3 # no }"), "column 16: '#' has no meaning in a set or map");
  EXPECT_EQ(problem_of(std::string("{ C[i] }\0 x", 11)),
            "column 9: the character with code 0 has no meaning in a set or map");
  EXPECT_EQ(problem_of("{ C[i] : 0<=i<9e3 }"),
            "column 15: '9e3' would be 9 times a parameter e3; write a decimal integer, or a * "
            "between the two");
  EXPECT_EQ(problem_of(" "), "the text is empty");
}

TEST(SetText, OneSetAndNoMap) {
  EXPECT_EQ(problem_of("{ C[i] : i = 3; D[i] : i = 4 }"), "it is not one set");
  EXPECT_EQ(problem_of("{ C[i] -> [i] }"), "it is not one set");
  std::string problem;
  EXPECT_TRUE(parse_map("{ C[i] -> [i]; D[i] -> [i] }", problem).is_null());
  EXPECT_EQ(problem, "it is not one map");
}

TEST(SetText, AFailureLeavesNothingBehind) {
  problem_of("{ C[i] : } }");
  EXPECT_EQ(problem_of("{ C[i] : i = 3 }"), "read as { C[i = 3] }");
}

TEST(SetText, ConstraintsStandAloneOrInBraces) {
  EXPECT_EQ(to_text(read_parameter_set("N > 3", "it", {})), "[N] -> { : N >= 4 }");
  EXPECT_EQ(to_text(read_parameter_set("[N] -> { : N > 3 }", "it", {})), "[N] -> { : N >= 4 }");
  for (const char *wrong : {"N > 3 }", "N > 3 } ; { : N > 5", "{ C[i] }", ""}) {
    EXPECT_THROW(read_parameter_set(wrong, "it", {}), Error) << wrong;
  }
}

TEST(SetText, MessagesSpellControlCharactersOut) {
  const Error error(ErrorKind::Declaration, std::string("a\0b\x7f\n", 5));
  EXPECT_STREQ(error.what(), "a\\x00b\\x7f\n");
}

} // namespace
} // namespace tilewright
