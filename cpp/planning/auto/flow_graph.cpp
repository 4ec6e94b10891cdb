#include "planning/auto/flow_graph.h"

#include "analysis/legality.h"
#include "mapping/accesses.h"

#include <isl/map.h>
#include <isl/set.h>

#include <algorithm>
#include <functional>
#include <map>

namespace tilewright {

namespace {

constexpr const char *doing_flow_graph = "the dependences of a schedule";

isl::map between(const isl::map &relation, const std::string &source, const std::string &sink) {
  isl_map *named =
      isl_map_set_tuple_id(relation.copy(), isl_dim_in, isl::id(isl_context(), source).release());
  named = isl_map_set_tuple_id(named, isl_dim_out, isl::id(isl_context(), sink).release());
  return checked(isl::manage(named), doing_flow_graph);
}

/// The statements of the computations that are asked about.
struct Statements {
  std::map<std::string, std::string> computation_of;
  std::map<std::string, const Statement *> updates;  ///< by name of the computation
  std::map<std::string, const Statement *> finishes; ///< by name

  /// The terms of what an instance of `finish` finishes.
  isl::map terms_of(const Statement &finish) const {
    return defined_value(finish).apply_range(
        defined_value(*updates.at(finish.computation->name)).reverse());
  }
};

void add_flow(const Program &program, const Statements &statements, FlowGraph &graph) {
  for (const Dependence &dependence : flow_dependences(program)) {
    const auto source = statements.computation_of.find(dependence.source);
    const auto sink = statements.computation_of.find(dependence.sink);
    if (source == statements.computation_of.end() || sink == statements.computation_of.end()) {
      continue;
    }
    isl::map relation = dependence.relation;
    // What an element is finished with has to be there before its terms: they are one schedule.
    if (const auto finish = statements.finishes.find(dependence.sink);
        finish != statements.finishes.end()) {
      relation = relation.apply_range(statements.terms_of(*finish->second));
    }
    if (const auto finish = statements.finishes.find(dependence.source);
        finish != statements.finishes.end()) {
      relation = relation.apply_domain(statements.terms_of(*finish->second));
    }
    graph.flow.push_back(
        {source->second, sink->second, between(relation, source->second, sink->second)});
  }
}

/// Terms of one element: in their order, where they have one.
void add_updates(const Statements &statements, FlowGraph &graph) {
  for (const auto &[name, statement] : statements.updates) {
    if (statement->role != StatementRole::Update) {
      continue;
    }
    const isl::map value = defined_value(*statement);
    const isl::map pairs = value.apply_range(value.reverse())
                               .intersect(isl::map::lex_lt(statement->domain.space()))
                               .intersect_domain(statement->domain)
                               .intersect_range(statement->domain);
    if (checked(pairs.is_empty(), doing_flow_graph)) {
      continue;
    }
    (statement->ordered ? graph.flow : graph.updates)
        .push_back({name, name, between(pairs, name, name)});
  }
}

/// Of each input, the pairs of computations that read one element.
void add_reuse(const Program &program, const Statements &statements, FlowGraph &graph) {
  struct Read {
    std::string computation;
    isl::map relation;
  };
  std::map<std::string, std::vector<Read>> reads;
  for (const Statement &statement : program.statements) {
    const auto known = statements.computation_of.find(statement.name);
    if (known == statements.computation_of.end() || statements.finishes.contains(statement.name)) {
      continue;
    }
    for (const ReadAccess &read : read_accesses(statement)) {
      if (read.producer->is_input && read.exact) {
        reads[read.producer->name].push_back(
            {known->second, read.relation.intersect_domain(statement.domain)});
      }
    }
  }
  for (const auto &[input, all] : reads) {
    for (size_t a = 0; a < all.size(); ++a) {
      for (size_t b = a + 1; b < all.size(); ++b) {
        if (all[a].computation == all[b].computation) {
          continue;
        }
        const isl::map pairs = all[a].relation.apply_range(all[b].relation.reverse());
        if (!checked(pairs.is_empty(), doing_flow_graph)) {
          graph.reuse.push_back({all[a].computation, all[b].computation,
                                 between(pairs, all[a].computation, all[b].computation)});
        }
      }
    }
  }
}

/// Tarjan's algorithm, sources first.
class ComponentSearch {
public:
  explicit ComponentSearch(const FlowGraph &graph) : graph_(graph) {
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
      positions_[graph.nodes[n].name] = n;
    }
    readers_.resize(graph.nodes.size());
    for (const FlowGraph::Edge &edge : graph.flow) {
      readers_[positions_.at(edge.source)].insert(positions_.at(edge.sink));
    }
    index_.assign(graph.nodes.size(), unseen);
    low_.assign(graph.nodes.size(), 0);
    open_.assign(graph.nodes.size(), false);
  }

  std::vector<std::vector<std::string>> find() {
    // Readers are finished first, so the last computations are begun with.
    for (size_t n = graph_.nodes.size(); n-- > 0;) {
      if (index_[n] == unseen) {
        visit_from(n);
      }
    }
    std::reverse(found_.begin(), found_.end());
    return found_;
  }

private:
  static constexpr size_t unseen = SIZE_MAX;

  /// Without recursion: a chain may be long.
  void visit_from(size_t start) {
    struct Frame {
      size_t node;
      std::set<size_t>::const_iterator next;
    };
    std::vector<Frame> frames;
    const auto enter = [&](size_t node) {
      index_[node] = low_[node] = count_++;
      open_[node] = true;
      stack_.push_back(node);
      frames.push_back({node, readers_[node].begin()});
    };
    enter(start);
    while (!frames.empty()) {
      Frame &frame = frames.back();
      const size_t node = frame.node;
      if (frame.next != readers_[node].end()) {
        const size_t reader = *frame.next++;
        if (index_[reader] == unseen) {
          enter(reader);
        } else if (open_[reader]) {
          low_[node] = std::min(low_[node], index_[reader]);
        }
        continue;
      }
      frames.pop_back();
      if (!frames.empty()) {
        low_[frames.back().node] = std::min(low_[frames.back().node], low_[node]);
      }
      if (low_[node] == index_[node]) {
        close(node);
      }
    }
  }

  void close(size_t node) {
    std::vector<size_t> members;
    size_t member = unseen;
    do {
      member = stack_.back();
      stack_.pop_back();
      open_[member] = false;
      members.push_back(member);
    } while (member != node);
    std::sort(members.begin(), members.end());
    std::vector<std::string> names;
    for (const size_t each : members) {
      names.push_back(graph_.nodes[each].name);
    }
    found_.push_back(std::move(names));
  }

  const FlowGraph &graph_;
  std::map<std::string, size_t> positions_;
  std::vector<std::set<size_t>> readers_;
  std::vector<size_t> index_;
  std::vector<size_t> low_;
  std::vector<bool> open_;
  std::vector<size_t> stack_;
  std::vector<std::vector<std::string>> found_;
  size_t count_ = 0;
};

} // namespace

const FlowGraph::Node *FlowGraph::find(const std::string &name) const {
  const auto found =
      std::find_if(nodes.begin(), nodes.end(), [&](const Node &node) { return node.name == name; });
  return found == nodes.end() ? nullptr : &*found;
}

FlowGraph flow_graph(const Program &program, const std::set<std::string> &computations) {
  FlowGraph graph;
  Statements statements;
  std::map<std::string, size_t> positions;
  for (const Statement &statement : program.statements) {
    const std::string &name = statement.computation->name;
    if (statement.role == StatementRole::Initialise || !computations.contains(name)) {
      continue;
    }
    statements.computation_of[statement.name] = name;
    if (statement.role == StatementRole::Finish) {
      statements.finishes[statement.name] = &statement;
      continue;
    }
    statements.updates[name] = &statement;
    const isl::set domain = statement.domain.set_tuple_id(isl::id(isl_context(), name));
    const auto [position, fresh] = positions.emplace(name, graph.nodes.size());
    if (fresh) {
      graph.nodes.push_back({name, domain});
    } else {
      isl::set &whole = graph.nodes[position->second].domain;
      whole = checked(whole.unite(domain), doing_flow_graph);
    }
  }
  add_flow(program, statements, graph);
  add_updates(statements, graph);
  add_reuse(program, statements, graph);
  return graph;
}

std::vector<std::vector<std::string>> components(const FlowGraph &graph) {
  return ComponentSearch(graph).find();
}

bool is_recurrent(const FlowGraph &graph, const std::vector<std::string> &group) {
  const auto is_member = [&](const std::string &name) {
    return std::find(group.begin(), group.end(), name) != group.end();
  };
  return std::any_of(graph.flow.begin(), graph.flow.end(), [&](const FlowGraph::Edge &edge) {
    return is_member(edge.source) && is_member(edge.sink);
  });
}

} // namespace tilewright
