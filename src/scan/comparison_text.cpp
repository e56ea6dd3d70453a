// A comparison in words: sentences for the top of a page, and a table for terminals.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/text_table.hpp"
#include "scan/comparison.hpp"
#include "scan/summary.hpp"

namespace isentropic::scan {
namespace {

struct LabelChange {
  std::string text;  // "gained sink"
  std::size_t heads = 0;
};

// Most frequent first.
std::vector<LabelChange> label_changes(const Comparison& comparison) {
  std::vector<LabelChange> out;
  for (const Rule& rule : rules()) {
    LabelChange gained{"gained " + rule.label}, lost{"lost " + rule.label};
    for (const HeadComparison& head : comparison.heads) {
      gained.heads += has(head.gained, rule.label) ? 1 : 0;
      lost.heads += has(head.lost, rule.label) ? 1 : 0;
    }
    for (const LabelChange& change : {lost, gained})
      if (change.heads > 0) out.push_back(change);
  }
  std::ranges::stable_sort(out, std::ranges::greater(), &LabelChange::heads);
  return out;
}

std::string changed_labels_sentence(const Comparison& comparison) {
  constexpr std::size_t kMost = 4;
  const std::size_t count = comparison.changed.size();
  if (count == 0) return fmt::format("None of the {} heads changed its labels.", comparison.heads.size());
  std::string out =
      fmt::format("{} of {} heads changed {} labels", count, comparison.heads.size(), count == 1 ? "its" : "their");
  const std::vector<LabelChange> changes = label_changes(comparison);
  for (std::size_t i = 0; i < std::min(kMost, changes.size()); ++i)
    out += fmt::format("{}{} {}", i == 0 ? ": " : ", ", changes[i].heads, changes[i].text);
  std::ranges::replace(out, '_', ' ');
  return out + (changes.size() > kMost ? ", and others." : ".");
}

struct LengthPair {
  std::size_t first, second;  // indices of the same length in the two results
};
std::vector<LengthPair> common_lengths(const Comparison& comparison) {
  std::vector<LengthPair> out;
  for (std::size_t i = 0; i < comparison.first.lengths.size(); ++i)
    for (std::size_t j = 0; j < comparison.second.lengths.size(); ++j)
      if (comparison.first.lengths[i].length == comparison.second.lengths[j].length) out.push_back({i, j});
  return out;
}

bool read_the_same(const Result& a, const Result& b) {
  return a.texts == b.texts && a.length == b.length && a.tokens == b.tokens;
}

std::string loss_sentence(const Comparison& comparison) {
  const Result &a = comparison.first, &b = comparison.second;
  std::string out;
  if (!a.loss || !b.loss) {
    out = "There is no loss of both to compare";
  } else {
    out = fmt::format("The loss {} nats, the perplexity {}", goes_from_to(a.loss->mean, b.loss->mean, 3),
                      goes_from_to(std::exp(a.loss->mean), std::exp(b.loss->mean), 2));
    const std::vector<LengthPair> lengths = common_lengths(comparison);
    if (lengths.size() > 1)
      out += fmt::format("; at {} tokens the loss {}", a.lengths[lengths.back().first].length,
                         goes_from_to(a.lengths[lengths.back().first].loss, b.lengths[lengths.back().second].loss, 3));
  }
  return out + (read_the_same(a, b) ? "." : "; the two did not read the same windows of text.");
}

// The layer whose mean entropy differs most.
std::string most_changed_layer(const Comparison& comparison) {
  double most = 0;
  std::size_t found = 0;
  for (std::size_t layer = 0; layer < comparison.first.layers.size(); ++layer) {
    const double difference = mean_entropy(comparison.second, layer) - mean_entropy(comparison.first, layer);
    if (std::abs(difference) > std::abs(most)) most = difference, found = layer;
  }
  return most == 0 ? "" : fmt::format(", most in layer {} ({:+.2f})", found, most);
}

std::string changed_entropy_sentence(const Comparison& comparison) {
  const double first = mean_entropy(comparison.first), second = mean_entropy(comparison.second);
  if (!std::isfinite(first) || !std::isfinite(second)) return "";
  std::string out =
      fmt::format("The mean entropy {} nats{}", goes_from_to(first, second, 2), most_changed_layer(comparison));
  const double slope = mean_entropy_slope(comparison.first), other = mean_entropy_slope(comparison.second);
  if (std::isfinite(slope) && std::isfinite(other))
    out += fmt::format("; its growth with the length {} nats per factor e", goes_from_to(slope, other, 2));
  return out + ".";
}

std::string labels_text(const char* verb, const std::vector<Label>& labels) {
  std::string out;
  for (const Label& label : labels)
    out += fmt::format("{}{} ({:.3g}{})", out.empty() ? "" : ", ", label.name, label.value,
                       label.detail.empty() ? "" : ", " + label.detail);
  return out.empty() ? "" : fmt::format("  {} {}", verb, out);
}

void add_both(report::TextTable* table, const std::string& label, double first, double second) {
  if (std::isfinite(first) && std::isfinite(second))
    table->add_row(
        {label, fmt::format("{:.4f}", first), fmt::format("{:.4f}", second), fmt::format("{:+.4f}", second - first)});
}

std::string table_of(const Comparison& comparison) {
  constexpr std::size_t kLengths = 3;
  const Result &a = comparison.first, &b = comparison.second;
  report::TextTable table({"", "first", "second", "difference"});
  if (a.scale != b.scale) table.add_row({"scale", a.scale, b.scale});
  if (a.loss && b.loss) {
    add_both(&table, "loss, nats", a.loss->mean, b.loss->mean);
    add_both(&table, "perplexity", std::exp(a.loss->mean), std::exp(b.loss->mean));
  }
  add_both(&table, "mean entropy, nats", mean_entropy(a), mean_entropy(b));
  std::vector<LengthPair> lengths = common_lengths(comparison);
  if (lengths.size() > kLengths) lengths.erase(lengths.begin() + 1, lengths.end() - 2);
  for (const LengthPair& pair : lengths) {
    const std::string at = fmt::format(" at {} tokens", a.lengths[pair.first].length);
    add_both(&table, "loss" + at, a.lengths[pair.first].loss, b.lengths[pair.second].loss);
    add_both(&table, "mean entropy" + at, mean_entropy_at(a, pair.first), mean_entropy_at(b, pair.second));
  }
  return table.str();
}

}  // namespace

std::vector<std::string> sentences(const Comparison& comparison) {
  std::vector<std::string> out = {changed_labels_sentence(comparison), loss_sentence(comparison),
                                  changed_entropy_sentence(comparison)};
  std::erase(out, "");
  return out;
}

std::string terminal_text(const Comparison& comparison) {
  constexpr std::size_t kHeads = 8;
  std::string out = fmt::format("first: {}\nsecond: {}\n", comparison.first_name, comparison.second_name);
  out += table_of(comparison) + changed_labels_sentence(comparison) + "\n";
  for (std::size_t i = 0; i < std::min(kHeads, comparison.changed.size()); ++i) {
    const HeadComparison& head = comparison.heads[comparison.changed[i]];
    out += fmt::format("  {:>5}  change {:.2f}{}{}\n", fmt::format("{}.{}", head.layer, head.head), head.change,
                       labels_text("lost", head.lost), labels_text("gained", head.gained));
  }
  return out;
}

}  // namespace isentropic::scan
