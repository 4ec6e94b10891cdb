#include "mapping/packed_storage.h"

#include "mapping/command_handlers.h"
#include "polyhedral/set_text.h"

#include <isl/aff.h>
#include <isl/set.h>

#include <algorithm>
#include <cstdlib>
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

/// `name + offset`, one of the two factors.
struct Factor {
  std::string name;
  std::int64_t offset = 0;
};

/// Of "i", "(i+1)", "(i-1)" and "(1+i)", without blanks.
std::optional<Factor> factor_of(const std::string &text) {
  static const std::regex written(R"(^\(?(?:(\d{1,9})\+)?([A-Za-z_]\w*)(?:([+-])(\d{1,9}))?\)?$)");
  std::smatch parts;
  if (!std::regex_match(text, parts, written)) {
    return std::nullopt;
  }
  const std::int64_t before = parts[1].matched ? std::stoll(parts[1].str()) : 0;
  const std::int64_t behind = parts[4].matched ? std::stoll(parts[4].str()) : 0;
  return Factor{parts[2].str(), before + (parts[3].str() == "-" ? -behind : behind)};
}

/// The row "i-1" of the factors "i" and "(i-1)", which differ by one.
std::optional<std::string> row_of(const std::string &first, const std::string &second) {
  const std::optional<Factor> one = factor_of(first);
  const std::optional<Factor> other = factor_of(second);
  if (!one || !other || one->name != other->name || std::abs(one->offset - other->offset) != 1) {
    return std::nullopt;
  }
  const std::int64_t offset = std::min(one->offset, other->offset);
  return offset == 0 ? one->name : one->name + (offset < 0 ? "" : "+") + std::to_string(offset);
}

/// The product of two factors that is halved; parts of the match: both factors.
constexpr const char *halved = R"((\w+|\([^(),\[\]]*\))\*(\w+|\([^(),\[\]]*\))//?2)";

} // namespace

std::optional<std::string> unpacked_place(const std::string &place) {
  const std::string text = without_blanks(place);
  static const std::regex behind(R"(^(\w+)\[(?:(.*),)?)" + std::string(halved) +
                                 R"(\+([^,\[\]]+)\]$)");
  static const std::regex before(R"(^(\w+)\[(?:(.*),)?([^,\[\]]+)\+)" + std::string(halved) +
                                 R"(\]$)");
  std::smatch parts;
  std::optional<std::string> row;
  std::string column;
  if (std::regex_match(text, parts, behind)) {
    row = row_of(parts[3].str(), parts[4].str());
    column = parts[5].str();
  } else if (std::regex_match(text, parts, before)) {
    row = row_of(parts[4].str(), parts[5].str());
    column = parts[3].str();
  }
  if (!row) {
    return std::nullopt;
  }
  const std::string outer = parts[2].matched ? parts[2].str() + ", " : "";
  return parts[1].str() + "[" + outer + *row + ", " + column + "]";
}

std::vector<std::string> unpacked_sizes(const Command &command,
                                        const std::vector<std::string> &sizes) {
  if (sizes.empty()) {
    return {};
  }
  static const std::regex packed("^" + std::string(halved) + "$");
  std::smatch parts;
  const std::string last = without_blanks(sizes.back());
  const std::optional<std::string> rows =
      std::regex_match(last, parts, packed) ? row_of(parts[1].str(), parts[2].str()) : std::nullopt;
  if (!rows) {
    refuse(command, "the packed triangle has the size '" + sizes.back() +
                        "'; of N rows it is N*(N+1)//2, or leave the sizes out");
  }
  std::vector<std::string> unpacked(sizes.begin(), sizes.end() - 1);
  unpacked.insert(unpacked.end(), 2, *rows);
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
