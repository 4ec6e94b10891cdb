// Which commands blocks take (algorithm/block.h). A call has loops over its instances, which are
// ordered as those of any computation; it has no lanes, no code for a GPU, and its value is not
// rewritten. What it writes has no loops: it is there when the call has run, and may be stored
// elsewhere.
#include "algorithm/block.h"
#include "mapping/command_arguments.h"
#include "mapping/command_handlers.h"
#include "mapping/command_table.h"

#include <algorithm>
#include <array>

namespace tilewright {

namespace {

constexpr std::array orders_calls = {
    "after", "apply_schedule", "before",  "fission", "fuse_with", "independent",  "interchange",
    "join",  "parallelize",    "reorder", "reverse", "scale",     "set_schedule", "shift",
    "skew",  "split",          "then",    "tile",    "transform", "unroll"};
constexpr std::array places_results = {"private", "set_access", "store_in"};

template <class Names>
bool is_one_of(const std::string &name, const Names &names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// The call that writes a computation, or null.
const Computation *writer_of(const Function &function, const std::string &name) {
  const ComputationPtr *found = function.find(name);
  return found != nullptr && is_block_result(**found) ? call_of_result(*block_node(**found)).get()
                                                      : nullptr;
}

bool is_passed(const Function &function, const std::string &name) {
  return std::any_of(function.computations.begin(), function.computations.end(),
                     [&](const ComputationPtr &reader) {
                       bool found = false;
                       if (is_block_call(*reader)) {
                         visit(reader->pieces.front().value, [&](const ExprPtr &node) {
                           found = found ||
                                   (node->kind == ExprKind::Access && node->producer->name == name);
                         });
                       }
                       return found;
                     });
}

} // namespace

const std::string &loops_owner(const MappingState &state, const std::string &computation) {
  const Computation *call = writer_of(*state.function, computation);
  return call == nullptr ? computation : call->name;
}

void require_fits_blocks(const MappingState &state, const Command &command) {
  const Function &function = *state.function;
  if (blocks_of(function).empty()) {
    return;
  }
  const CommandTraits &asked = traits(command);
  const CommandArguments arguments(command);
  if (command.name.starts_with("gpu")) {
    const BlockFunction &block = *blocks_of(function).front();
    refuse(command, function.name + " has the block " + block.name +
                        ", a function that runs on the CPU, and kernels of a GPU cannot call it: "
                        "declare what runs on the GPU as a function of its own");
  }
  if (asked.places && arguments.size() > 0 && arguments.is_name(0)) {
    const std::string other = arguments.name(0, "the other computation");
    if (const Computation *call = writer_of(function, other)) {
      refuse(command, other + " is written by the block " + call->name +
                          " and has no loops of its own; name " + call->name + " in its place");
    }
  }
  if (command.computation.empty()) {
    for (const ComputationPtr &computation : function.computations) {
      if (asked.takes_map && arguments.is_name(0) && is_block_result(*computation) &&
          arguments.name(0, "the map").find(computation->name + "[") != std::string::npos) {
        refuse(command, computation->name + " is written by a block and has no times of its own; "
                                            "give those of the call");
      }
    }
    return;
  }
  const ComputationPtr *found = function.find(command.computation);
  if (found == nullptr) {
    return;
  }
  if (const Computation *call = writer_of(function, command.computation);
      call != nullptr && !is_one_of(command.name, places_results)) {
    refuse(command, command.computation + " is written by the block " + call->name +
                        ", whose loops are over calls: give this command to " + call->name +
                        "; of what a block writes only the place may change (store_in, set_access, "
                        "private)");
  }
  if (is_block_call(**found) && !is_one_of(command.name, orders_calls)) {
    refuse(command, command.computation +
                        " is the call of a block, an opaque function that runs on the CPU once for "
                        "each instance: its loops may be ordered, cut, parallelized and unrolled, "
                        "and there is nothing else to change");
  }
  if (command.name == "inline" && is_passed(function, command.computation)) {
    refuse(command, command.computation + " is read by a block, which needs it in memory");
  }
}

} // namespace tilewright
