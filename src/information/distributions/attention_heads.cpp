// Redundancy, similarity and diversity of heads, and the decomposition of what they say about a label.
#include "isentropic/information/attention_heads.hpp"

#include <algorithm>
#include <bit>
#include <numbers>
#include <string>

#include "base/checks.hpp"
#include "information/distributions/attention_rows.hpp"
#include "information/distributions/validate.hpp"

namespace isentropic::information {
namespace {

std::vector<Table> exact_heads(std::span<const Table> heads) {
  require_at_least("the number of heads", heads.size(), 2);
  std::vector<Table> out;
  for (std::size_t h = 0; h < heads.size(); ++h) {
    if (heads[h].rows != heads[0].rows || heads[h].columns != heads[0].columns)
      throw Error("head " + std::to_string(h), shape_text(heads[h]), shape_text(heads[0]) + ", as the first head");
    out.push_back(exact_rows("head " + std::to_string(h), heads[h]));
  }
  return out;
}

// Given the query the heads pick independently: one query makes any two heads look unrelated.
void require_queries(std::size_t queries) {
  require(queries >= 2, "the number of queries", std::to_string(queries),
          "at least 2: a single query says nothing about dependence");
}

Table joint_of(const Table& first, const Table& second) {
  Table out(first.columns, second.columns);
  const double share = 1 / static_cast<double>(first.rows);
  for (std::size_t q = 0; q < first.rows; ++q)
    for (std::size_t i = 0; i < first.columns; ++i)
      for (std::size_t j = 0; j < second.columns; ++j) out(i, j) += share * first(q, i) * second(q, j);
  return out;
}

// I(J1;J2) / min(H(J1), H(J2)).
double shared_fraction(const Table& joint) {
  constexpr double kNothing = 1e-12;  // a head that always picks the same key shares nothing
  const double least = std::min(entropy(row_marginal(joint)), entropy(column_marginal(joint)));
  return least < kNothing ? 0 : std::clamp(mutual_information(joint) / least, 0.0, 1.0);
}

template <class Value>
double mean_over_pairs(std::size_t heads, const Value& value) {
  double sum = 0;
  for (std::size_t a = 0; a < heads; ++a)
    for (std::size_t b = a + 1; b < heads; ++b) sum += value(a, b);
  return 2 * sum / static_cast<double>(heads * (heads - 1));
}

// Mean over queries of the Jensen-Shannon divergence of the heads' rows.
double mean_divergence(std::span<const Table* const> heads) {
  const std::size_t queries = heads[0]->rows, keys = heads[0]->columns;
  double sum = 0;
  Table rows(heads.size(), keys);
  for (std::size_t q = 0; q < queries; ++q) {
    for (std::size_t h = 0; h < heads.size(); ++h) std::ranges::copy(heads[h]->row(q), rows.row(h).begin());
    sum += jensen_shannon(rows);
  }
  return sum / static_cast<double>(queries);
}

}  // namespace

Table joint_of_heads(const Table& first, const Table& second) {
  require_length("second", second.rows, first.rows, "as many queries as first");
  require_queries(first.rows);
  return joint_of(exact_rows("first", first), exact_rows("second", second));
}

double head_redundancy(std::span<const Table> heads) {
  const std::vector<Table> exact = exact_heads(heads);
  require_queries(exact[0].rows);
  return mean_over_pairs(exact.size(),
                         [&](std::size_t a, std::size_t b) { return shared_fraction(joint_of(exact[a], exact[b])); });
}

double head_similarity(std::span<const Table> heads) {
  const std::vector<Table> exact = exact_heads(heads);
  return mean_over_pairs(exact.size(), [&](std::size_t a, std::size_t b) {
    const Table* const pair[] = {&exact[a], &exact[b]};
    return 1 - mean_divergence(pair) / std::numbers::ln2;
  });
}

double head_diversity(std::span<const Table> heads) {
  const std::vector<Table> exact = exact_heads(heads);
  std::vector<const Table*> all;
  for (const Table& head : exact) all.push_back(&head);
  return mean_divergence(all);
}

double HeadDecomposition::chain_sum() const {
  double sum = 0;
  for (double x : chain) sum += x;
  return sum;
}

double HeadDecomposition::inclusion_exclusion() const {
  double sum = 0;
  for (const Term& term : terms) sum += term.heads.size() % 2 == 1 ? term.co_information : -term.co_information;
  return sum;
}

HeadDecomposition decompose_heads(const Joint& joint) {
  constexpr std::size_t kMostHeads = 16;
  if (joint.sizes.size() < 2 || joint.sizes.size() > kMostHeads + 1)
    throw Error("joint", "over " + std::to_string(joint.sizes.size()) + " variables", "1 to 16 heads, followed by Y");
  const std::size_t heads = joint.sizes.size() - 1;
  const Variables y = {heads};
  // I(Z_S; Y) for every set S; everything else follows from these.
  std::vector<double> information(std::size_t{1} << heads, 0.0);
  for (std::size_t set = 1; set < information.size(); ++set) {
    Variables members;
    for (std::size_t h = 0; h < heads; ++h)
      if ((set >> h) & 1) members.push_back(h);
    information[set] = mutual_information(joint, members, y);
  }
  HeadDecomposition out;
  out.total = information.back();
  for (std::size_t h = 0; h < heads; ++h) {
    const std::size_t one = std::size_t{1} << h;
    out.single.push_back(information[one]);
    out.chain.push_back(information[2 * one - 1] - information[one - 1]);
  }
  for (std::size_t set = 1; set < information.size(); ++set) {
    HeadDecomposition::Term term;
    for (std::size_t h = 0; h < heads; ++h)
      if ((set >> h) & 1) term.heads.push_back(h);
    // C_S = sum over non-empty T in S of (-1)^(|T|+1) I(Z_T; Y).
    for (std::size_t subset = set; subset > 0; subset = (subset - 1) & set)
      term.co_information += std::popcount(subset) % 2 == 1 ? information[subset] : -information[subset];
    out.terms.push_back(std::move(term));
  }
  std::ranges::stable_sort(out.terms, {}, [](const HeadDecomposition::Term& term) { return term.heads.size(); });
  return out;
}

}  // namespace isentropic::information
