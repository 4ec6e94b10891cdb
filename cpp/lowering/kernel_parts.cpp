#include "lowering/kernel_parts.h"

#include "loops/build.h"
#include "loops/gpu_queries.h"

#include <utility>

namespace tilewright {

namespace {

/// Whether something in `statement` surely runs: its first (last) part.
bool surely_runs(const LoopStatement &statement, bool last) {
  switch (statement.kind) {
  case StatementKind::Block:
    return !statement.children.empty() &&
           surely_runs(last ? *statement.children.back() : *statement.children.front(), last);
  case StatementKind::For: {
    const auto &loop = cast<For>(statement);
    const auto lower = as_integer(loop.lower);
    const auto upper = as_integer(loop.upper);
    return lower && upper && *lower < *upper && surely_runs(*loop.body(), last);
  }
  case StatementKind::Allocate:
  case StatementKind::Timed:
    return surely_runs(*statement.children[0], last);
  case StatementKind::If:
  case StatementKind::While:
    return false;
  default:
    return true;
  }
}

/// Whether a barrier is the first (last) that every thread comes to in `statement`, whenever
/// anything in it runs at all.
bool has_barrier_at(const LoopStatement &statement, bool last) {
  switch (statement.kind) {
  case StatementKind::Barrier:
    return true;
  case StatementKind::Block: {
    if (statement.children.empty()) {
      return false;
    }
    const LoopStatement &child = last ? *statement.children.back() : *statement.children.front();
    // Beside others, which may run where it does not.
    return has_barrier_at(child, last) &&
           (statement.children.size() == 1 || surely_runs(child, last));
  }
  case StatementKind::For:
    if (last && has_combined_updates(statement.children[0])) {
      return false; // what its threads put together is written after the loop
    }
    return !is_gpu(cast<For>(statement).loop) && has_barrier_at(*statement.children[0], last);
  case StatementKind::If:
    return statement.children.size() == 1 && has_barrier_at(*statement.children[0], last);
  case StatementKind::Allocate:
  case StatementKind::Timed:
    return has_barrier_at(*statement.children[0], last);
  default:
    return false;
  }
}

/// A pair of statements for which threads must wait, if there is one.
std::optional<std::pair<size_t, size_t>> waiting_pair(const GpuKernels &kernels,
                                                      const KernelPart &first,
                                                      const KernelPart &second, size_t levels,
                                                      bool carried, bool with_stages) {
  for (const size_t a : first.statements) {
    for (const size_t b : second.statements) {
      if (kernels.must_wait(a, b, levels, carried, with_stages)) {
        return std::make_pair(a, b);
      }
    }
  }
  return std::nullopt;
}

} // namespace

StmtPtr with_barriers(const GpuKernels &kernels, const std::vector<KernelPart> &parts,
                      size_t levels, bool is_loop_body) {
  const size_t count = parts.size();
  // before[p]: a barrier stands before part p; the entry behind the last is the end.
  std::vector<bool> before(count + 1, false);
  // A part that may not run at all has barriers for itself, but not for those around it.
  std::vector<bool> inside_end(count);
  std::vector<bool> inside_start(count);
  for (size_t p = 0; p < count; ++p) {
    inside_start[p] = has_barrier_at(*parts[p].loops, false);
    inside_end[p] = has_barrier_at(*parts[p].loops, true);
  }
  size_t since = 0; // parts before this one need no barrier any more
  for (size_t second = 0; second < count; ++second) {
    if (inside_start[second]) {
      if (surely_runs(*parts[second].loops, false)) {
        since = second;
      }
      continue;
    }
    for (size_t first = since; first < second; ++first) {
      if (inside_end[first]) {
        if (surely_runs(*parts[first].loops, true)) {
          since = first + 1;
        }
        continue;
      }
      if (waiting_pair(kernels, parts[first], parts[second], levels, false, false)) {
        before[second] = true;
        since = second;
        break;
      }
    }
  }
  if (is_loop_body) {
    const auto served = [&](size_t first, size_t second) {
      bool found = inside_end[first] || inside_start[second];
      for (size_t gap = 0; gap < count; ++gap) {
        found = found || (before[gap] && (gap > first || gap <= second));
      }
      return found;
    };
    for (size_t first = 0; first < count && !before[count]; ++first) {
      for (size_t second = 0; second < count && !before[count]; ++second) {
        before[count] = !served(first, second) &&
                        waiting_pair(kernels, parts[first], parts[second], levels - 1, true, false);
      }
    }
  }
  std::vector<StmtPtr> children;
  for (size_t p = 0; p < count; ++p) {
    if (before[p]) {
      children.push_back(barrier());
    }
    children.push_back(parts[p].loops);
  }
  if (before[count]) {
    children.push_back(barrier());
  }
  return block(std::move(children));
}

void require_no_barriers(const GpuKernels &kernels, const Program &program,
                         const std::vector<KernelPart> &parts, size_t levels, bool is_loop_body) {
  const auto refuse = [&](const std::pair<size_t, size_t> &pair) {
    const Statement &writer = program.statements[pair.first];
    const Statement &reader = program.statements[pair.second];
    throw Error(ErrorKind::Schedule,
                "threads must wait for each other between " + writer.name + " and " + reader.name +
                    ", but both stand inside of a loop over some of the threads only; bring the "
                    "loops over threads together (reorder), with what is between them outside",
                reader.mapped_at);
  };
  for (size_t second = 0; second < parts.size(); ++second) {
    for (size_t first = 0; first < parts.size(); ++first) {
      if (first < second) {
        if (const auto pair =
                waiting_pair(kernels, parts[first], parts[second], levels, false, true)) {
          refuse(*pair);
        }
      }
      if (is_loop_body) {
        if (const auto pair =
                waiting_pair(kernels, parts[first], parts[second], levels - 1, true, true)) {
          refuse(*pair);
        }
      }
    }
  }
}

} // namespace tilewright
