#include "loops/joined_loops.h"

#include "loops/build.h"
#include "polyhedral/error.h"

#include <algorithm>

namespace tilewright {

namespace {

bool is_parallel(const LoopStatement &statement) {
  return statement.kind == StatementKind::For && statement.loop == LoopKind::Parallel;
}

/// The loop of `outside` on which the bounds of `loop` depend, or null.
const LoopStatement *bounds_depend_on(const LoopStatement &loop,
                                      const std::vector<const LoopStatement *> &outside) {
  const LoopStatement *found = nullptr;
  for (const ValuePtr &bound : {loop.lower, loop.upper}) {
    visit_value(bound, [&](const Value &value) {
      for (const LoopStatement *outer : outside) {
        if (value.kind == ValueKind::Variable && value.id == outer->id) {
          found = outer;
        }
      }
    });
  }
  return found;
}

/// What a statement is and does, for a message.
std::string description(const Kernel &kernel, const LoopStatement &statement) {
  switch (statement.kind) {
  case StatementKind::Allocate:
    return "the memory of '" + kernel.buffers[static_cast<size_t>(statement.buffer)].name +
           "' stands";
  case StatementKind::CheckIndex:
  case StatementKind::CheckValue:
    return "a check stands";
  case StatementKind::If:
    return "a condition stands";
  case StatementKind::For:
    return "loop '" + statement.name + "' stands";
  case StatementKind::Block:
    return "several statements stand";
  default:
    return "a statement stands";
  }
}

class Check {
public:
  explicit Check(const Kernel &kernel) : kernel_(kernel) {}

  /// `directly`: the parallel loops of which `statement` is the body, outermost first; `around`:
  /// the one loop that is dealt out to threads around it.
  void walk(const LoopStatement &statement, std::vector<const LoopStatement *> directly,
            const LoopStatement *around, const LoopStatement *between) {
    if (is_parallel(statement)) {
      if (statement.parallel.joined && around != nullptr) {
        check(statement, directly, *around, between);
      }
      directly.push_back(&statement);
      around = around == nullptr ? &statement : around;
      walk(*statement.children[0], directly, around, statement.children[0].get());
      return;
    }
    for (const StmtPtr &child : statement.children) {
      walk(*child, {}, around, between);
    }
  }

private:
  void check(const LoopStatement &loop, const std::vector<const LoopStatement *> &directly,
             const LoopStatement &head, const LoopStatement *between) const {
    const std::string start = kernel_.name + ": the loops '" + head.name + "' and '" + loop.name +
                              "' cannot run as one parallel loop: ";
    if (directly.empty()) {
      throw Error(ErrorKind::Schedule, start + description(kernel_, *between) +
                                           " between them; parallelize one of the loops only");
    }
    if (const LoopStatement *outer = bounds_depend_on(loop, directly)) {
      throw Error(ErrorKind::Schedule, start + "the bounds of '" + loop.name + "' depend on '" +
                                           outer->name +
                                           "'; parallelize one loop only, with the schedule "
                                           "\"dynamic\" where its iterations are uneven");
    }
  }

  const Kernel &kernel_;
};

} // namespace

std::vector<const LoopStatement *> joined_loops(const LoopStatement &head) {
  std::vector<const LoopStatement *> loops = {&head};
  while (true) {
    const LoopStatement &next = *loops.back()->children[0];
    if (!is_parallel(next) || !next.parallel.joined || bounds_depend_on(next, loops) != nullptr) {
      return loops;
    }
    loops.push_back(&next);
  }
}

void check_joined_loops(const Kernel &kernel) {
  Check(kernel).walk(*kernel.body, {}, nullptr, nullptr);
}

} // namespace tilewright
