// What was read, what the heads do, the notable ones, and the lengths.
#include "scan/terminal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "scan/summary.hpp"

namespace isentropic::scan {
namespace {

constexpr std::size_t kNotable = 5;

std::ptrdiff_t heads_with(const Result& result, const std::string& label) {
  return std::ranges::count_if(result.heads, [&](const HeadResult& head) { return has(head.labels, label); });
}

std::string head_line(const HeadResult& head) {
  std::string out = fmt::format("  {:>5}", fmt::format("{}.{}", head.layer, head.head));
  for (const Label& label : head.labels) {
    out += fmt::format("  {} ({:.3g}", label.name, label.value);
    out += label.detail.empty() ? ")" : ", " + label.detail + ")";
  }
  return out + "\n";
}

// Rare labels first: they tell more than those that many heads have.
std::vector<const HeadResult*> notable(const Result& result) {
  std::vector<const HeadResult*> out;
  const auto rarity = [&](const HeadResult* head) {
    std::ptrdiff_t rarest = std::ssize(result.heads);
    for (const Label& label : head->labels) rarest = std::min(rarest, heads_with(result, label.name));
    return rarest;
  };
  for (const HeadResult& head : result.heads)
    if (!head.labels.empty()) out.push_back(&head);
  std::ranges::stable_sort(out, {}, rarity);
  out.resize(std::min(out.size(), kNotable));
  return out;
}

}  // namespace

std::string terminal_text(const Result& result) {
  std::string out = fmt::format("{}: {}, {} layers, {} heads, scale {}\n", result.model, result.family,
                                result.layers.size(), result.heads.size(), result.scale);
  out += fmt::format("read {} tokens in {} windows of {}", result.tokens, result.windows, result.length);
  if (result.loss)
    out += fmt::format(": loss {:.4f} nats, perplexity {:.2f}", result.loss->mean, std::exp(result.loss->mean));
  out += "\n";
  std::string counts;
  for (const Rule& rule : rules()) {
    const std::ptrdiff_t count = heads_with(result, rule.label);
    if (count > 0) counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", count, rule.label);
  }
  out += "heads: " + (counts.empty() ? "none with a label" : counts) + "\n";
  for (const HeadResult* head : notable(result)) out += head_line(*head);
  for (std::size_t i = 0; result.lengths.size() > 1 && i < std::min<std::size_t>(result.lengths.size(), 10); ++i)
    out += fmt::format("length {:>7}: loss {:.4f}, mean H {:.3f}\n", result.lengths[i].length, result.lengths[i].loss,
                       mean_entropy_at(result, i));
  out += alternatives_text(result);
  out += theory_text(result);
  return out;
}

}  // namespace isentropic::scan
