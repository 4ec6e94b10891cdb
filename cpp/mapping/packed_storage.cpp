#include "mapping/packed_storage.h"

#include "mapping/command_handlers.h"
#include "polyhedral/set_text.h"

#include <isl/aff.h>
#include <isl/set.h>

#include <algorithm>
#include <regex>

namespace tilewright {

namespace {

std::string without_blanks(std::string text) {
  std::erase_if(text, [](unsigned char c) { return std::isspace(c) != 0; });
  return text;
}

/// row * (row + 1) / 2: the elements of so many rows.
ExprPtr triangle_of(const ExprPtr &rows) {
  const ExprPtr next = binary(Op::Add, rows, constant(std::int64_t{1}, Int64));
  return binary(Op::FloorDiv, binary(Op::Mul, rows, next), constant(std::int64_t{2}, Int64));
}

} // namespace

std::optional<std::string> unpacked_place(const std::string &place) {
  const std::string text = without_blanks(place);
  static const std::regex packed(
      R"(^(\w+)\[(?:(.*),)?(?:(\w+)\*\(\3\+1\)|\((\w+)\+1\)\*\4)//?2\+([^,\[\]]+)\]$)");
  std::smatch parts;
  if (!std::regex_match(text, parts, packed)) {
    return std::nullopt;
  }
  const std::string outer = parts[2].matched ? parts[2].str() + ", " : "";
  const std::string row = parts[3].matched ? parts[3].str() : parts[4].str();
  return parts[1].str() + "[" + outer + row + ", " + parts[5].str() + "]";
}

std::vector<std::string> unpacked_sizes(const Command &command,
                                        const std::vector<std::string> &sizes) {
  if (sizes.empty()) {
    return {};
  }
  static const std::regex packed(R"(^(\w+)\*\(\1\+1\)//?2$)");
  std::smatch parts;
  const std::string last = without_blanks(sizes.back());
  if (!std::regex_match(last, parts, packed)) {
    refuse(command, "the packed triangle has the size '" + sizes.back() +
                        "'; of N rows it is N*(N+1)//2, or leave the sizes out");
  }
  std::vector<std::string> unpacked(sizes.begin(), sizes.end() - 1);
  unpacked.insert(unpacked.end(), 2, parts[1].str());
  return unpacked;
}

void pack(MappingState &state, const Command &command, const isl::set &elements, bool is_callers) {
  Storage &storage = state.storage.at(command.computation);
  if (is_callers) {
    refuse(command, "'" + storage.buffer +
                        "' is an array of the caller, who decides where its elements are; only "
                        "temporaries can be packed");
  }
  const isl::set image = checked(elements.apply(storage.relation), "store_in");
  const unsigned rank = checked(image.tuple_dim(), "store_in");
  const isl::local_space space(image.space());
  const isl::pw_aff row = isl::pw_aff::var_on_domain(space, isl::dim::set, rank - 2);
  const isl::pw_aff column = isl::pw_aff::var_on_domain(space, isl::dim::set, rank - 1);
  const isl::set triangle =
      column.le_set(row).intersect(image.lower_bound_si(isl::dim::set, rank - 1, 0));
  Point point;
  if (sample_point(checked(image.subtract(triangle), "store_in"), point)) {
    const std::int64_t i = point.coordinates[rank - 2];
    const std::int64_t j = point.coordinates[rank - 1];
    std::string parameters = parameter_text(point);
    parameters = parameters.empty() ? "" : " (" + parameters + ")";
    refuse(command, "a packed triangle i*(i+1)//2 + j has elements 0 <= j <= i, and here i = " +
                        std::to_string(i) + " and j = " + std::to_string(j) + parameters +
                        "; of an upper triangle store the transposed element, and of a whole "
                        "array buffer[i, j]");
  }
  storage.packing = Packing::Triangle;
}

void pack_index(std::vector<ExprPtr> &index) {
  const ExprPtr column = index.back();
  index.pop_back();
  index.back() = binary(Op::Add, triangle_of(index.back()), column);
}

void pack_extents(std::vector<ExprPtr> &extents) {
  extents.pop_back();
  extents.back() = triangle_of(extents.back());
}

} // namespace tilewright
