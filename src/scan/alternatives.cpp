// Means over alternatives, the best of them, and their lines for terminals.
#include "scan/alternatives.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "scan/result.hpp"
#include "scan/summary.hpp"

namespace isentropic::scan {
namespace {

template <class Number>
double mean_of_known(const Alternative& alternative, const Number& number) {
  double sum = 0, count = 0;
  for (const AlternativeHead& head : alternative.heads)
    if (const double x = number(head); std::isfinite(x)) sum += x, ++count;
  return count > 0 ? sum / count : AlternativeHead::kNone;
}

std::string loss_text(double loss) {
  return std::isnan(loss) ? "no loss" : fmt::format("loss {:.4f}, perplexity {:.2f}", loss, std::exp(loss));
}

std::string line(const Alternative& alternative) {
  std::string out = fmt::format("  {} {}: {}", name(alternative.kind), alternative.text, loss_text(alternative.loss));
  const double missing = mean_over_heads(alternative, &AlternativeHead::missing_mass);
  if (!std::isnan(missing))
    out += fmt::format(", leaves out {:.3g} of the weight (error of a head's output {:.3g}, at most {:.3g})", missing,
                       mean_over_heads(alternative, &AlternativeHead::error),
                       mean_over_heads(alternative, &AlternativeHead::error_bound));
  return out + "\n";
}

// The losses at the longest of the lengths, next to those of the unchanged model.
std::string at_longest(const Result& result) {
  const std::size_t last = result.lengths.size() - 1;
  std::string out = fmt::format("at length {}: as it is {}, mean H {:.3f}\n", result.lengths[last].length,
                                loss_text(result.lengths[last].loss), mean_entropy_at(result, last));
  for (const Alternative& alternative : result.alternatives)
    out += fmt::format("  {} {}: {}, mean H {:.3f}\n", name(alternative.kind), alternative.text,
                       loss_text(alternative.length_losses[last]), mean_entropy_at(alternative, last));
  return out;
}

}  // namespace

const char* name(AlternativeKind kind) {
  constexpr const char* kNames[] = {"scale", "map", "mask"};
  return kNames[static_cast<std::size_t>(kind)];
}

double mean_over_heads(const Alternative& alternative, double AlternativeHead::*number) {
  return mean_of_known(alternative, [&](const AlternativeHead& head) { return head.*number; });
}

double mean_entropy_at(const Alternative& alternative, std::size_t length) {
  return mean_of_known(alternative, [&](const AlternativeHead& head) {
    return length < head.length_entropies.size() ? head.length_entropies[length] : AlternativeHead::kNone;
  });
}

const Alternative* best(const Result& result, AlternativeKind kind) {
  const Alternative* out = nullptr;
  for (const Alternative& alternative : result.alternatives)
    if (alternative.kind == kind && !std::isnan(alternative.loss) && (!out || alternative.loss < out->loss))
      out = &alternative;
  return out;
}

std::string alternatives_text(const Result& result) {
  if (result.alternatives.empty()) return "";
  std::string out = "what if:\n";
  for (const Alternative& alternative : result.alternatives) out += line(alternative);
  if (!result.lengths.empty()) out += at_longest(result);
  for (const AlternativeKind kind : {AlternativeKind::scale, AlternativeKind::map, AlternativeKind::mask})
    if (const Alternative* found = best(result, kind); found && result.loss)
      out += fmt::format("best {}: {}, perplexity {:.2f} (as trained: {:.2f})\n", name(kind), found->text,
                         std::exp(found->loss), std::exp(result.loss->mean));
  return out;
}

}  // namespace isentropic::scan
