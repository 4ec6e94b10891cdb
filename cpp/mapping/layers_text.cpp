// Layers II and III as text, in the notation of the papers.
#include "mapping/program.h"
#include "polyhedral/set_text.h"

#include <algorithm>
#include <cstdlib>

namespace tilewright {

namespace {

std::string tag_text(const LoopTag &tag) {
  switch (tag.tag) {
  case Tag::Parallel:
    return "(cpu)";
  case Tag::Vector:
    return "(vec(" + std::to_string(tag.factor) + "))";
  case Tag::Unroll:
    return "(unroll)";
  case Tag::GpuBlock:
  case Tag::GpuThread:
  case Tag::GpuSpread:
  case Tag::GpuMma:
    return "(" + gpu_tag_name(tag.tag, tag.axis) + ")";
  case Tag::Sequential:
    break;
  }
  return "";
}

/// What stands in "[(...)]" behind the arrow of isl's text of a function, which is freed.
std::string value_text(char *raw) {
  const std::string text = raw == nullptr ? "?" : raw;
  std::free(raw);
  const size_t open = text.rfind("-> [(");
  const size_t close = text.find(")]", open == std::string::npos ? 0 : open);
  return open == std::string::npos || close == std::string::npos
             ? text
             : text.substr(open + 5, close - open - 5);
}

/// "floor((i)/64)" of isl's "{ C[i, j] -> [(floor((i)/64))] }"; of a function with several pieces,
/// as a split by an expression in parameters makes it, "(0 if 2i < N, 1 if 2i >= N)".
std::string affine_text(const isl::pw_aff &everywhere, const isl::set &instances) {
  if (isl_pw_aff_n_piece(everywhere.get()) <= 1) {
    return value_text(isl_pw_aff_to_str(everywhere.get()));
  }
  const isl::pw_aff value = everywhere.intersect_domain(instances).coalesce();
  if (isl_pw_aff_n_piece(value.get()) <= 1) {
    return value_text(isl_pw_aff_to_str(value.get()));
  }
  struct Cases {
    const isl::set &instances;
    std::string text;
  } cases{instances, ""};
  isl_pw_aff_foreach_piece(
      value.get(),
      [](isl_set *domain, isl_aff *aff, void *user) {
        auto &into = *static_cast<Cases *>(user);
        const isl::set condition = isl::manage(domain).gist(into.instances).coalesce();
        into.text += (into.text.empty() ? "" : ", ") + value_text(isl_aff_to_str(aff)) + " if " +
                     constraint_text(condition);
        isl_aff_free(aff);
        return isl_stat_ok;
      },
      &cases);
  return "(" + cases.text + ")";
}

} // namespace

std::string layer_two(const Mapping &mapping) {
  const OperationLimit limit(mapping_operation_limit);
  const Program program = build_program(mapping);
  std::string out;
  for (const Statement &statement : program.statements) {
    std::string line = "{ " + statement.name + "[";
    for (size_t d = 0; d < statement.iterators.size(); ++d) {
      line += (d ? ", " : "") + statement.iterators[d];
    }
    line += "] -> [";
    std::string definitions;
    for (size_t level = 0; level < statement.order.size(); ++level) {
      line += (level ? ", " : "") + std::to_string(statement.order[level]);
      if (level >= statement.loops.size()) {
        continue;
      }
      if (level < statement.loop_names.size()) {
        std::string name = statement.loop_names[level];
        const bool is_iterator = std::find(statement.iterators.begin(), statement.iterators.end(),
                                           name) != statement.iterators.end();
        const std::string value = affine_text(statement.loops[level], statement.domain);
        // A shifted or skewed loop keeps its name, but is not the iterator any more.
        name += is_iterator && value != name ? "'" : "";
        if (statement.tags[level].counts < 0 && statement.loop_names[level - 1] == name) {
          name += "'"; // one loop with the one before it (join)
        }
        line += ", " + name + tag_text(statement.tags[level]);
        if (!is_iterator || value != name) {
          definitions += (definitions.empty() ? "" : " and ") + name + " = " + value;
        }
      } else {
        line += ", 0";
      }
    }
    line += "]";
    if (!definitions.empty()) {
      line += " : " + definitions;
    }
    line += " }";
    if (statement.predicate) {
      line += " where " + to_string(statement.predicate);
    }
    out += line + "\n";
  }
  return out;
}

std::string layer_three(const Mapping &mapping) {
  const OperationLimit limit(mapping_operation_limit);
  const Program program = build_program(mapping);
  std::string out;
  for (const ComputationPtr &computation : program.function->computations) {
    const Program::Place &place = program.places.at(computation->name);
    const Buffer &buffer = program.buffers[place.buffer];
    std::string line = "{ " + computation->name + "[";
    for (size_t d = 0; d < computation->iterators.size(); ++d) {
      line += (d ? ", " : "") + computation->iterators[d];
    }
    line += "] -> " + buffer.name + "[";
    for (size_t d = 0; d < place.index.size(); ++d) {
      line += (d ? ", " : "") + to_string(place.index[d]);
    }
    line += "] }    " + buffer.name + ": " + type_name(buffer.type) + "[";
    for (size_t d = 0; d < buffer.extents.size(); ++d) {
      line += (d ? ", " : "") + to_string(buffer.extents[d]);
    }
    out += line + "]" +
           (buffer.kind == BufferKind::Output  ? ", output"
            : buffer.kind == BufferKind::Input ? ", input, overwritten"
                                               : "") +
           (buffer.record.name.empty()
                ? ""
                : ", " + std::to_string(buffer.record.offset) + " bytes into the records '" +
                      buffer.record.name + "' of " + std::to_string(buffer.record.size)) +
           "\n";
  }
  return out;
}

} // namespace tilewright
