// Builds, trains and measures one model.
#include "lab/dynamics/run.hpp"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <cmath>

#include "isentropic/error.hpp"
#include "lab/language_model_run.hpp"
#include "model/names.hpp"

namespace isentropic::lab::dynamics {
namespace {

constexpr std::int64_t kSums = 4;  // before the heads

// Six decimals in memory, as in the log.
double rounded(double x) { return std::round(x * 1e6) / 1e6; }

std::string scale_of(const Setting& setting) {
  // Differentiates through the equation H = H*: the loss that falls is then the one that is measured.
  return setting.target_entropy > 0 ? fmt::format("target_entropy:target={},gradient=implicit", setting.target_entropy)
                                    : "inverse_sqrt_d";
}

LanguageModelRun run_of(const Study& study, const Setting& setting, std::uint64_t seed) {
  LanguageModelRun out;
  out.objective = setting.objective;
  out.layers = study.layers, out.heads = study.heads, out.width = study.width;
  out.scale = scale_of(setting);
  out.steps = setting.steps, out.length = setting.length, out.warmup = std::max<std::int64_t>(1, setting.steps / 20);
  out.batch = std::max<std::int64_t>(1, study.batch * study.length / setting.length);  // same token count at any length
  out.learning_rate = study.learning_rate, out.weight_decay = study.weight_decay;
  out.entropy_weight = std::abs(setting.entropy_weight);
  out.entropy_direction = setting.entropy_weight < 0 ? "discourage" : "encourage";
  out.seed = seed, out.device = study.device, out.bfloat16 = study.bfloat16;
  return out;
}

model::Transformer make_model(const Study& study, const Setting& setting, std::uint64_t seed, std::int64_t vocabulary) {
  const model::Description description = describe(run_of(study, setting, seed), vocabulary);
  at::Generator generator = at::detail::createCPUGenerator(seed);
  const auto options = at::TensorOptions().dtype(at::kFloat).device(model::device_named("device", study.device));
  model::RandomParameters source(description, generator, options);
  model::Transformer out(description, source);
  const at::NoGradGuard no_gradient;
  for (const auto& item : out.parameters())
    if (item.key().ends_with(".query.weight") || item.key().ends_with(".key.weight"))
      at::Tensor(item.value()).mul_(setting.gain);
  return out;
}

TrainingOptions options_of(const Study& study, const Material& material, const Setting& setting, std::uint64_t seed) {
  TrainingOptions out = training_options(run_of(study, setting, seed), material.tokenizer);
  out.label_smoothing = setting.label_smoothing;
  return out;
}

}  // namespace

Run::Run(const Study& study, const Material& material, const Setting& setting, std::uint64_t seed)
    : study_(study),
      setting_(setting),
      validation_windows_(std::max<std::int64_t>(1, study.validation_tokens / setting.length)),
      model_(make_model(study, setting, seed, material.tokenizer.vocabulary_size())),
      trainer_(model_, material.corpora[setting.text], options_of(study, material, setting, seed)),
      sums_(at::zeros({kSums + study.layers * study.heads}, at::kFloat)) {}

bool Run::is_point(std::int64_t step) const {
  const std::int64_t every = std::max<std::int64_t>(1, setting_.steps / study_.points);
  return step == 1 || step % every == 0 || step == setting_.steps;
}

void Run::add(const StepReport& report) {
  auto* sums = sums_.mutable_data_ptr<float>();
  double nats = 0;
  for (const auto& heads : report.entropy) nats += mean_of(heads) / static_cast<double>(report.entropy.size());
  for (const double x : {1.0, report.loss, report.gradient_norm, nats}) *sums++ += static_cast<float>(x);
  for (const auto& heads : report.normalised_entropy)
    for (const double x : heads) *sums++ += static_cast<float>(x);
}

Point Run::take_point() {
  const auto* sums = sums_.const_data_ptr<float>();
  const auto mean = [&](std::int64_t i) { return rounded(sums[i] / sums[0]); };
  Point out{
      trainer_.steps_done(), mean(1), mean(2), rounded(trainer_.validation_loss(validation_windows_)), mean(3), {}};
  for (std::int64_t layer = 0; layer < study_.layers; ++layer) {
    auto& heads = out.entropy.emplace_back();
    for (std::int64_t head = 0; head < study_.heads; ++head) heads.push_back(mean(kSums + layer * study_.heads + head));
  }
  sums_.zero_();
  return out;
}

std::optional<Point> Run::step() {
  const StepReport report = trainer_.step();
  last_loss_ = report.loss;
  add(report);
  if (!is_point(report.step)) return {};
  return take_point();
}

double Run::rise_under(const ValidationNoise& noise) {
  return rounded(trainer_.validation_loss(validation_windows_, noise) - trainer_.validation_loss(validation_windows_));
}

NamedTensors Run::state() const {
  NamedTensors out = trainer_.state();
  out.emplace_back("sums", sums_);
  return out;
}

}  // namespace isentropic::lab::dynamics
