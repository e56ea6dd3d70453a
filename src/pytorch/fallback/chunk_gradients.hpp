// Chunks of rows computed by PyTorch's operators: their size, and their gradients inside an operator's backward.
#pragma once

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/autograd/autograd.h>

#include <vector>

namespace isentropic::pytorch {

// Scores held at a time.
inline constexpr std::int64_t kScoresOfChunk = 1 << 24;

// An operator runs below autograd; within this scope PyTorch's operators record gradients again.
class RecordGradients {
  c10::impl::LocalDispatchKeySet set_ = c10::impl::tls_local_dispatch_key_set();
  c10::impl::ForceDispatchKeyGuard keys_{set_.included_,
                                         set_.excluded_ - c10::autograd_dispatch_keyset_with_ADInplaceOrView};
  c10::AutoGradMode mode_{true};
};

// Accumulates the gradients of some leaves over chunks.
class ChunkGradients {
 public:
  explicit ChunkGradients(const std::vector<at::Tensor*>& leaves) {
    for (at::Tensor* leaf : leaves) {
      *leaf = leaf->detach().clone().requires_grad_();
      leaves_.push_back(*leaf);
      sums_.push_back(at::zeros_like(leaf->detach()));
    }
  }

  // Undefined gradients count as 0.
  void add(const std::vector<std::pair<at::Tensor, at::Tensor>>& outputs_and_gradients) {
    std::vector<at::Tensor> outputs, gradients;
    for (const auto& [output, gradient] : outputs_and_gradients) {
      if (!gradient.defined()) continue;
      outputs.push_back(output);
      gradients.push_back(gradient.to(output.scalar_type()));
    }
    const auto found = torch::autograd::grad(outputs, leaves_, gradients, std::nullopt, false, /*allow_unused=*/true);
    for (std::size_t i = 0; i < sums_.size(); ++i)
      if (found[i].defined()) sums_[i] += found[i];
  }

  // The accumulated gradient of a leaf; undefined for any other tensor.
  at::Tensor of(const at::Tensor& leaf) const {
    for (std::size_t i = 0; i < leaves_.size(); ++i)
      if (leaves_[i].is_same(leaf)) return sums_[i];
    return {};
  }

 private:
  std::vector<at::Tensor> leaves_, sums_;
};

}  // namespace isentropic::pytorch
