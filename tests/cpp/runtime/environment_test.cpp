#include "runtime/environment.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace tilewright {
namespace {

TEST(Environment, IsWhatItWasWhenItWasTaken) {
  setenv("TILEWRIGHT_DUMP_PASSES", "here", 1);
  take_environment();
  setenv("TILEWRIGHT_DUMP_PASSES", "there", 1);
  EXPECT_EQ(environment("TILEWRIGHT_DUMP_PASSES"), "here");
  unsetenv("TILEWRIGHT_DUMP_PASSES");
  EXPECT_EQ(environment("TILEWRIGHT_DUMP_PASSES"), "here");
  take_environment();
  EXPECT_EQ(environment("TILEWRIGHT_DUMP_PASSES"), std::nullopt);
}

} // namespace
} // namespace tilewright
