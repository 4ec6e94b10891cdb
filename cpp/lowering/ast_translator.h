// The way from isl's loops to the loop IR, as one class in three files: the loops (translate.cpp),
// what runs in them (translate_statements.cpp), and the memory that lives in them
// (translate_memory.cpp).
#pragma once

#include "analysis/gpu_kernels.h"
#include "lowering/ast_expressions.h"
#include "lowering/expressions.h"
#include "lowering/kernel_parts.h"
#include "lowering/translate.h"

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tilewright {

class AstTranslator {
public:
  AstTranslator(const Program &program, const GeneratedAst &ast, const LoweringOptions &options);
  Kernel run();

private:
  struct LoopLooks {
    std::string name;
    LoopTag tag;
    std::vector<std::pair<std::int64_t, std::int64_t>> prefetches;
  };

  // ---- kernels of a GPU ----

  bool in_kernel() const { return kernel_threads_.has_value(); }
  /// What `make` makes, as a kernel where it is one: a loop over blocks or threads, or what is on
  /// no GPU loop at all, for one thread.
  StmtPtr on_device(const std::vector<const Statement *> &below, const LoopTag &tag,
                    const std::function<StmtPtr()> &make, bool is_leaf = false);
  size_t position_of(const Statement &statement) const;
  /// Parts one after the other. `is_loop_body`: of a loop whose iterations are, too.
  StmtPtr sequence(std::vector<KernelPart> parts, bool is_loop_body);

  // ---- loops and conditions ----

  StmtPtr translate(const isl::ast_node &node, bool in_parallel);
  /// The children of a block node, or the node itself.
  StmtPtr translate_body(const isl::ast_node &node, bool in_parallel, bool is_loop_body);
  std::vector<size_t> positions_below(const isl::ast_node &node);
  StmtPtr translate(const std::vector<ScannedNode> &nodes, bool in_parallel,
                    bool is_loop_body = false);
  StmtPtr translate_node(const ScannedNode &node, bool in_parallel);
  StmtPtr translate_loop(const ScannedNode &node, bool in_parallel);
  /// The makers of a loop's body: whether a parallel loop is around, and whether the iterations of
  /// this one come one after the other.
  using MakeBody = std::function<StmtPtr(bool, bool)>;
  /// A loop of one iteration. Over blocks or threads it stays a loop, as it says who runs it.
  StmtPtr single_iteration(const std::string &key, int dimension, const LoopLooks &looks,
                           const std::vector<const Statement *> &below, const ValuePtr &value,
                           bool in_parallel, const MakeBody &body);
  /// Each outermost loop nest with its time taken.
  StmtPtr translate_timed(const isl::ast_node &node);
  StmtPtr translate_timed(const std::vector<ScannedNode> &nodes);
  /// What `loops` makes, as a nest whose time is taken.
  StmtPtr in_nest(const std::vector<const Statement *> &statements,
                  const std::function<StmtPtr()> &loops);
  StmtPtr translate_if(const isl::ast_node &node, bool in_parallel);
  /// The name and tag that the statements `below` give to the loop over time dimension `dimension`.
  /// A tag counts only where all statements that have this loop agree on it.
  LoopLooks looks_of(const std::vector<const Statement *> &below, int dimension) const;
  void add_prefetches(const Statement &statement, const std::string &loop, LoopLooks &looks) const;
  std::vector<const Statement *> statements_below(const isl::ast_node &node);
  StmtPtr translate_for(const isl::ast_node &node, bool in_parallel);
  /// for key in range(lower, upper, stride), for the time dimension `dimension`.
  StmtPtr make_loop(const std::string &key, int dimension, const LoopLooks &looks,
                    const ValuePtr &lower, const ValuePtr &upper, std::int64_t stride,
                    bool in_parallel, const MakeBody &body);
  // ---- translate_iterations.cpp ----

  /// Whether the loop over time dimension `dimension` ends when its data say so.
  bool ends_by_data(int dimension, const std::vector<const Statement *> &below) const;
  /// Iterations from `lower` to below `upper`, while none of them was the last.
  StmtPtr iterate(const std::string &key, int dimension, const LoopLooks &looks,
                  const ValuePtr &lower, const ValuePtr &upper, const MakeBody &body);
  /// `instance` where its iteration is made, which isl may have taken out of the loop; behind the
  /// test, with what it says.
  StmtPtr in_iteration(const Statement &statement,
                       const ExpressionTranslator::Environment &iterators, StmtPtr instance) const;
  /// The body with the number of the last iteration around it. Behind them, the parameter is how
  /// many were made.
  StmtPtr with_iterations(const StmtPtr &body);

  /// The exclusive upper bound of `iterator <= e` or `iterator < e`.
  ValuePtr upper_bound(const isl::ast_expr &condition, const std::string &iterator) const;

  // ---- translate_statements.cpp ----

  StmtPtr translate_user(const isl::ast_node &node);
  StmtPtr translate_scanned(size_t position);
  /// The value of a loop as a function of the instance.
  ValuePtr loop_of_instance(const Statement &statement, size_t level,
                            const ExpressionTranslator::Environment &iterators);
  /// The value of a loop that isl has left out, among those of the scanned dimensions.
  ValuePtr argument_of(size_t level, const std::vector<ValuePtr> &arguments) const;
  /// What `make` makes, in those loops over blocks and threads of the statement that isl has left
  /// out because they have one iteration: it is for the block, or thread, that has this one.
  StmtPtr in_own_loops(const Statement &statement,
                       const std::function<ValuePtr(size_t)> &value_of_loop,
                       const std::function<StmtPtr()> &make);
  static LoopKind kind_of(Tag tag);
  /// `inverse` is over all time dimensions; `arguments` are those of the scanned ones.
  ValuePtr recover(const Statement &statement, const isl::aff &inverse,
                   const std::vector<ValuePtr> &arguments) const;
  /// Of a fold: all states change at once.
  void translate_states(const Statement &statement, ExpressionTranslator &translator,
                        const std::vector<ValuePtr> &index);
  StmtPtr translate_instance(const Statement &statement,
                             const ExpressionTranslator::Environment &iterators);

  // ---- translate_memory.cpp ----

  void add_buffers(const LoweringOptions &options);
  /// Says where the buffers inside loops are, now that it is known which loops are on the GPU.
  void place_buffers();
  /// `body`, what runs in one iteration of the loop over time dimension `dimension` (-1: outside
  /// all loops), with the buffers that live there. isl leaves out loops of one iteration, so a
  /// buffer gets its memory in the innermost loop that is there, around all that has none yet.
  StmtPtr with_memory(int dimension, StmtPtr body) const;
  /// Whether a statement uses a buffer outside all allocations of it.
  static bool lacks_memory(const LoopStatement &statement, std::int64_t buffer);
  /// The scanned time dimension of the innermost loop outside which the buffer may live.
  int memory_dimension(const Buffer &buffer) const;

  const Program &program_;
  const GeneratedAst &ast_;
  std::vector<int> dimensions_; ///< of the part that is being translated
  Kernel kernel_;
  TranslationState state_;
  AstExpressions expressions_;
  std::map<std::string, size_t> statements_;
  std::optional<GpuKernels> gpu_;                             ///< of a program for a GPU
  std::optional<std::array<std::int64_t, 3>> kernel_threads_; ///< of the kernel around
  std::array<bool, 3> thread_axes_{}; ///< over which a loop in the kernel is around
  std::set<size_t> open_levels_;      ///< of loops over blocks and threads around
  size_t levels_ = 0;                 ///< loops around
  std::shared_ptr<const Local> last_; ///< iteration, as far as is known; null where none are made
  bool in_iterations_ = false;        ///< their loop is around
};

} // namespace tilewright
