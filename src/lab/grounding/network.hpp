// A reader of images: the words of a question attend to the patches of an image.
//
//   patches   W pixels, feed-forward, norm; they do not attend to each other and have no positions
//   words     embedding + position;   self-attention, attention to the patches (cross-attention), feed-forward,
//             `layers` times;   the last word answers
#pragma once

#include <torch/nn/modules/embedding.h>

#include <vector>

#include "isentropic/pytorch/multi_head_attention.hpp"
#include "lab/attention_blocks.hpp"
#include "lab/grounding/scenes.hpp"

namespace isentropic::lab::grounding {

struct Answer {
  at::Tensor logits;                 // [batch, kAnswers]
  std::vector<at::Tensor> entropy;   // of the last word's attention to the patches, by layer, each [batch, heads]
  std::vector<at::Tensor> matching;  // its weight on the matching patches; empty unless requested
};

enum class Weights : std::uint8_t { none, of_matching };

class Network : public torch::nn::Module {
 public:
  // Parameters are drawn from the seed.
  Network(pytorch::MultiHeadAttentionOptions attention, std::int64_t layers, std::uint64_t seed);

  // Scenes must be on the network's device.
  Answer forward(const Scenes& scenes, Weights weights);

 private:
  struct Layer {
    AttentionBlock self{nullptr}, cross{nullptr};
    FeedForwardBlock feed_forward{nullptr};
  };

  torch::nn::Linear patch_in_{nullptr}, out_{nullptr};
  FeedForwardBlock patch_block_{nullptr};
  torch::nn::LayerNorm patch_norm_{nullptr}, last_norm_{nullptr};
  torch::nn::Embedding words_{nullptr}, places_{nullptr};
  std::vector<Layer> layers_;
};

}  // namespace isentropic::lab::grounding
