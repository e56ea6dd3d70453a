// Two-level attention by its definition.
#include "reference/hierarchical.hpp"

#include <cmath>

#include "reference/mask.hpp"
#include "reference/scores.hpp"
#include "reference/weights.hpp"

namespace reference {
namespace {

double entropy_of(const Numbers& p) {
  double h = 0;
  for (double x : p) h -= x > 0 ? x * std::log(x) : 0;
  return h;
}

// q . mean of the block's keys that the row sees.
double mean_key_score(const Problem& problem, Index b, Index h, Index i, const std::vector<char>& members) {
  double sum = 0, seen = 0;
  for (Index j = 0; j < problem.n_k; ++j) {
    if (!members[j]) continue;
    ++seen;
    for (Index t = 0; t < problem.d; ++t) sum += problem.query_row(b, h, i)[t] * problem.key_row(b, h, j)[t];
  }
  return seen == 0 ? 0 : sum / seen;
}

}  // namespace

HierarchicalForward hierarchical(const Hierarchical& hierarchy) {
  const Problem& problem = hierarchy.attention;
  const Index blocks = (problem.n_k + hierarchy.block - 1) / hierarchy.block;
  HierarchicalForward out;
  for (Index b = 0; b < problem.batch; ++b) {
    for (Index h = 0; h < problem.heads; ++h) {
      for (Index i = 0; i < problem.n_q; ++i) {
        const ScoreRow scores = score_row(problem, b, h, i);
        std::vector<char> block_seen(blocks, 0);
        std::vector<Numbers> inside(blocks);
        std::vector<std::vector<char>> members(blocks, std::vector<char>(problem.n_k, 0));
        Numbers block_score(blocks, 0);
        Index seen = 0;
        for (Index c = 0; c < blocks; ++c) {
          for (Index j = c * hierarchy.block; j < std::min((c + 1) * hierarchy.block, problem.n_k); ++j) {
            members[c][j] = scores.seen[j];
            block_seen[c] |= scores.seen[j];
          }
          seen += block_seen[c];
          inside[c] = softmax(scores.score, members[c]);
          block_score[c] = log_sum_exp(scores.score, members[c]);
        }
        if (hierarchy.score == BlockScore::mean_key) {
          const double lambda =
              seen == 0 ? 0
                        : law_value(hierarchy.block_scale, {seen, problem.d, query_place(problem, b, i).position, h});
          for (Index c = 0; c < blocks; ++c) block_score[c] = lambda * mean_key_score(problem, b, h, i, members[c]);
        }
        const Numbers over = softmax(block_score, block_seen);
        Numbers row(problem.d_v, 0);
        double within = 0;
        for (Index c = 0; c < blocks; ++c) {
          if (!block_seen[c]) continue;
          within += over[c] * entropy_of(inside[c]);
          for (Index j = 0; j < problem.n_k; ++j) {
            for (Index t = 0; t < problem.d_v; ++t) row[t] += over[c] * inside[c][j] * problem.value_row(b, h, j)[t];
          }
        }
        out.output.insert(out.output.end(), row.begin(), row.end());
        out.block_entropy.push_back(entropy_of(over));
        out.within_entropy.push_back(within);
        out.entropy.push_back(entropy_of(over) + within);
      }
    }
  }
  return out;
}

}  // namespace reference
