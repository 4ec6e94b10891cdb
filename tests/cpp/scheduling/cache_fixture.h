// What tests of scheduling share: a cache of their own, and no verdicts of others.
#pragma once

#include "runtime/cache.h"
#include "scheduling/legal_schedules.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <unistd.h>

namespace tilewright::test {

class CacheFixture : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "tilewright-scheduling-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    ::unsetenv("TILEWRIGHT_CACHE_DIR");
    set_cache_directory(folder_ + "/kernels");
    LegalSchedules::forget_all();
  }
  void TearDown() override {
    set_cache_directory("");
    std::filesystem::remove_all(folder_);
    LegalSchedules::forget_all();
  }

  std::string folder_;
};

} // namespace tilewright::test
