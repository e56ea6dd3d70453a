// Trains the networks of a length study and evaluates each at every length.
#include "lab/length/study.hpp"

#include <ATen/CPUGeneratorImpl.h>
#include <c10/core/DeviceType.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <thread>

#include "isentropic/error.hpp"
#include "lab/claimed_run.hpp"
#include "lab/length/documents.hpp"
#include "lab/length/findings.hpp"
#include "lab/length/measure.hpp"
#include "lab/length/plan.hpp"
#include "lab/study_options.hpp"
#include "lab/trainer.hpp"
#include "model/design.hpp"
#include "model/names.hpp"

namespace isentropic::lab::length {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Study, texts, laws, positions, learning_rates, seeds, best, vocabulary, layers,
                                   heads, width, steps, batch, length, scored, factors, training_tokens, documents,
                                   max_epochs, target_entropy, weight_decay, attention_dropout, attention_dropout_sweep,
                                   weight_decay_sweep, seed, device, bfloat16)

namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

constexpr std::int64_t kCurvePoints = 20, kCurveWindows = 16;
constexpr std::chrono::seconds kSaveAfter(20);            // the most that a killed process loses
constexpr std::chrono::milliseconds kAskAgainAfter(200);  // polling interval while other processes finish
constexpr std::int64_t kWindow = 100;                     // previous gradient norms to compare with

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

std::vector<std::int64_t> lengths_of(const Study& study) {
  std::vector<std::int64_t> out;
  for (const double factor : study.factors)
    out.push_back(static_cast<std::int64_t>(std::lround(factor * static_cast<double>(study.length))));
  return out;
}

// "cpu" or "cuda": which GPU it was does not matter.
std::string device_type(const Study& study) {
  return c10::DeviceTypeName(model::device_named("device", study.device).type(), /*lower_case=*/true);
}

// Autocast is used on CUDA only.
bool is_bfloat16(const Study& study) { return study.bfloat16 && model::device_named("device", study.device).is_cuda(); }

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

// Per-step measurements, kept as tensors so that they are saved with the training state.
struct Trace {
  at::Tensor curve = at::full({kCurvePoints}, std::nan(""));  // losses at the trained length
  at::Tensor norms = at::zeros({kWindow});                    // of the last gradients
  at::Tensor spikes = at::zeros({1});

  // Adds the gradient norm of step `step`, counted from 1.
  void add_norm(std::int64_t step, double norm) {
    if (step > kWindow && norm > 3 * norms.median().item<double>()) spikes += 1;
    norms[(step - 1) % kWindow] = norm;
  }
};

// A network in training.
class Network {
 public:
  Network(const Study& study, const Run& run, const Documents& documents, const Corpus& corpus)
      : study_(study),
        laws_(laws_of(study)),
        documents_(documents),
        result_{.run = run},
        law_(law_named(laws_, run.law)),
        model_(make_model()),
        trainer_(model_, corpus, training_options(study, law_, run)) {
    result_.device = device_type(study);
    result_.bfloat16 = is_bfloat16(study);
  }

  std::int64_t steps_done() const { return trainer_.steps_done(); }
  void go_on_from(std::int64_t steps) { trainer_.go_on_from(steps); }
  NamedTensors state() const {
    NamedTensors out = trainer_.state();
    out.insert(out.end(),
               {{"trace.curve", trace_.curve}, {"trace.norms", trace_.norms}, {"trace.spikes", trace_.spikes}});
    return out;
  }

  void step() {
    const auto start = Clock::now();
    const StepReport report = trainer_.step();
    trace_.add_norm(report.step, report.gradient_norm);
    if (const std::int64_t point = curve_point(report.step); curve_point(report.step - 1) < point)
      trace_.curve[point - 1] = trainer_.validation_loss(kCurveWindows);
    result_.seconds += seconds_since(start);
  }

  Result diverged() const { return as_diverged(result_); }

  Result finish() {
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
      for (const std::int64_t n : lengths_of(study_))
        tested.points.push_back(measure(model_, study_, law, documents_, n));
      result_.tests.push_back(std::move(tested));
    }
    result_.seconds += seconds_since(start);
    return result_;
  }

 private:
  // The number of curve points at steps up to this one.
  std::int64_t curve_point(std::int64_t step) const { return step * kCurvePoints / study_.steps; }

  model::Transformer make_model() const {
    const model::Description description = describe(study_, law_, result_.run.positions, documents_.vocabulary);
    at::Generator generator = at::detail::createCPUGenerator(result_.run.seed);
    const at::Device device = model::device_named("device", study_.device);
    model::RandomParameters source(description, generator, at::TensorOptions().dtype(at::kFloat).device(device));
    return model::Transformer(description, source);
  }

  const Study& study_;
  const std::vector<Law> laws_;
  const Documents& documents_;
  Result result_;
  const Law& law_;
  model::Transformer model_;
  Trainer trainer_;
  Trace trace_;
};

std::vector<Result> results_in(StudyFolder& folder) {
  std::vector<Result> out;
  for (const Json& line : folder.lines())
    if (line.contains("tests")) out.push_back(result_of(line));
  return out;
}

// The run's file name.
std::string name_of(const Run& run) {
  return fmt::format("{}-{}-{}-{:g}-{}-{:g}-{:g}", run.stage, run.law, run.positions, run.learning_rate, run.seed,
                     run.attention_dropout, run.weight_decay);
}

// The work of this process on a study that others may share.
class Worker {
 public:
  Worker(StudyFolder& folder, const Study& study, const Documents& documents, const Corpus& corpus,
         const StudyCallbacks& callbacks, std::size_t finished)
      : folder_(folder),
        study_(study),
        documents_(documents),
        corpus_(corpus),
        callbacks_(callbacks),
        finished_before_(static_cast<std::int64_t>(finished)) {}

  // Trains the first run that no other process has, until it is finished or the study is to stop; false if none.
  bool train_one_of(const std::vector<Run>& runs, std::size_t finished) {
    for (const Run& run : runs) {
      const auto claimed = ClaimedRun::claim(folder_.path(), name_of(run));
      if (!claimed) continue;
      const auto results = results_in(folder_);
      if (std::ranges::find(results, run, &Result::run) == results.end()) {
        const auto result = train(run, *claimed, finished);
        if (!result) return true;
        folder_.log(json_of(*result));
        callbacks_.tell(forecast(*result));
      }
      claimed->finish();
      return true;
    }
    return false;
  }

  void wait_for_others(std::size_t runs, std::size_t finished) {
    callbacks_.progress(share_of(finished, 0), fmt::format("other processes train the last {} of a stage", runs));
    std::this_thread::sleep_for(kAskAgainAfter);
  }

 private:
  // Empty if it was stopped; its state is then saved.
  std::optional<Result> train(const Run& run, const ClaimedRun& claimed, std::size_t finished) {
    Network network(study_, run, documents_, corpus_);
    if (const std::int64_t steps = claimed.restore(network.state()); steps > 0) network.go_on_from(steps);
    Clock::time_point saved = Clock::now();
    while (network.steps_done() < study_.steps) {
      try {
        network.step();
      } catch (const Diverged& error) {
        callbacks_.tell(error.what());
        return network.diverged();
      }
      const std::int64_t step = network.steps_done();
      callbacks_.progress(share_of(finished, step), run.stage + " " + run.law + ", positions " + run.positions);
      const bool stops = callbacks_.stops() && step < study_.steps;
      if (stops || Clock::now() - saved > kSaveAfter) claimed.save(network.state(), step), saved = Clock::now();
      if (stops) return {};
    }
    return finite_part(network.finish());
  }

  double share_of(std::size_t finished, std::int64_t steps) const {
    const double networks =
        static_cast<double>(finished) + static_cast<double>(steps) / static_cast<double>(study_.steps);
    return std::min(1.0, networks / static_cast<double>(most_runs(study_)));  // a log may hold more, from other options
  }

  // Extrapolates the rate of all processes together since this one began.
  std::string forecast(const Result& last) {
    const auto results = static_cast<std::int64_t>(results_in(folder_).size());
    const auto since = static_cast<double>(results - finished_before_);
    const std::int64_t left = most_runs(study_) - results;
    return fmt::format(
        "{} {}, positions {}, learning rate {}: {} in {:.0f} s; at most {} networks and {:.0f} minutes left",
        last.run.stage, last.run.law, last.run.positions, last.run.learning_rate,
        last.diverged ? "diverged" : fmt::format("loss {:.4f}", last.validation), last.seconds, left,
        static_cast<double>(left) * seconds_since(start_) / since / 60);
  }

  StudyFolder& folder_;
  const Study& study_;
  const Documents& documents_;
  const Corpus& corpus_;
  const StudyCallbacks& callbacks_;
  const Clock::time_point start_ = Clock::now();
  const std::int64_t finished_before_;
};

// For a study resumed on another device, or without an option that it was first given.
void warn_of_other_precision(const Study& study, const std::vector<Result>& results, const StudyCallbacks& callbacks) {
  const std::string here = precision_of({.device = device_type(study), .bfloat16 = is_bfloat16(study)});
  const auto other =
      std::ranges::find_if(results, [&](const Result& x) { return !x.device.empty() && precision_of(x) != here; });
  if (other != results.end())
    callbacks.tell("networks before were trained on " + precision_of(*other) + ", from now on " + here +
                   ": their losses do not compare");
}

// False if it was stopped.
bool train_all(StudyFolder& folder, const Study& study, const StudyCallbacks& callbacks) {
  const Documents documents = stored_documents(folder.path(), study);
  const Corpus corpus = corpus_of(documents);
  const auto before = results_in(folder);
  warn_of_other_precision(study, before, callbacks);
  Worker worker(folder, study, documents, corpus, callbacks, before.size());
  for (;;) {
    const auto results = results_in(folder);
    const std::vector<Run> runs = next_runs(study, results);
    if (runs.empty()) return true;
    if (callbacks.stops()) return false;
    if (!worker.train_one_of(runs, results.size())) worker.wait_for_others(runs.size(), results.size());
  }
}

void require_positive(const char* name, double value) {
  if (!(value > 0)) throw Error(name, value, "more than 0");
}

void require_regularisation(double dropout, double decay) {
  if (!(dropout >= 0 && dropout < 1)) throw Error("attention dropout", dropout, "a probability, 0 to below 1");
  if (!(decay >= 0) || !std::isfinite(decay)) throw Error("weight decay", decay, "0 or more");
}

}  // namespace

std::int64_t Study::longest() const {
  return static_cast<std::int64_t>(std::lround(std::ranges::max(factors) * static_cast<double>(length)));
}

void check_study(const Study& study) {
  laws_of(study);
  model::device_named("device", study.device);
  for (const std::string& positions : study.positions)
    if (positions != "none" && positions != "rotary") throw Error("positions", "'" + positions + "'", "none or rotary");
  if (study.width % study.heads != 0) throw Error("width", study.width, "a multiple of the heads");
  const bool rotary = std::ranges::find(study.positions, "rotary") != study.positions.end();
  if (rotary && study.width / study.heads % 2 != 0)
    throw Error("width", study.width, "an even number for each head: positions are rotary");
  if (study.factors.empty() || study.learning_rates.empty())
    throw Error("factors or learning rates", "none", "one or more");
  for (const double rate : study.learning_rates) require_positive("learning rate", rate);
  for (const double factor : study.factors) require_positive("factor", factor);
  if (study.longest() <= study.length) throw Error("factors", "none above 1", "one: laws are ranked beyond the length");
  require_regularisation(study.attention_dropout, study.weight_decay);
  for (const double dropout : study.attention_dropout_sweep)
    for (const double decay : study.weight_decay_sweep) require_regularisation(dropout, decay);
  if (study.training_tokens <= study.length)
    throw Error("training tokens", study.training_tokens, "more than the length, " + std::to_string(study.length));
  const std::int64_t shortest = std::ranges::min(lengths_of(study));
  if (study.scored < 1 || study.scored > shortest)
    throw Error("scored", study.scored, "1 to the shortest length, " + std::to_string(shortest));
  if (study.vocabulary > 1 << 16) throw Error("vocabulary", study.vocabulary, "at most 65536");
}

Json options_of(const Study& study) { return options_to_json(study); }

Study study_of(const Json& options) { return options_from_json<Study>(options); }

std::optional<std::vector<Result>> run_study(StudyFolder& folder, const Study& study, const StudyCallbacks& callbacks) {
  check_study(study);
  if (!next_runs(study, results_in(folder)).empty() && !train_all(folder, study, callbacks)) return {};
  ClaimedRun::remove_all(folder.path());  // left by processes killed after they logged their network
  return results_in(folder);
}

}  // namespace isentropic::lab::length
