// Computes differences, and sorts heads by them.
#include "scan/comparison.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "isentropic/error.hpp"
#include "scan/head_values.hpp"

namespace isentropic::scan {
namespace {

std::vector<std::int64_t> heads_by_layer(const Result& result) {
  std::vector<std::int64_t> out;
  for (const LayerResult& layer : result.layers) out.push_back(layer.description.heads);
  return out;
}

std::vector<Label> without(const std::vector<Label>& labels, const std::vector<Label>& others) {
  std::vector<Label> out;
  for (const Label& label : labels)
    if (!has(others, label.name)) out.push_back(label);
  return out;
}

bool counts_as_change(const Term& term) { return term.is_share || term.name == "retrieval_score"; }

std::string texts_of(const Result& result) {
  std::string out;
  for (const std::string& text : result.texts) out += (out.empty() ? "" : ", ") + text;
  return out;
}

void name_both(Comparison* out) {
  const Result &a = out->first, &b = out->second;
  out->first_name = a.model, out->second_name = b.model;
  if (a.model != b.model && !a.model.empty() && !b.model.empty()) return;
  const auto add = [&](const std::string& x, const std::string& y) {
    out->first_name.append(a.model.empty() || x.empty() ? "" : ", ").append(x);
    out->second_name.append(b.model.empty() || y.empty() ? "" : ", ").append(y);
  };
  if (a.scale != b.scale) return add(a.scale, b.scale);
  if (a.map != b.map) return add(a.map, b.map);
  if (a.length != b.length) return add(std::to_string(a.length) + " tokens", std::to_string(b.length) + " tokens");
  if (a.texts != b.texts) return add(texts_of(a), texts_of(b));
  add("first", "second");
}

HeadComparison compare_heads(const Comparison& of, std::size_t index, const std::vector<Term>& terms) {
  const HeadResult &a = of.first.heads[index], &b = of.second.heads[index];
  HeadComparison out{.layer = a.layer, .head = a.head};
  for (const Term& term : terms) {
    const double difference = value_of(of.second, b, term.name).mean - value_of(of.first, a, term.name).mean;
    if (!std::isfinite(difference)) continue;
    out.differences[term.name] = difference;
    if (counts_as_change(term)) out.change = std::max(out.change, std::abs(difference));
  }
  out.gained = without(b.labels, a.labels);
  out.lost = without(a.labels, b.labels);
  return out;
}

}  // namespace

// If layers differ in their number of heads, only the first few are listed.
std::string shape_of(const Result& result) {
  constexpr std::size_t kNamed = 8;
  const std::vector<std::int64_t> heads = heads_by_layer(result);
  std::string out = std::to_string(heads.size());
  out.append(heads.size() == 1 ? " layer of " : " layers of ");
  const bool is_even = std::ranges::adjacent_find(heads, std::ranges::not_equal_to()) == heads.end();
  for (std::size_t i = 0; i < std::min(heads.size(), is_even ? 1 : kNamed); ++i)
    out.append(i == 0 ? "" : ", ").append(std::to_string(heads[i]));
  return out.append(!is_even && heads.size() > kNamed ? ", ... heads" : " heads");
}

void require_one_shape(const Result& first, const Result& second) {
  if (heads_by_layer(first) != heads_by_layer(second) || first.heads.size() != second.heads.size())
    throw Error("the second scan, " + second.model + ",", "of " + shape_of(second),
                "the " + shape_of(first) + " of the first, " + first.model);
}

Comparison compare(Result first, Result second) {
  require_one_shape(first, second);
  Comparison out{.first = std::move(first), .second = std::move(second), .first_name = {}, .second_name = {}};
  name_both(&out);
  const std::vector<Term> terms = terms_of({&out.first, &out.second});
  for (std::size_t i = 0; i < out.first.heads.size(); ++i) {
    out.heads.push_back(compare_heads(out, i, terms));
    if (out.heads.back().has_other_labels()) out.changed.push_back(i);
  }
  std::ranges::stable_sort(out.changed, std::ranges::greater(), [&](std::size_t i) { return out.heads[i].change; });
  return out;
}

}  // namespace isentropic::scan
