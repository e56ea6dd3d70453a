// Builds the dependency graphs of layer types and measures path lengths by breadth-first search.
#include "isentropic/information/dependency_paths.hpp"

#include <algorithm>
#include <queue>
#include <string>

#include "base/checks.hpp"

namespace isentropic::information {
namespace {

// Position t feeds the positions first(t) ... last(t).
template <class First, class Last>
DependencyGraph interval_graph(std::size_t n, const First& first, const Last& last) {
  DependencyGraph out;
  out.successors.resize(n);
  for (std::size_t t = 0; t < n; ++t)
    for (std::size_t s = first(t); s <= last(t); ++s) out.successors[t].push_back(s);
  return out;
}

}  // namespace

DependencyGraph recurrent_graph(std::size_t n) {
  DependencyGraph out;
  out.successors.resize(2 * n);
  for (std::size_t t = 0; t < n; ++t) {
    out.successors[t].push_back(n + t);
    if (t + 1 < n) out.successors[n + t].push_back(n + t + 1);
  }
  return out;
}

DependencyGraph full_attention_graph(std::size_t n) {
  return interval_graph(
      n, [](std::size_t) { return std::size_t{0}; }, [n](std::size_t) { return n - 1; });
}

DependencyGraph causal_attention_graph(std::size_t n) {
  return interval_graph(
      n, [](std::size_t t) { return t; }, [n](std::size_t) { return n - 1; });
}

DependencyGraph window_attention_graph(std::size_t n, std::size_t window) {
  return interval_graph(
      n, [window](std::size_t t) { return t - std::min(t, window); },
      [n, window](std::size_t t) { return t + std::min(window, n - 1 - t); });
}

std::vector<std::size_t> path_lengths(const DependencyGraph& graph, std::size_t source) {
  const std::size_t n = graph.successors.size();
  require_below("source", source, n);
  std::vector<std::size_t> out(n, kUnreachable);
  std::queue<std::size_t> waiting;
  out[source] = 0;
  waiting.push(source);
  while (!waiting.empty()) {
    const std::size_t node = waiting.front();
    waiting.pop();
    for (std::size_t next : graph.successors[node]) {
      require_below("a successor", next, n);
      if (out[next] != kUnreachable) continue;
      out[next] = out[node] + 1;
      waiting.push(next);
    }
  }
  return out;
}

PathSummary summarise_paths(const DependencyGraph& graph) {
  PathSummary out;
  const std::size_t n = graph.successors.size();
  if (n == 0) return out;
  std::size_t reached = 0;
  for (std::size_t source = 0; source < n; ++source)
    for (std::size_t length : path_lengths(graph, source)) {
      if (length == kUnreachable) continue;
      ++reached;
      out.longest = std::max(out.longest, length);
    }
  out.reachable_fraction = static_cast<double>(reached) / (static_cast<double>(n) * static_cast<double>(n));
  return out;
}

}  // namespace isentropic::information
