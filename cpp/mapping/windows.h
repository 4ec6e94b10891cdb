// Sliding windows: a computation that runs inside a loop of its reader (compute_at) and is stored
// outside of that loop (store_at) need not make again what earlier iterations have made. An
// iteration makes what is read in it first; what nobody reads any more makes room in the buffer.
// Halide has both (sliding window optimisation, storage folding).
#pragma once

#include "polyhedral/isl.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace tilewright {

/// [d0, ..., d(levels-1)] -> computation[iterators], the elements that are read in each iteration
/// of loops: those of them that no earlier iteration reads, of iterations that agree in the `anew`
/// outermost loops. Nothing if isl does not find them soon.
std::optional<isl::map> first_read(const isl::map &needed, size_t anew);

/// The numbers, by dimension of a computation, modulo which that dimension alone can be kept; 0 if
/// there is none. They are the smallest ones: two elements that agree in the other dimensions get
/// different places if each is read in some iteration from the one in which the other is read first
/// to the one in which it is read last. `needed` as above, one buffer for each iteration of the
/// `kept` outermost loops. The loops inside of those run in order.
std::vector<std::int64_t> folds_of_window(const isl::map &needed, size_t kept,
                                          const isl::set &context);

} // namespace tilewright
