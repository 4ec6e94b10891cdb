// Mapping::sharing: where computations and inputs lie when one call's arrays share memory.
#include "mapping/example_functions.h"

namespace tilewright {
namespace {

using namespace examples;
using testing::HasSubstr;

/// C[i] = x[i] + y[i + 1].
std::shared_ptr<const Function> pair_sum() {
  const auto x = input("x", {size("N")});
  const auto y = input("y", {size("N", 1)});
  return function({define("[N] -> { C[i] : 0 <= i < N }",
                          plus(access(x, {at("i")}), access(y, {at("i", 1)})))});
}

std::string place_text(const Program &program, const std::string &name) {
  const Program::Place &place = program.places.at(name);
  std::string text = program.buffers[place.buffer].name + "[";
  for (const ExprPtr &index : place.index) {
    text += to_string(index) + ",";
  }
  return text + "]";
}

TEST(Sharing, AnOutputInAnInput) {
  const Mapping mapping = Mapping(pair_sum()).sharing({{"C", "y", {0}}});
  const Program program = build_program(mapping);
  EXPECT_EQ(place_text(program, "C"), "y[i,]");
  ASSERT_EQ(program.buffers.size(), 3u); // the argument of C stays
  EXPECT_EQ(program.buffers[2].name, "C");
  EXPECT_EQ(program.statements[0].buffer, program.places.at("y").buffer);
}

TEST(Sharing, AtADistance) {
  const Program program = build_program(Mapping(pair_sum()).sharing({{"C", "y", {1}}}));
  EXPECT_EQ(place_text(program, "C"), "y[i + 1,]");
  const isl::map expected(isl_context(), "{ C[i] -> y[i + 1] }");
  EXPECT_TRUE(checked(program.places.at("C").relation.is_equal(expected), "a place"));
}

TEST(Sharing, AnInputInAnotherOne) {
  const Program program =
      build_program(Mapping(pair_sum()).sharing({{"C", "y", {0}}, {"x", "y", {2}}}));
  EXPECT_EQ(program.places.at("x").buffer, program.places.at("y").buffer);
  EXPECT_EQ(place_text(program, "C"), "y[i,]");
  const isl::map expected(isl_context(), "{ x[i] -> y[i + 2] }");
  EXPECT_EQ(program.places.at("x").index.size(), 1u);
  EXPECT_TRUE(checked(program.places.at("x").relation.is_equal(expected), "a place"));
}

TEST(Sharing, NothingChangesWithoutArrays) {
  const Mapping mapping(pair_sum());
  EXPECT_EQ(place_text(build_program(mapping.sharing({})), "C"), "C[i,]");
  EXPECT_EQ(place_text(build_program(mapping), "x"),
            place_text(build_program(mapping.sharing({})), "x"));
}

TEST(Sharing, WhatDoesNotFitIsRefused) {
  const Mapping mapping(pair_sum());
  for (const SharedArray &wrong :
       {SharedArray{"C", "C", {0}}, SharedArray{"C", "z", {0}}, SharedArray{"z", "x", {0}},
        SharedArray{"C", "x", {0, 0}}, SharedArray{"x", "x", {0}}}) {
    try {
      static_cast<void>(mapping.sharing({wrong}));
      ADD_FAILURE() << wrong.array << " in " << wrong.input;
    } catch (const Error &error) {
      EXPECT_EQ(error.kind, ErrorKind::Schedule);
      EXPECT_THAT(error.what(), HasSubstr("cannot lie in the array of"));
    }
  }
}

} // namespace
} // namespace tilewright
