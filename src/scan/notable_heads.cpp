// Counts labels, and sorts heads by them.
#include "scan/notable_heads.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace isentropic::scan {
namespace {

// The factor by which a label's number exceeds its rule's threshold; 0 if unknown.
double excess(const Label& label) {
  const auto given = std::ranges::find(rules(), label.name, &Rule::label);
  if (given == rules().end() || !std::isfinite(label.value)) return 0;
  return given->at_least ? label.value / given->threshold : given->threshold / std::max(label.value, 1e-9);
}

}  // namespace

std::vector<LabelCount> label_counts(const Result& result) {
  std::vector<LabelCount> out;
  for (const Rule& rule : rules()) out.push_back({rule.label});
  for (const HeadResult& head : result.heads)
    for (const Label& label : head.labels) {
      auto found = std::ranges::find(out, label.name, &LabelCount::label);
      if (found == out.end()) found = out.insert(out.end(), {label.name});  // from a later version
      ++found->heads;
    }
  std::erase_if(out, [](const LabelCount& count) { return count.heads == 0; });
  std::ranges::stable_sort(out, std::ranges::greater(), &LabelCount::heads);
  return out;
}

std::vector<std::size_t> heads_by_interest(const Result& result) {
  const std::vector<LabelCount> counts = label_counts(result);
  // The frequency of its rarest label, then that label's excess, negated so that the largest comes first.
  const auto rank = [&](std::size_t index) {
    std::pair<std::size_t, double> out{result.heads.size() + 1, 0};
    for (const Label& label : result.heads[index].labels)
      out = std::min(out, {std::ranges::find(counts, label.name, &LabelCount::label)->heads, -excess(label)});
    return out;
  };
  std::vector<std::size_t> order(result.heads.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, rank);
  return order;
}

}  // namespace isentropic::scan
