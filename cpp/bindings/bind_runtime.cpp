// The kernel cache, the thread settings and the memory of temporaries for Python.
#include "polyhedral/isl.h"
#include "runtime/build_identity.h"
#include "runtime/cache.h"
#include "runtime/cpu.h"
#include "runtime/environment.h"
#include "runtime/jit.h"
#include "runtime/memory.h"
#include "runtime/parallel.h"
#include "runtime/thread_count.h"
#include "scheduling/legal_schedules.h"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <string>

namespace tilewright {

namespace py = pybind11;

void bind_runtime(py::module_ &module);

void bind_runtime(py::module_ &module) {
  module.def("describe_build", [] {
    py::dict result;
    result["llvm"] = llvm_version();
    result["isl"] = isl_version_text();
    result["cpu"] = host_cpu().text();
    result["model"] = host_model();
    return result;
  });
  module.def("cache_info", [] {
    take_environment();
    const CacheInfo info = cache_info();
    py::dict result;
    // Paths are bytes: file systems take more than UTF-8.
    result["directory"] = py::bytes(info.directory);
    result["entries"] = info.entries;
    result["bytes"] = info.bytes;
    result["hits"] = info.hits;
    result["misses"] = info.misses;
    result["memory_entries"] = info.memory_entries;
    result["disabled_reason"] = py::bytes(info.disabled_reason);
    return result;
  });
  module.def("cache_clear", [] {
    take_environment();
    LegalSchedules::forget_all();
    return cache_clear();
  });
  module.def("cache_verify", [] {
    take_environment();
    const CacheCheck check = cache_verify();
    return std::make_pair(check.whole, check.deleted);
  });
  module.def(
      "cache_prune",
      [](std::int64_t bytes) {
        take_environment();
        return cache_prune(bytes);
      },
      py::arg("bytes"));
  module.def(
      "cache_load_note",
      [](const std::string &text) {
        take_environment();
        return cache_load_note(cache_key(text));
      },
      py::arg("text"));
  module.def(
      "cache_store_note",
      [](const std::string &text, const std::string &note) {
        take_environment();
        cache_store_note(cache_key(text), note);
      },
      py::arg("text"), py::arg("note"));
  module.def("text_digest", [](const py::bytes &text) { return cache_key(text); }, py::arg("text"));
  module.def("files_identity", &files_identity, py::arg("folder"));
  module.def("cache_clear_memory", [] {
    LegalSchedules::forget_all();
    cache_clear_memory();
  });
  module.def(
      "cache_set_directory", [](const std::string &directory) { set_cache_directory(directory); },
      py::arg("directory"));
  module.def("get_num_threads", [] { return num_threads(); });
  module.def("set_num_threads", [](int threads) { set_num_threads(threads); }, py::arg("threads"));
  module.def("control_group_processors", [] { return control_group_processors(); });
  module.def("kept_memory", [] { return kept_memory(); });
  module.def("release_memory", [] { release_memory(); });
  module.def(
      "set_kept_memory_limit", [](std::size_t bytes) { set_kept_memory_limit(bytes); },
      py::arg("bytes"));
  module.def("parallel_runtime", [] { return parallel_runtime(); });
}

} // namespace tilewright
