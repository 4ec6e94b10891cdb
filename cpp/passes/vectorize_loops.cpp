#include "passes/vectorize_loops.h"

#include "loops/tile_extent.h"
#include "loops/traverse.h"

namespace tilewright {

namespace {

class Vectorizer {
public:
  Vectorizer(const StmtPtr &root, const VectorOptions &options)
      : options_(options), numbers_(root) {}

  StmtPtr operator()(const StmtPtr &statement) {
    const auto *loop = as<For>(statement);
    const bool tagged =
        loop != nullptr && (loop->loop == LoopKind::Vector || loop->loop == LoopKind::MaskedVector);
    return tagged ? vector_loop(*loop) : map_children(statement, *this);
  }

private:
  StmtPtr vector_loop(const For &loop) {
    const auto lower = linear_of(loop.lower);
    const auto upper = linear_of(loop.upper);
    const auto extent = lower && upper ? combine(*upper, *lower, -1) : std::nullopt;
    const bool constant = extent && extent->is_constant();
    const bool full = constant && extent->constant == loop.factor;
    if (loop.factor >= 2 && fits_factor(loop)) {
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
};

} // namespace

StmtPtr vectorize_loops(const StmtPtr &body, const VectorOptions &options) {
  return Vectorizer(body, options)(body);
}

} // namespace tilewright
