// A small vision transformer that takes images of any size: patches of a fixed number of pixels, whose places are
// fractions of the image.
//
//   x = W pixels + P code(u, v);   self-attention and feed-forward, `layers` times;   logits of the mean over patches
//   code(u, v) = sin and cos of 2^k pi u and of 2^k pi v,   (u, v) the middle of a patch in [0, 1]^2
//
// Of k = 0, 1, ... those with 2^k below the patches on a side in training: faster waves look to these patches like
// slower ones and mean something else to the patches between them. Seven patches: k = 0, 1, 2.
//
// A patch in the middle of an image has the code of u = v = 1/2 at every resolution.
#pragma once

#include <vector>

#include "isentropic/pytorch/multi_head_attention.hpp"
#include "lab/attention_blocks.hpp"

namespace isentropic::lab::resolution {

struct Answer {
  at::Tensor logits;                            // [batch, classes]
  std::vector<at::Tensor> entropy, normalised;  // by layer, each [batch, heads, patches]; H and H / log n
};

struct NetworkOptions {
  pytorch::MultiHeadAttentionOptions attention;
  std::int64_t layers = 2, patch = 4, classes = 10;  // patch: pixels on a side
  std::int64_t side = 7;                             // patches on the shorter side of an image of training
};

class Network : public torch::nn::Module {
 public:
  // Parameters are drawn from the seed.
  Network(const NetworkOptions& options, std::uint64_t seed);

  // images [batch, rows, columns], multiples of the patch.
  Answer forward(const at::Tensor& images);

 private:
  struct Layer {
    AttentionBlock self{nullptr};
    FeedForwardBlock feed_forward{nullptr};
  };

  at::Tensor codes(std::int64_t rows, std::int64_t columns, at::Device device) const;

  std::int64_t patch_, frequencies_;
  torch::nn::Linear patch_in_{nullptr}, place_in_{nullptr}, out_{nullptr};
  std::vector<Layer> layers_;
  torch::nn::LayerNorm last_norm_{nullptr};
};

// [batch, (rows / patch) (columns / patch), patch^2], row by row.
at::Tensor patches_of(const at::Tensor& images, std::int64_t patch);

// `factor` times the rows and columns, bilinear.
at::Tensor enlarged(const at::Tensor& images, std::int64_t factor);

}  // namespace isentropic::lab::resolution
