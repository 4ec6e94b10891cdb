// Packed triangles: store_in("buffer[i*(i+1)//2 + j]") keeps the elements 0 <= j <= i of a triangle
// row by row, without room for the others (LAPACK's packed storage, Anderson et al., "LAPACK Users'
// Guide", section "Packed Storage"). The address is no affine function, and is one to one on the
// triangle: legality sees the element [i, j], and only the address is packed.
#pragma once

#include "mapping/command_arguments.h"

#include <optional>
#include <string>
#include <vector>

namespace tilewright {

/// "buffer[b, i, j]" of a place "buffer[b, i*(i+1)//2 + j]"; nothing for other places.
std::optional<std::string> unpacked_place(const std::string &place);

/// Of a packed buffer, the sizes with those of the last dimension, "N*(N+1)//2", unpacked.
std::vector<std::string> unpacked_sizes(const Command &command,
                                        const std::vector<std::string> &sizes);

/// Makes the storage of the command's computation, whose elements are in [..., i, j], packed.
/// Refuses elements outside of the triangle, and arrays of the caller.
void pack(MappingState &state, const Command &command, const isl::set &elements, bool is_callers);

/// The address of the last two indices, and the number of elements that so many rows have.
void pack_index(std::vector<ExprPtr> &index);
void pack_extents(std::vector<ExprPtr> &extents);

} // namespace tilewright
