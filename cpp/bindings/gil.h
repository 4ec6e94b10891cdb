// The GIL, given up while C++ works and taken again afterwards. Where the process ends meanwhile,
// Python ends the threads that ask for the GIL (daemon threads; before Python 3.14) by unwinding
// them, and the C++ frames below hold Python objects that may be released with the GIL only. So
// these threads stay here until the process is gone, as Python 3.14 lets them.
#pragma once

#include <pybind11/pybind11.h>

#include <cxxabi.h>
#include <unistd.h>

namespace tilewright {

/// PyEval_RestoreThread, which does not return while the interpreter ends.
inline void take_gil(PyThreadState *state) {
  try {
    PyEval_RestoreThread(state);
  } catch (abi::__forced_unwind &) {
    while (true) {
      pause();
    }
  }
}

/// The time without the GIL: that of its scope.
class GilReleased {
public:
  GilReleased() : state_(PyEval_SaveThread()) {}
  ~GilReleased() { take_gil(state_); }
  GilReleased(const GilReleased &) = delete;
  GilReleased &operator=(const GilReleased &) = delete;

private:
  PyThreadState *state_;
};

} // namespace tilewright
