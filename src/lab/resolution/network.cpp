// Builds and runs the vision transformer.
#include "lab/resolution/network.hpp"

#include <ATen/ATen.h>

#include <numbers>

namespace isentropic::lab::resolution {
namespace {

std::int64_t frequencies_below(std::int64_t side) {
  std::int64_t out = 1;
  while ((std::int64_t{1} << out) < side) ++out;
  return out;
}

// [count, 2 frequencies], at the centres of `count` equal parts of [0, 1].
at::Tensor code_of_axis(std::int64_t count, std::int64_t frequencies, at::Device device) {
  const at::Tensor middles = (at::arange(count, at::TensorOptions(device).dtype(at::kFloat)) + 0.5) / count;
  const at::Tensor octaves = at::arange(frequencies, middles.options()).exp2() * std::numbers::pi;
  const at::Tensor angles = middles.unsqueeze(1) * octaves;
  return at::cat({angles.sin(), angles.cos()}, 1);
}

}  // namespace

at::Tensor patches_of(const at::Tensor& images, std::int64_t patch) {
  const std::int64_t rows = images.size(1) / patch, columns = images.size(2) / patch;
  return images.reshape({images.size(0), rows, patch, columns, patch})
      .transpose(2, 3)
      .reshape({images.size(0), rows * columns, patch * patch});
}

at::Tensor enlarged(const at::Tensor& images, std::int64_t factor) {
  if (factor == 1) return images;
  const std::int64_t size[] = {images.size(1) * factor, images.size(2) * factor};
  return at::upsample_bilinear2d(images.unsqueeze(1), size, /*align_corners=*/false).squeeze(1);
}

Network::Network(const NetworkOptions& options, std::uint64_t seed)
    : patch_(options.patch), frequencies_(frequencies_below(options.side)) {
  const std::int64_t width = options.attention.d_model;
  pytorch::MultiHeadAttentionOptions attention = options.attention;
  attention.statistics = Statistics::of({Statistic::entropy, Statistic::normalised_entropy});
  patch_in_ = register_module("patch_in", torch::nn::Linear(patch_ * patch_, width));
  place_in_ = register_module("place_in", torch::nn::Linear(4 * frequencies_, width));
  for (std::int64_t layer = 0; layer < options.layers; ++layer) {
    const std::string name = "layers" + std::to_string(layer);
    layers_.push_back({register_module(name + "_self", AttentionBlock(attention)),
                       register_module(name + "_feed_forward", FeedForwardBlock(width))});
  }
  last_norm_ = register_module("last_norm", layer_norm(width));
  out_ = register_module("out", torch::nn::Linear(width, options.classes));
  draw_parameters(*this, seed);
}

// [rows columns, 4 frequencies]
at::Tensor Network::codes(std::int64_t rows, std::int64_t columns, at::Device device) const {
  const at::Tensor down = code_of_axis(rows, frequencies_, device).unsqueeze(1).expand({rows, columns, -1});
  const at::Tensor across = code_of_axis(columns, frequencies_, device).unsqueeze(0).expand({rows, columns, -1});
  return at::cat({down, across}, 2).flatten(0, 1);
}

Answer Network::forward(const at::Tensor& images) {
  Answer out;
  at::Tensor x = patch_in_(patches_of(images, patch_)) +
                 place_in_(codes(images.size(1) / patch_, images.size(2) / patch_, images.device()));
  for (Layer& layer : layers_) {
    const auto attended = layer.self(x);
    x = layer.feed_forward(attended.output);
    out.entropy.push_back(attended.statistics.at("entropy"));
    out.normalised.push_back(attended.statistics.at("normalised_entropy"));
  }
  out.logits = out_(last_norm_(x).mean(1));
  return out;
}

}  // namespace isentropic::lab::resolution
