// A mapping as canonical text: two with the same text, of the same function, lower to the same
// loops. What keys of caches hold of it, and how mappings are compared.
#pragma once

#include "algorithm/canonical_writer.h"
#include "mapping/mapping.h"

#include <string>

namespace tilewright {

void write_state(CanonicalWriter &out, const MappingState &state);

/// The text of the state alone: a line for each field.
std::string to_string(const MappingState &state);

/// Whether two mappings of one function have the same loops and memory, however they were made.
bool same_mapping(const MappingState &a, const MappingState &b);

} // namespace tilewright
