#include "planning/auto/program_chains.h"

#include "planning/auto/flow_graph.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace tilewright {

namespace {

using Names = std::vector<std::string>;

/// What asking about one nest may take of isl.
constexpr std::uint64_t chain_operation_limit = 2'000'000;

class ChainSearch {
public:
  ChainSearch(const LegalMapping &program, const Nests &nests, const std::vector<Part> &parts)
      : program_(program), nests_(nests) {
    for (const Part &part : parts) {
      parts_[part.name] = &part;
    }
  }

  std::vector<ProgramChains> find() const {
    std::vector<ProgramChains> found;
    std::set<std::string> seen;
    for (const auto &[name, part] : parts_) {
      const Names members = members_around(name);
      if (!members.empty() && seen.insert(members.front()).second) {
        if (auto chains = chains_of(members)) {
          found.push_back({members, part->loops - 2, *chains});
        }
      }
    }
    return found;
  }

private:
  /// Those that share the two innermost loops of a statement, if nobody shares one of them only.
  Names members_around(const std::string &name) const {
    const size_t loops = parts_.at(name)->loops;
    if (loops < 2) {
      return {};
    }
    Names members = nests_.sharing(name, loops);
    const bool is_alone =
        nests_.sharing(name, loops - 1).size() == members.size() &&
        std::all_of(members.begin(), members.end(), [&](const auto &member) {
          return parts_.contains(member) && can_be_in_chain(*parts_.at(member), loops);
        });
    return is_alone ? members : Names();
  }

  bool can_be_in_chain(const Part &part, size_t loops) const {
    const std::vector<NestLoop> &nest = nests_.times(part.name).loops;
    return nest.size() == loops && nest[loops - 1].iterator && nest[loops - 2].iterator &&
           !part.shape.has_chosen() && !part.is_reduction() && part.shape.states() == 0;
  }

  size_t inner_of(const std::string &name) const {
    return *nests_.times(name).loops.back().iterator;
  }

  /// Does it add up in one element what the iterations of its innermost loop give?
  bool adds_up(const FlowGraph &graph, const std::string &name) const {
    const bool needs_itself =
        std::any_of(graph.flow.begin(), graph.flow.end(),
                    [&](const auto &edge) { return edge.source == name && edge.sink == name; });
    return needs_itself && parts_.at(name)->steps.written(inner_of(name)) == Step::None;
  }

  std::optional<Chains> chains_of(const Names &members) const {
    std::map<std::string, std::string> iterators;
    std::map<std::string, ChainLoops> loops;
    for (const std::string &name : members) {
      iterators[name] = parts_.at(name)->shape.name(inner_of(name));
      loops[name] = loops_of(name);
    }
    if (!is_worth_chains(iteration_cost(program_.mapping.function(), iterators))) {
      return std::nullopt;
    }
    try {
      const OperationLimit limit(chain_operation_limit);
      const FlowGraph graph = flow_graph(program_.legal->program, {members.begin(), members.end()});
      const bool adds = std::any_of(members.begin(), members.end(),
                                    [&](const auto &name) { return adds_up(graph, name); });
      auto chains = adds ? std::nullopt : find_chains(graph, loops);
      return chains && are_vectors(members, *chains) ? std::nullopt : chains;
    } catch (const Error &error) {
      if (error.kind != ErrorKind::Limit) {
        throw;
      }
      return std::nullopt;
    }
  }

  /// Do the iterations that would run side by side need nothing of each other, and could be the
  /// lanes of vectors?
  bool are_vectors(const Names &members, const Chains &chains) const {
    const Part &part = *parts_.at(members.front());
    const NestLoop &loop = nests_.times(part.name).loops[part.loops - 2];
    return chains.skew == 0 && members.size() == 1 &&
           std::find(part.columns.begin(), part.columns.end(), *loop.iterator) !=
               part.columns.end();
  }

  ChainLoops loops_of(const std::string &name) const {
    const std::vector<LoopDimension> &dimensions = program_.mapping.time_space(name).dimensions;
    std::vector<isl::pw_aff> values;
    for (const NestLoop &loop : nests_.times(name).loops) {
      values.push_back(std::find_if(dimensions.begin(), dimensions.end(), [&](const auto &each) {
                         return each.name == loop.name;
                       })->value);
    }
    return {{values.begin(), values.end() - 2}, values[values.size() - 2], values.back()};
  }

  const LegalMapping &program_;
  const Nests &nests_;
  std::map<std::string, const Part *> parts_;
};

} // namespace

Nests ProgramChains::in(Nests nests) const {
  nests.set_side_by_side(members.front(), depth, chains.count, chains.skew);
  return nests;
}

Command ProgramChains::command(const Nests &nests, const std::string &member) const {
  return {member, "unroll", {nests.times(member).loops[depth].name, chains.count}, {}};
}

std::string ProgramChains::why(const Nests &nests) const {
  const std::vector<NestLoop> &loops = nests.times(members.front()).loops;
  return chains.why(loops[depth].name, loops[depth + 1].name);
}

std::vector<ProgramChains> find_program_chains(const LegalMapping &program, const Nests &nests,
                                               const std::vector<Part> &parts) {
  return ChainSearch(program, nests, parts).find();
}

} // namespace tilewright
