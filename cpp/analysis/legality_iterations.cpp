// The loop of a function that iterates until its data say so (algorithm/convergence.h): its test is
// a control dependence of all later iterations, and of what comes after the loop.
#include "algorithm/convergence.h"
#include "analysis/happens_before.h"
#include "analysis/legality_checker.h"

#include <isl/aff.h>
#include <isl/map.h>

#include <algorithm>

namespace tilewright {

namespace {

constexpr const char *doing_legality_iterations = "iterations until a condition holds";

/// test[t] -> the instances of the statement in later iterations; in all, of a statement behind the
/// loop.
isl::map decided_by(const Statement &test, const Statement &statement, bool is_iterated) {
  isl::map pairs = isl::map::from_domain_and_range(test.domain, statement.domain);
  if (is_iterated) {
    // Its own iteration stands behind those of the loops in which it is computed anew.
    isl_map *ordered = isl_map_order_lt(pairs.release(), isl_dim_in, 0, isl_dim_out,
                                        static_cast<int>(statement.replicas));
    pairs = isl::manage(ordered);
  }
  return checked(pairs, doing_legality_iterations);
}

/// Whether the outermost loop is over the iterations themselves, in order.
bool runs_in_order(const Statement &statement) {
  if (statement.loop_names.empty() || statement.tags.front().tag != Tag::Sequential ||
      statement.tags.front().counts != 0) {
    return false;
  }
  isl_local_space *local = isl_local_space_from_space(isl_set_get_space(statement.domain.get()));
  const isl::pw_aff iteration = isl::manage(isl_pw_aff_var_on_domain(local, isl_dim_set, 0));
  const isl::set same = statement.loops.front().eq_set(iteration);
  return checked(statement.domain.is_subset(same), doing_legality_iterations);
}

/// The test is asked once in an iteration, by nobody beside others: loops inside of the iterations'
/// own are places of its one instance.
bool is_alone(const Statement &test) {
  return std::all_of(test.tags.begin(), test.tags.end(),
                     [](const LoopTag &tag) { return tag == LoopTag{}; });
}

bool mentions_parameter(const ExprPtr &extent, const std::string &name) {
  bool found = false;
  visit(extent, [&](const ExprPtr &node) {
    found = found || (node->kind == ExprKind::Parameter && node->name == name);
  });
  return found;
}

} // namespace

void LegalityChecker::check_iterations() {
  const Function &function = *program_.function;
  if (!function.stop) {
    return;
  }
  const std::string &count = function.stop->parameter;
  std::vector<const Statement *> tests;
  for (const Statement &statement : program_.statements) {
    if (statement.computation->name == function.stop->test->name) {
      tests.push_back(&statement);
    }
  }
  if (tests.empty()) {
    throw Error(ErrorKind::Schedule,
                function.stop->test->name + " says when the iterations end, so it has to be a " +
                    "computation of its own and cannot be inlined",
                function.stop->where);
  }
  for (const Statement &statement : program_.statements) {
    const std::vector<ExprPtr> &extents = program_.buffers[statement.buffer].extents;
    if (std::any_of(extents.begin(), extents.end(),
                    [&](const ExprPtr &extent) { return mentions_parameter(extent, count); })) {
      report(
          Violation::Kind::Overwrite, *tests.front(), statement,
          decided_by(*tests.front(), statement, true),
          "the buffer " + program_.buffers[statement.buffer].name +
              " has the number of iterations, " + count +
              ", in its shape, which nobody knows before they are made; keep the latest ones, as " +
              statement.computation->name + ".storage_fold does, in one transaction with this");
      return;
    }
  }
  const int place = tests.front()->order.front();
  for (const Statement &statement : program_.statements) {
    const bool is_iterated = tilewright::is_iterated(function, *statement.computation);
    const bool in_loop = statement.order.front() == place;
    if (!is_iterated && !uses_count(function, *statement.computation) && !in_loop) {
      continue;
    }
    for (const Statement *test : tests) {
      const isl::map pairs = decided_by(*test, statement, is_iterated);
      for (const UnorderedPairs &wrong : not_before(program_, *test, statement, pairs)) {
        report(Violation::Kind::Order, *test, statement, wrong.pairs,
               statement.name + " runs before " + test->name +
                   (is_iterated ? " has said whether its iteration is made"
                                : " has said which iteration is the last"));
        return;
      }
      const bool fits = is_iterated ? in_loop && runs_in_order(statement) &&
                                          (&statement != test || is_alone(*test))
                                    : !in_loop;
      if (!fits && !checked(pairs.is_empty(), doing_legality_iterations)) {
        report(Violation::Kind::Order, *test, statement, pairs,
               "the loop that ends when " + test->name +
                   " holds has to be the outermost one of all that is computed in it, over " +
                   test->iterators.front() + " itself and in order, and of nothing else; " +
                   statement.name + " would have it otherwise");
        return;
      }
    }
  }
}

} // namespace tilewright
