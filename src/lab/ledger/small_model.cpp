// Generates the text and trains on it.
#include "lab/ledger/small_model.hpp"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>

#include <array>
#include <cmath>

#include "base/random.hpp"
#include "lab/trainer.hpp"
#include "model/design.hpp"
#include "model/parameters.hpp"

namespace isentropic::lab {
namespace {

constexpr double kNoise = 0.1;
constexpr std::int64_t kHeldOut = 8192, kMoments = 20, kWindows = 64;

class Rule {
 public:
  explicit Rule(Random& random) {
    for (auto& symbol : next_) symbol = static_cast<std::int32_t>(random.integer(0, kSymbols - 1));
  }
  std::int32_t after(std::int32_t last, std::int32_t before, Random& random) const {
    if (random.uniform() < kNoise) return static_cast<std::int32_t>(random.integer(0, kSymbols - 1));
    return next_[static_cast<std::size_t>(before * kSymbols + last)];
  }

 private:
  std::array<std::int32_t, kSymbols * kSymbols> next_;
};

std::vector<std::int32_t> text_of(const Rule& rule, std::int64_t symbols, Random& random) {
  std::vector<std::int32_t> out = {0, 1};
  while (static_cast<std::int64_t>(out.size()) < symbols)
    out.push_back(rule.after(out[out.size() - 1], out[out.size() - 2], random));
  return out;
}

model::Transformer new_model(const SmallRun& run) {
  model::Description out;
  out.vocabulary = kSymbols;
  out.width = 32;
  out.layers.resize(2);
  out.heads = out.kv_heads = 2;
  out.head_width = 16;
  out.mlp_width = 96;
  out.trained_length = run.length;
  model::design(out, model::NormKind::rms, model::positions_named(run.positions), true);
  out.scale = run.scale;
  at::Generator generator = at::detail::createCPUGenerator(run.seed);
  model::RandomParameters source(out, generator, at::TensorOptions().dtype(at::kFloat));
  return model::Transformer(out, source);
}

TrainingOptions options_of(const SmallRun& run) {
  TrainingOptions out;
  out.steps = run.steps, out.length = run.length, out.batch = 16;
  out.learning_rate = 3e-3, out.warmup = 20;
  out.regulariser.weight = run.entropy_weight;
  out.regulariser.direction = run.direction;
  out.seed = run.seed;
  return out;
}

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double x : values) sum += x;
  return sum / static_cast<double>(values.size());
}

// Consecutive windows of held-out text: the symbols, and those that follow them.
std::pair<at::Tensor, at::Tensor> held_out(const Corpus& corpus, std::int64_t length) {
  const std::int64_t windows = std::min(kWindows, (kHeldOut - 1) / length);
  const at::Tensor all = at::tensor(corpus.validation, at::kLong);
  return {all.narrow(0, 0, windows * length).view({windows, length}),
          all.narrow(0, 1, windows * length).view({windows, length})};
}

}  // namespace

double least_loss() {
  const double rare = kNoise / kSymbols, usual = 1 - kNoise + rare;
  return -usual * std::log(usual) - (kSymbols - 1) * rare * std::log(rare);
}

Corpus small_text(std::int64_t train, std::uint64_t seed) {
  Random random(seed);
  const Rule rule(random);
  return {text_of(rule, train, random), text_of(rule, kHeldOut, random)};
}

double Moment::mean_entropy() const { return mean_of(entropy); }

AtLength at_length(const model::Transformer& model, const Corpus& corpus, std::int64_t length) {
  const at::NoGradGuard no_gradient;
  const auto [ids, targets] = held_out(corpus, length);
  const model::ForwardOutput out = model.forward(ids, {.statistics = Statistics::of({Statistic::entropy})});
  AtLength found{model.token_losses(out.hidden, targets).mean().item<double>()};
  for (const auto& layer : out.statistics)
    found.entropy +=
        layer.at("entropy").select(2, length - 1).mean().item<double>() / static_cast<double>(out.statistics.size());
  return found;
}

SmallResult train_small(const SmallRun& run) {
  SmallResult out{{}, small_text(run.train, run.seed), new_model(run)};
  Trainer trainer(out.model, out.corpus, options_of(run));
  while (trainer.steps_done() < run.steps) {
    const StepReport report = trainer.step();
    if (report.step != 1 && report.step % (run.steps / kMoments) != 0) continue;
    Moment moment{report.step, report.loss, at_length(out.model, out.corpus, run.length).loss, {}};
    for (const auto& heads : report.normalised_entropy) moment.entropy.push_back(mean_of(heads));
    out.moments.push_back(std::move(moment));
  }
  return out;
}

}  // namespace isentropic::lab
