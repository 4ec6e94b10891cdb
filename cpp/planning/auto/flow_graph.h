// The dependences of a function among the instances of its computations, in the form that isl's
// scheduler takes: what has to come before what (validity), which instances change one element and
// so cannot run at once (coincidence), and which of them should run close to each other because
// they use one element (proximity). After Verdoolaege et al., Polyhedral parallel code generation
// for CUDA (2013), section 4, with values in place of memory: storage is decided later.
#pragma once

#include "mapping/program.h"

#include <set>
#include <string>
#include <vector>

namespace tilewright {

struct FlowGraph {
  struct Node {
    std::string name;
    isl::set domain; ///< name[iterators], reduced ones last
  };
  struct Edge {
    std::string source;
    std::string sink;
    isl::map relation; ///< source[iterators] -> sink[iterators]
  };
  std::vector<Node> nodes;   ///< in the order of the function
  std::vector<Edge> flow;    ///< values, and the order of terms that have one
  std::vector<Edge> updates; ///< two terms of one element
  std::vector<Edge> reuse;   ///< two computations read one element of an input

  const Node *find(const std::string &name) const;
};

/// Of these computations, in a program in which each has the loops that it was declared with.
FlowGraph flow_graph(const Program &program, const std::set<std::string> &computations);

/// Computations that need each other, as groups in the order in which they can run; each
/// computation is in one of them.
std::vector<std::vector<std::string>> components(const FlowGraph &graph);

/// Does a member of the group read what the group computes?
bool is_recurrent(const FlowGraph &graph, const std::vector<std::string> &group);

} // namespace tilewright
