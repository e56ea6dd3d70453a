// Terms that steer the entropy of attention, to add to a loss.
//
//   at::Tensor term = entropy_regulariser(layers, {.weight = 0.01, .direction = Direction::encourage});
//   (loss + term).backward();
#pragma once

#include <ATen/ATen.h>
#include <torch/nn/cloneable.h>
#include <torch/nn/pimpl.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "isentropic/export.hpp"

namespace isentropic::pytorch {

enum class Direction : std::uint8_t { encourage, discourage };

struct EntropyRegulariserOptions {
  double weight = 0.01;  // >= 0
  Direction direction = Direction::encourage;
  bool normalised = true;  // H / log n instead of nats
};

// The statistics of attention calls, each [batch, heads, n]. They must have "visible", and "normalised_entropy" or
// "entropy".
using LayerStatistics = std::vector<std::map<std::string, at::Tensor>>;

// [heads]: the mean of a statistic over the rows that see two keys or more. A row with fewer has no choice.
ISENTROPIC_API at::Tensor mean_over_rows(const std::map<std::string, at::Tensor>& layer, const std::string& statistic);

// -weight times the mean over heads and layers to encourage entropy, +weight to discourage it.
ISENTROPIC_API at::Tensor entropy_regulariser(const LayerStatistics& layers,
                                              const EntropyRegulariserOptions& options = {});

// The same with its options kept; no state.
class ISENTROPIC_API EntropyRegulariserImpl : public torch::nn::Cloneable<EntropyRegulariserImpl> {
 public:
  explicit EntropyRegulariserImpl(EntropyRegulariserOptions given = {}) : options(given) {}
  void reset() override {}
  at::Tensor forward(const LayerStatistics& layers) { return entropy_regulariser(layers, options); }

  EntropyRegulariserOptions options;
};

TORCH_MODULE(EntropyRegulariser);

}  // namespace isentropic::pytorch
