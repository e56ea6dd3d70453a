// InfoNCE's best critic on a probability table, by summing over every set of candidates.
#include <algorithm>
#include <functional>
#include <limits>

#include "experiments/tools/estimate.hpp"
#include "experiments/tools/kernels.hpp"
#include "isentropic/information/distribution.hpp"
#include "isentropic/theory/contrast.hpp"
#include "ledger/contrast/nce_kernel.hpp"
#include "ledger/contrast/subjects.hpp"

namespace isentropic::ledger::contrast {
namespace {

using Vector = std::vector<double>;
constexpr double kUnbounded = std::numeric_limits<double>::infinity();

// Candidate sets as counts: the log-partition is log sum_y c_y e^{S_y}, a softmax with the bias log c_y.
struct CandidateSet {
  Vector log_counts;
  Vector weights;  // per row (anchor, positive), anchor-major: p(x, y) P(the negatives)
};

std::vector<CandidateSet> candidate_sets(const Table& joint, int candidates) {
  const Vector marginal = column_marginal(joint);
  std::vector<CandidateSet> out;
  Vector counts(joint.columns, 0.0);
  const std::function<void(std::size_t, int)> fill = [&](std::size_t y, int left) {
    if (y + 1 == counts.size()) {
      counts[y] = left;
      double orders = std::tgamma(candidates);  // (N-1)!
      for (std::size_t c = 0; c < counts.size(); ++c)
        orders *= std::pow(marginal[c], counts[c]) / std::tgamma(counts[c] + 1);
      CandidateSet set;
      for (double c : counts) set.log_counts.push_back(std::log(c));
      for (std::size_t x = 0; x < joint.rows; ++x)
        for (std::size_t c = 0; c < counts.size(); ++c)
          set.weights.push_back(joint(x, c) * orders * counts[c] / marginal[c]);
      out.push_back(std::move(set));
      return;
    }
    for (int here = 0; here <= left; ++here) {
      counts[y] = here;
      fill(y + 1, left - here);
    }
  };
  fill(0, candidates);
  return out;
}

// The columns of the critic as keys, unit vectors for the anchors as queries.
Contrast tabular(const Table& critic) {
  Contrast out{Table(critic.rows * critic.columns, critic.rows), Table(critic.columns, critic.rows), {}};
  for (std::size_t x = 0; x < critic.rows; ++x)
    for (std::size_t y = 0; y < critic.columns; ++y) {
      out.query(x * critic.columns + y, x) = 1;
      out.key(y, x) = critic(x, y);
      out.target.push_back(static_cast<std::int64_t>(y));
    }
  return out;
}

Table info_nce_argmin(const Table& joint, int candidates, int steps) {
  const std::vector<CandidateSet> sets = candidate_sets(joint, candidates);
  Table critic(joint.rows, joint.columns);
  for (int step = 0; step < steps; ++step) {
    Contrast contrast = tabular(critic);
    Table gradient(joint.columns, joint.rows);
    for (const CandidateSet& set : sets) {
      contrast.bias = set.log_counts;
      const Table part = gradients_of(contrast, set.weights).key;
      for (std::size_t i = 0; i < part.values.size(); ++i) gradient.values[i] += part.values[i];
    }
    // A fraction of p(x, y) passes through each entry: dividing by p(x, y) makes all directions about equally steep.
    for (std::size_t x = 0; x < joint.rows; ++x)
      for (std::size_t y = 0; y < joint.columns; ++y) critic(x, y) -= 2 * gradient(y, x) / joint(x, y);
  }
  return critic;
}

void one_positive_each(Check& check) {
  // Positives are the scores that lower the loss when they rise.
  Random& random = check.random();
  const Vector query = random.normals(4);
  const Table keys(9, 4, random.normals(36));
  const Table gradient = gradients_of(one_anchor(query, keys, 1)).key;
  int info_nce = 0, nce = 0;
  for (std::size_t j = 0; j < 9; ++j) info_nce += dot(gradient.row(j), query) < 0;
  NceKernel step = nce_kernel(kNceData, softmax_by_hand(kNceModelScores), kNceNoise, 8);
  for (std::size_t row = 0; row < step.weights.size(); ++row)
    step.weights[row] = row == 0 || row > 7;  // 1 datum, 4 noise
  for (double g : measured_gradient(step)) nce += g < 0;
  check.near("positives of a step, InfoNCE", info_nce, 1, 0);
  check.near("positives of a step, NCE", nce, 1, 0);

  // A real difference: InfoNCE's best critic is determined only up to a term that depends on the anchor.
  Table joint(3, 4, random.probabilities(12));
  for (double& p : joint.values) p = 0.9 * p + 0.1 / 12;
  const Vector anchors = row_marginal(joint), marginal = column_marginal(joint);
  for (int candidates = 2; candidates <= 4; ++candidates) {
    const Table critic = info_nce_argmin(joint, candidates, 80);
    double spread = 0;
    for (std::size_t x = 0; x < 3; ++x) {
      double low = kUnbounded, high = -kUnbounded;
      for (std::size_t y = 0; y < 4; ++y) {
        const double excess = critic(x, y) - std::log(joint(x, y) / (anchors[x] * marginal[y]));
        low = std::min(low, excess), high = std::max(high, excess);
      }
      spread = std::max(spread, high - low);
    }
    check.near("spread of critic - PMI within an anchor, N = " + std::to_string(candidates), spread, 0, 1e-5);
  }
}

}  // namespace

std::vector<Claim> tabular_critic_claims() {
  return {
      computed(
          "002-4.4.2d", Verdict::note,
          "One positive and k negatives a step are named as a limit of NCE, and InfoNCE as the way past its limits",
          "this one stays, InfoNCE has one positive too; what changes is the softmax over candidates: the best "
          "critic is PMI + c(anchor)",
          one_positive_each),
  };
}

}  // namespace isentropic::ledger::contrast
