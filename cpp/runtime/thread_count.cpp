#include "runtime/thread_count.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <pthread.h>
#include <sched.h>
#include <sstream>
#include <thread>
#include <vector>

namespace tilewright {

namespace {

constexpr int max_threads = 1 << 16;

/// The number in an environment variable ("4", or "4,2" for nested loops); 0: none.
int number_in(const char *variable) {
  const char *text = std::getenv(variable);
  const long value = text == nullptr ? 0 : std::strtol(text, nullptr, 10);
  return value > 0 && value < max_threads ? static_cast<int>(value) : 0;
}

int processors_of_affinity() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    return std::max(1, CPU_COUNT(&set));
  }
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

std::string first_line(const std::string &path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// "200000 100000"; nothing for "max 100000" and for "-1 100000", which are no limit.
std::optional<double> quota(const std::string &text) {
  std::istringstream words(text);
  double time = 0;
  double period = 0;
  if (!(words >> time >> period) || time <= 0 || period <= 0) {
    return std::nullopt;
  }
  return time / period;
}

std::optional<double> least(std::optional<double> a, std::optional<double> b) {
  return a && b ? std::min(*a, *b) : (a ? a : b);
}

/// The least limit of a group and those above it. Where a container sees the names of its host,
/// only the topmost folder is there, which is its own.
template <class Limit>
std::optional<double> least_upwards(const std::string &mount, std::string group,
                                    const Limit &limit_in) {
  std::optional<double> found;
  while (true) {
    found = least(found, limit_in(mount + group));
    const size_t slash = group.rfind('/');
    if (slash == std::string::npos) {
      return found;
    }
    group.erase(slash);
  }
}

std::vector<std::string> split(const std::string &text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) {
    parts.push_back(part);
  }
  return parts;
}

} // namespace

std::optional<double> control_group_processors(const std::string &root) {
  const std::string mounts = root + "/sys/fs/cgroup";
  const auto second_version = [](const std::string &folder) {
    return quota(first_line(folder + "/cpu.max"));
  };
  const auto first_version = [](const std::string &folder) {
    return quota(first_line(folder + "/cpu.cfs_quota_us") + " " +
                 first_line(folder + "/cpu.cfs_period_us"));
  };
  std::optional<double> found;
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    // "0::/user.slice" of version 2, "4:cpu,cpuacct:/docker/0123" of version 1.
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) {
      continue;
    }
    const std::string controllers = line.substr(first + 1, second - first - 1);
    std::string group = line.substr(second + 1);
    if (group == "/") {
      group.clear();
    }
    if (controllers.empty()) {
      for (const std::string &mount : {mounts, mounts + "/unified"}) {
        found = least(found, least_upwards(mount, group, second_version));
      }
      continue;
    }
    const std::vector<std::string> names = split(controllers, ',');
    if (std::find(names.begin(), names.end(), "cpu") != names.end()) {
      for (const std::string &mount : {mounts + "/" + controllers, mounts + "/cpu"}) {
        found = least(found, least_upwards(mount, group, first_version));
      }
    }
  }
  return found;
}

namespace {

int find_environment_threads() {
  for (const char *variable : {"TILEWRIGHT_NUM_THREADS", "OMP_NUM_THREADS"}) {
    if (const int number = number_in(variable); number > 0) {
      return number;
    }
  }
  const int processors = processors_of_affinity();
  const std::optional<double> granted = control_group_processors();
  if (!granted || *granted >= processors) {
    return processors;
  }
  return std::max(1, static_cast<int>(std::ceil(*granted)));
}

} // namespace

int environment_threads() {
  // To search the environment at each loop would take longer than many a loop.
  static std::atomic<int> known{0};
  static const int registered =
      pthread_atfork(nullptr, nullptr, [] { known.store(0, std::memory_order_relaxed); });
  static_cast<void>(registered);
  int count = known.load(std::memory_order_relaxed);
  if (count == 0) {
    count = find_environment_threads();
    known.store(count, std::memory_order_relaxed);
  }
  return count;
}

} // namespace tilewright
