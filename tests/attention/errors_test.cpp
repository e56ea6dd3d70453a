// Bad inputs, masks, scales and score terms.
#include "errors_support.hpp"

namespace attention_test {
namespace {

TEST(Errors, TheGoodProblemIsGood) { EXPECT_NO_THROW(attention(good())); }

TEST(Errors, ShapesAndTypes) {
  refused([](auto& p) { p.query = view({8, 6, 3}); }, {"query", "3", "4"});
  refused([](auto& p) { p.query = View(); }, {"query"});
  refused([](auto& p) { p.key = view({2, 2, 5}); }, {"key", "3", "4"});
  refused([](auto& p) { p.key = View(); }, {"key"});
  refused([](auto& p) { p.value = view({2, 10, 7}); }, {"value", "3", "4"});
  refused([](auto& p) { p.key = view({3, 2, 5, 3}); }, {"key", "3", "2"});
  refused([](auto& p) { p.key = view({2, 2, 5, 4}); }, {"key", "4", "3"});
  refused([](auto& p) { p.value = view({2, 2, 6, 7}); }, {"value", "6", "5"});
  refused([](auto& p) { p.value = view({2, 1, 5, 7}); }, {"value", "[2, 1, 5, 7]"});
  refused(
      [](auto& p) {
        p.query = view({2, 4, 6, 0});
        p.key = view({2, 2, 5, 0});
      },
      {"d", "0"});
  refused([](auto& p) { p.value = view({2, 2, 5, 0}); }, {"value", "0"});
  refused([](auto& p) { p.key = view({2, 3, 5, 3}); }, {"heads", "3", "4"});
  refused([](auto& p) { p.key = View(kFloats, {2, 2, 5, 3}); }, {"key", "float32", "float64"});
  refused([](auto& p) { p.value = View(kFloats, {2, 2, 5, 7}); }, {"value", "float32", "float64"});
  refused([](auto& p) { p.query = View(kFlags, {2, 4, 6, 3}); }, {"query", "boolean"});
  refused([](auto& p) { p.query = View(kIntegers, {2, 4, 6, 3}); }, {"query", "int64"});
  refused([](auto& p) { p.query = View(kNumbers, {2, 4, 6, 3}, {72, 18, 3, 2}); }, {"query", "stride", "2"});
  refused([](auto& p) { p.query = View(kNumbers, {2, 4, 6, 3}, {18, 3, 1}); }, {"query", "stride"});
  expect_error(
      [] {
        AttentionProblem problem = good();
        problem.value = View();
        attention(problem);
      },
      {"value", "absent"});
}

TEST(Errors, NullViews) {
  const double* nothing = nullptr;
  refused([&](auto& p) { p.query = View(nothing, {2, 4, 6, 3}); }, {"query", "null"});
  refused([&](auto& p) { p.key = View(nothing, {2, 2, 5, 3}); }, {"key", "null"});
  refused([&](auto& p) { p.value = View(nothing, {2, 2, 5, 7}); }, {"value", "null"});
  refused([&](auto& p) { p.mask = Mask::none().dense(View(nothing, {2, 4, 6, 5})); }, {"mask", "null"});
}

// Numbers that are valid in float64 problems but overflow the other types.
TEST(Errors, NumbersPastTheComputeType) {
  const auto single = [](auto change) {
    const auto in_floats = [&](auto& p) {
      p.query = View(kFloats, {2, 4, 6, 3}), p.key = View(kFloats, {2, 2, 5, 3}), p.value = View(kFloats, {2, 2, 5, 7});
      change(p);
    };
    AttentionProblem wide = good();
    change(wide);
    EXPECT_NO_THROW(attention(wide));
    return in_floats;
  };
  refused(single([](auto& p) { p.soft_cap = 1e39; }), {"soft_cap", "1e+39", "float32"});
  refused(single([](auto& p) { p.soft_cap = 1e-50; }), {"soft_cap", "1e-50"});
  refused(single([](auto& p) { p.sink = -1e39; }), {"sink", "-1e+39"});
  refused(single([](auto& p) { p.bias = Bias::alibi(1e39); }), {"slope", "1e+39"});
  refused(single([](auto& p) { p.scale = Scale::constant(1e39); }), {"scale is 1e+39", "float32"});
  refused(single([](auto& p) { p.map = ScoreMap::gumbel(1e-50, 1); }), {"tau", "1e-50"});
  refused(single([](auto& p) { p.map = ScoreMap::sigmoid(1e39); }), {"offset", "1e+39"});
}

TEST(Errors, PartsOfAMaskGivenTwice) {
  expect_error([] { Mask::causal().window(3).window(4); }, {"window", "twice"});
  expect_error([] { Mask::none().prefix(3).prefix(4); }, {"prefix", "twice"});
  expect_error([] { Mask::none().strided(3, 1).strided(4, 1); }, {"strided", "twice"});
  expect_error([] { Mask::none().segments(3).segments(4); }, {"segments", "twice"});
  expect_error([] { Mask::none().key_lengths({1, 2}).key_lengths({1, 1}); }, {"key_lengths", "twice"});
  expect_error([] { Mask::none().documents({0, 1, 2}).documents({0, 2}); }, {"documents", "twice"});
  expect_error(
      [] {
        Mask::none().dense(View(kFlags, {1, 1, 1, 1})).dense(View(kFlags, {1, 1, 1, 1}));
      },
      {"dense", "twice"});
}

TEST(Errors, Masks) {
  expect_error([] { Mask::none().window(0); }, {"window", "0"});
  expect_error([] { Mask::none().window(3, -1); }, {"window", "-1"});
  expect_error([] { Mask::none().prefix(-2); }, {"prefix", "-2"});
  expect_error([] { Mask::none().strided(0, 3); }, {"stride", "0"});
  expect_error([] { Mask::none().strided(3, -1); }, {"local", "-1"});
  expect_error([] { Mask::none().block_sparse(View(kFlags, {1, 1, 1, 1}), 0, 4); }, {"block", "0"});
  expect_error([] { Mask::none().block_sparse(View(kFlags, {1, 1, 1, 1}), 4, -4); }, {"block", "-4"});
  expect_error([] { Mask::none().segments(0); }, {"segment", "0"});
  const std::int64_t excluded[2] = {};
  refused([&](auto& p) { p.mask = Mask::none().exclude_keys(View(excluded, {1})); }, {"excluded keys", "[1]"});
  refused([](auto& p) { p.mask = Mask::none().exclude_keys(p.query); }, {"excluded keys", "int64"});
  refused([](auto& p) { p.mask = Mask::none().key_lengths({3}); }, {"length", "1", "2"});
  refused([](auto& p) { p.mask = Mask::none().key_lengths({3, 6}); }, {"length", "6", "5"});
  refused([](auto& p) { p.mask = Mask::none().key_lengths({-1, 3}); }, {"length", "-1"});
  refused(
      [](auto& p) {
        p.mask = Mask::none().documents({{{0, 4, 2, 6}, {0, 1, 2, 5}}});
      },
      {"document", "[0, 4, 2, 6]"});
  refused([](auto& p) { p.mask = Mask::none().documents({{{0, 4, 6}, {0, 3, 6}}}); }, {"document", "[0, 3, 6]", "5"});
  refused([](auto& p) { p.mask = Mask::none().documents({{{-1, 4, 6}, {0, 3, 5}}}); }, {"document", "[-1, 4, 6]"});
  refused([](auto& p) { p.mask = Mask::none().documents({{{0, 6}, {0, 3, 5}}}); }, {"document", "3", "2"});
  refused([](auto& p) { p.mask = Mask::none().documents(std::vector<std::int64_t>{0}); }, {"document"});
  refused([](auto& p) { p.mask = Mask::none().dense(View(kFlags, {2, 4, 6, 4})); }, {"mask", "[2, 4, 6, 4]"});
  refused([](auto& p) { p.mask = Mask::none().dense(View(kFlags, {2, 3, 6, 5})); }, {"mask", "[2, 3, 6, 5]"});
  refused([](auto& p) { p.mask = Mask::none().dense(View(kFlags, {6, 5})); }, {"mask", "2", "4"});
  refused([](auto& p) { p.mask = Mask::none().dense(View(kIntegers, {2, 4, 6, 5})); }, {"mask", "int64"});
  refused(
      [](auto& p) {
        p.mask = Mask::none().block_sparse(View(kFlags, {1, 1, 2, 2}), 2, 2);
      },
      {"block", "[1, 1, 2, 2]"});
  refused(
      [](auto& p) {
        p.mask = Mask::none().block_sparse(view({1, 1, 3, 3}), 2, 2);
      },
      {"block", "float64", "boolean"});
}

TEST(Errors, Scales) {
  for (double bad : {kNaN, kInfinity, -kInfinity}) {
    expect_error([=] { Scale::log_n(bad); }, {"kappa"});
    expect_error([=] { Scale::log_n_sqrt_d(bad); }, {"kappa"});
    expect_error([=] { Scale::sqrt_log_n(bad); }, {"kappa"});
    expect_error([=] { Scale::frozen(bad, 10); }, {"kappa"});
    expect_error([=] { Scale::hybrid(bad, 1.0); }, {"alpha"});
    expect_error([=] { Scale::hybrid(1.0, bad); }, {"beta"});
    expect_error([=] { Scale::ssmax(std::vector<double>{1, bad}); }, {"s"});
    expect_error([=] { Scale::yarn(bad); }, {"factor"});
    expect_error([=] { Scale::yarn(2, bad); }, {"mscale"});
    expect_error([=] { Scale::llama4(8, bad); }, {"coefficient"});
    expect_error([=] { Scale::constant(bad); }, {"value of the scale constant"});
    expect_error([=] { Scale::temperature(bad); }, {"temperature"});
    expect_error([=] { Scale::target_entropy(bad); }, {"target", "nats"});
  }
  expect_error([] { Scale::temperature(0.0); }, {"temperature", "0"});
  expect_error([] { Scale::temperature(-1.0); }, {"temperature", "-1"});
  expect_error([] { Scale::target_entropy(-0.5); }, {"target", "-0.5"});
  expect_error([] { Scale::frozen(1.0, 0); }, {"n_max", "0"});
  expect_error([] { Scale::trained_length(1); }, {"n_train", "1"});
  expect_error([] { Scale::yarn(0.5); }, {"factor", "0.5"});
  expect_error([] { Scale::llama4(0); }, {"step", "0"});
  expect_error([] { Scale::log_n(std::vector<double>{}); }, {"kappa"});
  refused([](auto& p) { p.scale = Scale::ssmax(std::vector<double>{1, 2, 3}); }, {"3", "4"});
  refused([](auto& p) { p.scale = Scale::per_row(view({2, 4, 5})); }, {"scale", "[2, 4, 5]"});
  refused([](auto& p) { p.scale = Scale::per_row(View(kIntegers, {2, 4, 6})); }, {"scale", "int64"});
  refused([](auto& p) { p.scale = Scale::per_row(View()); }, {"scale"});
}

TEST(Errors, TargetEntropyThatIsNotMonotone) {
  const auto wanted = [](auto change) {
    return [=](AttentionProblem& p) {
      p.scale = Scale::target_entropy(1.0);
      change(p);
    };
  };
  refused(wanted([](auto& p) { p.bias = Bias::alibi(0.5); }), {"entropy", "bias"});
  refused(wanted([](auto& p) { p.bias = Bias::dense(view({2, 4, 6, 5})); }), {"entropy", "bias"});
  refused(wanted([](auto& p) { p.soft_cap = 3.0; }), {"entropy", "cap"});
  refused(wanted([](auto& p) { p.mask = Mask::none().dense(view({2, 4, 6, 5})); }), {"entropy", "additive"});
  refused(wanted([](auto& p) { p.map = ScoreMap::sparsemax(); }), {"entropy", "sparsemax"});
}

TEST(Errors, ScoreTerms) {
  for (double bad : {0.0, -2.0, kNaN, kInfinity}) {
    refused([=](auto& p) { p.soft_cap = bad; }, {"cap"});
    refused([=](auto& p) { p.dropout = isentropic::Dropout{bad == 0 ? 1.0 : bad, 1}; }, {"dropout"});
  }
  for (double bad : {kNaN, kInfinity}) {
    expect_error([=] { Bias::alibi(bad); }, {"slope"});
    refused([=](auto& p) { p.sink = PerHead(bad); }, {"sink"});
  }
  refused([](auto& p) { p.bias = Bias::alibi(std::vector<double>{1, 2}); }, {"slope", "2", "4"});
  refused([](auto& p) { p.bias = Bias::dense(view({2, 4, 6, 6})); }, {"bias", "[2, 4, 6, 6]"});
  refused([](auto& p) { p.bias = Bias::dense(View(kFlags, {2, 4, 6, 5})); }, {"bias", "boolean"});
  refused([](auto& p) { p.bias = Bias::relative(view({4, 6})); }, {"relative", "[4, 6]", "odd"});
  refused([](auto& p) { p.bias = Bias::relative(view({3, 5})); }, {"relative", "[3, 5]"});
  refused([](auto& p) { p.sink = PerHead(std::vector<double>{1, 2, 3}); }, {"sink", "3", "4"});
  for (const ScoreMap& map : {ScoreMap::sparsemax(), ScoreMap::sigmoid(), ScoreMap::l1(), ScoreMap::relu_squared()}) {
    refused(
        [&](auto& p) {
          p.map = map;
          p.sink = PerHead(1.0);
        },
        {"sink", map.name()});
  }
}

}  // namespace
}  // namespace attention_test
