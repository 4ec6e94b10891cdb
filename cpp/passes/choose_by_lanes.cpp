#include "passes/choose_by_lanes.h"

#include "loops/index_tests.h"
#include "loops/summing_loops.h"
#include "loops/traverse.h"

#include <algorithm>
#include <vector>

namespace tilewright {

namespace {

/// Nothing but comparisons of index values?
bool is_of_indices(const ValuePtr &test) {
  const auto *binary = as<Binary>(test);
  if (binary != nullptr && (binary->op == Op::And || binary->op == Op::Or)) {
    return is_of_indices(binary->left()) && is_of_indices(binary->right());
  }
  return is_index_test(test);
}

class Choices {
public:
  Choices(const StmtPtr &root, int masked_bytes) : numbers_(root), masked_bytes_(masked_bytes) {}

  StmtPtr operator()(const StmtPtr &statement) {
    const auto *loop = as<For>(statement);
    if (loop == nullptr) {
      const auto *test = as<If>(statement);
      if (test == nullptr || !is_choice(*test)) {
        return map_children(statement, *this);
      }
      const std::int64_t id = numbers_.next();
      return block(
          {declare_local(id, "holds", test->condition),
           if_then(local(id, "holds", test->condition->type), test->then(), test->otherwise())});
    }
    around_.push_back(loop);
    StmtPtr result = map_children(statement, *this);
    around_.pop_back();
    return result;
  }

private:
  bool is_choice(const If &test) const {
    const auto *then = as<AssignLocal>(test.then());
    const auto *otherwise = test.has_otherwise() ? as<AssignLocal>(test.otherwise()) : nullptr;
    return then != nullptr && otherwise != nullptr && then->id == otherwise->id &&
           !around_.empty() && around_.back()->loop == LoopKind::Vector &&
           is_of_indices(test.condition) && is_summed_over(test.condition) &&
           can_be_masked(then->value) && can_be_masked(otherwise->value);
  }

  /// Does the test differ between the iterations of a loop over which the vector loop sums up?
  bool is_summed_over(const ValuePtr &test) const {
    const For &lanes = *around_.back();
    return std::any_of(around_.begin(), around_.end() - 1, [&](const For *loop) {
      return (loop->loop == LoopKind::Serial || loop->loop == LoopKind::Unrolled) &&
             mentions(test, loop->id) && accumulates(lanes.body(), loop->id);
    });
  }

  bool can_be_masked(const ValuePtr &root) const {
    bool possible = true;
    visit_value(root, [&](const Value &value) {
      if (const auto *load = as<Load>(value)) {
        const auto subscripts = load->subscripts();
        const bool differs =
            std::any_of(subscripts.begin(), subscripts.end(), [&](const ValuePtr &subscript) {
              return mentions(subscript, around_.back()->id);
            });
        const int bytes = load->type.scalar.is_bool() ? 1 : load->type.scalar.bytes();
        possible = possible && differs && masked_bytes_ > 0 && bytes >= masked_bytes_ &&
                   !load->type.scalar.is_complex();
      }
    });
    return possible;
  }

  Numbers numbers_;
  int masked_bytes_;
  std::vector<const For *> around_;
};

} // namespace

StmtPtr choose_by_lanes(const StmtPtr &body, int masked_bytes) {
  return Choices(body, masked_bytes)(body);
}

} // namespace tilewright
