#include "passes/pass_texts.h"

#include <fmt/format.h>

#include <atomic>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <unistd.h>

namespace tilewright {

namespace {

constexpr double milliseconds_in_second = 1000;

/// "matmul-4711-0003": kernels of one name, and processes that share a folder, do not meet.
std::string folder_name(const std::string &kernel) {
  static std::atomic<int> number{0};
  std::string name;
  for (const char c : kernel) {
    name += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' ? c : '_';
  }
  return fmt::format("{}-{}-{:04}", name, getpid(), ++number);
}

void write_text(const std::filesystem::path &path, const std::string &text) {
  std::ofstream file(path);
  file << text;
  file.close();
  if (!file) {
    throw Error(ErrorKind::Argument,
                "TILEWRIGHT_DUMP_PASSES: " + path.string() + " cannot be written");
  }
}

} // namespace

PassObserver PassTexts::observer() const {
  return [texts = texts_](const char *name, const Kernel &kernel, double seconds) {
    std::string text = print_loop_ir(kernel);
    const bool changed = texts->empty() || texts->back().text != text;
    texts->push_back({name, seconds * milliseconds_in_second, changed, std::move(text)});
  };
}

PassObserver dumping_observer(const std::string &where, const std::string &kernel) {
  const bool to_stderr = where == "stderr";
  const std::filesystem::path folder = std::filesystem::path(where) / folder_name(kernel);
  if (!to_stderr) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) {
      throw Error(ErrorKind::Argument,
                  "TILEWRIGHT_DUMP_PASSES: " + folder.string() + ": " + error.message());
    }
  }
  return [texts = PassTexts(), to_stderr, folder, kernel](const char *name, const Kernel &loops,
                                                          double seconds) {
    texts.observer()(name, loops, seconds);
    const PassText &pass = texts.texts().back();
    const size_t step = texts.texts().size() - 1;
    if (!pass.changed) {
      return;
    }
    if (to_stderr) {
      // In one piece: other threads may write, too.
      const std::string text = fmt::format("# {}: {} ({:.3f} ms)\n{}\n", kernel, pass.name,
                                           pass.milliseconds, pass.text);
      std::fwrite(text.data(), 1, text.size(), stderr);
      return;
    }
    write_text(folder / fmt::format("{:02}-{}.txt", step, pass.name), pass.text);
  };
}

} // namespace tilewright
