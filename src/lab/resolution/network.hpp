// A small vision transformer for images of any size: patches of fixed pixel size, positions as fractions of the image.
//
//   x = W pixels + P code(u, v);   self-attention and feed-forward, `layers` times;   logits of the mean over patches
//   code(u, v) = sin and cos of 2^k pi u and of 2^k pi v,   (u, v) the centre of a patch in [0, 1]^2
//
// k = 0, 1, ... with 2^k below the number of patches per side in training: at these patches faster waves coincide with
// slower ones (aliasing), but not at the patches between them. Seven patches: k = 0, 1, 2.
//
// A patch in the centre of an image has the code of u = v = 1/2 at every resolution.
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
  std::int64_t layers = 2, patch = 4, classes = 10;  // patch: pixels per side
  std::int64_t side = 7;                             // patches along the shorter side of a training image
};

class Network : public torch::nn::Module {
 public:
  // Parameters are drawn from the seed.
  Network(const NetworkOptions& options, std::uint64_t seed);

  // images [batch, rows, columns]; both are multiples of the patch.
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

// Bilinear interpolation to `factor` times the rows and columns.
at::Tensor enlarged(const at::Tensor& images, std::int64_t factor);

}  // namespace isentropic::lab::resolution
