// Loops: parallel ones on OpenMP's threads, vector ones with the leave to make vectors where that
// changes no bits, unrolled ones with the wish.
#include "loops/estimate_work.h"
#include "loops/joined_loops.h"
#include "loops/linear.h"
#include "loops/summing_loops.h"
#include "loops/traverse.h"
#include "polyhedral/error.h"
#include "targets/c_source/statements.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace tilewright {

namespace {

/// Whether a value may be another one after a statement.
bool may_change(const ValuePtr &root) {
  bool found = false;
  visit_value(root,
              [&](const Value &value) { found = found || is<Load>(value) || is<Local>(value); });
  return found;
}

/// Iterations of the loop `variable` store different elements.
bool follows(const ValuePtr &subscript, std::int64_t variable) {
  const auto linear = is_index(subscript) ? linear_of(subscript) : std::nullopt;
  if (!linear) {
    return false;
  }
  bool found = false;
  for (const Linear::Term &term : linear->terms) {
    if (is_variable(term.atom, variable)) {
      found = true;
    } else if (mentions(term.atom, variable)) {
      return false;
    }
  }
  return found;
}

/// What a loop does, by order of magnitude: so many operations times these parameters, and times
/// the distances between the ends of ranges (first, behind the last) that callers give.
struct Work {
  double operations = 0;
  std::set<std::int64_t> parameters;
  std::set<std::pair<std::int64_t, std::int64_t>> ranges;
};

/// The operations of one iteration of a statement itself.
double operations_of(const LoopStatement &statement) {
  constexpr double of_function = 20;
  double count = is<ElementChange>(statement) ? 1 : 0;
  visit_values(statement, [&](const Value &value) {
    const bool is_data = !(value.type.scalar == Int64);
    count += is<Call>(value) ? of_function : is_data && is<Binary>(value) ? 1 : 0;
    count += is<Load>(value) ? 1 : 0;
  });
  return count;
}

Work work_of(const LoopStatement &statement) {
  Work work;
  work.operations = operations_of(statement);
  for (const StmtPtr &child : statement.children) {
    Work inner = work_of(*child);
    work.operations += inner.operations;
    work.parameters.merge(inner.parameters);
    work.ranges.merge(inner.ranges);
  }
  if (const auto *loop = as<For>(statement)) {
    const auto lower = as_integer(loop->lower);
    const auto upper = as_integer(loop->upper);
    if (lower && upper) {
      work.operations *= static_cast<double>(std::max<std::int64_t>(*upper - *lower, 0));
    }
    const auto *first = as<Parameter>(*loop->lower);
    const auto *last = as<Parameter>(*loop->upper);
    if (first != nullptr && last != nullptr) {
      work.ranges.emplace(first->position, last->position);
    } else {
      visit_value(loop->upper, [&](const Value &value) {
        if (const auto *parameter = as<Parameter>(value)) {
          work.parameters.insert(parameter->position);
        }
      });
    }
  }
  return work;
}

} // namespace

/// Whether the function may be left from here.
bool CStatements::may_fail(const StmtPtr &root) const {
  bool found = false;
  visit_statements(root, [&](const LoopStatement &statement) {
    const auto *memory = as<Allocate>(statement);
    found =
        found || is<RuntimeCheck>(statement) ||
        (memory != nullptr && !fits_stack(kernel_.buffers.at(static_cast<size_t>(memory->buffer))));
  });
  return found;
}

/// The bounds as they are while the loop runs; what may change meanwhile gets a name before.
std::pair<std::string, std::string> CStatements::bounds(const For &loop) {
  name_shared({loop.lower, loop.upper});
  const std::string lower = expressions_.text(loop.lower).text;
  CText upper = expressions_.text(loop.upper);
  if (may_change(loop.upper)) {
    const std::string end = names_.take(loop.name + "_end");
    line("const int64_t " + end + " = " + upper.text + ";");
    upper = {end};
  }
  expressions_.forget_names();
  return {lower, upper.at_least(CPrecedence::Sum)};
}

void CStatements::open_loop(const For &loop, const std::pair<std::string, std::string> &bounds) {
  const std::string name = names_.define(loop.id, loop.name);
  expressions_.add_index(loop.id, {expressions_.range_of(loop.lower).lower, std::nullopt});
  line(fmt::format("for (int64_t {} = {}; {} < {}; ++{}) {{", name, bounds.first, name,
                   bounds.second, name));
}

/// The legality of a vector loop says that its iterations may run in any order, but for sums into
/// one element, which C would take for the same promise. Lanes start no threads: OpenMP has no
/// parallel loop in a loop of lanes.
bool CStatements::is_simd(const For &loop) const {
  bool may = true;
  std::set<std::int64_t> own;
  visit_statements(loop.body(), [&](const LoopStatement &inner) {
    if (const auto *nested = as<For>(inner)) {
      may = may && nested->loop != LoopKind::Parallel;
    } else if (const auto *local = as<DeclareLocal>(inner)) {
      own.insert(local->id);
    } else if (const auto *assigned = as<AssignLocal>(inner)) {
      may = may && own.contains(assigned->id);
    } else if (const auto *store = as<Store>(inner)) {
      const auto moves = [&](const ValuePtr &subscript) {
        return store->op == Op::None ? mentions(subscript, loop.id) : follows(subscript, loop.id);
      };
      may = may && std::any_of(store->subscripts.begin(), store->subscripts.end(), moves);
    }
    may = may && !is<AtomicUpdate>(inner) && !is<RuntimeCheck>(inner) && !is<Allocate>(inner) &&
          !is<While>(inner);
  });
  return may;
}

void CStatements::print_statement(const For &loop) {
  switch (loop.loop) {
  case LoopKind::Parallel:
    parallel_loop(loop);
    return;
  case LoopKind::Serial:
  case LoopKind::Unrolled:
  case LoopKind::Vector:
    break;
  case LoopKind::MaskedVector:
    throw Error(ErrorKind::Internal, "a loop under a mask reached C source");
  default:
    throw Error(ErrorKind::Schedule,
                "C source has no loops over the blocks and threads of a GPU ('" + loop.name +
                    "'); take a schedule without them, or the target 'cpu', which makes them "
                    "loops of the processor");
  }
  const auto limits = bounds(loop); // its names are those of the block around
  CNames::Scope outer = names_.open();
  if (loop.loop == LoopKind::Vector && is_simd(loop)) {
    pragma(fmt::format("omp simd simdlen({})", loop.factor));
  } else if (loop.loop == LoopKind::Unrolled && loop.factor > 1) {
    line(fmt::format("{}({})", helpers_.unroll(), loop.factor));
  }
  open_loop(loop, limits);
  indented(loop.body());
  line("}");
  names_.close(std::move(outer));
}

/// The product of the sizes over which the loops run, and of what an iteration computes: an
/// estimate of the order of magnitude, as a person would write it.
std::string CStatements::work_estimate(const For &head) const {
  const Work work = work_of(head);
  std::string text = fmt::format("{:.1f}", work.operations);
  for (const std::int64_t parameter : work.parameters) {
    text += " * " + expressions_.text(parameter_value(parameter, "")).text;
  }
  for (const auto &[first, last] : work.ranges) {
    text += fmt::format(" * ({} - {})", expressions_.text(parameter_value(last, "")).text,
                        expressions_.text(parameter_value(first, "")).text);
  }
  return text + fmt::format(" >= {}", kernel_.least_work_for_threads);
}

std::string CStatements::parallel_clauses(const For &head, size_t joined) {
  std::string clauses = joined > 1 ? fmt::format(" collapse({})", joined) : "";
  const ParallelSchedule &schedule = head.parallel;
  const bool dynamic = schedule.dealing == Dealing::Dynamic;
  const std::int64_t chunk = std::max<std::int64_t>(schedule.chunk, dynamic ? 1 : 0);
  clauses += dynamic ? " schedule(dynamic" : " schedule(static";
  clauses += (chunk > 0 ? ", " + std::to_string(chunk) : "") + ")";
  if (kernel_.least_work_for_threads > 0) {
    clauses += " if(" + work_estimate(head) + ")";
  }
  return clauses;
}

void CStatements::parallel_loop(const For &head) {
  const std::vector<const For *> loops = joined_loops(head);
  const bool fails = may_fail(loops.back()->body());
  std::vector<std::pair<std::string, std::string>> limits;
  for (const For *loop : loops) {
    limits.push_back(bounds(*loop));
  }
  if (fails) {
    needs_status_ = true;
  }
  CNames::Scope outer = names_.open();
  const std::string clauses = parallel_clauses(head, loops.size());
  pragma("omp parallel for" + clauses);
  for (size_t k = 0; k < loops.size(); ++k) {
    open_loop(*loops[k], limits[k]);
    ++depth_;
  }
  --depth_;
  parallel_body(*loops.back(), fails);
  for (size_t k = loops.size(); k-- > 0;) {
    line("}");
    --depth_;
  }
  ++depth_;
  names_.close(std::move(outer));
  if (fails) {
    Exit failed;
    failed.status = "status";
    pass_on(failed);
  }
}

void CStatements::parallel_body(const For &innermost, bool fails) {
  if (!fails) {
    indented(innermost.body());
    return;
  }
  ++depth_;
  CNames::Scope outer = names_.open();
  Exit exit;
  exit.status = names_.take("failure");
  exit.label = labels_.take("next_" + innermost.name);
  line("int " + exit.status + " = " + status_prefix_ + "OK;");
  line("{");
  exits_.push_back(exit);
  indented(innermost.body());
  const Exit left = exits_.back();
  exits_.pop_back();
  line("}");
  if (left.used) {
    text_ += left.label + ":\n";
  }
  line("if (" + left.status + " != " + status_prefix_ + "OK) {");
  line("  #pragma omp atomic write");
  line("  status = " + left.status + ";");
  line("}");
  names_.close(std::move(outer));
  --depth_;
}

} // namespace tilewright
