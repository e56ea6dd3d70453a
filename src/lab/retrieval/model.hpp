// A small network for a retrieval task: tokens are embedded, attention and feed-forward layers are added, and the last
// token answers.
//
//   x = W e + b;   x = x + attention(norm x);   x = x + W_2 gelu(W_1 norm x);   answer = W_out norm x_last
//
// Without a key bias the embedding, the norm before attention and W_K have none: tokens e and -e then have keys k and
// -k, and no constant is added to a row's scores. Softmax ignores what W_K adds to every key; relu_squared does not.
#pragma once

#include <vector>

#include "lab/attention_blocks.hpp"
#include "lab/retrieval/tasks.hpp"

namespace isentropic::lab::retrieval {

struct ModelOptions {
  std::int64_t width = 64, heads = 4;
  Scale scale = Scale::inverse_sqrt_d();
  bool learn_scale = false;
  ScoreMap map = ScoreMap::softmax();
  bool learn_alpha = false;   // of entmax
  bool key_bias = true;       // false: see above
  std::int64_t features = 0;  // of queries and keys in a head; 0: width / heads
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
  // The weights of the last `rows` tokens in the last layer: [batch, heads, rows, n + 1]. Only the very last token is
  // trained to query; the others show what the layer can distinguish.
  at::Tensor weights(const at::Tensor& inputs, std::int64_t rows);
  // Of the last layer, one per head; empty if alpha is not learnt.
  std::vector<double> alphas() const;

  // All parameters but the biases that are left out.
  torch::OrderedDict<std::string, at::Tensor> trained_parameters() const;

 private:
  struct Layer {
    AttentionBlock attention{nullptr};
    FeedForwardBlock inner{nullptr};
  };
  void leave_out_key_biases();
  at::Tensor before_last_layer(const at::Tensor& inputs);

  torch::nn::Linear embed_{nullptr}, out_{nullptr};
  torch::nn::LayerNorm last_norm_{nullptr};
  std::vector<Layer> layers_;
};

}  // namespace isentropic::lab::retrieval
