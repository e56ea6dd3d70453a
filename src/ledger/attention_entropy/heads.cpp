// Section 16: several heads.
#include <algorithm>
#include <cmath>

#include "experiments/tools/estimate.hpp"
#include "experiments/tools/kernels.hpp"
#include "isentropic/information/attention_heads.hpp"
#include "isentropic/information/distribution.hpp"
#include "ledger/attention_entropy/quoted_draws.hpp"
#include "ledger/attention_entropy/subjects.hpp"

namespace isentropic::ledger::attention_entropy {
namespace {

void heads_side_by_side(Check& check) {
  const std::size_t heads = 4, n = 20, d = 8;
  const std::vector<double> q = check.random().normals(heads * n * d), k = check.random().normals(heads * n * d),
                            v = check.random().normals(heads * n * d);
  const AttentionProblem problem{.query = View(q.data(), {1, 4, 20, 8}),
                                 .key = View(k.data(), {1, 4, 20, 8}),
                                 .value = View(v.data(), {1, 4, 20, 8}),
                                 .executor = &serial_executor()};
  const std::vector<double> together = attention(problem).output.to_doubles();
  double worst = 0;
  for (std::size_t h = 0; h < heads; ++h) {
    const auto part = [&](const std::vector<double>& x) {
      return Table(n, d,
                   {x.begin() + static_cast<std::ptrdiff_t>(h * n * d),
                    x.begin() + static_cast<std::ptrdiff_t>((h + 1) * n * d)});
    };
    const std::vector<double> alone = attend(part(q), part(k), part(v)).output.to_doubles();
    for (std::size_t x = 0; x < alone.size(); ++x)
      worst = std::max(worst, std::abs(alone[x] - together[h * n * d + x]));
  }
  check.near("four heads in one call against four calls, worst", worst, 0, 1e-14);
}

void entropy_of_all_heads(Check& check) {
  const std::vector<double> p = weights_of(kHeadScores), q = weights_of(check.random().normals(8));
  Joint independent{{8, 8}, std::vector<double>(64)}, same{{8, 8}, std::vector<double>(64, 0.0)};
  for (std::size_t i = 0; i < 8; ++i) {
    same.p[i * 9] = p[i];
    for (std::size_t j = 0; j < 8; ++j) independent.p[i * 8 + j] = p[i] * q[j];
  }
  const Joint& joint = check.choose(independent, same);
  check.near("H(J1, J2) against H(J1) + H(J2)", entropy(joint, {0, 1}), entropy(joint, {0}) + entropy(joint, {1}),
             1e-12);
  check.near("one draw for both heads: H(J1, J2) against H(J1)", entropy(same, {0, 1}), entropy(p), 1e-12);
  check.near("the same, quoted", entropy(same, {0, 1}), 1.7571, 5e-5);
  Joint twins = independent;
  for (std::size_t i = 0; i < 8; ++i)
    for (std::size_t j = 0; j < 8; ++j) twins.p[i * 8 + j] = p[i] * p[j];
  check.near("two independent heads of this law, quoted", entropy(twins, {0, 1}), 3.5141, 5e-5);
  std::int64_t above = 0;
  for (std::int64_t t = 0; t < check.effort(300, 3000); ++t) {
    const Joint any{{4, 5}, check.random().probabilities(20)};
    above += entropy(any, {0, 1}) > entropy(any, {0}) + entropy(any, {1}) + 1e-12;
  }
  check.never("joint laws above the sum", above);
}

// Heads over 8 keys for a single query.
std::vector<Table> one_query(const std::vector<std::vector<double>>& rows) {
  std::vector<Table> out;
  for (const auto& row : rows) out.emplace_back(1, row.size(), row);
  return out;
}

double spread_of_entropies(const std::vector<Table>& heads) {
  Mean out;
  for (const Table& head : heads) out.add(entropy(head.row(0)));
  return out.deviation();
}

void diversity(Check& check) {
  std::vector<std::vector<double>> rows(4, std::vector<double>(8, 0.0));
  for (std::size_t h = 0; h < 4; ++h) rows[h][2 * h] = rows[h][2 * h + 1] = 0.5;
  const std::vector<Table> disjoint = one_query(rows), equal = one_query(std::vector(4, rows[0]));
  const auto measure = [&](const std::vector<Table>& heads) {
    return check.choose(head_diversity(heads), spread_of_entropies(heads));
  };
  check.near("diversity of four heads that share no key", measure(disjoint), std::log(4.0), 1e-12);
  check.near("diversity of four equal heads", measure(equal), 0, 1e-12);
  for (auto& row : rows) row = weights_of(check.random().normals(8, 2));
  check.between("diversity of random heads, in [0, log 4]", head_diversity(one_query(rows)), 0, std::log(4.0));
}

}  // namespace

std::vector<Claim> heads_claims() {
  return {
      computed("001-69,70", Verdict::holds, "Multi-head attention: heads side by side, each with its own projections",
               "then one output matrix", heads_side_by_side),
      computed("001-71", Verdict::holds_if, "The entropy of all heads together is the sum of theirs",
               "where the heads draw their keys independently; otherwise the sum is an upper bound",
               entropy_of_all_heads),
      computed("001-s16", Verdict::corrected, "Heads are diverse where their entropies differ",
               "Jensen-Shannon divergence H(mean a) - mean H, in [0, log h]: heads without a common key may have equal "
               "entropies",
               diversity),
  };
}

}  // namespace isentropic::ledger::attention_entropy
