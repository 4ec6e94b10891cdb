// What a violation says: its dependence, and two instances at small sizes with what they need.
#include "analysis/legality_checker.h"
#include "mapping/accesses.h"

#include <algorithm>

namespace tilewright {

namespace {

/// "B[1](i=2)": the values of `outer` iterators, loops that it is in, are named behind the others.
std::string instance(const std::string &name, const std::vector<std::int64_t> &coordinates,
                     const std::vector<std::string> &outer) {
  std::string text = name + "[";
  for (size_t d = outer.size(); d < coordinates.size(); ++d) {
    text += (d > outer.size() ? "," : "") + std::to_string(coordinates[d]);
  }
  text += "]";
  for (size_t d = 0; d < outer.size(); ++d) {
    const std::string loop = outer[d].starts_with('@') ? outer[d].substr(1) : outer[d];
    text += (d == 0 ? "(" : ",") + loop + "=" + std::to_string(coordinates[d]);
  }
  return outer.empty() ? text : text + ")";
}

/// The loops of its reader in which a statement is computed anew (compute_at).
std::vector<std::string> replicated(const Statement &statement) {
  return {statement.iterators.begin(),
          statement.iterators.begin() + static_cast<std::ptrdiff_t>(statement.replicas)};
}

} // namespace

/// Whether a statement surely reads something at a computed subscript (possible_instances).
bool LegalityChecker::may_be_impossible(const Statement &statement) const {
  const auto known = reads_.find(statement.name);
  const auto reads = known != reads_.end() ? known->second : reads_of(statement);
  return std::any_of(reads->begin(), reads->end(),
                     [](const ReadAccess &read) { return !read.exact && read.certain; });
}

void LegalityChecker::report(Violation::Kind kind, const Statement &first, const Statement &second,
                             const isl::map &pairs, std::string explanation) {
  Violation violation;
  violation.kind = kind;
  violation.dependence = relation_text(program_, pairs, first);
  violation.source = first.name;
  violation.sink = second.name;
  violation.pairs = pairs;
  Point point;
  // Where nothing else is left, a refusal has what there is.
  isl::map possible = pairs;
  if (may_be_impossible(first)) {
    possible = possible.intersect_domain(possible_instances(first));
  }
  if (may_be_impossible(second)) {
    possible = possible.intersect_range(possible_instances(second));
  }
  const isl::map &shown = checked(possible.is_empty(), "a witness") ? pairs : possible;
  const isl::set flat = isl::manage(isl_set_flatten(isl_map_wrap(shown.copy())));
  if (sample_point(checked(flat, "a witness"), point)) {
    const size_t count = first.iterators.size();
    for (const auto &[name, value] : point.parameters) {
      violation.parameters +=
          (violation.parameters.empty() ? "" : ", ") + name + " = " + std::to_string(value);
    }
    first_ = point;
    first_.coordinates.resize(count);
    second_ = point;
    second_.coordinates.erase(second_.coordinates.begin(),
                              second_.coordinates.begin() + static_cast<std::ptrdiff_t>(count));
    violation.source_instance = instance(first.name, first_.coordinates, replicated(first));
    violation.sink_instance = instance(second.name, second_.coordinates, replicated(second));
  }
  violation.explanation = std::move(explanation);
  violation_ = std::move(violation);
}

/// Names the element that `writer` (the first or the second instance of the witness) writes.
void LegalityChecker::add_element(const Statement &writer, bool second) {
  const Point &point = second ? second_ : first_;
  isl::map element = written_element(program_, writer);
  for (const auto &[name, value] : point.parameters) {
    const int position = isl_map_find_dim_by_name(element.get(), isl_dim_param, name.c_str());
    if (position >= 0) {
      element =
          element.fix_si(isl::dim::param, static_cast<unsigned>(position), static_cast<int>(value));
    }
  }
  for (size_t d = 0; d < point.coordinates.size(); ++d) {
    element = element.fix_si(isl::dim::in, static_cast<unsigned>(d),
                             static_cast<int>(point.coordinates[d]));
  }
  Point at;
  if (sample_point(checked(element.range(), "a witness"), at)) {
    const Buffer &buffer = program_.buffers[writer.buffer];
    const auto levels = static_cast<std::ptrdiff_t>(
        std::min(writer.loop_names.size(), static_cast<size_t>(buffer.level)));
    violation_->element = instance(buffer.name, at.coordinates,
                                   {writer.loop_names.begin(), writer.loop_names.begin() + levels});
  }
}

} // namespace tilewright
