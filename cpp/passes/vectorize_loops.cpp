#include "passes/vectorize_loops.h"

#include "loops/enclosing_loops.h"
#include "loops/tile_extent.h"
#include "loops/traverse.h"

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
      return map_children(statement, *this);
    }
    around_.enter(*loop);
    StmtPtr result = map_children(statement, *this);
    around_.leave(*loop);
    return result;
  }

private:
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
