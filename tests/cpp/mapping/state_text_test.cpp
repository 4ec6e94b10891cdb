// Every field of a mapping is a line of its text, so no two mappings share kernels.
#include "mapping/example_functions.h"
#include "mapping/state_fields.h"
#include "mapping/state_text.h"

namespace tilewright {
namespace {

using namespace examples;
using testing::HasSubstr;
using testing::Not;

/// The names of the fields that a visitor meets, those that are left aside too.
struct Names {
  std::vector<std::string> visited;
  std::vector<std::string> aside_;
  template <class Value>
  void visit(const char *name, const Value &) {
    visited.emplace_back(name);
  }
  template <class Value>
  void aside(const char *name, const Value &) {
    aside_.emplace_back(name);
  }
};

TEST(StateText, IsTheSameForTheSameMapping) {
  const auto function = two_stencils();
  const Mapping one(function);
  const Mapping other(function);
  EXPECT_TRUE(same_mapping(one.state(), other.state()));
  EXPECT_FALSE(same_mapping(one.state(), Mapping(two_stencils()).state())) << "another function";
}

TEST(StateText, CommandsThatChangeNothingLeaveIt) {
  const Mapping plain(map_2d());
  const Mapping twice = plain.with(command("C", "interchange", {"i", "j"}))
                            .with(command("C", "interchange", {"i", "j"}));
  EXPECT_TRUE(same_mapping(plain.state(), twice.state())) << to_string(twice.state());
}

TEST(StateText, EveryCommandIsInIt) {
  const Mapping plain(matmul());
  const auto differs = [&](const Command &given) {
    return !same_mapping(plain.state(), plain.with(given).state());
  };
  const std::int64_t four = 4;
  EXPECT_TRUE(differs(command("C", "split", {"i", four})));
  EXPECT_TRUE(differs(command("C", "shift", {"i", four})));
  EXPECT_TRUE(differs(command("C", "reverse", {"i"})));
  EXPECT_TRUE(differs(command("C", "parallelize", {"i"})));
  EXPECT_TRUE(differs(command("C", "parallelize", {"i", "dynamic"})));
  EXPECT_TRUE(differs(command("C", "atomic", {})));
  EXPECT_TRUE(differs(command("C", "prefetch", {"A", "i", four})));
  EXPECT_TRUE(differs(command("C", "independent", {"i"})));
  EXPECT_TRUE(differs(command("C", "set_schedule", {"{ C[i,j,k] -> [i,j,k] }"}))) << "shares time";
}

TEST(StateText, EachFieldOfATagCounts) {
  MappingState state = Mapping(map_1d()).state();
  const std::string plain = to_string(state);
  LoopTag &tag = state.time_space.at("C").dimensions[0].tag;
  for (const LoopTag &other : {LoopTag{Tag::Parallel}, LoopTag{Tag::Sequential, 1},
                               LoopTag{Tag::Sequential, 0, Dealing::Dynamic},
                               LoopTag{Tag::Sequential, 0, Dealing::Static, 1},
                               LoopTag{Tag::Sequential, 0, Dealing::Static, 0, true},
                               LoopTag{Tag::Sequential, 0, Dealing::Static, 0, false, 1}}) {
    tag = other;
    EXPECT_NE(to_string(state), plain);
  }
}

TEST(StateText, WhereSomethingWasWrittenIsLeftOut) {
  Names names;
  visit_fields(Allocation{}, names);
  EXPECT_THAT(names.aside_, testing::ElementsAre("command", "where"));
  MappingState state = Mapping(map_1d()).state();
  state.allocations["C"] = {"D", 1, "auto", {}, "C.store_at(...)", {"a.py", 3, "line"}, 0, 1, {}};
  EXPECT_THAT(to_string(state), Not(HasSubstr("a.py")));
  EXPECT_THAT(to_string(state), HasSubstr("allocations.levels 1"));
}

} // namespace
} // namespace tilewright
