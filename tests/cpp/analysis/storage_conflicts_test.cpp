#include "analysis/storage_conflicts.h"
#include "polyhedral/isl.h"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

std::optional<std::int64_t> modulus(const std::string &distances) {
  return smallest_modulus(isl::set(isl_context(), distances), 64);
}

TEST(StorageConflicts, SmallestModulusIsNoDivisorOfADistance) {
  EXPECT_EQ(modulus("{ [d] : false }"), 1);
  EXPECT_EQ(modulus("{ [d] : d = 1 or d = -1 }"), 2);
  EXPECT_EQ(modulus("{ [d] : d = 2 }"), 3);
  EXPECT_EQ(modulus("{ [d] : d = 1 or d = 3 }"), 2);
  EXPECT_EQ(modulus("{ [d] : 1 <= d <= 5 }"), 6);
  EXPECT_EQ(modulus("[N] -> { [d] : 0 < d < N }"), std::nullopt);
  EXPECT_EQ(modulus("[N] -> { [d] : 0 < d < N and N <= 10 }"), 10);
}

} // namespace
} // namespace tilewright
