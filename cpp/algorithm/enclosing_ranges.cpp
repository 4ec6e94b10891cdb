#include "algorithm/enclosing_ranges.h"

#include "algorithm/affine.h"
#include "algorithm/function.h"
#include "polyhedral/interruption.h"

#include <algorithm>
#include <set>

namespace tilewright {

bool reads_data(const ExprPtr &bound) {
  bool found = false;
  visit(bound, [&](const ExprPtr &node) {
    found = found || node->kind == ExprKind::Access || node->kind == ExprKind::While ||
            node->kind == ExprKind::State || node->kind == ExprKind::Extern ||
            node->kind == ExprKind::Checked;
  });
  return found;
}

namespace {

/// The dimensions read at `iterator` itself by every instance of an expression.
class DirectReads {
public:
  DirectReads(const std::string &iterator, bool in_terms)
      : iterator_(iterator), in_terms_(in_terms) {}

  void walk(const ExprPtr &node) {
    if (!seen_.insert(node.get()).second) {
      return;
    }
    count_visit();
    switch (node->kind) {
    case ExprKind::Access:
      for (size_t d = 0; d < node->operands.size(); ++d) {
        const Expr &subscript = *node->operands[d];
        if (subscript.kind == ExprKind::Iterator && subscript.name == iterator_) {
          add(*node->producer, d);
        }
      }
      break;
    case ExprKind::Select: // its branches may not run
      walk(node->operands[0]);
      return;
    case ExprKind::Reduce: // may be over nothing
      if (in_terms_ && node->op != Op::ReduceFold) {
        walk(node->operands[0]);
      }
      return;
    case ExprKind::While:
      for (const ExprPtr &value : while_parts(*node).initial) {
        walk(value);
      }
      return;
    default:
      break;
    }
    for (const ExprPtr &operand : node->operands) {
      walk(operand);
    }
  }

  std::vector<ExprPtr> lowers; ///< each a bound from below, inclusive
  std::vector<ExprPtr> uppers; ///< exclusive

private:
  void add(const Computation &producer, size_t dimension) {
    if (producer.is_input) {
      add_once(lowers, constant(std::int64_t{0}, Int64));
      add_once(uppers, cast(producer.extents[dimension], Int64));
      return;
    }
    const auto d = static_cast<int>(dimension);
    const char *doing = "the range of a reduction";
    const isl::set domain = producer.domain.intersect_params(producer.context);
    const isl::pw_aff least = checked(domain.dim_min(d).coalesce(), doing);
    const isl::pw_aff most = checked(domain.dim_max(d).add_constant(1L).coalesce(), doing);
    add_once(lowers, from_affine(least, {}));
    add_once(uppers, from_affine(most, {}));
  }

  static void add_once(std::vector<ExprPtr> &bounds, const ExprPtr &bound) {
    const std::string text = to_string(bound);
    if (std::none_of(bounds.begin(), bounds.end(),
                     [&](const ExprPtr &known) { return to_string(known) == text; })) {
      bounds.push_back(bound);
    }
  }

  const std::string &iterator_;
  bool in_terms_;
  std::set<const Expr *> seen_;
};

ExprPtr joined(Op op, const std::vector<ExprPtr> &bounds) {
  ExprPtr result = bounds.front();
  for (size_t b = 1; b < bounds.size(); ++b) {
    result = binary(op, result, bounds[b]);
  }
  return result;
}

[[noreturn]] void refuse(const std::string &owner, const ReduceRange &range) {
  const std::string &name = range.iterator;
  const std::string lower = to_string(range.lower);
  const std::string upper = to_string(range.upper);
  std::string data;
  for (const ExprPtr &bound : {range.lower, range.upper}) {
    if (reads_data(bound)) {
      data += (data.empty() ? "" : " and ") + to_string(bound);
    }
  }
  throw Error(ErrorKind::Declaration,
              "the range of " + name + " in " + owner + " is not affine: it reads " + data +
                  ", and no array that is read at " + name +
                  " itself in each of its points says between which numbers " + name +
                  " lies; give that range and compare: " +
                  (owner.starts_with("the domain") ? "{" : "over={") + name +
                  ": (first, past_last)}, where=(" + lower + " <= " + name + ") & (" + name +
                  " < " + upper + ")");
}

} // namespace

EnclosedRanges enclose_ranges(const std::string &owner, const std::vector<ReduceRange> &ranges,
                              const std::vector<ExprPtr> &bodies, const ExprPtr &condition,
                              bool in_terms) {
  EnclosedRanges result{ranges, condition};
  const auto restrict_by = [&](const ExprPtr &test) {
    result.condition = result.condition ? binary(Op::And, test, result.condition) : test;
  };
  for (size_t r = ranges.size(); r-- > 0;) {
    const ReduceRange &given = ranges[r];
    const bool by_lower = given.lower && reads_data(given.lower);
    const bool by_upper = given.upper && reads_data(given.upper);
    if (!by_lower && !by_upper) {
      continue;
    }
    DirectReads reads(given.iterator, in_terms);
    for (const ExprPtr &body : bodies) {
      reads.walk(body);
    }
    if (reads.uppers.empty()) {
      refuse(owner, given);
    }
    const ExprPtr counter = iterator(given.iterator);
    if (by_upper) {
      restrict_by(binary(Op::Lt, counter, given.upper));
    } else {
      reads.uppers = {given.upper};
    }
    if (by_lower) {
      if (given.step != 1) {
        const ExprPtr rest =
            binary(Op::Mod, binary(Op::Sub, counter, given.lower), constant(given.step, Int64));
        restrict_by(binary(Op::Eq, rest, constant(std::int64_t{0}, Int64)));
      }
      restrict_by(binary(Op::Le, given.lower, counter));
    } else {
      reads.lowers = {given.lower};
    }
    result.ranges[r] = {given.iterator, joined(Op::Max, reads.lowers),
                        joined(Op::Min, reads.uppers), by_lower ? 1 : given.step};
  }
  return result;
}

} // namespace tilewright
