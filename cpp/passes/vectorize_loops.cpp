#include "passes/vectorize_loops.h"

#include "loops/enclosing_loops.h"
#include "loops/tile_extent.h"
#include "loops/traverse.h"

#include <utility>
#include <vector>

namespace tilewright {

namespace {

class Vectorizer {
public:
  Vectorizer(const StmtPtr &root, const VectorOptions &options, const Ranges &known)
      : options_(options), numbers_(root), around_(known) {}

  StmtPtr operator()(const StmtPtr &statement) {
    const auto *loop = as<For>(statement);
    const bool tagged =
        loop != nullptr && (loop->loop == LoopKind::Vector || loop->loop == LoopKind::MaskedVector);
    if (tagged) {
      return vector_loop(*loop);
    }
    if (loop == nullptr) {
      return with_joined_tests(map_children(statement, *this));
    }
    around_.enter(*loop);
    StmtPtr result = map_children(statement, *this);
    around_.leave(*loop);
    return result;
  }

private:
  /// Vector loops beside each other that have an iteration if the same holds stand in one test.
  static StmtPtr with_joined_tests(const StmtPtr &statement) {
    const auto *sequence = as<Block>(statement);
    if (sequence == nullptr) {
      return statement;
    }
    std::vector<StmtPtr> joined;
    for (const StmtPtr &child : sequence->children) {
      const If *before = joined.empty() ? nullptr : as<If>(joined.back());
      const auto *test = as<If>(child);
      if (before != nullptr && test != nullptr && !before->has_otherwise() &&
          !test->has_otherwise() && same_value(before->condition, test->condition) &&
          is_index_test(test->condition)) {
        joined.back() = if_then(test->condition, block({before->then(), test->then()}));
      } else {
        joined.push_back(child);
      }
    }
    return joined.size() < sequence->children.size() ? block(std::move(joined)) : statement;
  }

  /// No statement changes what such a test says.
  static bool is_index_test(const ValuePtr &test) {
    const auto *compared = as<Binary>(test);
    return compared != nullptr && is_comparison(compared->op) && is_index(compared->left()) &&
           is_index(compared->right());
  }

  StmtPtr vector_loop(const For &loop) {
    const auto lower = linear_of(loop.lower);
    const auto upper = linear_of(loop.upper);
    const auto extent = lower && upper ? combine(*upper, *lower, -1) : std::nullopt;
    const bool constant = extent && extent->is_constant();
    const bool full = constant && extent->constant == loop.factor;
    if (loop.factor >= 2 && fits_factor(loop, around_.ranges())) {
      if (StmtPtr vector =
              vector_body(loop, static_cast<int>(loop.factor), !full, options_, numbers_)) {
        return vector;
      }
    }
    return for_loop(loop.id, loop.name, loop.lower, loop.upper, LoopKind::Serial, 0,
                    (*this)(loop.body()));
  }

  VectorOptions options_;
  Numbers numbers_;
  EnclosingLoops around_;
};

} // namespace

StmtPtr vectorize_loops(const StmtPtr &body, const VectorOptions &options, const Ranges &known) {
  return Vectorizer(body, options, known)(body);
}

} // namespace tilewright
