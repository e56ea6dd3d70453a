// Chooses the heads that the page holds in full.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "scan/page.hpp"

namespace isentropic::scan {
namespace {

// By what factor a label's number meets its rule; 0 where that cannot be said.
double excess(const Label& label) {
  const auto given = std::ranges::find(rules(), label.name, &Rule::label);
  if (given == rules().end() || !std::isfinite(label.value)) return 0;
  return given->at_least ? label.value / given->threshold : given->threshold / std::max(label.value, 1e-9);
}

}  // namespace

std::vector<bool> shown_in_full(const Result& result) {
  std::map<std::string, std::size_t> counts;
  for (const HeadResult& head : result.heads)
    for (const Label& label : head.labels) ++counts[label.name];
  // How common its rarest label is; that label's excess, negative so that the largest comes first.
  const auto rank = [&](std::size_t index) {
    std::pair<std::size_t, double> out{result.heads.size() + 1, 0};
    for (const Label& label : result.heads[index].labels) out = std::min(out, {counts[label.name], -excess(label)});
    return out;
  };
  std::vector<std::size_t> order(result.heads.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, rank);
  std::vector<bool> out(result.heads.size());
  for (std::size_t i = 0; i < std::min(kHeadsInFull, order.size()); ++i) out[order[i]] = true;
  return out;
}

}  // namespace isentropic::scan
