// The attention module with every score map, scale, position and term against the function, and its saved state.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <set>
#include <sstream>

#include "isentropic/pytorch/multi_head_attention.hpp"

namespace isentropic::pytorch {
namespace {

constexpr std::int64_t kModuleRows = 6, kModuleWidth = 12, kModuleHeads = 3;

MultiHeadAttentionOptions small() {
  return {.d_model = kModuleWidth, .num_heads = kModuleHeads, .mask = Mask::causal()};
}

const std::vector<ScoreMap>& every_map() {
  const PerHead gamma = std::vector<double>{0.9, 0.7, 0.5};
  static const std::vector<ScoreMap> maps = {
      ScoreMap::softmax(),
      ScoreMap::top_k(3),
      ScoreMap::hard(),
      ScoreMap::gumbel(0.7, 0),
      ScoreMap::gumbel(0.7, 0, GumbelSample::straight_through),
      ScoreMap::sparsemax(),
      ScoreMap::entmax(1.5),
      ScoreMap::sigmoid(-0.5),
      ScoreMap::relu_squared(Normaliser::l1),
      ScoreMap::identity(),
      ScoreMap::l2(),
      ScoreMap::linear(Feature::elu_plus_one, Normaliser::l1, gamma),
      ScoreMap::linear(Feature::relu, Normaliser::visible, gamma, LinearForm::recurrent),
      ScoreMap::linear(Feature::exp, Normaliser::l1, 1.0, LinearForm::recurrent, 0.8),
      ScoreMap::decay(gamma)};
  return maps;
}

struct Heads {
  at::Tensor query, key, value;
};

Heads heads_of(MultiHeadAttention& layer, const at::Tensor& x) {
  const auto split = [&](const at::Tensor& all, std::int64_t heads) {
    return all.reshape({x.size(0), x.size(1), heads, -1}).transpose(1, 2);
  };
  const std::int64_t kv_heads = layer->options.num_kv_heads;
  return {split(layer->W_Q(x), kModuleHeads), split(layer->W_K(x), kv_heads), split(layer->W_V(x), kv_heads)};
}

// The module's expected result, by applying the function to its heads.
at::Tensor by_function(MultiHeadAttention& layer, const at::Tensor& x, const AttentionOptions& options) {
  const Heads heads = heads_of(layer, x);
  return layer->W_O(attention(heads.query, heads.key, heads.value, options).output.transpose(1, 2).flatten(2));
}

void expect_equal(const at::Tensor& found, const at::Tensor& wanted, const std::string& what) {
  ASSERT_EQ(found.sizes(), wanted.sizes()) << what;
  EXPECT_TRUE(at::allclose(found, wanted, 1e-6, 1e-7)) << what << ": " << (found - wanted).abs().max().item<double>();
}

TEST(MultiHeadAttention, HasEveryScoreMapOfTheFunction) {
  torch::manual_seed(1);
  const at::Tensor x = torch::randn({2, kModuleRows, kModuleWidth});
  std::set<std::string> seen;
  for (const ScoreMap& map : every_map()) {
    seen.insert(map.name());
    MultiHeadAttentionOptions options = small();
    options.num_kv_heads = 1;
    options.scale = Scale::constant(2.0);
    options.map = map;
    MultiHeadAttention layer(options);
    torch::manual_seed(2);
    const at::Tensor found = layer(x).output;
    torch::manual_seed(2);
    expect_equal(found, by_function(layer, x, {.mask = Mask::causal(), .scale = Scale::constant(2.0), .map = map}),
                 map.name());
  }
  for (const ScoreMapWords& words : ScoreMap::maps())
    EXPECT_TRUE(seen.contains(words.name) || words.name == "hard") << words.name;
}

// With any map, gradients flow through the values; they also flow through the scores unless these do not matter.
TEST(MultiHeadAttention, EveryScoreMapHasGradients) {
  torch::manual_seed(3);
  const at::Tensor x = torch::randn({2, kModuleRows, kModuleWidth});
  for (const ScoreMap& map : every_map()) {
    MultiHeadAttentionOptions options = small();
    options.map = map;
    MultiHeadAttention layer(options);
    layer(x).output.square().sum().backward();
    const bool scores_matter = map.kind() != ScoreMap::Kind::decay && !(map.name() == "top_k" && map.keys() == 1);
    for (const auto& part : {layer->W_V, layer->W_O, layer->W_Q, layer->W_K}) {
      const at::Tensor gradient = part->weight.grad();
      const bool is_reached = gradient.defined() && gradient.abs().max().item<double>() > 1e-6;
      EXPECT_EQ(is_reached, scores_matter || part.get() == layer->W_V.get() || part.get() == layer->W_O.get())
          << map.name();
      EXPECT_TRUE(!is_reached || gradient.isfinite().all().item<bool>()) << map.name();
    }
  }
}

TEST(MultiHeadAttention, OutputAndWeightsOfAGumbelMapShowOneSample) {
  torch::manual_seed(4);
  const at::Tensor x = torch::randn({1, kModuleRows, kModuleWidth});
  MultiHeadAttentionOptions options = small();
  options.map = ScoreMap::gumbel(0.3, 0);
  MultiHeadAttention layer(options);
  const auto found = layer(x, at::Tensor(), at::Tensor(), at::Tensor(), std::vector<std::int64_t>{5});
  const at::Tensor row = found.weights.matmul(heads_of(layer, x).value).transpose(1, 2).flatten(2);
  expect_equal(found.output.narrow(1, 5, 1), layer->W_O(row), "row 5");
}

TEST(MultiHeadAttention, ScalesPositionsAndTermsAreThoseOfTheFunction) {
  torch::manual_seed(5);
  const at::Tensor x = torch::randn({2, kModuleRows, kModuleWidth});
  const auto compare = [&](const MultiHeadAttentionOptions& options, AttentionOptions call, const char* what) {
    MultiHeadAttention layer(options);
    call.mask = options.mask;
    expect_equal(layer(x).output, by_function(layer, x, call), what);
  };
  compare(small(), {}, "usual");
  for (const Scale& scale :
       {Scale::log_n(std::vector<double>{1.0, 2.0, 3.0}), Scale::hybrid(0.5, 2.0), Scale::frozen(2.0, 64),
        Scale::ssmax(0.3), Scale::yarn(4.0), Scale::target_entropy(std::vector<double>{0.2, 0.4, 0.6})}) {
    MultiHeadAttentionOptions options = small();
    options.scale = scale;
    compare(options, {.scale = scale}, scale.name().c_str());
  }
  MultiHeadAttentionOptions capped = small();
  capped.scale = Scale::constant(5.0);
  capped.soft_cap = 0.7;
  compare(capped, {.scale = Scale::constant(5.0), .soft_cap = 0.7}, "soft cap");
  MultiHeadAttentionOptions sunk = small();
  sunk.sinks = true;
  compare(sunk, {.sink = torch::zeros({kModuleHeads})}, "sinks");
  MultiHeadAttentionOptions sloped = small();
  sloped.positions = Positions::alibi;
  compare(sloped, {.alibi_slopes = torch::tensor({1.0 / 16, 1.0 / 256, 1.0 / 4})}, "alibi");
}

TEST(MultiHeadAttention, EveryParameterLearns) {
  torch::manual_seed(6);
  MultiHeadAttentionOptions options = small();
  options.scale = Scale::hybrid(1.0, 1.0);
  options.learn_scale = options.sinks = true;
  options.soft_cap = 3.0;
  options.positions = Positions::relative;
  options.max_distance = 2;
  MultiHeadAttention layer(options);
  layer(torch::randn({2, kModuleRows, kModuleWidth})).output.square().sum().backward();
  std::vector<std::string> names;
  for (const auto& parameter : layer->named_parameters()) {
    names.push_back(parameter.key());
    ASSERT_TRUE(parameter.value().grad().defined()) << parameter.key();
    EXPECT_GT(parameter.value().grad().abs().max().item<double>(), 1e-5) << parameter.key();
  }
  EXPECT_EQ(names, (std::vector<std::string>{"alpha", "beta", "table", "sinks", "W_Q.weight", "W_Q.bias", "W_K.weight",
                                             "W_K.bias", "W_V.weight", "W_V.bias", "W_O.weight", "W_O.bias"}));
}

TEST(MultiHeadAttention, LearnsAlphaAndKeepsItAboveOne) {
  torch::manual_seed(11);
  MultiHeadAttentionOptions options = small();
  options.map = ScoreMap::entmax(std::vector<double>{1.2, 1.5, 2.0});
  options.learn_alpha = true;
  MultiHeadAttention layer(options);
  const at::Tensor x = torch::randn({2, kModuleRows, kModuleWidth});
  EXPECT_EQ(layer->named_parameters().keys().front(), "raw_alpha");
  expect_equal(layer->alpha(), torch::tensor({1.2, 1.5, 2.0}), "alpha at first");
  expect_equal(layer(x).output, by_function(layer, x, {.mask = Mask::causal(), .map = options.map}), "entmax");
  // The gradient against a finite difference, in double.
  layer->to(torch::kDouble);
  const at::Tensor y = x.to(torch::kDouble);
  layer(y).output.square().sum().backward();
  const at::Tensor gradient = layer->raw_alpha.grad().clone();
  const at::NoGradGuard no_gradient;
  for (std::int64_t head = 0; head < kModuleHeads; ++head) {
    const auto loss_at = [&](double step) {
      layer->raw_alpha[head] += step;
      const double loss = layer(y).output.square().sum().item<double>();
      layer->raw_alpha[head] -= step;
      return loss;
    };
    EXPECT_NEAR(gradient[head].item<double>(), (loss_at(1e-6) - loss_at(-1e-6)) / 2e-6, 1e-6) << head;
    EXPECT_GT(std::abs(gradient[head].item<double>()), 1e-4) << head;
  }
  layer->to(torch::kFloat);
  layer->raw_alpha.fill_(-1000);
  EXPECT_TRUE(layer(x).output.isfinite().all().item<bool>());
  EXPECT_GT(layer->alpha().min().item<double>(), 1);
}

TEST(MultiHeadAttention, WidthOfQueriesAndKeysIsItsOwn) {
  torch::manual_seed(12);
  MultiHeadAttentionOptions options = small();
  options.head_features = 7;
  options.num_kv_heads = 1;
  MultiHeadAttention layer(options);
  EXPECT_EQ(layer->W_Q->weight.sizes(), (std::vector<std::int64_t>{7 * kModuleHeads, kModuleWidth}));
  EXPECT_EQ(layer->W_K->weight.sizes(), (std::vector<std::int64_t>{7, kModuleWidth}));
  const at::Tensor x = torch::randn({2, kModuleRows, kModuleWidth});
  expect_equal(layer(x).output, by_function(layer, x, {.mask = Mask::causal()}), "seven features");
}

TEST(MultiHeadAttention, HasItsStateUnderKnownNames) {
  MultiHeadAttentionOptions options = small();
  options.bias = false;
  const EntropyInvariantAttention fixed(options);
  EXPECT_EQ(fixed->named_parameters().keys(),
            (std::vector<std::string>{"W_Q.weight", "W_K.weight", "W_V.weight", "W_O.weight"}));
  EXPECT_EQ(fixed->named_buffers().keys(), std::vector<std::string>{"kappa"});
  options.learn_scale = true;
  const EntropyInvariantAttention learnt(options);
  EXPECT_EQ(learnt->named_parameters().keys().front(), "kappa");
  EXPECT_TRUE(learnt->named_buffers().is_empty());
  EXPECT_EQ(EntropyInvariantAttention(options)->options.scale->name(), "log_n");
  options.learn_scale = false;
  EXPECT_EQ(MultiHeadAttention(options)->options.scale->name(), "inverse_sqrt_d");
  EXPECT_TRUE(EntropyInvariantAttention(nullptr).is_empty());
}

EntropyInvariantAttention learnt_layer(double kappa) {
  MultiHeadAttentionOptions options = small();
  options.scale = Scale::log_n(kappa);
  options.learn_scale = options.sinks = true;
  options.positions = Positions::relative;
  EntropyInvariantAttention layer(options);
  const at::NoGradGuard no_gradient;
  layer->table.normal_();
  layer->sinks.normal_();
  return layer;
}

TEST(MultiHeadAttention, ClonesShareNothing) {
  torch::manual_seed(7);
  EntropyInvariantAttention layer = learnt_layer(1.5);
  MultiHeadAttention copy(std::dynamic_pointer_cast<MultiHeadAttentionImpl>(layer->clone()));
  const at::Tensor x = torch::randn({1, kModuleRows, kModuleWidth}), before = layer(x).output.detach();
  expect_equal(copy(x).output, before, "copy");
  {
    const at::NoGradGuard no_gradient;
    for (at::Tensor& parameter : layer->parameters()) parameter.add_(1.0);
  }
  expect_equal(copy(x).output, before, "copy after a change");
  copy(x).output.sum().backward();
  EXPECT_TRUE(copy->scale_parameters.at("kappa").grad().defined());
  EXPECT_FALSE(layer->scale_parameters.at("kappa").grad().defined());
}

TEST(MultiHeadAttention, IsSavedAndRead) {
  torch::manual_seed(8);
  EntropyInvariantAttention layer = learnt_layer(1.5), other = learnt_layer(9.0);
  const at::Tensor x = torch::randn({1, kModuleRows, kModuleWidth});
  EXPECT_FALSE(at::allclose(layer(x).output, other(x).output, 1e-3, 1e-3));
  std::stringstream file;
  torch::save(layer, file);
  torch::load(other, file);
  expect_equal(other(x).output, layer(x).output, "read back");
}

TEST(MultiHeadAttention, DropsWeightsInTrainingAlone) {
  torch::manual_seed(9);
  MultiHeadAttentionOptions options = small();
  options.dropout = 0.5;
  MultiHeadAttention layer(options);
  const at::Tensor x = torch::randn({1, kModuleRows, kModuleWidth});
  const at::Tensor whole = by_function(layer, x, {.mask = Mask::causal()});
  EXPECT_FALSE(at::allclose(layer(x).output, whole, 1e-3, 1e-3));
  layer->eval();
  expect_equal(layer(x).output, whole, "evaluation");
}

// In an entry with fewer keys, queries are placed at the end of those keys.
TEST(MultiHeadAttention, RotaryPositionsFollowTheLengthOfEachEntry) {
  torch::manual_seed(10);
  const at::Tensor q = torch::randn({2, 2, kModuleWidth}), k = torch::randn({2, 7, kModuleWidth});
  MultiHeadAttentionOptions options = small();
  options.mask = Mask::causal(Align::end);
  options.positions = Positions::rotary;
  MultiHeadAttention plain(options);
  options.mask = options.mask.key_lengths({5, 7});
  MultiHeadAttention layer(options);
  std::stringstream file;
  torch::save(plain, file);
  torch::load(layer, file);
  const at::Tensor found = layer(q, k).output;
  expect_equal(found.narrow(0, 0, 1), plain(q.narrow(0, 0, 1), k.narrow(0, 0, 1).narrow(1, 0, 5)).output, "short");
  expect_equal(found.narrow(0, 1, 1), plain(q.narrow(0, 1, 1), k.narrow(0, 1, 1)).output, "long");
}

}  // namespace
}  // namespace isentropic::pytorch
