// A small encoder and decoder (Vaswani et al., 2017) with layer norms before each part, which also returns the entropy
// of its attention.
//
//   encoder   x = symbols + positions;   self-attention and feed-forward, `layers` times;   norm
//   decoder   y = what was written so far + positions;   causal self-attention, attention to the encoder's tokens
//             (cross-attention), feed-forward, `layers` times;   logits of the next symbol
//
// Positions are sinusoids. Those of the decoder are counted from the start, those of the source from its start or its
// end: from the end, the position to read is the position to write; only from the start must the encoder find out where
// the end is.
#pragma once

#include <torch/nn/modules/embedding.h>

#include <string>
#include <vector>

#include "isentropic/pytorch/multi_head_attention.hpp"
#include "lab/attention_blocks.hpp"

namespace isentropic::lab::seq2seq {

enum class PositionsFrom : std::uint8_t { start, end };

// "start" or "end". Throws Error for any other name.
PositionsFrom positions_from_named(const std::string& name);

struct NetworkOptions {
  pytorch::MultiHeadAttentionOptions attention;
  std::int64_t layers = 2, tokens = 0;  // tokens: vocabulary size
  PositionsFrom source_positions_from = PositionsFrom::end;
};

// By layer, each [batch, heads, rows]. Normalised: H / log k, where k is the number of keys a row sees.
struct LayersOfStatistics {
  std::vector<at::Tensor> entropy, normalised;
};

struct Answer {
  at::Tensor logits;  // [batch, n_target, tokens]
  LayersOfStatistics encoder, decoder, cross;
};

class Network : public torch::nn::Module {
 public:
  // Parameters are drawn from the seed.
  Network(const NetworkOptions& options, std::uint64_t seed);

  // source [batch, n], written [batch, n_target]: tokens. The logits at t are for the token after written[t].
  Answer forward(const at::Tensor& source, const at::Tensor& written);

 private:
  struct EncoderLayer {
    AttentionBlock self{nullptr};
    FeedForwardBlock feed_forward{nullptr};
  };
  struct DecoderLayer {
    AttentionBlock self{nullptr}, cross{nullptr};
    FeedForwardBlock feed_forward{nullptr};
  };
  at::Tensor placed(torch::nn::Embedding& embedding, const at::Tensor& tokens, PositionsFrom from) const;

  PositionsFrom source_positions_from_;
  torch::nn::Embedding source_embedding_{nullptr}, target_embedding_{nullptr};
  std::vector<EncoderLayer> encoder_;
  std::vector<DecoderLayer> decoder_;
  torch::nn::LayerNorm encoder_norm_{nullptr}, decoder_norm_{nullptr};
  torch::nn::Linear out_{nullptr};
};

}  // namespace isentropic::lab::seq2seq
