#include "lowering/fixture.h"
#include "passes/pass_texts.h"

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <unistd.h>

namespace tilewright::test {
namespace {

namespace fs = std::filesystem;

LoweringOptions dumped_to(const std::string &where) {
  LoweringOptions options;
  options.dump_to = where;
  return options;
}

Mapping tiled() {
  return Mapping(matmul()).with(command("C", "vectorize", {"j", std::int64_t{8}}));
}

std::string read(const fs::path &path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(PassTexts, SayWhatEachPassChanged) {
  const PassTexts texts;
  LoweringOptions options;
  options.vectors = {4};
  options.observer = texts.observer();
  const Kernel kernel = lower(build_program(tiled()), options);
  const std::vector<PassText> &passes = texts.texts();
  ASSERT_GT(passes.size(), 10U);
  EXPECT_EQ(passes.front().name, "translate");
  EXPECT_TRUE(passes.front().changed);
  EXPECT_EQ(passes.back().text, print_loop_ir(kernel));
  for (size_t p = 1; p < passes.size(); ++p) {
    EXPECT_EQ(passes[p].changed, passes[p].text != passes[p - 1].text) << passes[p].name;
    EXPECT_GE(passes[p].milliseconds, 0);
    if (passes[p].name == "vectorize_loops") {
      EXPECT_TRUE(passes[p].changed);
    }
    if (passes[p].name == "tighten_guards") {
      EXPECT_FALSE(passes[p].changed); // nothing is guarded by data
    }
  }
}

TEST(PassTexts, AreDumpedIntoAFolderForEachKernel) {
  const fs::path folder = fs::temp_directory_path() / ("passes-" + std::to_string(getpid()));
  std::set<fs::path> kernels;
  LoweringOptions options = dumped_to(folder.string());
  lower(build_program(tiled()), options);
  lower(build_program(tiled()), options);
  options.vectorize = false; // for people: nothing is compiled
  lower(build_program(tiled()), options);
  lower(build_program(tiled()), {});
  for (const auto &entry : fs::directory_iterator(folder)) {
    kernels.insert(entry.path());
  }
  ASSERT_EQ(kernels.size(), 2U);
  for (const fs::path &kernel : kernels) {
    EXPECT_EQ(kernel.filename().string().find("f-"), 0U) << kernel;
    EXPECT_NE(read(kernel / "00-translate.txt").find("for i in range(0, N):"), std::string::npos);
    size_t count = 0;
    for (const auto &file : fs::directory_iterator(kernel)) {
      count += file.path().extension() == ".txt" ? 1 : 0;
    }
    EXPECT_GT(count, 2U);
    EXPECT_LT(count, road().size()); // only what changed
  }
  fs::remove_all(folder);
}

TEST(PassTexts, AFolderThatCannotBeIsAnError) {
  try {
    lower(build_program(tiled()), dumped_to("/dev/null/passes"));
    FAIL() << "wrote into /dev/null/passes";
  } catch (const Error &error) {
    EXPECT_EQ(error.kind, ErrorKind::Argument);
    EXPECT_NE(std::string(error.what()).find("TILEWRIGHT_DUMP_PASSES"), std::string::npos);
  }
}

TEST(PassTexts, GoToStderr) {
  testing::internal::CaptureStderr();
  lower(build_program(tiled()), dumped_to("stderr"));
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_EQ(text.find("# f: translate ("), 0U) << text;
  EXPECT_NE(text.find("# f: vectorize_loops ("), std::string::npos) << text;
  EXPECT_EQ(text.find("# f: check_joined_loops ("), std::string::npos) << text;
}

} // namespace
} // namespace tilewright::test
