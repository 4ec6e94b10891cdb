#include "loops/line.h"
#include "loops/versions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilewright::test {
namespace {

/// y[i] = x[i] through a temporary of `extent` elements.
Line through(const ValuePtr &extent, std::int64_t factor) {
  Line line;
  KernelBuffer buffer = argument("T", Float64, extent);
  buffer.is_argument = false;
  line.kernel.buffers.push_back(buffer);
  const auto copy = [&](const std::function<StmtPtr(const ValuePtr &)> &body) {
    return for_loop(factor, "i", integer(0), line.n, LoopKind::Serial, 0,
                    body(variable(factor, "i")));
  };
  line.kernel.body =
      block({copy([](const ValuePtr &i) { return store(2, "T", {i}, Line::x(i)); }),
             copy([](const ValuePtr &i) { return Line::y(i, load(2, "T", {Float64, 1}, {i})); })});
  return line;
}

TEST(Versions, TemporariesOfOneShapeAreOne) {
  Line general = through(parameter_value(0, "N"), 1);
  const Line version = through(parameter_value(0, "N"), 1);
  add_version(general.kernel, version.kernel, binary_value(Op::Lt, general.n, integer(9)),
              SameMapping::No);
  EXPECT_EQ(general.kernel.buffers.size(), 3U);
  const std::string text = general.printed();
  EXPECT_THAT(text, testing::HasSubstr("\nif N < 9:\n"));
  EXPECT_THAT(text, testing::HasSubstr("else:\n"));
}

TEST(Versions, OthersAreOfTheirVersionAlone) {
  Line general = through(parameter_value(0, "N"), 1);
  const Line version = through(integer(8), 1);
  add_version(general.kernel, version.kernel, binary_value(Op::Eq, general.n, integer(8)),
              SameMapping::No);
  ASSERT_EQ(general.kernel.buffers.size(), 4U);
  EXPECT_EQ(general.kernel.buffers[3].name, "T_");
  EXPECT_TRUE(general.kernel.buffers[3].is_scoped);
  EXPECT_THAT(general.printed(), testing::HasSubstr("T_[i] = X[i]"));
}

TEST(Versions, OfOneMappingKeepTheirPlaces) {
  Line general = through(parameter_value(0, "N"), 1);
  const Line version = through(integer(8), 1);
  add_version(general.kernel, version.kernel, binary_value(Op::Eq, general.n, integer(8)),
              SameMapping::Yes);
  EXPECT_EQ(general.kernel.buffers.size(), 3U);
}

TEST(Versions, SitesAndNestsAndStatementsAreAddedUp) {
  const auto checked = [](const std::string &text) {
    Line line;
    line.kernel.sites.push_back({text, "X"});
    line.kernel.nests.push_back({{text}});
    line.kernel.statements.push_back({text, {}});
    const StmtPtr check = check_index(0, line.n, integer(9));
    line.kernel.body = timed(0, block({check, Line::y(integer(0), Line::x(integer(0)))}));
    return line;
  };
  Line general = checked("general");
  const Line version = checked("version");
  add_version(general.kernel, version.kernel, binary_value(Op::Eq, general.n, integer(8)),
              SameMapping::Yes);
  ASSERT_EQ(general.kernel.sites.size(), 2U);
  EXPECT_EQ(general.kernel.sites[1].text, "version");
  EXPECT_EQ(general.kernel.nests[1].statements.front(), "version");
  EXPECT_EQ(general.kernel.statements[1].name, "version");
  verify_kernel(general.kernel);
  const auto *choice = as<If>(*general.kernel.body);
  ASSERT_NE(choice, nullptr);
  EXPECT_EQ(cast<Timed>(*choice->then()).nest, 1);
  EXPECT_EQ(cast<Timed>(*choice->otherwise()).nest, 0);
}

} // namespace
} // namespace tilewright::test
