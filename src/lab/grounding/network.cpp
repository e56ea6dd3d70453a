// Builds and runs the reader of images.
#include "lab/grounding/network.hpp"

#include <ATen/ATen.h>

namespace isentropic::lab::grounding {

Network::Network(pytorch::MultiHeadAttentionOptions attention, std::int64_t layers, std::uint64_t seed) {
  const std::int64_t width = attention.d_model;
  attention.statistics = Statistics::of({Statistic::entropy});
  patch_in_ = register_module("patch_in", torch::nn::Linear(kPixels, width));
  patch_block_ = register_module("patch_block", FeedForwardBlock(width));
  patch_norm_ = register_module("patch_norm", layer_norm(width));
  words_ = register_module("words", torch::nn::Embedding(kWords, width));
  places_ = register_module("places", torch::nn::Embedding(kText, width));
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    const std::string name = "layers" + std::to_string(layer);
    layers_.push_back({register_module(name + "_self", AttentionBlock(attention)),
                       register_module(name + "_cross", AttentionBlock(attention)),
                       register_module(name + "_feed_forward", FeedForwardBlock(width))});
  }
  last_norm_ = register_module("last_norm", layer_norm(width));
  out_ = register_module("out", torch::nn::Linear(width, kAnswers));
  draw_parameters(*this, seed);
}

Answer Network::forward(const Scenes& scenes, Weights weights) {
  Answer out;
  const at::Tensor patches = patch_norm_(patch_block_(patch_in_(scenes.patches)));
  at::Tensor text = words_(scenes.words) + places_->weight;
  const std::vector<std::int64_t> rows =
      weights == Weights::none ? std::vector<std::int64_t>{} : std::vector<std::int64_t>{kText - 1};
  for (Layer& layer : layers_) {
    text = layer.self(text).output;
    const auto look = layer.cross(text, patches, rows);
    text = layer.feed_forward(look.output);
    out.entropy.push_back(look.statistics.at("entropy").select(2, kText - 1));
    if (weights == Weights::of_matching)
      out.matching.push_back(look.weights.select(2, 0).mul(scenes.matching.unsqueeze(1)).sum(2));
  }
  out.logits = out_(last_norm_(text.select(1, kText - 1)));
  return out;
}

}  // namespace isentropic::lab::grounding
