// Noise-contrastive estimation from C++, around the operator softplus_sum.
#include <cmath>

#include "isentropic/pytorch/contrastive_losses.hpp"
#include "pytorch/loss_rows.hpp"
#include "pytorch/softplus_sum.hpp"

namespace isentropic::pytorch {

Loss nce(const at::Tensor& query, const at::Tensor& key, const at::Tensor& noise, const NceOptions& options) {
  check_pair(query, key);
  check_same_shape(query, key);
  check_candidates("noise", noise, query);
  const std::int64_t rows = query.size(0), samples = noise.size(-2);
  const at::Tensor &of_key = options.key_log_noise, &of_noise = options.noise_log_noise;
  TORCH_CHECK_VALUE(of_key.defined() && of_key.sizes() == at::IntArrayRef{rows},
                    "key_log_noise is absent or of another shape; expected [", rows, "]");
  const bool fits = of_noise.defined() && (of_noise.sizes() == at::IntArrayRef{samples} ||
                                           of_noise.sizes() == at::IntArrayRef{rows, samples});
  TORCH_CHECK_VALUE(fits, "noise_log_noise is absent or of another shape; expected [", samples, "] or [", rows, ", ",
                    samples, "]");
  const double ratio = options.noise_ratio.value_or(static_cast<double>(samples));
  TORCH_CHECK_VALUE(ratio > 0 && std::isfinite(ratio), "noise_ratio is ", ratio, "; expected a positive number");
  const at::ScalarType wide = statistics_type(query);
  const at::Tensor scale = inverse_temperature(options.temperature, query).to(wide);
  const at::Tensor given = options.log_z.defined() ? options.log_z.to(wide) : number_like(0, query);
  TORCH_CHECK_VALUE(given.numel() == 1 || given.numel() == rows, "log_z has shape ", given.sizes(),
                    "; expected [] or [", rows, "]");
  const at::Tensor log_z = given.reshape({-1}).expand({rows});

  const at::Tensor odds = pair_scores(query, key, scale) - log_z - (std::log(ratio) + of_key.to(wide));
  const at::Tensor losses =
      softplus_of(-odds) + softplus_sum(query.to(wide) * scale, noise.to(wide), -(std::log(ratio) + of_noise.to(wide)),
                                        -log_z, std::log(ratio / static_cast<double>(samples)), 0);
  // Computed for the likelier side, where nothing cancels; beyond 1e3 the entropy is 0, also at infinite odds.
  const at::Tensor certain = odds.abs().clamp_max(1e3);
  const at::Tensor entropy = softplus_of(-certain) + certain * at::sigmoid(-certain);
  const at::Tensor ceiling = number_like(std::log1p(1 / ratio) + std::log(ratio) / (1 + ratio), losses);
  return {reduced_rows(losses, options.reduction), entropy,
          ceiling - reduced_rows(losses.detach(), Reduction::mean) / (1 + ratio), ceiling};
}

}  // namespace isentropic::pytorch
