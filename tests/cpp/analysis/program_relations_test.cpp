// The relations of small programs whose accesses and storage are known.
#include "analysis/legality.h"
#include "analysis/program_relations.h"
#include "mapping/example_functions.h"
#include "polyhedral/integer_set.h"

namespace tilewright {
namespace {

using namespace examples;

isl::union_map map(const std::string &text) { return isl::union_map(isl_context(), text); }

void expect_equal(const isl::union_map &found, const std::string &text) {
  EXPECT_TRUE(found.is_equal(map(text)).is_true()) << IntegerMap(found).text();
}

TEST(ProgramRelations, OfAProductOfMatrices) {
  const IslLock lock;
  const Program program = build_program(Mapping(matmul()));
  const ProgramRelations all = program_relations(program, "");
  EXPECT_TRUE(all.schedule.domain().is_equal(all.instances).is_true());
  EXPECT_TRUE(all.schedule.is_injective().is_true());
  EXPECT_TRUE(all.writes.domain().is_equal(all.instances).is_true());
  EXPECT_TRUE(all.writes.is_single_valued().is_true());
  // Two reads of each update, none of the initialisation.
  EXPECT_EQ(checked(all.reads.map_list().size(), "reads"), 2U);
}

TEST(ProgramRelations, AValueOfItsOwnPlaceIsWrittenOnce) {
  const IslLock lock;
  for (const StorageDependences &each :
       storage_dependences(build_program(Mapping(pointwise_pair())))) {
    EXPECT_TRUE(each.anti.is_empty().is_true()) << each.buffer;
    EXPECT_TRUE(each.output.is_empty().is_true()) << each.buffer;
  }
}

TEST(ProgramRelations, FoldedStorageCausesDependences) {
  const IslLock lock;
  const Mapping mapping = Mapping(pointwise_pair())
                              .with(command("C", "after", {"B", "j"}))
                              .with(command("B", "store_in", {"one[0]"}));
  bool found = false;
  for (const StorageDependences &each : storage_dependences(build_program(mapping))) {
    if (each.buffer == "one") {
      found = true;
      expect_equal(each.output.intersect_params(isl::set(isl_context(), "[N, M] -> { : N = 1 }")),
                   "[N, M] -> { B[0, j] -> B[0, j'] : N = 1 and 0 <= j < j' < M }");
      expect_equal(each.anti.intersect_params(isl::set(isl_context(), "[N, M] -> { : N = 1 }")),
                   "[N, M] -> { C[0, j] -> B[0, j'] : N = 1 and 0 <= j < j' < M }");
      expect_equal(each.input.intersect_params(isl::set(isl_context(), "[N, M] -> { : N = 1 }")),
                   "[N, M] -> { C[0, j] -> C[0, j'] : N = 1 and 0 <= j < j' < M }");
    }
  }
  EXPECT_TRUE(found);
}

} // namespace
} // namespace tilewright
