// The text read, what the heads do, the notable ones, and the lengths.
#include "scan/terminal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "scan/notable_heads.hpp"
#include "scan/summary.hpp"

namespace isentropic::scan {
namespace {

constexpr std::size_t kNotable = 5;

std::string head_line(const HeadResult& head) {
  std::string out = fmt::format("  {:>5}", fmt::format("{}.{}", head.layer, head.head));
  for (const Label& label : head.labels) {
    out += fmt::format("  {} ({:.3g}", label.name, label.value);
    out += label.detail.empty() ? ")" : ", " + label.detail + ")";
  }
  return out + "\n";
}

}  // namespace

std::string terminal_text(const Result& result) {
  std::string out = fmt::format("{}: {}, {} layers, {} heads, scale {}\n", result.model, result.family,
                                result.layers.size(), result.heads.size(), result.scale);
  out += fmt::format("read {} {} in {} window{} of {}", result.tokens, read_unit(result), result.windows,
                     result.windows == 1 ? "" : "s", result.length);
  if (result.loss)
    out += fmt::format(": loss {:.4f} nats, perplexity {:.2f}", result.loss->mean, std::exp(result.loss->mean));
  out += "\n";
  std::string counts;
  for (const auto& [label, heads] : label_counts(result))
    counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", heads, label);
  out += "heads: " + (counts.empty() ? "none with a label" : counts) + "\n";
  const std::vector<std::size_t> heads = heads_by_interest(result);
  for (std::size_t i = 0; i < std::min(heads.size(), kNotable); ++i)
    if (const HeadResult& head = result.heads[heads[i]]; !head.labels.empty()) out += head_line(head);
  for (std::size_t i = 0; result.lengths.size() > 1 && i < std::min<std::size_t>(result.lengths.size(), 10); ++i)
    out += fmt::format("length {:>7}: loss {:.4f}, mean H {:.3f}\n", result.lengths[i].length, result.lengths[i].loss,
                       mean_entropy_at(result, i));
  out += alternatives_text(result);
  out += theory_text(result);
  return out;
}

}  // namespace isentropic::scan
