// Bad maps, statistics, shards, and calls of the passes that build on a forward pass.
#include "errors_support.hpp"
#include "isentropic/hierarchical_attention.hpp"

namespace attention_test {
namespace {

using isentropic::Feature;
using isentropic::LinearForm;
using isentropic::Normaliser;

TEST(Errors, ScoreMaps) {
  expect_error([] { ScoreMap::top_k(0); }, {"top-k", "0"});
  expect_error([] { ScoreMap::top_k(-3); }, {"top-k", "-3"});
  for (double bad : {0.0, -1.0, kNaN, kInfinity}) {
    expect_error([=] { ScoreMap::gumbel(bad, 1); }, {"temperature"});
    expect_error([=] { ScoreMap::decay(bad == kInfinity ? 1.5 : bad); }, {"gamma"});
    expect_error([=] { ScoreMap::linear(Feature::exp, Normaliser::l1, bad); }, {"gamma"});
  }
  expect_error([] { ScoreMap::sigmoid(kNaN); }, {"offset"});
  const auto sample = ScoreMap::gumbel(1.0, 1, isentropic::GumbelSample::straight_through);
  refused(
      [=](auto& p) {
        p.map = sample;
        p.sink = PerHead(0.0);
      },
      {"straight-through", "sink"});
  refused(
      [=](auto& p) {
        p.map = sample;
        p.dropout = isentropic::Dropout{0.5, 1};
      },
      {"straight-through", "dropout"});
  refused([](auto& p) { p.map = ScoreMap::decay(std::vector<double>{0.5, 0.6}); }, {"gamma", "2", "4"});
  refused([](auto& p) { p.map = ScoreMap::decay(0.9); }, {"mask", "causal"});
  const auto recurrent = [](Mask mask) {
    return [=](AttentionProblem& p) {
      p.map = ScoreMap::linear(Feature::elu_plus_one, Normaliser::l1, 1.0, LinearForm::recurrent);
      p.mask = mask;
    };
  };
  refused(recurrent(Mask::causal().window(3)), {"mask", "recurrent"});
  refused(recurrent(Mask::none().strided(2, 1)), {"mask", "recurrent"});
  refused(recurrent(Mask::none().dense(View(kFlags, {2, 4, 6, 5}))), {"mask", "recurrent"});
}

TEST(Errors, Statistics) {
  const auto ask = [](ScoreMap map, Statistic statistic) {
    return [=](AttentionProblem& p) {
      p.map = map;
      p.statistics = Statistics::of({statistic});
    };
  };
  refused(ask(ScoreMap::sigmoid(), Statistic::entropy), {"entropy", "sigmoid"});
  refused(ask(ScoreMap::l1(), Statistic::effective_keys), {"effective_keys", "identity"});
  refused(ask(ScoreMap::sparsemax(), Statistic::log_partition), {"log_partition", "sparsemax"});
  refused(ask(ScoreMap::softmax(), Statistic::sink_mass), {"sink_mass", "sink"});
  expect_error([] { attention_statistics(good()); }, {"statistics", "none"});
  expect_error([] { isentropic::statistic_named("entropie"); }, {"entropie", "entropy", "mean_distance"});
  expect_error([] { Statistics::all().groups(-1, 3); }, {"first", "-1"});
  expect_error([] { Statistics::all().groups(1, -3); }, {"recent", "-3"});
  expect_error([] { attention_weights(good(), {6}); }, {"row", "6", "5"});
  expect_error([] { attention_weights(good(), {-1}); }, {"row", "-1"});
}

TEST(Errors, Shards) {
  refused(
      [](auto& p) {
        p.shard.query_runs = {isentropic::Run{3}};
        p.shard.total_queries = 8;
      },
      {"query", "3", "8"});
  refused(
      [](auto& p) {
        p.shard.key_runs = {isentropic::Run{-1}};
        p.shard.total_keys = 8;
      },
      {"key", "-1"});
  refused([](auto& p) { p.shard.total_keys = 3; }, {"key", "3"});
  for (const std::vector<isentropic::Run>& runs : std::vector<std::vector<isentropic::Run>>{
           {{0, 2}, {6, 2}}, {{0, 2}, {1, 3}}, {{5, 2}, {0, 3}}, {{0, 3}, {8, 2}}, {{0, 5}, {7, 1}}, {{0, 7}, {8, -1}}})
    refused(
        [&](auto& p) {
          p.shard.key_runs = runs;
          p.shard.total_keys = 9;
        },
        {"key runs", std::to_string(runs[0].length) + " from", "5", "9"});
  const auto split = [](AttentionProblem& p) {
    p.shard.key_runs = {isentropic::Run{1}};
    p.shard.total_keys = 10;
  };
  refused(
      [=](auto& p) {
        split(p);
        p.map = ScoreMap::sparsemax();
      },
      {"key", "sparsemax"});
  refused(
      [=](auto& p) {
        split(p);
        p.map = ScoreMap::gumbel(1.0, 1, isentropic::GumbelSample::straight_through);
      },
      {"key", "gumbel"});
  refused(
      [=](auto& p) {
        split(p);
        p.scale = Scale::log_n();
        p.mask = Mask::none().dense(View(kFlags, {2, 4, 6, 5}));
      },
      {"visible", "absent"});
  refused(
      [=](auto& p) {
        split(p);
        p.scale = Scale::target_entropy(1.0);
      },
      {"entropy", "shard"});
  refused([](auto& p) { p.shard.visible = View(kNumbers, {2, 4, 6}); }, {"visible", "float64", "int64"});
  refused([](auto& p) { p.shard.visible = View(kIntegers, {2, 4, 5}); }, {"visible", "[2, 4, 5]"});
}

TEST(Errors, Backward) {
  const AttentionProblem problem = good();
  const isentropic::AttentionResult forward = attention(problem);
  expect_error([&] { attention_backward(problem, forward, {}); }, {"upstream"});
  expect_error(
      [&] {
        attention_backward(problem, forward, {.output = view({2, 4, 6, 3})});
      },
      {"output", "[2, 4, 6, 3]"});
  expect_error(
      [&] {
        attention_backward(problem, forward, {.output = View(kFlags, {2, 4, 6, 7})});
      },
      {"output", "boolean"});
  expect_error([&] { attention_backward(problem, forward, {.entropy = view({2, 4, 7})}); }, {"entropy", "[2, 4, 7]"});
  expect_error(
      [&] {
        attention_backward(problem, isentropic::AttentionResult{}, {.output = view({2, 4, 6, 7})});
      },
      {"forward"});
  AttentionProblem other = problem;
  other.map = ScoreMap::sparsemax();
  const isentropic::AttentionResult sparse = attention(other);
  expect_error([&] { attention_backward(other, sparse, {.entropy = view({2, 4, 6})}); }, {"statistics", "sparsemax"});
}

TEST(Errors, Hierarchical) {
  const auto bad = [](auto change, const std::vector<std::string>& words) {
    isentropic::HierarchicalProblem problem{.attention = good(), .block = 2};
    change(problem);
    expect_error([&] { hierarchical_attention(problem); }, words);
  };
  bad([](auto& p) { p.block = 0; }, {"block", "0"});
  bad([](auto& p) { p.attention.map = ScoreMap::sparsemax(); }, {"map", "sparsemax"});
  bad([](auto& p) { p.attention.sink = PerHead(1.0); }, {"sink"});
  bad(
      [](auto& p) {
        p.score = isentropic::BlockScore::mean_key;
        p.attention.soft_cap = 2.0;
      },
      {"mean-key", "cap"});
  bad(
      [](auto& p) {
        p.score = isentropic::BlockScore::mean_key;
        p.block_scale = Scale::target_entropy(1.0);
      },
      {"block scale", "target_entropy"});
  bad([](auto& p) { p.attention.dropout = isentropic::Dropout{0.5, 1}; }, {"dropout"});
  bad([](auto& p) { p.attention.key = view({2, 2, 5, 4}); }, {"key", "4"});
}

}  // namespace
}  // namespace attention_test
