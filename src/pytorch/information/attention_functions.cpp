// Attention matrices, heads, paths and position codes for Python.
#include "isentropic/information/attention_heads.hpp"
#include "isentropic/information/attention_matrices.hpp"
#include "isentropic/information/dependency_paths.hpp"
#include "isentropic/information/position_codes.hpp"
#include "pytorch/information/functions.hpp"

namespace isentropic::pytorch::bindings {

using namespace information;

static void give(Results& out, const AttentionEntropies& found) {
  give_all(out, found.per_query, found.mean, found.marginal);
}
static void give(Results& out, const AttentionSpectrum& found) {
  give_all(out, found.eigenvalues, found.singular_values, found.unit_eigenvalues, found.on_unit_circle,
           found.spectral_entropy());
}
// The terms as two arrays: C_S, and the heads in S as one row of 0 and 1 per S.
static void give(Results& out, const HeadDecomposition& found) {
  std::vector<double> co_information;
  Table members(found.terms.size(), found.single.size());
  for (std::size_t i = 0; i < found.terms.size(); ++i) {
    co_information.push_back(found.terms[i].co_information);
    for (const std::size_t head : found.terms[i].heads) members(i, head) = 1;
  }
  give_all(out, found.total, found.single, found.chain, co_information, members);
}
static void give(Results& out, const PathSummary& found) { give_all(out, found.longest, found.reachable_fraction); }
static void give(Results& out, const OffsetInformation& found) {
  give_all(out, found.one_code, found.both_codes, found.entropy);
}

namespace {

DependencyGraph graph_named(const std::string& graph, std::size_t n, std::size_t window) {
  if (graph == "recurrent") return recurrent_graph(n);
  if (graph == "full") return full_attention_graph(n);
  if (graph == "causal") return causal_attention_graph(n);
  if (graph == "window") return window_attention_graph(n, window);
  throw Error("graph", in_quotes(graph), list_of({"recurrent", "full", "causal", "window"}));
}

}  // namespace

Functions attention_functions() {
  return {
      function("attention_entropies", attention_entropies),
      function("attention_perplexity", attention_perplexity),
      function("attention_spectrum", attention_spectrum),
      function("effective_rank", effective_rank),
      function("singular_values", singular_values),
      function("joint_of_heads", joint_of_heads),
      function("head_redundancy", head_redundancy),
      function("head_similarity", head_similarity),
      function("head_diversity", head_diversity),
      function("head_terms", decompose_heads),
      function(
          "path_lengths", +[](const std::string& graph, std::size_t n, std::size_t source,
                              std::size_t window) { return path_lengths(graph_named(graph, n, window), source); }),
      function(
          "summarise_paths", +[](const std::string& graph, std::size_t n,
                                 std::size_t window) { return summarise_paths(graph_named(graph, n, window)); }),
      function("position_information", position_information),
      function("offset_information", offset_information),
      function("sinusoidal_codes", sinusoidal_codes),
  };
}

}  // namespace isentropic::pytorch::bindings
