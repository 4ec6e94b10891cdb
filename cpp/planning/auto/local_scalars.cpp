#include "planning/auto/local_scalars.h"

#include "algorithm/repeated_parts.h"

#include <algorithm>
#include <map>

namespace tilewright {

namespace {

/// Operations that a processor does beside others, while it waits for memory or a sum.
constexpr int little_work = 16;

/// Is it stored in a scalar that is nobody's array?
bool is_in_scalar(const Mapping &mapping, const Computation &computation) {
  const Storage &storage = mapping.storage(computation.name);
  const ComputationPtr *array = mapping.function().find(storage.buffer);
  return storage.index.empty() && computation.rank() > 0 && array == nullptr;
}

std::set<std::string> read_by(const Computation &computation) {
  std::set<std::string> names;
  for (const Piece &piece : computation.pieces) {
    visit(piece.value, [&](const ExprPtr &node) {
      if (node->kind == ExprKind::Access) {
        names.insert(node->producer->name);
      }
    });
  }
  return names;
}

/// What it reads, through what has no loops of its own, and that in its place.
std::set<std::string> read_in_loops_by(const Function &function, const Nests &nests,
                                       const Computation &reader) {
  std::set<std::string> found;
  std::set<std::string> seen;
  std::vector<std::string> open = {reader.name};
  while (!open.empty()) {
    const ComputationPtr *next = function.find(open.back());
    open.pop_back();
    for (const std::string &name : next != nullptr ? read_by(**next) : std::set<std::string>()) {
      if (seen.insert(name).second) {
        if (nests.all().contains(name)) {
          found.insert(name);
        } else {
          open.push_back(name);
        }
      }
    }
  }
  return found;
}

/// Those that write one scalar, in groups that need each other's values.
std::vector<std::vector<std::string>> groups_of(const Function &function,
                                                const std::vector<std::string> &writers) {
  std::map<std::string, std::string> group;
  for (const std::string &name : writers) {
    group[name] = name;
  }
  for (const std::string &name : writers) {
    for (const std::string &read : read_by(**function.find(name))) {
      if (group.contains(read)) {
        const std::string from = group.at(name);
        for (auto &[each, own] : group) {
          own = own == from ? group.at(read) : own;
        }
      }
    }
  }
  std::map<std::string, std::vector<std::string>> members;
  for (const std::string &name : writers) {
    members[group.at(name)].push_back(name);
  }
  std::vector<std::vector<std::string>> groups;
  for (auto &[first, names] : members) {
    groups.push_back(std::move(names));
  }
  return groups;
}

/// The commands for one group; empty where its members share no loop over an iterator of each.
std::vector<Command> stores_of(const Mapping &mapping, const Nests &nests,
                               const std::vector<std::string> &group,
                               const std::vector<std::string> &endless) {
  size_t shared = nests.times(group.front()).loops.size();
  for (const std::string &name : group) {
    shared = std::min(shared, nests.shared(group.front(), name));
  }
  const Computation &member = **mapping.function().find(group.front());
  const size_t results = member.iterators.size();
  const std::vector<NestLoop> &first = nests.times(group.front()).loops;
  while (shared > 0 && group.size() == 1 && first[shared - 1].iterator.value_or(0) >= results) {
    --shared; // terms are added to one scalar
  }
  while (shared > 0 && first[shared - 1].iterator.value_or(results) < results &&
         runs_endless(member, *first[shared - 1].iterator, endless)) {
    --shared;
  }
  std::vector<Command> stores;
  const std::string buffer = mapping.storage(group.front()).buffer + "_of_" + group.front();
  for (const std::string &name : group) {
    const std::vector<NestLoop> &loops = nests.times(name).loops;
    const std::vector<std::string> &iterators = (**mapping.function().find(name)).iterators;
    if (shared == 0 || loops[shared - 1].iterator.value_or(iterators.size()) >= iterators.size()) {
      return {}; // a loop over terms adds to one scalar
    }
    const std::string &iterator = iterators[*loops[shared - 1].iterator];
    stores.push_back({name, "store_in", {buffer + "[" + iterator + "]"}, {}});
  }
  return stores;
}

/// With what is computed in its place.
bool does_little(const Function &function, const Nests &nests, const Computation &computation) {
  int operations = 0;
  const auto count = [&](const Computation &counted, const auto &again) -> void {
    for (const Piece &piece : counted.pieces) {
      visit(piece.value, [&](const ExprPtr &node) {
        const bool is_more = node->kind == ExprKind::Reduce || node->kind == ExprKind::While ||
                             node->kind == ExprKind::Call || RepeatedParts::is_costly(*node);
        operations += is_more ? little_work : node->operands.empty() ? 0 : 1;
        const ComputationPtr *read =
            node->kind == ExprKind::Access ? function.find(node->producer->name) : nullptr;
        if (read != nullptr && !nests.all().contains((*read)->name) && operations < little_work) {
          again(**read, again);
        }
      });
    }
  };
  count(computation, count);
  return operations < little_work;
}

} // namespace

bool runs_endless(const Computation &computation, size_t iterator,
                  const std::vector<std::string> &endless) {
  if (endless.empty()) {
    return false;
  }
  isl_set *values = computation.domain.copy();
  for (const std::string &name : endless) {
    const int place = isl_set_find_dim_by_name(values, isl_dim_param, name.c_str());
    if (place >= 0) {
      values = isl_set_project_out(values, isl_dim_param, static_cast<unsigned>(place), 1);
    }
  }
  const isl::set all = checked(isl::manage(values), "the iterations of a loop");
  return isl_set_dim_is_bounded(all.get(), isl_dim_set, static_cast<unsigned>(iterator)) !=
         isl_bool_true;
}

std::vector<ExpandedScalar> expanded_scalars(const Mapping &mapping, const Nests &nests,
                                             const std::vector<std::string> &endless) {
  std::map<std::string, std::vector<std::string>> writers;
  for (const ComputationPtr &computation : mapping.function().computations) {
    if (!computation->is_view && is_in_scalar(mapping, *computation)) {
      writers[mapping.storage(computation->name).buffer].push_back(computation->name);
    }
  }
  std::vector<ExpandedScalar> found;
  for (const auto &[buffer, names] : writers) {
    for (std::vector<std::string> &group : groups_of(mapping.function(), names)) {
      const bool in_loops = std::all_of(group.begin(), group.end(), [&](const std::string &name) {
        return nests.all().contains(name); // what a block of code gives has none of its own
      });
      if (!in_loops) {
        continue;
      }
      std::vector<Command> stores = stores_of(mapping, nests, group, endless);
      if (!stores.empty()) {
        found.push_back({std::move(group), std::move(stores)});
      }
    }
  }
  return found;
}

std::vector<Command> scalars_along(const Mapping &mapping, const Nests &nests,
                                   const std::vector<std::string> &names, size_t depth,
                                   const std::vector<std::string> &endless) {
  std::map<std::string, std::vector<std::string>> writers;
  for (const std::string &name : names) {
    if (is_in_scalar(mapping, **mapping.function().find(name))) {
      writers[mapping.storage(name).buffer].push_back(name);
    }
  }
  std::vector<Command> stores;
  for (const auto &[buffer, all] : writers) {
    for (const std::vector<std::string> &group : groups_of(mapping.function(), all)) {
      for (const std::string &name : group) {
        const Computation &computation = **mapping.function().find(name);
        const std::optional<size_t> iterator = nests.times(name).loops.at(depth).iterator;
        if (iterator.value_or(computation.rank()) >= computation.rank() ||
            runs_endless(computation, *iterator, endless)) {
          return {};
        }
        const std::string own = buffer + "_of_" + group.front();
        stores.push_back(
            {name, "store_in", {own + "[" + computation.iterators[*iterator] + "]"}, {}});
      }
    }
  }
  return stores;
}

bool has_one_place(const Mapping &mapping, const Nests &nests, const std::string &name,
                   size_t first, size_t last) {
  const Storage &storage = mapping.storage(name);
  if (mapping.function().find(storage.buffer) != nullptr || !(storage.record == Record{}) ||
      storage.packing != Packing::None) {
    return false;
  }
  const std::vector<std::string> &iterators = (**mapping.function().find(name)).iterators;
  std::set<std::string> around;
  for (size_t d = first; d <= last; ++d) {
    const std::optional<size_t> iterator = nests.times(name).loops[d].iterator;
    if (iterator && *iterator < iterators.size()) {
      around.insert(iterators[*iterator]);
    }
  }
  bool depends = false;
  for (const ExprPtr &index : storage.index) {
    visit(index, [&](const ExprPtr &node) {
      depends = depends || (node->kind == ExprKind::Iterator && around.contains(node->name));
    });
  }
  return !depends;
}

std::vector<Command> private_arrays(const Mapping &mapping, const Nests &nests,
                                    const std::vector<std::string> &names, size_t depth) {
  const MappingState &state = mapping.state();
  std::map<std::string, std::string> first; // by buffer
  for (const std::string &name : names) {
    const Storage &storage = state.storage.at(name);
    const size_t rank = (**mapping.function().find(name)).rank();
    const bool is_over_results = nests.times(name).loops[depth].iterator.value_or(rank) < rank;
    if (is_over_results && !storage.index.empty() && !state.allocations.contains(name) &&
        has_one_place(mapping, nests, name, depth, depth)) {
      first.emplace(storage.buffer, name);
    }
  }
  std::vector<Command> commands;
  for (const auto &[buffer, name] : first) {
    const bool is_inside =
        std::all_of(state.storage.begin(), state.storage.end(), [&, &of = buffer](auto &entry) {
          return entry.second.buffer != of ||
                 std::find(names.begin(), names.end(), entry.first) != names.end();
        });
    if (is_inside) {
      commands.push_back({name, "private", {nests.times(name).loops[depth].name}, {}});
    }
  }
  return commands;
}

bool only_keeps_scalars(const Computation &computation, const Nests &nests,
                        const std::vector<ExpandedScalar> &scalars,
                        const std::function<bool(const std::string &)> &is_changed) {
  const size_t loops = nests.times(computation.name).loops.size();
  return std::all_of(computation.pieces.begin(), computation.pieces.end(), [&](const Piece &each) {
    if (each.value->kind != ExprKind::Access) {
      return false;
    }
    const std::string &read = each.value->producer->name;
    return std::any_of(scalars.begin(), scalars.end(),
                       [&](const ExpandedScalar &scalar) {
                         return std::find(scalar.writers.begin(), scalar.writers.end(), read) !=
                                scalar.writers.end();
                       }) &&
           !is_changed(read) && nests.shared(computation.name, read) == loops;
  });
}

std::set<std::string> changed_in_vain(const Function &function, const Nests &nests,
                                      const std::vector<ExpandedScalar> &scalars,
                                      const std::function<bool(const std::string &)> &is_changed) {
  std::set<std::string> found;
  for (const ExpandedScalar &scalar : scalars) {
    for (const std::string &name : scalar.writers) {
      if (is_changed(name) && does_little(function, nests, **function.find(name))) {
        found.insert(name);
      }
    }
  }
  size_t before = 0;
  do {
    before = found.size();
    for (const ComputationPtr &reader : function.computations) {
      if (!nests.all().contains(reader->name)) {
        continue;
      }
      for (const std::string &read : read_in_loops_by(function, nests, *reader)) {
        const bool runs_beside = nests.shared(reader->name, read) == nests.times(read).loops.size();
        const bool stays = found.contains(reader->name) || !is_changed(reader->name);
        if (read != reader->name && found.contains(read) && !(runs_beside && stays)) {
          found.erase(read);
        }
      }
    }
  } while (found.size() < before);
  return found;
}

} // namespace tilewright
