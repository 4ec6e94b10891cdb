#include "passes/registers.h"

#include "loops/linear.h"
#include "loops/traverse.h"

#include <algorithm>
#include <map>
#include <set>

namespace tilewright {

namespace {

bool in_registers(const Kernel &kernel, std::int64_t buffer) {
  const KernelBuffer &declared = kernel.buffers.at(static_cast<size_t>(buffer));
  return declared.is_scoped && declared.memory == "registers";
}

[[noreturn]] void refuse(const Kernel &kernel, std::int64_t buffer, const std::string &reason) {
  const KernelBuffer &declared = kernel.buffers.at(static_cast<size_t>(buffer));
  throw Error(ErrorKind::Schedule,
              declared.command + ": buffer '" + declared.name +
                  "' cannot be kept in registers: " + reason,
              declared.where);
}

/// Calls `visit(buffer, subscripts, lanes)` for each access of one statement.
template <class Visit>
void visit_accesses(const LoopStatement &statement, const Visit &visit) {
  if (const auto *change = as<ElementChange>(statement)) {
    int lanes = change->value->type.lanes;
    for (const ValuePtr &subscript : change->subscripts) {
      lanes = std::max(lanes, subscript->type.lanes);
    }
    visit(change->buffer, change->subscripts, lanes);
  }
  visit_values(statement, [&](const Value &value) {
    if (const auto *load = as<Load>(value)) {
      visit(load->buffer, load->subscripts(), load->type.lanes);
    }
  });
}

// ---- before the loop passes ----

class LoopCheck {
public:
  explicit LoopCheck(const Kernel &kernel) : kernel_(kernel) {}

  void walk(const StmtPtr &statement) {
    visit_accesses(*statement, [&](std::int64_t buffer, const std::vector<ValuePtr> &subscripts,
                                   int) { check(buffer, subscripts); });
    const auto *scope = as<Allocate>(statement);
    const auto *loop = as<For>(statement);
    const size_t outer = scope != nullptr ? depth_of_[scope->buffer] : 0;
    if (scope != nullptr) {
      depth_of_[scope->buffer] = loops_.size();
    } else if (loop != nullptr) {
      loops_.push_back(loop);
    } else if (const auto *let = as<Let>(statement)) {
      lets_.insert(let->id);
    }
    for (const StmtPtr &child : statement->children) {
      walk(child);
    }
    if (loop != nullptr) {
      loops_.pop_back();
    } else if (scope != nullptr) {
      depth_of_[scope->buffer] = outer;
    }
  }

private:
  void check(std::int64_t buffer, const std::vector<ValuePtr> &subscripts) {
    if (!in_registers(kernel_, buffer)) {
      return;
    }
    const std::string element = print_element(kernel_, buffer, subscripts);
    const size_t outside = depth_of_[buffer];
    for (size_t depth = outside; depth < loops_.size(); ++depth) {
      if (loops_[depth]->loop == LoopKind::Parallel) {
        refuse(kernel_, buffer,
               "the threads of the parallel loop '" + loops_[depth]->name + "' would share " +
                   element);
      }
    }
    for (const ValuePtr &subscript : subscripts) {
      const ValuePtr first = at_first_iterations(subscript, outside);
      visit_value(first, [&](const Value &value) {
        const auto *variable = as<Variable>(value);
        const bool computed = is<Load>(value) || is<Local>(value) ||
                              (variable != nullptr && lets_.contains(variable->id));
        if (computed) {
          refuse(kernel_, buffer, "the subscripts of " + element + " are computed when it runs");
        }
        if (const auto *parameter = as<Parameter>(value)) {
          refuse(kernel_, buffer,
                 "the place of " + element + " depends on the parameter " + parameter->name);
        }
        if (variable != nullptr) {
          check_variable(buffer, *variable, element, outside);
        }
      });
    }
  }

  /// The subscript in the first iterations of the unrolled and vector loops inside of the buffer;
  /// the others differ from it by constants.
  ValuePtr at_first_iterations(ValuePtr subscript, size_t outside) const {
    for (size_t depth = loops_.size(); depth-- > outside;) {
      const For &loop = *loops_[depth];
      if (loop.loop == LoopKind::Unrolled || loop.loop == LoopKind::Vector) {
        ValueRewriter replace([&](const ValuePtr &value) -> ValuePtr {
          return is_variable(value, loop.id) ? loop.lower : nullptr;
        });
        subscript = replace(subscript);
      }
    }
    const auto linear = is_index(subscript) ? linear_of(subscript) : std::nullopt;
    return linear ? value_of(*linear) : subscript;
  }

  void check_variable(std::int64_t buffer, const Variable &value, const std::string &element,
                      size_t outside) const {
    const auto loop = std::find_if(loops_.begin(), loops_.end(),
                                   [&](const For *around) { return around->id == value.id; });
    if (loop == loops_.end() || loop < loops_.begin() + static_cast<std::ptrdiff_t>(outside)) {
      refuse(kernel_, buffer,
             "the place of " + element + " in it changes with loop '" + value.name +
                 "', which stands outside of it");
    }
    refuse(kernel_, buffer,
           "the place of " + element + " changes with loop '" + value.name +
               "'; unroll or vectorize '" + value.name + "'");
  }

  const Kernel &kernel_;
  std::vector<const For *> loops_;
  std::set<std::int64_t> lets_;
  std::map<std::int64_t, size_t> depth_of_; ///< loops outside of a buffer's memory
};

// ---- after them ----

/// The elements of one access: `lanes` of them, `step` apart, from `first` on (row-major).
struct Slot {
  std::int64_t first = 0;
  std::int64_t step = 0;
  int lanes = 1;
  std::string text;

  std::int64_t last() const { return first + step * (lanes - 1); }
};

/// Why one allocation is no set of registers; empty where it is one.
class SlotCheck {
public:
  SlotCheck(const Kernel &kernel, std::int64_t buffer) : kernel_(kernel), buffer_(buffer) {
    std::int64_t stride = 1;
    const std::vector<ValuePtr> &extents = kernel.buffers[static_cast<size_t>(buffer)].extents;
    strides_.assign(extents.size(), 0);
    for (size_t d = extents.size(); d-- > 0;) {
      strides_[d] = stride;
      stride *= as_integer(extents[d]).value_or(0);
    }
  }

  std::string operator()(const StmtPtr &body) {
    walk(body);
    for (size_t a = 0; a < slots_.size() && reason_.empty(); ++a) {
      for (size_t b = 0; b < a && reason_.empty(); ++b) {
        compare(slots_[a], slots_[b]);
      }
    }
    return reason_;
  }

private:
  void walk(const StmtPtr &statement) {
    const auto *scope = as<Allocate>(statement);
    if (scope != nullptr && scope->buffer == buffer_) {
      return;
    }
    visit_accesses(*statement,
                   [&](std::int64_t buffer, const std::vector<ValuePtr> &subscripts, int lanes) {
                     if (buffer == buffer_ && reason_.empty()) {
                       add(subscripts, lanes);
                     }
                   });
    for (const StmtPtr &child : statement->children) {
      walk(child);
    }
  }

  void add(const std::vector<ValuePtr> &subscripts, int lanes) {
    Slot slot;
    slot.lanes = lanes;
    slot.text = print_element(kernel_, buffer_, subscripts);
    for (size_t d = 0; d < subscripts.size(); ++d) {
      const auto *ramp = as<Ramp>(subscripts[d]);
      const auto base = as_integer(ramp != nullptr ? ramp->base() : subscripts[d]);
      if (!base) {
        reason_ = "the place of " + slot.text +
                  " is known only when it runs, since its loops are not of constant extent";
        return;
      }
      slot.first += *base * strides_[d];
      slot.step += ramp != nullptr ? ramp->stride * strides_[d] : 0;
    }
    const bool known = std::any_of(slots_.begin(), slots_.end(), [&](const Slot &other) {
      return other.first == slot.first && other.step == slot.step && other.lanes == slot.lanes;
    });
    if (!known) {
      slots_.push_back(std::move(slot));
    }
  }

  /// Vectors lie side by side, or one inside the other; lanes that are apart are taken one by one.
  void compare(const Slot &a, const Slot &b) {
    const auto contiguous = [](const Slot &slot) { return slot.lanes > 1 && slot.step == 1; };
    if (!contiguous(a) || !contiguous(b)) {
      return;
    }
    const bool apart = a.last() < b.first || b.last() < a.first;
    const bool nested = (a.first <= b.first && b.last() <= a.last()) ||
                        (b.first <= a.first && a.last() <= b.last());
    if (!apart && !nested) {
      reason_ = "the vectors " + b.text + " and " + a.text + " overlap in part";
    }
  }

  const Kernel &kernel_;
  std::int64_t buffer_;
  std::vector<std::int64_t> strides_;
  std::vector<Slot> slots_;
  std::string reason_;
};

} // namespace

void check_register_loops(const Kernel &kernel) {
  const bool any =
      std::any_of(kernel.buffers.begin(), kernel.buffers.end(), [](const KernelBuffer &buffer) {
        return buffer.is_scoped && buffer.memory == "registers";
      });
  if (any) {
    LoopCheck(kernel).walk(kernel.body);
  }
}

void check_registers(const Kernel &kernel) {
  std::map<std::int64_t, std::string> reasons; // of buffers that no allocation keeps in registers
  visit_statements(kernel.body, [&](const LoopStatement &statement) {
    const auto *allocate = as<Allocate>(statement);
    if (allocate == nullptr || !in_registers(kernel, allocate->buffer)) {
      return;
    }
    const std::string reason = SlotCheck(kernel, allocate->buffer)(allocate->body());
    const auto known = reasons.emplace(allocate->buffer, reason).first;
    if (reason.empty()) {
      known->second.clear();
    }
  });
  for (const auto &[buffer, reason] : reasons) {
    if (!reason.empty()) {
      refuse(kernel, buffer, reason);
    }
  }
}

} // namespace tilewright
