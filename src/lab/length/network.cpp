// Trains one network and evaluates it.
#include "lab/length/network.hpp"

#include <ATen/CPUGeneratorImpl.h>
#include <c10/core/DeviceType.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "lab/length/measure.hpp"
#include "lab/length/plan.hpp"
#include "model/design.hpp"
#include "model/names.hpp"

namespace isentropic::lab::length {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kCurveWindows = 16;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

TrainingOptions training_options(const Study& study, const Law& law, const Run& run) {
  TrainingOptions out;
  out.steps = study.steps, out.batch = study.batch, out.length = study.length;
  out.learning_rate = run.learning_rate, out.warmup = std::max<std::int64_t>(1, study.steps / 20);
  out.adamw.weight_decay = run.weight_decay;
  out.attention_dropout = run.attention_dropout;
  out.seed = run.seed;
  out.bfloat16 = study.bfloat16;
  out.statistics_every = 0;
  out.attention = attention_of(law);
  return out;
}

}  // namespace

Result unmeasured(const Study& study, const Run& run) {
  const at::Device device = model::device_named("device", study.device);
  Result out{.run = run};
  out.device = c10::DeviceTypeName(device.type(), /*lower_case=*/true);  // "cpu" or "cuda": which GPU does not matter
  out.bfloat16 = study.bfloat16 && device.is_cuda();                     // autocast is used on CUDA only
  return out;
}

void Trace::add_norm(std::int64_t step, double norm) {
  if (step > kWindow && norm > 3 * norms.median().item<double>()) spikes += 1;
  norms[(step - 1) % kWindow] = norm;
}

Network::Network(const Study& study, const Run& run, const Documents& documents, const Corpus& corpus)
    : study_(study),
      laws_(laws_of(study)),
      documents_(documents),
      result_(unmeasured(study, run)),
      law_(law_named(laws_, run.law)),
      model_(make_model()),
      trainer_(model_, corpus, training_options(study, law_, run)) {}

model::Transformer Network::make_model() const {
  const model::Description description = describe(study_, law_, result_.run.positions, documents_.vocabulary);
  at::Generator generator = at::detail::createCPUGenerator(result_.run.seed);
  const at::Device device = model::device_named("device", study_.device);
  model::RandomParameters source(description, generator, at::TensorOptions().dtype(at::kFloat).device(device));
  return model::Transformer(description, source);
}

NamedTensors Network::state() const {
  NamedTensors out = trainer_.state();
  out.insert(out.end(),
             {{"trace.curve", trace_.curve}, {"trace.norms", trace_.norms}, {"trace.spikes", trace_.spikes}});
  return out;
}

void Network::step() {
  const auto start = Clock::now();
  const StepReport report = trainer_.step();
  trace_.add_norm(report.step, report.gradient_norm);
  if (const std::int64_t point = curve_point(report.step); curve_point(report.step - 1) < point)
    trace_.curve[point - 1] = trainer_.validation_loss(kCurveWindows);
  result_.seconds += seconds_since(start);
}

Result Network::finish() {
  const auto start = Clock::now();
  result_.validation = trainer_.validation_loss();
  result_.spikes = trace_.spikes.item<std::int64_t>();
  for (std::int64_t step = 1; step <= study_.steps; ++step)
    if (const std::int64_t point = curve_point(step); curve_point(step - 1) < point)
      result_.curve.emplace_back(step, trace_.curve[point - 1].item<double>());
  for (const std::vector<double>& layer : law_.learnt ? model_.scale_values() : std::vector<std::vector<double>>{}) {
    double sum = 0;
    for (const double value : layer) sum += value;
    result_.learnt.push_back(sum / static_cast<double>(layer.size()));
  }
  const bool other_regularisation = result_.run.stage == kRegularise;
  for (const Law& law : laws_) {
    if (law.trained_as() != law_.name || !law.fits(result_.run.positions)) continue;
    if (other_regularisation && law.name != law_.name) continue;
    Tested tested{.law = law.name, .points = {}};
    for (const std::int64_t n : study_.lengths()) tested.points.push_back(measure(model_, study_, law, documents_, n));
    result_.tests.push_back(std::move(tested));
  }
  result_.seconds += seconds_since(start);
  return result_;
}

}  // namespace isentropic::lab::length
