// Means of a quantity by layer and head, accumulated batch by batch on the device and read once.
#pragma once

#include <ATen/ATen.h>

#include <vector>

#include "lab/numbers.hpp"

namespace isentropic::lab {

class LayerMeans {
 public:
  // layers: each [batch, heads, ...]; its mean over all axes but heads is added with weight `weight`.
  void add(const std::vector<at::Tensor>& layers, double weight) {
    std::vector<at::Tensor> means;
    for (const at::Tensor& layer : layers)
      means.push_back(layer.to(at::kDouble).transpose(0, 1).flatten(1).mean(1) * weight);
    const at::Tensor found = at::stack(means);
    sum_ = sum_.defined() ? sum_ + found : found;
  }

  // [layer][head]
  std::vector<std::vector<double>> numbers() const {
    std::vector<std::vector<double>> out;
    for (std::int64_t layer = 0; layer < sum_.size(0); ++layer) out.push_back(numbers_of(sum_[layer]));
    return out;
  }

 private:
  at::Tensor sum_;
};

}  // namespace isentropic::lab
