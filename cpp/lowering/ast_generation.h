// The loops of a scheduled program: our own scan where all statements in a loop agree on its bounds
// (loop_scan.h), else isl's AST generator. What is scanned are the time points of each statement
// rather than its instances: the time space of a tiled statement needs no integer division, so isl
// is several times faster there, and the instance is recovered from the time point by the inverse
// of the time map, which is affine.
#pragma once

#include "lowering/block_instances.h"
#include "lowering/loop_scan.h"
#include "mapping/program.h"
#include "polyhedral/isl.h"

#include <optional>
#include <string>
#include <vector>

namespace tilewright {

struct GeneratedAst {
  /// Statements that share a loop, or might: isl's time grows fast with what it is asked at once.
  struct Part {
    std::vector<ScannedNode> loops;
    /// In place of `loops`, isl's; then not null. User nodes whose name is not a statement's stand
    /// for nothing.
    isl::ast_node root;
    /// The original time dimension of each scanned one; a `for` node's iterator is called
    /// "t<original dimension>". Left out are static dimensions that order no statements and loops
    /// that no statement has (fixed at 0).
    std::vector<int> dimensions;
  };
  std::vector<Part> parts; ///< one after the other
  /// For each statement: its iterators as quasi-affine functions of all time dimensions, of which
  /// its user node's arguments give the scanned ones; or empty when those arguments are the
  /// iterators themselves.
  std::vector<std::vector<isl::aff>> iterators;
  /// For each statement: the steps that are added to these, where a loop is over blocks.
  std::vector<BlockInstances> blocks;
};

/// The instance as quasi-affine functions of the loops, of `time`, instance -> loops; empty if
/// there are no single ones.
std::vector<isl::aff> affine_inverse(const isl::map &time);

/// How the iterations in which a buffer lives, and loops that run as one, are kept together. Each
/// makes worse loops than the one before, and is for what first_split_buffer (split_buffers.h) and
/// stand_beside_others (joined_loops.h) found in those.
enum class Together {
  Used,    ///< as far as anchors in the iterations that use a buffer do that
  Between, ///< by anchors in the iterations between these, too, and in loops that run as one
  Whole,   ///< the loops around the buffer are in one piece, under conditions
};

/// Throws Error(Limit) when isl needs too many operations.
GeneratedAst generate_ast(const Program &program, Together together = Together::Used);

} // namespace tilewright
