// One transformer that runs every description (description.hpp), using our attention.
//
//   Transformer model(description, source);
//   ForwardOutput out = model.forward(ids, {.statistics = Statistics::of({Statistic::entropy})});
//   at::Tensor logits = model.logits(out.hidden.select(1, -1));
#pragma once

#include <ATen/ATen.h>
#include <torch/ordered_dict.h>

#include <functional>
#include <map>

#include "isentropic/pytorch/attention.hpp"
#include "isentropic/statistics.hpp"
#include "model/cache.hpp"
#include "model/description.hpp"
#include "model/parameters.hpp"

namespace isentropic::model {

// One layer's attention in a forward pass; options and output as in pytorch::attention.
struct AttentionCall {
  std::size_t layer;
  const at::Tensor &query, &key;
  const pytorch::AttentionOptions& options;
  const pytorch::AttentionOutput& output;
};

// Observes a forward pass layer by layer.
class ForwardObserver {
 public:
  virtual ~ForwardObserver() = default;
  virtual void enters(std::size_t layer, const at::Tensor& x) = 0;  // [batch, n, width], before any norm
  virtual void attended(const AttentionCall& call) = 0;
};

// Replaces pytorch::attention in a layer; receives the arguments the model would have passed to it.
using AttentionFunction =
    std::function<pytorch::AttentionOutput(std::size_t layer, const at::Tensor& query, const at::Tensor& key,
                                           const at::Tensor& value, const pytorch::AttentionOptions& options)>;

struct ForwardOptions {
  Statistics statistics = Statistics::none();
  Cache* cache = nullptr;  // the tokens before `ids`; `ids` are appended
  double attention_dropout = 0;
  // PyTorch's own attention instead of ours: softmax only, scale laws without learned parameters, no statistics.
  bool torch_attention = false;
  ForwardObserver* observer = nullptr;    // receives the statistics, which are then not kept
  AttentionFunction attention = nullptr;  // instead of pytorch::attention
};

struct ForwardOutput {
  at::Tensor hidden;                                          // [batch, n, width], after the final norm
  std::vector<std::map<std::string, at::Tensor>> statistics;  // by layer and name, each [batch, heads, n]
};

class Transformer {
 public:
  // Without gradients, larger inputs go through the MLP in chunks: it has the widest activations of a long text.
  static constexpr std::int64_t kMlpRowsAtOnce = 8192;

  Transformer(Description description, ParameterSource& source);

  // ids [batch, n] int64, each less than the vocabulary size.
  ForwardOutput forward(const at::Tensor& ids, const ForwardOptions& options = {}) const;

  // hidden [..., width] to [..., vocabulary]. Throws Error for a checkpoint without a head.
  at::Tensor logits(const at::Tensor& hidden) const;

  // Cross-entropy in nats of targets [...] int64 (-100: none) given hidden [..., width], without materialising the
  // logits.
  at::Tensor token_losses(const at::Tensor& hidden, const at::Tensor& targets) const;
  // s_target - mean_v s_v of the logits s, [...], 0 where there is no target, without materialising them: times e, what
  // label smoothing e adds to the loss. Throws Error for logits with a soft cap.
  at::Tensor target_margins(const at::Tensor& hidden, const at::Tensor& targets) const;

  const Description& description() const { return description_; }
  // The law's learnable parameter, per layer and head; empty if none was learned or given.
  std::vector<std::vector<double>> scale_values() const;
  const torch::OrderedDict<std::string, at::Tensor>& parameters() const { return parameters_; }
  at::Device device() const { return tokens_.device(); }

 private:
  struct Linear {
    at::Tensor weight, bias;
    at::Tensor operator()(const at::Tensor& x) const;
  };
  struct NormWeights {
    at::Tensor weight, bias;
  };
  struct Block {
    NormWeights attention_norm, attention_post_norm, mlp_norm, mlp_post_norm, query_norm, key_norm;
    Linear query, key, value, query_key_value, output, gate, up, down;
    at::Tensor scale, sinks, relative_bias;
  };
  struct Surroundings;  // what the layers of one forward pass share

  at::Tensor take(ParameterSource& source, const std::string& name, at::IntArrayRef shape);
  Linear take_linear(ParameterSource& source, const std::string& name, std::int64_t in, std::int64_t out, bool bias);
  NormWeights take_norm(ParameterSource& source, const std::string& name, std::int64_t width);
  Block take_block(ParameterSource& source, std::size_t layer);
  void take_projections(ParameterSource& source, const std::string& prefix, Block& out);
  void take_head(ParameterSource& source);

  at::Tensor normed(const at::Tensor& x, const NormWeights& norm) const;
  at::Tensor embed(const at::Tensor& ids, const at::Tensor& positions) const;
  at::Tensor attend(const at::Tensor& x, std::size_t layer, Surroundings& around) const;
  at::Tensor mlp(const at::Tensor& x, const Block& block) const;
  at::Tensor run_block(at::Tensor x, std::size_t layer, Surroundings& around) const;
  at::Tensor before_head(const at::Tensor& hidden) const;

  Description description_;
  torch::OrderedDict<std::string, at::Tensor> parameters_;
  at::Tensor tokens_, positions_, token_types_, alibi_slopes_;
  NormWeights embedding_norm_, final_norm_, head_norm_;
  std::vector<Block> blocks_;
  Linear head_dense_, head_;
};

}  // namespace isentropic::model
