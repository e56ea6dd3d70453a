// Computes attention with scores that depend on distances or entropies, from PyTorch operators and the kernel.
#include "lab/length/distance_attention.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace isentropic::lab::length {
namespace {

constexpr double kReach = 10;  // tokens; at much shorter distances scores are nearly unchanged

// Rows [from, from + rows) of n.
pytorch::AttentionOutput invariant_rows(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                                        std::int64_t from, bool with_entropy, double dropout) {
  const std::int64_t rows = query.size(2), n = from + rows;
  const auto options = query.options().dtype(at::kFloat);
  const at::Tensor distance = at::arange(from, n, options).unsqueeze(1) - at::arange(n, options);
  const at::Tensor growth = 2 * (distance.clamp_min(0) / kReach).log1p();
  const at::Tensor factor = (growth + 1).sqrt() / std::sqrt(query.size(3));
  const at::Tensor shift = (-growth).masked_fill(distance < 0, -std::numeric_limits<float>::infinity());
  const at::Tensor scores = at::matmul(query, key.narrow(2, 0, n).transpose(2, 3)) * factor + shift;
  const at::Tensor weights = at::softmax(scores, -1);
  pytorch::AttentionOutput out;
  out.output = at::matmul(
      dropout > 0 ? at::dropout(weights, dropout, true).to(value.scalar_type()) : weights.to(value.scalar_type()),
      value.narrow(2, 0, n));
  if (with_entropy) out.statistics["entropy"] = -at::special_xlogy(weights, weights).sum(-1);
  return out;
}

}  // namespace

pytorch::AttentionOutput scale_invariant_attention(std::size_t, const at::Tensor& query, const at::Tensor& key,
                                                   const at::Tensor& value, const pytorch::AttentionOptions& options) {
  const std::int64_t n = query.size(2), rows = std::max<std::int64_t>(128, n / 16);  // later keys are skipped
  const bool with_entropy = options.statistics.has(Statistic::entropy);
  std::vector<at::Tensor> outputs, entropies;
  for (std::int64_t from = 0; from < n; from += rows) {
    pytorch::AttentionOutput part = invariant_rows(query.narrow(2, from, std::min(rows, n - from)), key, value, from,
                                                   with_entropy, options.dropout);
    outputs.push_back(part.output);
    if (with_entropy) entropies.push_back(part.statistics.at("entropy"));
  }
  pytorch::AttentionOutput out;
  out.output = at::cat(outputs, 2);
  if (with_entropy) out.statistics["entropy"] = at::cat(entropies, 2);
  return out;
}

at::Tensor adaptive_factor(const at::Tensor& entropy) {
  const at::Tensor h = entropy;
  const at::Tensor polynomial = (((-0.037 * h + 0.481) * h - 2.3) * h + 4.917) * h - 1.791;
  return at::where(h > 0.5, polynomial.clamp_min(1), at::ones_like(h));
}

pytorch::AttentionOutput adaptive_attention(std::size_t, const at::Tensor& query, const at::Tensor& key,
                                            const at::Tensor& value, const pytorch::AttentionOptions& options) {
  pytorch::AttentionOptions adapted = options, plain = options;
  plain.statistics = Statistics::of({Statistic::entropy});
  plain.dropout = 0;
  const at::Tensor entropy = pytorch::attention(query, key, value, plain).statistics.at("entropy").detach();
  adapted.scale = Scale::per_row({});
  adapted.scale_parameters = {{"rows", adaptive_factor(entropy) / std::sqrt(static_cast<double>(query.size(3)))}};
  return pytorch::attention(query, key, value, adapted);
}

}  // namespace isentropic::lab::length
