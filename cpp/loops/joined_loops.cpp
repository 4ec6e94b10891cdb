#include "loops/joined_loops.h"

#include "loops/traverse.h"
#include "polyhedral/error.h"

#include <algorithm>

namespace tilewright {

namespace {

/// The loop of `outside` on which the bounds of `loop` depend, or null.
const For *bounds_depend_on(const For &loop, const std::vector<const For *> &outside) {
  const For *found = nullptr;
  for (const ValuePtr &bound : {loop.lower, loop.upper}) {
    visit_value(bound, [&](const Value &value) {
      for (const For *outer : outside) {
        if (is_variable(value, outer->id)) {
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
    return "the memory of '" +
           kernel.buffers[static_cast<size_t>(cast<Allocate>(statement).buffer)].name + "' stands";
  case StatementKind::CheckIndex:
  case StatementKind::CheckValue:
    return "a check stands";
  case StatementKind::If:
    return "a condition stands";
  case StatementKind::For:
    return "loop '" + cast<For>(statement).name + "' stands";
  case StatementKind::Block:
    return "several statements stand";
  default:
    return "a statement stands";
  }
}

class JoinedLoopCheck {
public:
  explicit JoinedLoopCheck(const Kernel &kernel) : kernel_(kernel) {}

  /// `directly`: the parallel loops of which `statement` is the body, outermost first; `around`:
  /// the one loop that is dealt out to threads around it.
  void walk(const LoopStatement &statement, std::vector<const For *> directly, const For *around,
            const LoopStatement *between) {
    if (const auto *loop = as_loop(statement, LoopKind::Parallel)) {
      if (loop->parallel.joined && around != nullptr) {
        check(*loop, directly, *around, between);
      }
      directly.push_back(loop);
      around = around == nullptr ? loop : around;
      walk(*loop->body(), directly, around, loop->body().get());
      return;
    }
    for (const StmtPtr &child : statement.children) {
      walk(*child, {}, around, between);
    }
  }

private:
  void check(const For &loop, const std::vector<const For *> &directly, const For &head,
             const LoopStatement *between) const {
    const std::string start = kernel_.name + ": the loops '" + head.name + "' and '" + loop.name +
                              "' cannot run as one parallel loop: ";
    if (directly.empty()) {
      throw Error(ErrorKind::Schedule, start + description(kernel_, *between) +
                                           " between them; parallelize one of the loops only");
    }
    if (const For *outer = bounds_depend_on(loop, directly)) {
      throw Error(ErrorKind::Schedule, start + "the bounds of '" + loop.name + "' depend on '" +
                                           outer->name +
                                           "'; parallelize one loop only, with the schedule "
                                           "\"dynamic\" where its iterations are uneven");
    }
  }

  const Kernel &kernel_;
};

} // namespace

std::vector<const For *> joined_loops(const For &head) {
  std::vector<const For *> loops = {&head};
  while (true) {
    const auto *next = as_loop(loops.back()->body(), LoopKind::Parallel);
    if (next == nullptr || !next->parallel.joined || bounds_depend_on(*next, loops) != nullptr) {
      return loops;
    }
    loops.push_back(next);
  }
}

bool stand_beside_others(const Kernel &kernel) {
  const auto is_joined = [](const StmtPtr &statement) {
    const LoopStatement *inner = statement.get();
    while (is<If>(*inner) && !cast<If>(*inner).has_otherwise()) {
      inner = inner->children[0].get();
    }
    const auto *loop = as_loop(*inner, LoopKind::Parallel);
    return loop != nullptr && loop->parallel.joined;
  };
  bool found = false;
  visit_statements(kernel.body, [&](const LoopStatement &statement) {
    if (is<Block>(statement)) {
      const auto beside = std::count_if(statement.children.begin(), statement.children.end(),
                                        [](const StmtPtr &child) { return !is<Let>(child); });
      found = found || (beside > 1 && std::any_of(statement.children.begin(),
                                                  statement.children.end(), is_joined));
    }
  });
  return found;
}

void check_joined_loops(const Kernel &kernel) {
  JoinedLoopCheck(kernel).walk(*kernel.body, {}, nullptr, nullptr);
}

} // namespace tilewright
