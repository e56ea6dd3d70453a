// Small gradient descents on the scores of one row, using the library's own backward pass.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/random.hpp"
#include "experiments/tools/kernels.hpp"
#include "isentropic/information/table.hpp"

namespace isentropic::ledger::attention_entropy {

// dH/ds of softmax(s).
std::vector<double> entropy_gradient_of(std::span<const double> scores);

// Minimises lambda H in `steps` steps of size `rate`.
std::vector<double> descend_entropy(std::vector<double> scores, double lambda, double rate, int steps);

// Minimises the entropy of n scores confined to [-half_range, half_range] by projected gradient steps from a random
// start. All but the rarest starts end with every score at an end of the interval.
struct CubeDescent {
  double entropy = 0;
  std::size_t inside = 0;  // number of scores that are not at an end
};
CubeDescent descend_in_cube(std::size_t n, double half_range, Random* random);

// A row that learns to fetch one value: loss |o - v_target|^2 / 2 for o = softmax(s) V, minimised over the scores.
struct FetchTask {
  information::Table values;
  std::size_t target = 0;
};
FetchTask fetch_task(std::size_t n, std::size_t d, Random* random);

struct Learning {
  double first_gradient = 0;          // its norm
  std::vector<double> loss, entropy;  // before every step
  double loss_left() const { return loss.back() / loss.front(); }
  // Steps until the loss is below a fraction of the first; -1: never.
  std::int64_t steps_to(double share) const;
};
Learning learn_to_fetch(const FetchTask& task, std::vector<double> scores, int steps, double rate = 5);

}  // namespace isentropic::ledger::attention_entropy
