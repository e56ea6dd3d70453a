// Chooses the heads that the page shows in full.
#include <algorithm>
#include <iterator>

#include "isentropic/error.hpp"
#include "scan/notable_heads.hpp"
#include "scan/page.hpp"

namespace isentropic::scan {
namespace {

std::vector<std::size_t> asked_for(const Result& result, const PageOptions& options) {
  if (options.heads.size() > options.most_in_full)
    throw Error("heads", std::to_string(options.heads.size()) + " of them",
                "at most " + std::to_string(options.most_in_full) + ", as a page holds in full");
  std::vector<std::size_t> out;
  for (const auto& [layer, head] : options.heads) {
    const auto found = std::ranges::find_if(
        result.heads, [&](const HeadResult& candidate) { return candidate.layer == layer && candidate.head == head; });
    if (found == result.heads.end())
      throw Error("heads", std::to_string(layer) + "." + std::to_string(head),
                  "LAYER.HEAD, both from 0, of the " + std::to_string(result.layers.size()) + " layers");
    out.push_back(static_cast<std::size_t>(found - result.heads.begin()));
  }
  return out;
}

// The first distinct ones, while there is room.
std::vector<bool> chosen_of(const std::vector<std::size_t>& order, std::size_t heads, std::size_t room) {
  std::vector<bool> out(heads);
  for (const std::size_t index : order) {
    if (room == 0) break;
    if (!out[index]) out[index] = true, --room;
  }
  return out;
}

}  // namespace

std::vector<bool> shown_in_full(const Result& result, const PageOptions& options) {
  std::vector<std::size_t> order = asked_for(result, options);
  std::ranges::copy(heads_by_interest(result), std::back_inserter(order));
  return chosen_of(order, result.heads.size(), options.most_in_full);
}

std::vector<bool> shown_in_full(const Comparison& comparison, const PageOptions& options) {
  std::vector<std::size_t> order = asked_for(comparison.first, options);
  std::ranges::copy(comparison.changed, std::back_inserter(order));
  std::ranges::copy(heads_by_interest(comparison.first), std::back_inserter(order));
  return chosen_of(order, comparison.heads.size(), options.most_in_full);
}

}  // namespace isentropic::scan
