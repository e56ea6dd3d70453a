// Draws batches, runs the model forward and backward, and updates it.
#include "lab/trainer.hpp"

#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cmath>

#include "base/counter_random.hpp"
#include "isentropic/error.hpp"
#include "lab/autocast.hpp"
#include "lab/random_streams.hpp"

namespace isentropic::lab {
namespace {

constexpr std::int64_t kIgnored = -100;

// Uniform in [0, 1), a function of the seed and two counters.
double uniform(std::uint64_t seed, std::uint64_t i, std::uint64_t j) {
  const auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
  const auto bits = philox({low(i), low(i >> 32), low(j), low(j >> 32)}, seed);
  return static_cast<double>((std::uint64_t{bits[0]} << 21) ^ (bits[1] >> 11)) * 0x1p-53;
}

std::vector<std::vector<double>> by_head(const pytorch::LayerStatistics& layers, const char* statistic) {
  std::vector<at::Tensor> means;
  for (const auto& layer : layers) means.push_back(pytorch::mean_over_rows(layer, statistic).detach());
  if (means.empty()) return {};
  const at::Tensor all = at::stack(means).to(at::kCPU, at::kDouble).contiguous();
  std::vector<std::vector<double>> out;
  for (std::int64_t layer = 0; layer < all.size(0); ++layer) {
    const double* row = all.const_data_ptr<double>() + layer * all.size(1);
    out.emplace_back(row, row + all.size(1));
  }
  return out;
}

}  // namespace

Trainer::Trainer(model::Transformer& model, const Corpus& corpus, TrainingOptions options)
    : model_(model), corpus_(corpus), options_(std::move(options)), optimiser_(model.parameters(), options_.adamw) {}

Trainer::Batch Trainer::windows_of(const std::vector<std::int32_t>& tokens, const std::vector<std::int64_t>& starts,
                                   std::uint64_t seed) const {
  const auto rows = static_cast<std::int64_t>(starts.size());
  const bool shifted = options_.objective == Objective::autoregressive;
  at::Tensor all = at::empty({rows, options_.length + (shifted ? 1 : 0)}, at::kLong);
  for (std::int64_t row = 0; row < rows; ++row)
    std::copy_n(tokens.begin() + starts[static_cast<std::size_t>(row)], all.size(1),
                all.mutable_data_ptr<std::int64_t>() + row * all.size(1));
  if (shifted)
    return {all.narrow(1, 0, options_.length).contiguous().to(model_.device()),
            all.narrow(1, 1, options_.length).contiguous().to(model_.device())};
  Batch out{all, all.clone()};
  mask(out, seed);
  return {out.ids.to(model_.device()), out.targets.to(model_.device())};
}

// Of the 15% of tokens to be predicted, 80% are masked, 10% replaced by others and 10% kept (Devlin et al. 2019).
void Trainer::mask(Batch& batch, std::uint64_t seed) const {
  auto* ids = batch.ids.mutable_data_ptr<std::int64_t>();
  auto* targets = batch.targets.mutable_data_ptr<std::int64_t>();
  const auto vocabulary = static_cast<double>(model_.description().vocabulary);
  for (std::int64_t i = 0; i < batch.ids.numel(); ++i) {
    const auto place = static_cast<std::uint64_t>(i);
    if (uniform(seed, place, 0) >= 0.15) {
      targets[i] = kIgnored;
      continue;
    }
    const double fate = uniform(seed, place, 1);
    if (fate < 0.8) ids[i] = options_.mask_token;
    if (fate >= 0.8 && fate < 0.9) ids[i] = static_cast<std::int64_t>(uniform(seed, place, 2) * vocabulary);
  }
}

Trainer::Batch Trainer::draw(std::int64_t step) const {
  const auto room = static_cast<double>(static_cast<std::int64_t>(corpus_.train.size()) - options_.length);
  std::vector<std::int64_t> starts;
  for (std::int64_t row = 0; row < options_.batch; ++row)
    starts.push_back(static_cast<std::int64_t>(
        room * uniform(stream(options_.seed, 1), static_cast<std::uint64_t>(step), static_cast<std::uint64_t>(row))));
  return windows_of(corpus_.train, starts, stream(options_.seed, 2) + static_cast<std::uint64_t>(step));
}

bool Trainer::has_statistics(std::int64_t step) const {
  return options_.regulariser.weight > 0 || (options_.statistics_every > 0 && step % options_.statistics_every == 0);
}

model::ForwardOptions Trainer::forward_options(std::int64_t step) const {
  model::ForwardOptions out;
  out.torch_attention = options_.torch_attention && !has_statistics(step);
  out.attention = options_.attention;
  if (has_statistics(step))
    out.statistics = Statistics::of({Statistic::entropy, Statistic::normalised_entropy, Statistic::visible});
  return out;
}

// -sum_v t_v log p_v with t = (1 - e) target + e / V is the cross-entropy plus e (s_target - mean_v s_v).
Trainer::Losses Trainer::losses_of(const Batch& batch, const model::ForwardOptions& options,
                                   pytorch::LayerStatistics* statistics) {
  const Autocast autocast(options_.bfloat16);
  model::ForwardOutput out = model_.forward(batch.ids, options);
  const at::Tensor losses = model_.token_losses(out.hidden, batch.targets);
  *statistics = std::move(out.statistics);
  const at::Tensor counted = (batch.targets != kIgnored).sum().clamp_min(1);
  const at::Tensor plain = losses.sum() / counted;
  if (options_.label_smoothing == 0) return {plain, plain};
  const at::Tensor margins = model_.target_margins(out.hidden, batch.targets);
  return {plain, plain + options_.label_smoothing * margins.sum() / counted};
}

StepReport Trainer::step() {
  StepReport report;
  report.step = done_ + 1;
  at::manual_seed(stream(options_.seed, 3) + static_cast<std::uint64_t>(done_));  // dropout and Gumbel noise
  model::ForwardOptions options = forward_options(report.step);
  options.attention_dropout = options_.attention_dropout;
  pytorch::LayerStatistics statistics;
  const Losses losses = losses_of(draw(done_), options, &statistics);
  at::Tensor objective = losses.smoothed;
  if (options_.regulariser.weight > 0)
    objective = objective + pytorch::entropy_regulariser(statistics, options_.regulariser);
  optimiser_.zero_gradients();
  objective.backward();
  report.gradient_norm = optimiser_.clip_gradients(options_.clip);
  report.loss = losses.plain.item<double>();  // read here: reading it earlier would make the GPU wait for the host
  if (!std::isfinite(report.loss))
    throw Diverged("loss", "not finite at step " + std::to_string(report.step),
                   "a finite one (a smaller learning rate, or more warm-up)");
  if (!std::isfinite(report.gradient_norm))
    throw Diverged("gradient", "not finite at step " + std::to_string(report.step), "a finite one");
  report.learning_rate = learning_rate(options_.learning_rate, done_, options_.warmup, options_.steps);
  optimiser_.step(report.learning_rate);
  if (has_statistics(report.step)) {
    report.entropy = by_head(statistics, "entropy");
    report.normalised_entropy = by_head(statistics, "normalised_entropy");
  }
  ++done_;
  return report;
}

void Trainer::add_noise(const ValidationNoise& noise, Batch& batch, model::ForwardOptions& options) const {
  if (noise.tokens > 0) {
    const at::Tensor others = at::randint(model_.description().vocabulary, batch.ids.sizes(), batch.ids.options());
    const at::Tensor replaced = at::rand(batch.ids.sizes(), batch.ids.options().dtype(at::kFloat)) < noise.tokens;
    batch.ids = at::where(replaced, others, batch.ids);
  }
  if (noise.scores <= 0) return;
  options.torch_attention = false;
  options.attention = [deviation = noise.scores](std::size_t, const at::Tensor& query, const at::Tensor& key,
                                                 const at::Tensor& value, const pytorch::AttentionOptions& call) {
    pytorch::AttentionOptions noisy = call;
    noisy.bias = deviation * at::randn({query.size(0), query.size(1), query.size(2), key.size(2)}, query.options());
    return pytorch::attention(query, key, value, noisy);
  };
}

double Trainer::validation_loss(std::int64_t windows, const ValidationNoise& noise) {
  const at::NoGradGuard no_gradient;
  const std::int64_t room = static_cast<std::int64_t>(corpus_.validation.size()) - 1;
  const std::int64_t count = std::max<std::int64_t>(1, std::min(windows, room / options_.length));
  model::ForwardOptions options;
  options.torch_attention = options_.torch_attention;
  options.attention = options_.attention;
  // Windows that differ only in their texts are read in one batch.
  const bool together = options_.objective == Objective::autoregressive && noise.scores == 0 && noise.tokens == 0;
  const std::int64_t at_once = together ? options_.batch : 1;
  at::Tensor sum = at::zeros({}, at::TensorOptions().dtype(at::kDouble).device(model_.device()));
  pytorch::LayerStatistics none;
  for (std::int64_t first = 0; first < count; first += at_once) {
    std::vector<std::int64_t> starts;
    for (std::int64_t window = first; window < std::min(count, first + at_once); ++window)
      starts.push_back((room - options_.length) * window / std::max<std::int64_t>(1, count - 1));
    const auto number = static_cast<std::uint64_t>(first);
    Batch batch = windows_of(corpus_.validation, starts, stream(options_.seed, 4) + number);
    at::manual_seed(stream(options_.seed, 5) + number);
    add_noise(noise, batch, options);
    sum += losses_of(batch, options, &none).plain * static_cast<double>(starts.size());
  }
  return sum.item<double>() / static_cast<double>(count);
}

}  // namespace isentropic::lab
