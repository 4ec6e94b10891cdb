// The extension module tilewright._core. It is thin: sugar, messages' locations and every
// convenience are Python; here handles are made, the core is called under the GIL, and its errors
// become Python's.
#include "bindings/bind_automatic.h"
#include "bindings/bind_cuda.h"
#include "bindings/bind_dataflow.h"
#include "bindings/bind_dependences.h"
#include "bindings/bind_errors.h"
#include "bindings/bind_export.h"
#include "bindings/bind_inspection.h"
#include "bindings/bind_instances.h"
#include "bindings/bind_language.h"
#include "bindings/bind_sets.h"
#include "bindings/callbacks.h"
#include "bindings/signals.h"
#include "polyhedral/isl.h"

#include <pybind11/pybind11.h>

#include <string>
#include <string_view>

namespace py = pybind11;

namespace tilewright {

/// Functions, commands and calls: bind_functions.cpp.
void bind_functions(py::module_ &module);

namespace {

/// Another isl in the process (libLLVM's, islpy's) has the same symbol names: a wrong link must not
/// go unnoticed.
void check_isl() {
  const std::string found = isl_version_text();
  const std::string_view expected = TILEWRIGHT_ISL_EXPECTED_VERSION;
  if (found.compare(0, expected.size(), expected) != 0) {
    throw py::import_error(
        "tilewright was built with " + std::string(expected) + ", but the isl that answers is " +
        found +
        ": another copy of isl took its place when the extension was linked or "
        "loaded. Rebuild tilewright, or configure it with -DTILEWRIGHT_ISL=system "
        "to use the system's shared libisl.");
  }
}

} // namespace
} // namespace tilewright

// Python calls PyInit__core, below, which asks a question before it calls pybind11's.
#define PyInit__core tilewright_initialise_core
PYBIND11_MODULE(_core, module) {
  tilewright::check_isl();
  module.doc() = "The core of tilewright in C++: expressions, computations, functions, kernels.";
  module.attr("__version__") = TILEWRIGHT_VERSION;
  module.attr("isl_version") = tilewright::isl_version_text();
  module.def("set_unscoped_limit", &tilewright::set_unscoped_limit, py::arg("operations"),
             "Operations that isl may take where no limit is open; for tests.");
  module.def("require_isl_lock", &tilewright::require_isl_lock, py::arg("required"),
             "Whether a thread that uses isl without its lock ends the process; for tests.");
  tilewright::bind_callbacks(module);
  tilewright::bind_errors(module);
  tilewright::bind_signals();
  tilewright::bind_sets(module);
  tilewright::bind_language(module);
  tilewright::bind_functions(module);
  tilewright::bind_cuda(module);
  tilewright::bind_export(module);
  tilewright::bind_inspection(module);
  tilewright::bind_dataflow(module);
  tilewright::bind_dependences(module);
  tilewright::bind_instances(module);
  tilewright::bind_automatic(module);
}
#undef PyInit__core

/// pybind11 waits for the GIL of the main interpreter, for ever, in an interpreter beside it; and
/// isl's context, the threads, the handlers of signals and the kernels are those of the process.
extern "C" PYBIND11_EXPORT PyObject *start_in_main_interpreter() __asm__("PyInit__core");
extern "C" PyObject *start_in_main_interpreter() {
  if (PyInterpreterState_Get() != PyInterpreterState_Main()) {
    PyErr_SetString(PyExc_ImportError,
                    "tilewright runs in the main interpreter of a process only, and this is a "
                    "subinterpreter: import it in the main interpreter, and use threads or "
                    "processes (multiprocessing, concurrent.futures.ProcessPoolExecutor) for what "
                    "runs beside it");
    return nullptr;
  }
  return tilewright_initialise_core();
}
