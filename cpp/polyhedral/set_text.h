// Sets as text, the way the papers write them: reading them with parameters that need not be listed
// first, and showing only the part of a set that a person reads. All of a text is read, or it is
// refused with the column: isl itself stops behind the first closing brace.
#pragma once

#include "polyhedral/isl.h"

#include <string>

namespace tilewright {

/// Whether `name` is an identifier that isl's notation can hold: letters, digits and underscores,
/// no reserved word.
bool is_isl_identifier(const std::string &name);

/// Reads all of a text as one set, or one map; null, and why in `problem`, where that cannot be.
/// Names that are neither dimensions nor quantified become parameters when the text does not open
/// with "[...] ->". Throws Error(Limit) only.
isl::set parse_set(const std::string &text, std::string &problem);
isl::map parse_map(const std::string &text, std::string &problem);
/// As many sets, or maps, as there are.
isl::union_set parse_union_set(const std::string &text, std::string &problem);
isl::union_map parse_union_map(const std::string &text, std::string &problem);

/// "column 7", or "line 2, column 3" of a text with several lines: where a name first stands in a
/// text; "" where it does not.
std::string place_of_word(const std::string &text, const std::string &name);

/// Reads "{ C[i,j] : 0 <= i < N }" as parse_set does, or throws Error(Declaration); `what` names
/// the thing that is read.
isl::set read_set(const std::string &text, const std::string &what, const SourceLocation &where);

/// A parameter set: "[N] -> { : N > 3 }", or "N > 3" alone.
isl::set read_parameter_set(const std::string &text, const std::string &what,
                            const SourceLocation &where);

/// The constraints of a set without tuple and parameters: "0 <= i < N and 0 <= j <= i"; "" for the
/// universe.
std::string constraint_text(const isl::set &set);

/// The set without its parameter list: "{ C[i, j] : 0 <= i < N }".
std::string braced_text(const isl::set &set);

/// "C[3,0]": an instance of a tuple.
std::string instance_text(const std::string &name, const std::vector<std::int64_t> &coordinates);

/// "N = 4, M = 2"; "" without parameters.
std::string parameter_text(const Point &point);

} // namespace tilewright
