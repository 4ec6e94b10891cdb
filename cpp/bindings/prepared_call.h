// Calls of one function that are alike but for a few arrays, such as the chunks and results of a
// stream: all other arguments are bound once, so that such a call costs little more than its
// kernel. Arguments may also be parts of longer arrays that move on from call to call.
#pragma once

#include "bindings/call_plan.h"

#include <llvm/ADT/SmallVector.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace tilewright {

class KernelFunction;

struct PreparedCall {
  /// One of the few arrays.
  struct Changing {
    size_t argument = 0;
    size_t value = 0;                 ///< its place in `values`; of outputs in the tuple of them
    std::vector<std::int64_t> layout; ///< shape and strides of the latest
  };

  /// An input that is a part of a longer array, the line: `rows` rows of it from a place on, of
  /// which the first `kept` were there before the call. Where no room is left, these move to the
  /// front.
  struct Sliding {
    size_t argument = 0;
    pybind11::array line;
    pybind11::array places;       ///< of int64, where the two places below are
    std::int64_t *now = nullptr;  ///< where this call begins
    std::int64_t *next = nullptr; ///< where the one after it does
    std::int64_t rows = 0;
    std::int64_t kept = 0;
    std::int64_t moves = 0; ///< rows that the next call begins later
    std::int64_t room = 0;  ///< rows of the line
    std::int64_t bytes = 0; ///< of a row

    char *data() const;
    pybind11::object part() const;
    void make_room() const;
    void move_on() const { *next = *now + moves; }
  };

  pybind11::object function;
  KernelFunction *kernel = nullptr;     ///< in it
  std::vector<pybind11::object> values; ///< the inputs, then what `names` names
  pybind11::tuple names;                ///< of parameters, then "out"
  size_t positional = 0;
  pybind11::tuple outputs;        ///< those that stay, behind those that change
  std::vector<Changing> changing; ///< inputs, then the first outputs
  std::vector<Sliding> sliding;

  // What calls have in common: none before the first one.
  std::shared_ptr<CallPlan> plan;
  std::uint64_t version = 0; ///< of the schedule
  llvm::SmallVector<void *, 16> data;
};

/// ``prepare_call(function, arguments, changing, outputs)``: a callable that takes the inputs named
/// in `changing` and then outputs, and does what ``function(**arguments, **inputs,
/// out=(*given, *outputs))`` does, of whose results nothing is returned. The arrays in `arguments`
/// and `outputs` must stay where they are. `lines` has tuples of an input's name, its line, an
/// array of two places (int64), the one of them where this call begins (0 or 1; the next one begins
/// at the other), and the numbers of rows: those that the call sees, those of them that are kept,
/// and those that it moves on by. A call that fails leaves what is kept, and where it is, as it
/// was.
pybind11::object prepare_call(const pybind11::object &function, const pybind11::dict &arguments,
                              const std::vector<std::string> &changing,
                              const pybind11::tuple &outputs, const pybind11::list &lines);

} // namespace tilewright
