#include "analysis/work_counts.h"

#include "algorithm/block.h"
#include "algorithm/instance_walk.h"
#include "mapping/accesses.h"
#include "polyhedral/count_points.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace tilewright {

namespace {

/// What one instance of a set of instances does.
struct Tally {
  isl::set instances;
  std::int64_t flops = 0;
  std::int64_t integer_operations = 0;
  std::int64_t loaded = 0;
  std::set<const Expr *> seen = {}; ///< a value that is used twice is computed once
};

std::int64_t flops_of(Op op, ScalarType type) {
  constexpr std::int64_t of_modulus = 4;
  constexpr std::int64_t of_sum = 2;
  constexpr std::int64_t of_product = 6;
  constexpr std::int64_t of_quotient = 11;
  if (type.is_complex()) {
    switch (op) {
    case Op::Abs:
      return of_modulus;
    case Op::Add:
    case Op::Sub:
      return of_sum;
    case Op::Mul:
      return of_product;
    case Op::TrueDiv:
      return of_quotient;
    default:
      break;
    }
  }
  return operation(op).flops;
}

class InstanceTally {
public:
  explicit InstanceTally(const Statement &statement) {
    tallies_.push_back({statement.domain});
    tally_of_.emplace(statement.domain.get(), 0);
    InstanceWalk walk;
    walk.name = statement.name;
    walk.tells_certain = false;
    walk.into_affine_conditions = false;
    walk.visit = [&](const InstanceNode &at) { return count(at); };
    walk.terms = [&](const Expr &reduce, const isl::set &terms) {
      // One combination for each term; that of a fold is counted as it is written.
      if (reduce.op != Op::ReduceFold && !is_part(reduce)) {
        operation(reduction_combiner(reduce.op), reduce.operands.front()->type, tally_of(terms));
      }
    };
    if (statement.predicate) {
      walk({statement.predicate}, statement.domain, statement.iterators);
      is_exact_ = false; // it may leave instances out
    }
    walk(values_of(statement), statement.domain, statement.iterators);
    if (statement.role == StatementRole::Update) {
      if (statement.states.empty()) {
        operation(statement.combine, statement.computation->type, 0);
        tallies_[0].loaded += statement.computation->type.bytes();
      }
      for (const FoldState &state : statement.states) {
        tallies_[0].loaded += state.state->type.bytes();
      }
    }
  }

  const std::vector<Tally> &tallies() const { return tallies_; }
  bool is_exact() const { return is_exact_; }

private:
  void operation(Op op, ScalarType type, size_t at) {
    if (type.is_floating() || type.is_complex()) {
      tallies_[at].flops += flops_of(op, type);
    } else if (type.is_integer()) {
      tallies_[at].integer_operations += flops_of(op, type);
    }
  }

  /// Reads in a subscript count, its arithmetic does not.
  void walk_subscript(const ExprPtr &node, size_t at) {
    visit(node, [&](const ExprPtr &part) {
      if (part->kind == ExprKind::Access && tallies_[at].seen.insert(part.get()).second) {
        tallies_[at].loaded += part->producer->type.bytes();
      }
    });
  }

  size_t tally_of(const isl::set &instances) {
    const auto [found, is_new] = tally_of_.emplace(instances.get(), tallies_.size());
    if (is_new) {
      tallies_.push_back({instances}); // which keeps the address
    }
    return found->second;
  }

  bool count(const InstanceNode &at) {
    const Expr &node = *at.node;
    const size_t tally = tally_of(at.domain);
    if (!tallies_[tally].seen.insert(&node).second) {
      return false;
    }
    switch (node.kind) {
    case ExprKind::Access:
      tallies_[tally].loaded += node.producer->type.bytes();
      for (const ExprPtr &subscript : node.operands) {
        walk_subscript(subscript, tally);
      }
      return false;
    case ExprKind::Select: {
      const bool differ = node.operands[1]->kind != ExprKind::Constant ||
                          node.operands[2]->kind != ExprKind::Constant;
      is_exact_ = is_exact_ && (at.is_affine || !differ);
      return true;
    }
    case ExprKind::Reduce:
      is_exact_ = is_exact_ && !node.predicate;
      return true;
    case ExprKind::While:
      is_exact_ = false; // its iterations are not known: one
      return true;
    case ExprKind::Unary:
    case ExprKind::Binary:
    case ExprKind::Call:
      if (node.op != Op::None && !is_comparison(node.op)) {
        operation(node.op, node.type, tally);
      }
      return true;
    default:
      return true;
    }
  }

  std::vector<Tally> tallies_;
  std::map<const isl_set *, size_t> tally_of_; ///< by the address of its instances
  bool is_exact_ = true;
};

class WorkCounter {
public:
  WorkCounter(const Program &program, const std::vector<const Statement *> &part,
              const std::map<std::string, std::int64_t> &parameters)
      : program_(program), part_(part), parameters_(parameters) {}

  WorkCounts count() {
    for (const Statement *statement : part_) {
      const isl::set made = at_values(defined_value(*statement).range());
      const auto [known, is_first] = made_here_.emplace(statement->computation->name, made);
      if (!is_first) {
        known->second = known->second.unite(made).coalesce();
      }
    }
    for (const Statement *statement : part_) {
      count_accesses(*statement);
      collect_elements(*statement);
    }
    counts_.read = bytes_of(read_, true);
    counts_.written = bytes_of(written_, false);
    return counts_;
  }

private:
  std::int64_t points(const isl::set &set) {
    const auto count = count_points(at_parameters(set, parameters_));
    counts_.is_known = counts_.is_known && count.has_value();
    return count.value_or(0);
  }

  void add_product(std::int64_t &sum, std::int64_t a, std::int64_t b) {
    std::int64_t product = 0;
    if (__builtin_mul_overflow(a, b, &product) || __builtin_add_overflow(sum, product, &sum)) {
      counts_.is_known = false;
    }
  }

  void count_accesses(const Statement &statement) {
    const InstanceTally tally(statement);
    counts_.is_exact = counts_.is_exact && tally.is_exact();
    bool first = true;
    for (const Tally &one : tally.tallies()) {
      const bool counts = first || one.flops + one.integer_operations + one.loaded > 0;
      const std::int64_t instances = counts ? points(one.instances) : 0;
      add_product(counts_.flops, instances, one.flops);
      add_product(counts_.integer_operations, instances, one.integer_operations);
      add_product(counts_.loaded, instances, one.loaded);
      if (first) {
        add_product(counts_.instances, instances, 1);
        add_product(counts_.stored, instances, statement.computation->type.bytes());
      }
      first = false;
    }
  }

  void collect(std::map<size_t, isl::set> &into, size_t buffer, isl::set elements) {
    if (program_.buffers.at(buffer).level > 0) {
      return; // lives and dies inside
    }
    const auto found = into.find(buffer);
    if (found == into.end()) {
      into.emplace(buffer, std::move(elements));
    } else {
      found->second = found->second.unite(elements).coalesce();
    }
  }

  void collect_elements(const Statement &statement) {
    for (const ReadAccess &read : read_accesses(statement)) {
      counts_.is_exact = counts_.is_exact && read.exact && read.certain;
      isl::set elements = at_values(read.relation.range());
      if (const auto made = made_here_.find(read.producer->name); made != made_here_.end()) {
        elements = checked(elements.subtract(made->second), "elements from elsewhere");
        if (checked(elements.is_empty(), "elements from elsewhere")) {
          continue;
        }
      }
      const Program::Place &place = program_.places.at(read.producer->name);
      collect(read_, place.buffer, elements.apply(at_values_of(place.relation)));
    }
    collect(written_, statement.buffer, at_values(written_element(program_, statement).range()));
  }

  isl::set at_values(const isl::set &set) const { return at_parameters(set, parameters_); }
  isl::map at_values_of(const isl::map &map) const {
    return checked(isl::manage(isl_set_unwrap(at_values(map.wrap()).release())), "elements");
  }

  std::int64_t bytes_of(const std::map<size_t, isl::set> &elements, bool is_read) {
    std::int64_t sum = 0;
    for (const auto &[buffer, set] : elements) {
      const std::int64_t size = program_.buffers.at(buffer).type.bytes();
      std::int64_t bytes = 0;
      add_product(bytes, points(set), size);
      add_product(sum, bytes, 1);
    }
    // Of what data choose, there are no more elements than accesses.
    return counts_.is_exact || !is_read ? sum : std::min(sum, counts_.loaded);
  }

  const Program &program_;
  const std::vector<const Statement *> &part_;
  const std::map<std::string, std::int64_t> &parameters_;
  std::map<std::string, isl::set> made_here_; ///< of each computation
  std::map<size_t, isl::set> read_;
  std::map<size_t, isl::set> written_;
  WorkCounts counts_;
};

} // namespace

WorkCounts count_work(const Program &program, const std::vector<const Statement *> &part,
                      const std::map<std::string, std::int64_t> &parameters) {
  return WorkCounter(program, part, parameters).count();
}

} // namespace tilewright
