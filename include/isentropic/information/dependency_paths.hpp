// How far information has to travel: shortest paths on the graph of computational dependencies.
//
//   recurrent network   input x_t -> state h_t -> h_{t+1}: n edges from x_1 to h_n, n - 1 of them between states
//   attention           position -> position, one edge per layer: 1 between any two positions in full attention;
//                       causal: 1 to later positions, none to earlier ones; window w: ceil(distance / w)
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

#include "isentropic/export.hpp"

namespace isentropic::information {

struct DependencyGraph {
  std::vector<std::vector<std::size_t>> successors;  // per node
};

// Nodes 0 ... n-1: inputs; n ... 2n-1: states.
ISENTROPIC_API DependencyGraph recurrent_graph(std::size_t n);
// Nodes are the n positions; an edge is one layer. `window` counts positions on each side.
ISENTROPIC_API DependencyGraph full_attention_graph(std::size_t n);
ISENTROPIC_API DependencyGraph causal_attention_graph(std::size_t n);
ISENTROPIC_API DependencyGraph window_attention_graph(std::size_t n, std::size_t window);

inline constexpr std::size_t kUnreachable = std::numeric_limits<std::size_t>::max();

// Number of edges on the shortest path from `source` to every node, by breadth-first search; 0 to itself.
ISENTROPIC_API std::vector<std::size_t> path_lengths(const DependencyGraph& graph, std::size_t source);

struct PathSummary {
  std::size_t longest = 0;        // over connected pairs
  double reachable_fraction = 0;  // of ordered pairs of nodes, each node with itself included
};
ISENTROPIC_API PathSummary summarise_paths(const DependencyGraph& graph);

}  // namespace isentropic::information
