// What the heads of a model lose when a mask or a top-k leaves keys out (scan/alternatives.hpp has the formulas).
#pragma once

#include <map>

#include "lab/attention_change.hpp"

namespace isentropic::lab {

// Sums over the rows of one head.
struct LeftOut {
  double rows = 0, missing_mass = 0, error = 0, error_bound = 0, output = 0;
};

// Whether it is a mask or a top-k.
bool leaves_out(const AttentionChange& change);

// Runs a layer's own attention, and beside it that of some changes, whose losses it adds up.
class LeftOutTally {
 public:
  explicit LeftOutTally(std::vector<const AttentionChange*> changes) : changes_(std::move(changes)) {}

  // model::AttentionFunction of the model as it is.
  pytorch::AttentionOutput operator()(std::size_t layer, const at::Tensor& query, const at::Tensor& key,
                                      const at::Tensor& value, const pytorch::AttentionOptions& options);

  // By layer and head; empty where the model's own attention is no softmax, whose log-partitions could tell.
  const std::vector<std::vector<LeftOut>>& of(const AttentionChange& change) { return found_[&change]; }

 private:
  std::vector<const AttentionChange*> changes_;
  std::map<const AttentionChange*, std::vector<std::vector<LeftOut>>> found_;
};

}  // namespace isentropic::lab
