#include "planning/auto/local_scalars.h"

#include <algorithm>
#include <map>
#include <set>

namespace tilewright {

namespace {

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
      std::vector<Command> stores = stores_of(mapping, nests, group, endless);
      if (!stores.empty()) {
        found.push_back({std::move(group), std::move(stores)});
      }
    }
  }
  return found;
}

} // namespace tilewright
