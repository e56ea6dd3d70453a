// How much the heads of a model lose when a mask or a top-k map leaves keys out (formulas: scan/alternatives.hpp).
#pragma once

#include <map>

#include "lab/attention_change.hpp"

namespace isentropic::lab {

// Sums over the rows of one head.
struct LeftOut {
  double rows = 0, missing_mass = 0, error = 0, error_bound = 0, output = 0;
};

// Whether the change is a mask or a top-k map.
bool leaves_out(const AttentionChange& change);

// Runs each layer's own attention, and on the same inputs that of some changes; sums up what they lose.
class LeftOutTally {
 public:
  explicit LeftOutTally(std::vector<const AttentionChange*> changes) : changes_(std::move(changes)) {}

  // A model::AttentionFunction that leaves the model's output unchanged.
  pytorch::AttentionOutput operator()(std::size_t layer, const at::Tensor& query, const at::Tensor& key,
                                      const at::Tensor& value, const pytorch::AttentionOptions& options);

  // By layer and head; empty if the model's own attention is not softmax, which has log-partitions to compare, or if
  // its scale solves for a target entropy.
  const std::vector<std::vector<LeftOut>>& of(const AttentionChange& change) { return found_[&change]; }

 private:
  std::vector<const AttentionChange*> changes_;
  std::map<const AttentionChange*, std::vector<std::vector<LeftOut>>> found_;
};

}  // namespace isentropic::lab
