// Recovers scores from the exact weights of a few rows, and multiplies these weights by e^noise.
#include "lab/theory_check.hpp"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "isentropic/error.hpp"
#include "isentropic/theory/random_energy.hpp"
#include "isentropic/theory/random_scores.hpp"
#include "isentropic/theory/top_k.hpp"

namespace isentropic::lab {
namespace {

using scan::TheoryHead;

constexpr std::int64_t kMatches = 64;
constexpr std::int64_t kNumbersAtOnce = 1 << 24;  // weights of the rows of all heads; long windows get fewer rows
constexpr double kLeastWeight = 1e-38;            // about the smallest normal float32: scores are cut off there

// Attention of some rows: weights [heads, rows, n], zero where a key is not seen; values [heads, n, d].
struct SampledAttention {
  at::Tensor weights, is_seen, values;
  at::Tensor output = at::matmul(weights, values);  // [heads, rows, d]
  at::Tensor size = output.norm(2, -1).mean(-1);    // [heads]: the mean |o|
};

std::vector<std::int64_t> rows_of(std::int64_t n, std::int64_t count) {
  std::vector<std::int64_t> out;
  const std::int64_t first = n / 2, rows = std::min(count, n - first);
  for (std::int64_t i = 0; i < rows; ++i) out.push_back(first + i * (n - first) / rows);
  return out;
}

// [heads, rows, n]: normalised over the keys alone, without the sink if there is one.
at::Tensor weights_of(const at::Tensor& query, const at::Tensor& key, const std::vector<std::int64_t>& rows,
                      const pytorch::AttentionOptions& options) {
  const at::Tensor weights = pytorch::attention_weights(query, key, rows, options)[0].to(at::kCPU, at::kDouble);
  return weights / weights.sum(-1, true);
}

// [rows, n]: the mask of the call; causal, a window, or both.
at::Tensor seen_by(const std::vector<std::int64_t>& rows, std::int64_t n, const Mask& mask) {
  const at::Tensor i = at::tensor(rows, at::kLong).unsqueeze(1), j = at::arange(n, at::kLong).unsqueeze(0);
  at::Tensor out = mask.is_causal ? j <= i : at::ones({std::ssize(rows), n}, at::kBool);
  if (mask.window_part) out = out & (i - j < mask.window_part->left) & (j - i <= mask.window_part->right);
  return out;
}

double mean_at(const at::Tensor& by_head, std::size_t head) {
  return by_head[static_cast<std::int64_t>(head)].mean().item<double>();
}

// Moments of the scores over the keys of each row, [heads, rows].
void add_scores(const SampledAttention& sampled, std::vector<TheoryHead>& out) {
  const at::Tensor seen = sampled.is_seen.to(at::kDouble), keys = seen.sum(-1);
  const at::Tensor scores = sampled.weights.clamp_min(kLeastWeight).log();
  const at::Tensor mean = (scores * seen).sum(-1, true) / keys.unsqueeze(-1);
  const at::Tensor off = (scores - mean) * seen;
  const auto moment = [&](int power) { return off.pow(power).sum(-1) / keys; };
  const at::Tensor variance = moment(2), entropy = -(sampled.weights * scores * seen).sum(-1);
  const at::Tensor log_keys = keys.log();
  for (std::size_t head = 0; head < out.size(); ++head) {
    const double log_n = log_keys.mean().item<double>(), spread = std::sqrt(mean_at(variance, head));
    out[head].spread = spread;
    out[head].freezing_point = theory::freezing_spread(log_n);
    out[head].skewness = mean_at(moment(3) / variance.pow(1.5), head);
    out[head].excess_kurtosis = mean_at(moment(4) / variance.square(), head) - 3;
    out[head].entropy = mean_at(entropy, head);
    out[head].predicted_entropy = theory::expected_row(theory::ScoreLaw::gaussian(), log_n, spread).entropy;
  }
}

// The largest singular value of [a_j (v_j - o)]_j is the square root of the largest eigenvalue of
// sum a_j^2 (v_j - o)(v_j - o)^T, a matrix of the values' width.
void add_worst_gain(const SampledAttention& sampled, std::vector<TheoryHead>& out) {
  const at::Tensor &a = sampled.weights, &v = sampled.values;
  const at::Tensor& output = sampled.output;
  at::Tensor gain = at::zeros({a.size(0), a.size(1)}, at::kDouble);
  for (std::int64_t row = 0; row < a.size(1); ++row) {
    const at::Tensor moved =
        a.select(1, row).unsqueeze(-1) * (v - output.select(1, row).unsqueeze(1));  // [heads, n, d]
    gain.select(1, row).copy_(at::linalg_eigvalsh(at::matmul(moved.mT(), moved)).amax(-1).clamp_min(0).sqrt());
  }
  for (std::size_t head = 0; head < out.size(); ++head)
    out[head].worst_gain = mean_at(gain, head) / mean_at(sampled.size, head);
}

void add_top_keys(const SampledAttention& sampled, std::vector<TheoryHead>& out) {
  const at::Tensor &a = sampled.weights, &v = sampled.values;
  const auto [top, places] = a.topk(std::min(scan::kTopKeys, a.size(-1)), -1);
  const at::Tensor kept = at::zeros_like(a).scatter(-1, places, top), mass = top.sum(-1, true);
  const at::Tensor change = (at::matmul(kept / mass, v) - sampled.output).norm(2, -1),
                   left_out = (1 - mass.squeeze(-1)).clamp_min(0);
  const at::Tensor widest = (v - v.mean(1, true)).norm(2, -1).amax(-1);  // [heads]
  for (std::size_t head = 0; head < out.size(); ++head) {
    const double unit = mean_at(sampled.size, head), m = mean_at(left_out, head);
    out[head].left_out = m;
    out[head].left_out_change = mean_at(change, head) / unit;
    out[head].left_out_bound = theory::top_k_output_bound(m, mean_at(widest, head)) / unit;
  }
}

at::Tensor drawn(const theory::NoiseLaw& law, at::IntArrayRef shape, at::Generator& generator) {
  const at::Tensor u = at::rand(shape, generator, at::kDouble).clamp(1e-300, 1 - 1e-16);
  switch (law.family()) {
    case theory::NoiseFamily::gaussian:
      return at::randn(shape, generator, at::kDouble) * law.parameter();
    case theory::NoiseFamily::uniform:
      return (2 * u - 1) * law.parameter();
    case theory::NoiseFamily::laplace:
      return -(u - 0.5).sign() * (1 - 2 * (u - 0.5).abs()).clamp_min(1e-300).log() * law.parameter();
    case theory::NoiseFamily::gumbel:
      return -(-u.log()).log() / law.parameter();
  }
  return at::zeros(shape, at::kDouble);
}

// The bias is the mean of x - N with x = o~ - o and the control variate N = sum a (Z / E Z - 1)(v - o), which has mean
// zero and nearly all of the fluctuation.
void add_noise(const SampledAttention& sampled, const TheoryOptions& asked, std::vector<TheoryHead>& out) {
  const theory::NoiseLaw& law = *asked.noise;
  const double ratio = law.variance_ratio(), moment = law.exponential_moment();
  if (!std::isfinite(ratio)) return;
  const at::Tensor &a = sampled.weights, &v = sampled.values;
  const at::Tensor &output = sampled.output, squares = a.square();  // [heads, rows, d], [heads, rows, n]
  // sum a^2 (v - o) and sum a^2 |v - o|^2.
  const at::Tensor first = at::matmul(squares, v), total = squares.sum(-1, true);
  const at::Tensor direction = -(first - total * output) * ratio;
  const at::Tensor norms = v.square().sum(-1, true);  // [heads, n, 1]
  const at::Tensor second = at::matmul(squares, norms).squeeze(-1) - 2 * (first * output).sum(-1) +
                            total.squeeze(-1) * output.square().sum(-1);
  at::Tensor square = at::zeros_like(second), bias = at::zeros_like(output);
  at::Generator generator = at::detail::createCPUGenerator(1);
  for (std::int64_t draw = 0; draw < asked.draws; ++draw) {
    const at::Tensor z = drawn(law, a.sizes(), generator).exp(), noisy = a * z;
    const at::Tensor moved = at::matmul(noisy, v) / noisy.sum(-1, true) - output;
    const at::Tensor linear = a * (z / moment - 1);
    square += moved.square().sum(-1);
    bias += moved - (at::matmul(linear, v) - linear.sum(-1, true) * output);
  }
  const auto draws = static_cast<double>(asked.draws);
  const at::Tensor length = direction.norm(2, -1).clamp_min(1e-300);
  const at::Tensor along = (bias / draws * direction).sum(-1) / length;
  for (std::size_t head = 0; head < out.size(); ++head) {
    const double unit = mean_at(sampled.size, head);
    out[head].noise_rms = std::sqrt(mean_at(square / draws, head)) / unit;
    out[head].predicted_rms = std::sqrt(ratio * mean_at(second.clamp_min(0), head)) / unit;
    out[head].noise_bias = mean_at(along, head) / unit;
    out[head].predicted_bias = mean_at(length, head) / unit;
  }
}

}  // namespace

theory::NoiseLaw noise_from_text(const std::string& text) {
  const std::size_t colon = text.find(':');
  const std::string family = text.substr(0, colon), strength = colon == std::string::npos ? "" : text.substr(colon + 1);
  double number = 0;
  const auto [end, error] = std::from_chars(strength.data(), strength.data() + strength.size(), number);
  const bool is_number = error == std::errc() && end == strength.data() + strength.size();
  if (is_number && family == "gaussian") return theory::NoiseLaw::gaussian(number);
  if (is_number && family == "uniform") return theory::NoiseLaw::uniform(number);
  if (is_number && family == "laplace") return theory::NoiseLaw::laplace(number);
  if (is_number && family == "gumbel") return theory::NoiseLaw::gumbel(number);
  throw Error("noise", "'" + text + "'", "gaussian:SIGMA, uniform:HALF_WIDTH, laplace:SCALE or gumbel:TAU");
}

void add_theory_check(const model::Transformer& model, const ScanText& text, const ScanOptions& options,
                      const TheoryOptions& asked, scan::Result* result) {
  const at::NoGradGuard no_gradient;
  const std::vector<std::int32_t> ids = window_number(0, text, options);
  const std::int64_t most_rows =
      std::max<std::int64_t>(1, kNumbersAtOnce / (model.description().heads * options.length));
  const Matches matches = asked.calibrate ? matches_of(ids, std::min(kMatches, most_rows)) : Matches{};
  std::vector<std::vector<TheoryHead>> found(model.description().layers.size());
  const auto look = [&](std::size_t layer, const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                        const pytorch::AttentionOptions& own) {
    found[layer].resize(static_cast<std::size_t>(query.size(1)));
    if (own.map.kind() == ScoreMap::Kind::softmax) {
      const std::vector<std::int64_t> rows = rows_of(query.size(2), std::min(asked.rows, most_rows));
      const SampledAttention sampled{
          weights_of(query, key, rows, own), seen_by(rows, key.size(2), own.mask),
          value[0].to(at::kCPU, at::kDouble).repeat_interleave(query.size(1) / value.size(1), 0)};
      add_scores(sampled, found[layer]);
      add_worst_gain(sampled, found[layer]);
      add_top_keys(sampled, found[layer]);
      if (asked.noise) add_noise(sampled, asked, found[layer]);
      if (!matches.rows.empty())
        add_calibration(weights_of(query, key, matches.rows, own), seen_by(matches.rows, key.size(2), own.mask),
                        matches, found[layer]);
    }
    return pytorch::attention(query, key, value, own);
  };
  model.forward(batch_of(ids, model.device()), {.attention = look});
  result->theory.noise = asked.noise_text;
  for (const scan::HeadResult& head : result->heads) result->theory.heads.push_back(found[head.layer][head.head]);
}

}  // namespace isentropic::lab
