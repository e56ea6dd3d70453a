// Builds and runs the encoder and the decoder.
#include "lab/seq2seq/network.hpp"

#include <ATen/ATen.h>

#include "isentropic/error.hpp"
#include "isentropic/pytorch/positions.hpp"

namespace isentropic::lab::seq2seq {

PositionsFrom positions_from_named(const std::string& name) {
  if (name == "start") return PositionsFrom::start;
  if (name == "end") return PositionsFrom::end;
  throw Error("positions from", "'" + name + "'", "start or end");
}

Network::Network(const NetworkOptions& options, std::uint64_t seed)
    : source_positions_from_(options.source_positions_from) {
  const std::int64_t width = options.attention.d_model;
  pytorch::MultiHeadAttentionOptions attention = options.attention;
  attention.statistics = Statistics::of({Statistic::entropy, Statistic::normalised_entropy});
  pytorch::MultiHeadAttentionOptions causal = attention;
  causal.mask = Mask::causal();
  source_embedding_ = register_module("source", torch::nn::Embedding(options.tokens, width));
  target_embedding_ = register_module("target", torch::nn::Embedding(options.tokens, width));
  for (std::int64_t layer = 0; layer < options.layers; ++layer) {
    const std::string name = "encoder" + std::to_string(layer);
    encoder_.push_back({register_module(name + "_self", AttentionBlock(attention)),
                        register_module(name + "_feed_forward", FeedForwardBlock(width))});
  }
  encoder_norm_ = register_module("encoder_norm", layer_norm(width));
  for (std::int64_t layer = 0; layer < options.layers; ++layer) {
    const std::string name = "decoder" + std::to_string(layer);
    decoder_.push_back({register_module(name + "_self", AttentionBlock(causal)),
                        register_module(name + "_cross", AttentionBlock(attention)),
                        register_module(name + "_feed_forward", FeedForwardBlock(width))});
  }
  decoder_norm_ = register_module("decoder_norm", layer_norm(width));
  out_ = register_module("out", torch::nn::Linear(width, options.tokens));
  draw_parameters(*this, seed);
}

at::Tensor Network::placed(torch::nn::Embedding& embedding, const at::Tensor& tokens, PositionsFrom from) const {
  const std::int64_t n = tokens.size(1), width = embedding->options.embedding_dim();
  at::Tensor positions = at::arange(n);
  if (from == PositionsFrom::end) positions = n - 1 - positions;
  const at::Tensor codes = pytorch::sinusoids(positions, pytorch::frequencies((width + 1) / 2, 10000.0), width,
                                              pytorch::SinusoidOrder::sines_first);
  return embedding(tokens) + codes.to(tokens.device(), at::kFloat);
}

Answer Network::forward(const at::Tensor& source, const at::Tensor& written) {
  Answer out;
  const auto attend = [](AttentionBlock& block, const at::Tensor& x, const at::Tensor& memory,
                         LayersOfStatistics& statistics) {
    auto found = block(x, memory);
    statistics.entropy.push_back(found.statistics.at("entropy"));
    statistics.normalised.push_back(found.statistics.at("normalised_entropy"));
    return found.output;
  };
  at::Tensor x = placed(source_embedding_, source, source_positions_from_);
  for (EncoderLayer& layer : encoder_) x = layer.feed_forward(attend(layer.self, x, {}, out.encoder));
  x = encoder_norm_(x);
  at::Tensor y = placed(target_embedding_, written, PositionsFrom::start);
  for (DecoderLayer& layer : decoder_) {
    y = attend(layer.self, y, {}, out.decoder);
    y = layer.feed_forward(attend(layer.cross, y, x, out.cross));
  }
  out.logits = out_(decoder_norm_(y));
  return out;
}

}  // namespace isentropic::lab::seq2seq
