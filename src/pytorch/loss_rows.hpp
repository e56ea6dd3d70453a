// Shared by the C++ losses: reductions, scores of pairs, numbers in the type of statistics, checks.
#pragma once

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <c10/util/Exception.h>

#include "isentropic/pytorch/contrastive_losses.hpp"
#include "pytorch/losses.hpp"
#include "pytorch/tensors.hpp"

namespace isentropic::pytorch {

// log(1 + e^x), accurate to the last digits for both signs of x.
inline at::Tensor softplus_of(const at::Tensor& x) { return at::logaddexp(x, at::zeros_like(x)); }

// Filled in place: a copy from the host would wait for the device.
inline at::Tensor number_like(double number, const at::Tensor& like) {
  return at::full({}, number, like.options().dtype(statistics_type(like)));
}

// The score of row i with row i, in the type of statistics.
inline at::Tensor pair_scores(const at::Tensor& query, const at::Tensor& positive, const at::Tensor& scale) {
  const at::ScalarType wide = statistics_type(query);
  return (query.to(wide) * positive.to(wide)).sum(-1) * scale;
}

inline std::optional<at::Tensor> if_defined(const at::Tensor& x) {
  return x.defined() ? std::optional(x) : std::nullopt;
}

// The weights whose weighted sum is the reduction: the mean divides by the sum of weights, and is 0 if that is 0.
inline at::Tensor weights_of_rows(const at::Tensor& weights, Reduction reduction) {
  if (reduction != Reduction::mean) return weights;
  const at::Tensor sum = weights.sum();
  return weights / at::where(sum.eq(0), 1.0, sum);
}

// A weight of 0 excludes the row, even if its loss is NaN.
inline at::Tensor reduced_rows(const at::Tensor& losses, const at::Tensor& weights, Reduction reduction) {
  const at::Tensor weighted = at::where(weights.eq(0), 0.0, losses) * weights_of_rows(weights, reduction);
  return reduction == Reduction::none ? weighted : weighted.sum();
}

// For rows of equal weight.
inline at::Tensor reduced_rows(const at::Tensor& losses, Reduction reduction) {
  if (reduction == Reduction::none) return losses;
  const at::Tensor total = losses.sum();
  return reduction == Reduction::sum ? total : total / std::max<std::int64_t>(losses.numel(), 1);
}

// In a 16-bit type with a 5-bit exponent, gradients would underflow before an upstream gradient scales them up.
inline bool forms_gradients(const at::Tensor& query, std::initializer_list<at::Tensor> inputs) {
  bool wanted = false;
  for (const at::Tensor& input : inputs) wanted = wanted || (input.defined() && input.requires_grad());
  const bool wide = query.scalar_type() == at::kBFloat16 || query.scalar_type() == at::kFloat;
  return query.is_cuda() && wide && wanted && at::GradMode::is_enabled();
}

// 1 / temperature, []. A tensor on the CPU is validated.
at::Tensor inverse_temperature(const Temperature& temperature, const at::Tensor& like);

// ValueError or TypeError unless both are [N, d] of one floating type.
void check_pair(const at::Tensor& query, const at::Tensor& key);
void check_same_shape(const at::Tensor& query, const at::Tensor& key);
// [M, d] for all queries or [N, M, d]; returns true for the former.
bool check_candidates(const char* name, const at::Tensor& candidates, const at::Tensor& query);

}  // namespace isentropic::pytorch
