// A small network that answers a retrieval task: tokens are embedded, layers of attention and of a network of their own
// are added, and the last token answers.
//
//   x = W e;   x = x + attention(norm x);   x = x + W_2 gelu(W_1 norm x);   answer = W_out norm x_last
#pragma once

#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>

#include <memory>
#include <vector>

#include "isentropic/pytorch/multi_head_attention.hpp"
#include "lab/retrieval/tasks.hpp"

namespace isentropic::lab::retrieval {

struct ModelOptions {
  std::int64_t width = 64, heads = 4;
  Scale scale = Scale::inverse_sqrt_d();
  bool learn_scale = false;
  ScoreMap map = ScoreMap::softmax();
};

struct Answer {
  at::Tensor logits;                             // [batch, classes]
  std::map<std::string, at::Tensor> statistics;  // of the last token in the last layer, each [batch, heads, 1]
};

class Model : public torch::nn::Module {
 public:
  // Parameters are drawn from the seed.
  Model(const Task& task, const ModelOptions& options, std::uint64_t seed);

  Answer forward(const at::Tensor& inputs);

 private:
  struct Block {
    torch::nn::LayerNorm attention_norm{nullptr}, norm{nullptr};
    pytorch::MultiHeadAttention attention{nullptr};
    torch::nn::Linear up{nullptr}, down{nullptr};
  };
  Block make_block(const Task& task, const ModelOptions& options, const std::string& name);
  void draw_parameters(std::uint64_t seed);

  torch::nn::Linear embed_{nullptr}, out_{nullptr};
  torch::nn::LayerNorm last_norm_{nullptr};
  std::vector<Block> blocks_;
};

}  // namespace isentropic::lab::retrieval
