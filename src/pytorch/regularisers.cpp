// Means of entropies with their gradients.
#include "isentropic/pytorch/regularisers.hpp"

#include <c10/util/Exception.h>

#include <cmath>

namespace isentropic::pytorch {
namespace {

const at::Tensor& statistic_of(const std::map<std::string, at::Tensor>& layer, const std::string& name) {
  const auto found = layer.find(name);
  TORCH_CHECK_VALUE(found != layer.end(), "statistics have no ", name, "; expected it among those asked for");
  return found->second;
}

}  // namespace

at::Tensor mean_over_rows(const std::map<std::string, at::Tensor>& layer, const std::string& statistic) {
  const at::Tensor counts = statistic_of(layer, "visible") >= 2;
  const at::Tensor kept = at::where(counts, statistic_of(layer, statistic), 0.0);
  return kept.sum(at::IntArrayRef{0, 2}) / counts.sum(at::IntArrayRef{0, 2}).clamp_min(1);
}

at::Tensor entropy_regulariser(const LayerStatistics& layers, const EntropyRegulariserOptions& options) {
  TORCH_CHECK_VALUE(std::isfinite(options.weight) && options.weight >= 0, "weight is ", options.weight,
                    "; expected a number >= 0 (direction has the sign)");
  TORCH_CHECK_VALUE(!layers.empty(), "layers are none; expected the statistics of one attention or more");
  std::vector<at::Tensor> means;
  for (const auto& layer : layers)
    means.push_back(mean_over_rows(layer, options.normalised ? "normalised_entropy" : "entropy").mean());
  return at::stack(means).mean() * (options.direction == Direction::encourage ? -options.weight : options.weight);
}

}  // namespace isentropic::pytorch
