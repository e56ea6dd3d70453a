// Networks trained side by side, one for each beta and seed, and their measurements. In nats.
//
//   loss = mean( -log q(y|z) + beta KL(N(mu, sigma^2) || N(0, 1)) ),   z = mu + sigma eps
//
// beta is the price of a nat about X in nats about Y; counting both in bits leaves it unchanged. Without noise z = mu:
// the deterministic network, whose loss is -log q alone. Networks with the same seed share initial weights, the order
// of examples and noise, and do not depend on which other betas there are.
//
// Adam with decay rates 0.5 and 0.999; the learning rate is multiplied by 0.97 every two epochs. Measurements use
// averages of the weights, a_t = a_{t-1} + (w_t - a_{t-1}) (1 - d) / (1 - d^t) with d = 0.999: the exponential average
// without the weight that it would give to its initial value.
#pragma once

#include <cstdint>
#include <vector>

#include "lab/adamw.hpp"
#include "lab/tensor_state.hpp"
#include "lab/vib/networks.hpp"
#include "lab/vib/problem.hpp"
#include "lab/vib/randomness.hpp"

namespace isentropic::lab::vib {

struct Member {
  double beta = 0;
  std::uint64_t seed = 1;
  bool deterministic = false;
};

inline constexpr int kSamples = 12;  // code samples per example

struct Measures {
  double error_one = 0, error_many = 0;  // fraction of wrong labels: of one sample, of the mean softmax of kSamples;
                                         // NaN without labels
  double information_x = 0;              // mean KL, an upper bound on I(Z;X); infinite for deterministic networks
  double information_y = 0;              // mean log q(y|z) / p(y), a lower bound on I(Z;Y) on examples not trained on
};

class Sweep {
 public:
  // The problem must outlive the sweep. batch: at most its number of training examples.
  Sweep(const Problem& problem, const std::vector<Member>& members, std::int64_t batch);

  std::int64_t steps_of_epoch() const { return problem_.train.inputs.size(0) / batch_; }
  std::int64_t step() const { return step_; }
  void train_step();
  // One per member.
  std::vector<Measures> measure(const Examples& examples) const;

  NamedTensors state() const;
  void set_step(std::int64_t step);  // once the state is restored

 private:
  struct Batch {
    at::Tensor inputs, targets;  // [members, batch, ...]
  };
  struct Sums {  // over examples, each [members]
    at::Tensor wrong_one, wrong_many, rate, log_ratio;
    void add(const Sums& other);
  };
  void begin_epoch(std::int64_t epoch);
  Batch draw();
  at::Tensor noise(Purpose purpose, std::int64_t count, std::int64_t rows) const;
  at::Tensor code_of(const pytorch::GaussianCode& code, const at::Tensor& noise) const;
  void average();
  Sums sums_of(const Examples& examples, std::int64_t first, std::int64_t rows) const;

  const Problem& problem_;
  std::vector<Member> members_;
  std::int64_t batch_, step_ = 0, epoch_ = -1;
  std::vector<std::uint64_t> seeds_;  // distinct
  at::Tensor seed_of_;                // [members]: index into seeds_
  at::Tensor beta_, noisy_;           // [members, 1], [members, 1, 1]
  Networks networks_, averages_;
  AdamW optimiser_;
  at::Tensor order_;  // [seeds, n] of this epoch
};

}  // namespace isentropic::lab::vib
