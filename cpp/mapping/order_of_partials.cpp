#include "mapping/order_of_partials.h"

#include "polyhedral/isl.h"

#include <isl/map.h>

#include <string>

namespace tilewright {

namespace {

/// Two terms of one element, the first one of which is combined later.
isl::map turned_round(const isl::set &context, const Computation &folded,
                      const InstanceSpace &instances, const LoopDimension &loop) {
  const isl::set terms = instances.domain.intersect_params(context);
  const isl::map value = loop.value.as_map().intersect_domain(terms);
  isl::map later = isl::manage(isl_map_lex_gt_map(value.copy(), value.copy()));
  later = later.intersect(isl::map::lex_lt(terms.space()));
  for (unsigned d = 0; d < folded.rank(); ++d) {
    later = isl::manage(isl_map_equate(later.release(), isl_dim_in, static_cast<int>(d),
                                       isl_dim_out, static_cast<int>(d)));
  }
  return checked(later.coalesce(), "the order of partial results");
}

std::string instance(const std::string &name, const std::vector<std::int64_t> &coordinates,
                     size_t first, size_t count) {
  std::string text = name + "[";
  for (size_t d = first; d < first + count; ++d) {
    text += (d > first ? "," : "") + std::to_string(coordinates[d]);
  }
  return text + "]";
}

std::string dependence_text(const isl::map &pairs, const isl::set &terms) {
  const isl::map simple = pairs.gist_domain(terms);
  std::string text = to_text(checked(simple, "the order of partial results"));
  constexpr size_t longest = 300;
  return text.size() > longest ? text.substr(0, longest) + " ..." : text;
}

} // namespace

void require_order_of_partials(const isl::set &context, const Computation &folded,
                               const LoopDimension &loop, const Command &command) {
  const InstanceSpace instances = instance_space(folded);
  const isl::map pairs = turned_round(context, folded, instances, loop);
  if (checked(pairs.is_empty(), "the order of partial results")) {
    return;
  }
  Point point;
  const isl::set flat = isl::manage(isl_set_flatten(isl_map_wrap(pairs.copy())));
  std::string first;
  std::string second;
  std::string parameters;
  if (sample_point(checked(flat, "a witness"), point)) {
    const size_t count = instances.iterators.size();
    first = instance(folded.name, point.coordinates, 0, count);
    second = instance(folded.name, point.coordinates, count, count);
    for (const auto &[name, value] : point.parameters) {
      parameters += (parameters.empty() ? "" : ", ") + name + " = " + std::to_string(value);
    }
  }
  const std::string dependence = dependence_text(pairs, instances.domain);
  const std::string k = "\"" + instances.iterators[folded.rank()] + "\"";
  const std::string suggestion =
      "parallelize(" + k + ", partial=64), and vectorize(" + k +
      ", 8, partial=64), give partial results of terms that stand together; if the function is "
      "commutative as well, leave commutative=False out";
  std::string message = to_string(command) + " is illegal: " + folded.name +
                        " is a fold that takes its terms in order, and loop '" + loop.name +
                        "' has a term in a later partial result than one that comes behind it" +
                        "\n  dependence: " + dependence + "\n  for example: " + first + " -> " +
                        second + (parameters.empty() ? "" : " with " + parameters) + "\n  " +
                        suggestion;
  Error error(ErrorKind::IllegalSchedule, message, command.where);
  error.details = {{"kind", "order"},
                   {"dependence", dependence},
                   {"source_instance", first},
                   {"sink_instance", second},
                   {"element", ""},
                   {"parameters", parameters},
                   {"suggestion", suggestion},
                   {"computation", command.computation},
                   {"command", to_string(command)}};
  throw error;
}

} // namespace tilewright
