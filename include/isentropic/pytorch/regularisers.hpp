// Terms that steer the entropy of attention, to add to a loss; and a controller that sets kappa instead.
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

struct TargetEntropyControllerOptions {
  std::vector<double> target;  // nats, one for each head; of rows that see two keys or more
  double kappa = 1.0;          // where to start
  double rate = 0.2;           // share of the error that a step removes
  double momentum = 0.8;       // of the moving averages; 0 takes the last pass alone
  double smallest_kappa = 1e-2, largest_kappa = 1e2;
  double largest_step = 0.5;  // of log kappa
};

// Moves the kappa of every head until its mean entropy is the wanted one: an integral controller of log kappa,
//
//   log kappa <- log kappa + clamp(rate (H - target) / variance, -largest_step, largest_step),
//
// H and variance the moving averages of entropy and of the variance of scores, for dH / d log kappa = -variance. From
// H = 2, target = 1, variance = 4 a step of rate 0.2 is 0.05. A target out of reach leaves kappa at a bound.
//
//   TargetEntropyController controller(TargetEntropyControllerOptions{.target = std::vector<double>(8, 3.0)});
//   auto found = layer(x);
//   controller->observe(found.statistics);
//   ...
//   controller->step(layer->scale_parameters.at("kappa"));
class ISENTROPIC_API TargetEntropyControllerImpl : public torch::nn::Cloneable<TargetEntropyControllerImpl> {
 public:
  explicit TargetEntropyControllerImpl(TargetEntropyControllerOptions given);
  void reset() override;

  // Takes a pass into the averages: "entropy", "score_variance" and "visible", each [batch, heads, n]. Heads without
  // finite numbers, or whose scores are all equal, are passed over.
  void observe(const std::map<std::string, at::Tensor>& layer);
  // Moves kappa, but of heads that were never observed, and writes it into a tensor [heads] if one is given.
  void step(at::Tensor kappa_in_use = {});
  at::Tensor kappa() const { return log_kappa.exp(); }  // [heads]

  TargetEntropyControllerOptions options;
  at::Tensor target, log_kappa, entropy, variance;  // float32 [heads], whatever type the model has
  at::Tensor passes;                                // int64 [heads], those observed
};

TORCH_MODULE(TargetEntropyController);

}  // namespace isentropic::pytorch
