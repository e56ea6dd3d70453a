// Loss terms that steer the entropy of attention or the information of a code, and a controller that sets kappa
// instead. Terms without a gradient would have no effect: they are rejected unless gradients are disabled.
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

// [heads]: the mean of a statistic over the rows that see at least two keys. A row with fewer has no choice.
ISENTROPIC_API at::Tensor mean_over_rows(const std::map<std::string, at::Tensor>& layer, const std::string& statistic);

// -weight times the mean over heads and layers to encourage entropy, +weight to discourage it.
ISENTROPIC_API at::Tensor entropy_regulariser(const LayerStatistics& layers,
                                              const EntropyRegulariserOptions& options = {});

// The same as a module that stores its options; no state.
class ISENTROPIC_API EntropyRegulariserImpl : public torch::nn::Cloneable<EntropyRegulariserImpl> {
 public:
  explicit EntropyRegulariserImpl(EntropyRegulariserOptions given = {}) : options(given) {}
  void reset() override {}
  at::Tensor forward(const LayerStatistics& layers) { return entropy_regulariser(layers, options); }

  EntropyRegulariserOptions options;
};

TORCH_MODULE(EntropyRegulariser);

// Weights >= 0; the signs are in the formula.
struct InformationBottleneckOptions {
  double lambda_x = 0.0, lambda_y = 0.0;
};

// task_loss + lambda_x I(X;Z) - lambda_y I(Z;Y). information_xz is pushed down and must be an upper bound of I(X;Z),
// information_zy is pushed up and must be a lower bound of I(Z;Y): the other way round the optimiser could move the
// bound without moving the information.
ISENTROPIC_API at::Tensor information_bottleneck_loss(const at::Tensor& task_loss, const at::Tensor& information_xz,
                                                      const at::Tensor& information_zy,
                                                      const InformationBottleneckOptions& options);

// An upper bound on I(X;Z) for codes z ~ N(mean(x), e^log_variance(x)), [..., features] each: KL to N(0, 1), summed
// over features and averaged over x. By hand: mean 1 and variance 1 in one feature cost half a nat.
ISENTROPIC_API at::Tensor gaussian_information_upper_bound(const at::Tensor& mean, const at::Tensor& log_variance);

struct TargetEntropyControllerOptions {
  std::vector<double> target;  // nats, one per head; for rows that see at least two keys
  double kappa = 1.0;          // initial value
  double rate = 0.2;           // fraction of the error that a step removes
  double momentum = 0.8;       // of the moving averages; 0 uses the last pass only
  double smallest_kappa = 1e-2, largest_kappa = 1e2;
  double largest_step = 0.5;  // of log kappa
};

// Moves each head's kappa until its mean entropy reaches the target: an integral controller for log kappa,
//
//   log kappa <- log kappa + clamp(rate (H - target) / variance, -largest_step, largest_step),
//
// where H and variance are moving averages of the entropy and of the score variance, because
// dH / d log kappa = -variance. From H = 2, target = 1, variance = 4 a step of rate 0.2 is 0.05. An unreachable target
// leaves kappa at a bound.
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
  // Small steps would vanish in 16 bits: the state follows the device but keeps its type.
  void to(at::Device device, at::ScalarType type, bool non_blocking = false) override;
  void to(at::ScalarType type, bool non_blocking = false) override;
  void to(at::Device device, bool non_blocking = false) override;

  // Adds a pass to the averages: "entropy", "score_variance" and "visible", each [batch, heads, n]. Heads with
  // non-finite values, or whose scores are all equal, are skipped.
  void observe(const std::map<std::string, at::Tensor>& layer);
  // Moves kappa, except for heads never observed, and writes it into a tensor [heads] if one is given; a tensor that
  // requires gradients is rejected.
  void step(at::Tensor kappa_in_use = {});
  at::Tensor kappa() const { return log_kappa.exp(); }  // [heads]

  TargetEntropyControllerOptions options;
  at::Tensor target, log_kappa, entropy, variance;  // float32 [heads], whatever the model's type
  at::Tensor passes;                                // int64 [heads], number observed
};

TORCH_MODULE(TargetEntropyController);

}  // namespace isentropic::pytorch
