// The kernel cache: what is stored comes back, and nothing else does.
#include "runtime/cache.h"
#include "runtime/cache_file.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

namespace tilewright {
namespace {

namespace fs = std::filesystem;

class CacheTest : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "tilewright-cache-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    unsetenv("TILEWRIGHT_CACHE_DIR");
    set_cache_directory(folder_ + "/kernels");
    cache_clear_memory();
  }
  void TearDown() override {
    set_cache_directory("");
    chmod((folder_ + "/kernels").c_str(), 0700);
    fs::remove_all(folder_);
  }
  std::string path(const std::string &key) const { return folder_ + "/kernels/" + key + ".twk"; }

  static std::string read(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static void write(const std::string &path, const std::string &bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  }

  std::string folder_;
  const std::string key_ = cache_key("a kernel");
  const CacheEntry entry_{"{\"sites\":[]}",
                          std::string("\x7f"
                                      "ELF\0machine code",
                                      17),
                          "a module"};
};

TEST_F(CacheTest, KeysAreHashesOfTheText) {
  EXPECT_EQ(cache_key("").size(), 64U);
  // BLAKE3 of the empty text, from its specification.
  EXPECT_EQ(cache_key(""), "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262");
  EXPECT_NE(cache_key("a"), cache_key("b"));
}

TEST_F(CacheTest, AnEntryComesBackAsItWas) {
  EXPECT_FALSE(cache_load(key_));
  ASSERT_TRUE(cache_store(key_, entry_));
  const auto found = cache_load(key_);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->metadata, entry_.metadata);
  EXPECT_EQ(found->object, entry_.object);
  EXPECT_EQ(found->module, entry_.module);
  EXPECT_FALSE(cache_load(cache_key("another kernel")));
  struct stat status{};
  ASSERT_EQ(stat(path(key_).c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
  ASSERT_EQ(stat((folder_ + "/kernels").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700U);
}

TEST_F(CacheTest, OneWrongByteAnywhereIsAMissAndTheFileGoes) {
  ASSERT_TRUE(cache_store(key_, entry_));
  const std::string good = read(path(key_));
  for (size_t at = 0; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x20);
    write(path(key_), bad);
    chmod(path(key_).c_str(), 0600);
    EXPECT_FALSE(cache_load(key_)) << "byte " << at;
    EXPECT_FALSE(fs::exists(path(key_))) << "byte " << at;
  }
}

TEST_F(CacheTest, TruncatedAndLengthenedFilesAreMisses) {
  ASSERT_TRUE(cache_store(key_, entry_));
  const std::string good = read(path(key_));
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(decode_entry(key_, good.substr(0, size))) << size;
  }
  EXPECT_FALSE(decode_entry(key_, good + "x"));
  EXPECT_TRUE(decode_entry(key_, good));
  EXPECT_FALSE(decode_entry(cache_key("another kernel"), good));
}

TEST_F(CacheTest, AnEntryUnderAnotherNameIsAMiss) {
  ASSERT_TRUE(cache_store(key_, entry_));
  const std::string other = cache_key("another kernel");
  fs::rename(path(key_), path(other));
  EXPECT_FALSE(cache_load(other));
}

TEST_F(CacheTest, FilesThatOthersMayWriteAndLinksAreMisses) {
  ASSERT_TRUE(cache_store(key_, entry_));
  chmod(path(key_).c_str(), 0666);
  EXPECT_FALSE(cache_load(key_));
  ASSERT_TRUE(cache_store(key_, entry_));
  fs::rename(path(key_), folder_ + "/elsewhere");
  fs::create_symlink(folder_ + "/elsewhere", path(key_));
  EXPECT_FALSE(cache_load(key_));
  fs::remove(path(key_));
  fs::create_directory(path(key_));
  EXPECT_FALSE(cache_load(key_));
}

TEST_F(CacheTest, ADirectoryThatOthersMayWriteIsNotUsed) {
  ASSERT_TRUE(cache_store(key_, entry_));
  chmod((folder_ + "/kernels").c_str(), 0777);
  EXPECT_FALSE(cache_load(key_));
  EXPECT_FALSE(cache_store(key_, entry_));
  EXPECT_NE(cache_info().disabled_reason.find("writable by other users"), std::string::npos);
  chmod((folder_ + "/kernels").c_str(), 0700);
  EXPECT_TRUE(cache_load(key_));
  EXPECT_TRUE(cache_info().disabled_reason.empty());
}

TEST_F(CacheTest, AFileInPlaceOfTheDirectoryLeavesTheMemory) {
  write(folder_ + "/file", "");
  set_cache_directory(folder_ + "/file");
  EXPECT_FALSE(cache_store(key_, entry_));
  EXPECT_FALSE(cache_load(key_));
  EXPECT_NE(cache_info().disabled_reason.find("not a directory"), std::string::npos);
  set_cache_directory(folder_ + "/file/below");
  EXPECT_FALSE(cache_store(key_, entry_));
  EXPECT_FALSE(cache_info().disabled_reason.empty());
}

TEST_F(CacheTest, FailedWritesLeaveNothingBehind) {
  EXPECT_FALSE(write_private_file(folder_ + "/missing/entry", "bytes"));
  fs::create_directory(folder_ + "/taken");
  EXPECT_FALSE(write_private_file(folder_ + "/taken", "bytes"));
  size_t files = 0;
  for (const auto &file : fs::directory_iterator(folder_)) {
    files += file.path().filename() == "taken" ? 0 : 1;
  }
  EXPECT_EQ(files, 0U);
}

TEST_F(CacheTest, TheProgramDecidesBeforeTheEnvironment) {
  setenv("TILEWRIGHT_CACHE_DIR", (folder_ + "/from-environment").c_str(), 1);
  EXPECT_EQ(cache_info().directory, folder_ + "/kernels");
  set_cache_directory("");
  EXPECT_EQ(cache_info().directory, folder_ + "/from-environment");
  unsetenv("TILEWRIGHT_CACHE_DIR");
  setenv("XDG_CACHE_HOME", (folder_ + "/xdg").c_str(), 1);
  EXPECT_EQ(cache_info().directory, folder_ + "/xdg/tilewright");
  unsetenv("XDG_CACHE_HOME");
}

TEST_F(CacheTest, SaysWhyAnEntryWasNotStored) {
  EXPECT_TRUE(cache_store(key_, {"metadata", "object", ""}));
  EXPECT_EQ(cache_problem(), "");
  std::ofstream(folder_ + "/file") << "no directory";
  set_cache_directory(folder_ + "/file");
  EXPECT_FALSE(cache_store(key_, {"metadata", "object", ""}));
  EXPECT_NE(cache_problem().find(folder_ + "/file"), std::string::npos) << cache_problem();
  set_cache_directory(folder_ + "/kernels");
  EXPECT_TRUE(cache_store(key_, {"metadata", "object", ""}));
  EXPECT_EQ(cache_problem(), "");
}

TEST_F(CacheTest, InfoCountsAndClearEmpties) {
  const CacheInfo before = cache_info();
  cache_load(key_);
  ASSERT_TRUE(cache_store(key_, entry_));
  cache_load(key_);
  cache_remember(key_, std::make_shared<CachedKernel>());
  EXPECT_NE(cache_find(key_), nullptr);
  const CacheInfo after = cache_info();
  EXPECT_EQ(after.hits - before.hits, 2);
  EXPECT_EQ(after.misses - before.misses, 1);
  EXPECT_EQ(after.entries, 1);
  EXPECT_EQ(after.memory_entries, 1);
  EXPECT_EQ(after.bytes, static_cast<std::int64_t>(fs::file_size(path(key_))));
  EXPECT_EQ(cache_clear(), 1);
  EXPECT_EQ(cache_find(key_), nullptr);
  EXPECT_EQ(cache_info().entries, 0);
}

TEST_F(CacheTest, MemoryKeepsTheKernelsUsedLast) {
  for (int k = 0; k < 1100; ++k) {
    cache_remember(cache_key(std::to_string(k)), std::make_shared<CachedKernel>());
    EXPECT_NE(cache_find(cache_key("0")), nullptr);
  }
  EXPECT_EQ(cache_find(cache_key("1")), nullptr);
  EXPECT_NE(cache_find(cache_key("1099")), nullptr);
  EXPECT_EQ(cache_info().memory_entries, 1024);
}

} // namespace
} // namespace tilewright
