// Trains and measures the networks, and logs the moments.
#include "lab/plane/study.hpp"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <optional>
#include <set>

#include "base/mix.hpp"
#include "base/random.hpp"
#include "isentropic/error.hpp"
#include "lab/adamw.hpp"
#include "lab/numbers.hpp"
#include "lab/study_options.hpp"
#include "model/names.hpp"
#include "plane/page.hpp"
#include "plane/phases.hpp"

namespace isentropic::lab {
namespace {

using Json = nlohmann::ordered_json;
using information::LayerEstimator;

constexpr std::int64_t kBatch = 256, kMeasurements = 40;
constexpr double kRateOfSgd = .05, kRateOfAdam = 1e-3;
enum Stream : std::uint64_t { kOrder = 1, kNoise = 2 };

// Epoch 0, the last epoch, and about forty geometrically spaced ones between them.
std::set<std::int64_t> epochs_to_measure(std::int64_t epochs) {
  std::set<std::int64_t> out = {0, epochs};
  for (std::int64_t i = 0; i < kMeasurements; ++i)
    out.insert(std::llround(std::pow(static_cast<double>(epochs), static_cast<double>(i) / (kMeasurements - 1))));
  return out;
}

std::vector<LayerEstimator> estimators_of(const PlaneOptions& options) {
  if (options.estimators.empty())
    return options.noise > 0 ? information::usual_layer_estimators(options.noise * options.noise)
                             : information::usual_layer_estimators();
  std::vector<LayerEstimator> out;
  for (const std::string& name : options.estimators) out.push_back(LayerEstimator::named(name));
  return out;
}

// Batches and layers are too small for several threads, which would spend more time on waiting than on work.
class OneThread {
 public:
  OneThread() { at::set_num_threads(1); }
  ~OneThread() { at::set_num_threads(before_); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_ = at::get_num_threads();
};

class PlaneTraining {
 public:
  PlaneTraining(const PlaneOptions& options, const PlaneTask& task, const std::string& device)
      : options_(options),
        task_(task),
        device_(model::device_named("device", device)),
        network_(plane_network(options.network, static_cast<std::int64_t>(task.inputs.columns), task.classes)),
        inputs_(at::tensor(task.inputs.values, at::kDouble)
                    .view({static_cast<std::int64_t>(task.inputs.rows), -1})
                    .to(device_)),
        labels_(at::tensor(task.labels, at::kLong).to(device_)),
        estimators_(estimators_of(options)) {
    network_->move_to(device_);
    if (options.optimiser == "adam")
      adam_.emplace(network_->parameters(), AdamWOptions{.beta2 = .999, .weight_decay = 0});
    for (const auto& item : network_->parameters()) item.value().requires_grad_(true);
  }

  NamedTensors state() const {
    NamedTensors out;
    for (const auto& item : network_->parameters()) out.emplace_back(item.key(), item.value());
    if (adam_)
      for (const auto& item : adam_->moments()) out.emplace_back(item.key(), item.value());
    return out;
  }
  void go_on_from(std::int64_t epoch) {
    if (adam_) adam_->set_steps(epoch * batches());
  }

  void train(std::int64_t epoch);
  plane::Moment measure(std::int64_t epoch) const;

  plane::Record empty_record() const {
    const PlaneNetworkOptions& network = options_.network;
    const std::string kind = network.network == "mlp" ? network.activation : network.activation + " attention";
    plane::Record out{.title = "The information plane: " + kind + ", " + options_.optimiser + ", " + task_.name,
                      .layers = network_->layer_names()};
    for (const LayerEstimator& estimator : estimators_) out.estimators.push_back(estimator.name());
    out.input_bits = task_.input_bits(), out.label_bits = task_.label_bits();
    return out;
  }

 private:
  std::int64_t batches() const { return (std::ssize(task_.train) + kBatch - 1) / kBatch; }
  std::vector<double> accuracy(const at::Tensor& is_right, const std::vector<std::int64_t>& rows) const {
    return numbers_of(is_right.index_select(1, at::tensor(rows, at::kLong).to(device_)).to(at::kDouble).mean(1));
  }
  VisitLayer noise_of(std::int64_t epoch) const;
  double update(const at::Tensor& rows, const VisitLayer& visit);
  void step();

  const PlaneOptions& options_;
  const PlaneTask& task_;
  at::Device device_;
  std::unique_ptr<PlaneNetwork> network_;
  at::Tensor inputs_, labels_;
  std::vector<LayerEstimator> estimators_;
  std::optional<AdamW> adam_;
};

VisitLayer PlaneTraining::noise_of(std::int64_t epoch) const {
  if (!(options_.noise > 0)) return [](const std::string&, const at::Tensor& layer) { return layer; };
  const std::uint64_t seed = mix({options_.network.seed, kNoise, static_cast<std::uint64_t>(epoch)});
  return [generator = at::detail::createCPUGenerator(seed), this](const std::string&, const at::Tensor& layer) {
    return layer + options_.noise * at::randn(layer.sizes(), generator, at::kFloat).to(device_);
  };
}

void PlaneTraining::step() {
  if (adam_) {
    adam_->step(kRateOfAdam);
    return;
  }
  const at::NoGradGuard no_gradient;
  for (const auto& item : network_->parameters()) item.value().sub_(item.value().grad(), kRateOfSgd);
}

// The loss of each seed is a mean over the batch; in their sum, every seed gets its own gradient.
double PlaneTraining::update(const at::Tensor& rows, const VisitLayer& visit) {
  const at::Tensor logits = network_->logits(inputs_.index_select(0, rows).to(at::kFloat), visit).flatten(0, 1);
  const at::Tensor targets = labels_.index_select(0, rows).repeat({options_.network.seeds});
  const at::Tensor loss =
      at::cross_entropy_loss(logits, targets, {}, at::Reduction::Sum) / static_cast<double>(rows.numel());
  for (const auto& item : network_->parameters()) item.value().mutable_grad() = at::Tensor();
  loss.backward();
  step();
  return loss.item<double>();
}

void PlaneTraining::train(std::int64_t epoch) {
  std::vector<std::int64_t> order = task_.train;
  Random(mix({options_.network.seed, kOrder, static_cast<std::uint64_t>(epoch)})).shuffle(&order);
  const at::Tensor rows = at::tensor(order, at::kLong).to(device_);
  const VisitLayer visit = noise_of(epoch);
  double loss = 0;
  for (const at::Tensor& batch : rows.split(kBatch)) loss += update(batch, visit);
  if (!std::isfinite(loss)) throw Error("loss", "not finite in epoch " + std::to_string(epoch), "a finite one");
}

plane::Moment PlaneTraining::measure(std::int64_t epoch) const {
  const at::NoGradGuard no_gradient;
  plane::Moment out{.epoch = epoch};
  out.points.resize(estimators_.size());
  const at::Tensor logits = network_->logits(inputs_, [&](const std::string&, const at::Tensor& exact) {
    const at::Tensor layer = exact.to(at::kFloat).to(at::kDouble);
    for (std::size_t e = 0; e < estimators_.size(); ++e) {
      auto& seeds = out.points[e].emplace_back();
      for (const at::Tensor& one : layer.unbind(0)) {
        const information::Table table(static_cast<std::size_t>(one.size(0)), static_cast<std::size_t>(one.size(1)),
                                       numbers_of(one));
        seeds.push_back(information::layer_information(estimators_[e], table, task_.labels));
      }
    }
    return layer;
  });
  const at::Tensor is_right = logits.argmax(2) == labels_.unsqueeze(0);
  const at::Tensor losses =
      at::cross_entropy_loss(logits.flatten(0, 1), labels_.repeat({options_.network.seeds}), {}, at::Reduction::None);
  out.loss = numbers_of(losses.view({options_.network.seeds, -1}).mean(1));
  out.train_accuracy = accuracy(is_right, task_.train);
  out.test_accuracy = accuracy(is_right, task_.test);
  return out;
}

void log_moment(StudyFolder& folder, const plane::Moment& moment, const plane::Record& record) {
  Json line = {{"step", moment.epoch}};
  line.update(json_of(moment, record));
  folder.log(line);
}

void finish(StudyFolder& folder, const PlaneOptions& options, PlaneResult* result) {
  for (const Json& line : folder.lines())
    result->record.moments.push_back(plane::moment_from_json(line, result->record, folder.path() + "/log.jsonl"));
  result->json = {{"options", json_of(options)}};
  result->json.update(plane::findings(result->record));
  result->json.update(json_of(result->record));
  Json findings = result->json;
  findings.erase("moments");  // the log has them
  folder.write_results(findings);
  folder.write("plane.svg", plane::picture(result->record));
  folder.write("page.html", plane::page(result->record));
}

// The page is made from the log: the large state of a finished study may have been removed.
bool has_ended(StudyFolder& folder, const PlaneOptions& options) {
  const std::vector<Json> lines = folder.lines();
  return !lines.empty() && lines.back().at("step") == options.epochs;
}

}  // namespace

Json json_of(const PlaneOptions& options) {
  const PlaneNetworkOptions& network = options.network;
  return {{"file", options.file},           {"network", network.network}, {"activation", network.activation},
          {"layers", network.layers},       {"blocks", network.blocks},   {"top_k", network.top_k},
          {"optimiser", options.optimiser}, {"noise", options.noise},     {"epochs", options.epochs},
          {"seeds", network.seeds},         {"seed", network.seed},       {"estimators", options.estimators}};
}

PlaneOptions plane_options_from(const Json& json) {
  try {
    PlaneOptions out{.file = json.at("file"),
                     .optimiser = json.at("optimiser"),
                     .noise = json.at("noise"),
                     .epochs = json.at("epochs"),
                     .estimators = json.at("estimators")};
    out.network = {.network = json.at("network"),
                   .activation = json.at("activation"),
                   .layers = json.at("layers"),
                   .blocks = json.at("blocks"),
                   .top_k = json.at("top_k"),
                   .seeds = json.at("seeds"),
                   .seed = json.at("seed")};
    return out;
  } catch (const nlohmann::json::exception&) {
    throw Error("study.json", "without the options of this study", "what isentropic plane wrote");
  }
}

void check_plane_options(const PlaneOptions& options) {
  if (options.optimiser != "sgd" && options.optimiser != "adam")
    throw Error("optimiser", "'" + options.optimiser + "'", "sgd or adam");
  if (options.network.network == "mlp" && options.network.top_k > 0)
    throw Error("top-k", static_cast<double>(options.network.top_k), "none without attention");
  std::vector<std::string> names;
  for (const LayerEstimator& estimator : estimators_of(options)) names.push_back(estimator.name());
  require_each_once("estimator", names);
  plane_network(options.network, 1, 2);
}

Json plane_study_options(const PlaneOptions& options, const PlaneTask& task) {
  Json out = json_of(options);
  out["fingerprint"] = task.fingerprint();
  return out;
}

bool run_plane(StudyFolder& folder, const PlaneTask& task, const std::string& device, const StudyCallbacks& callbacks,
               PlaneResult* result) {
  const PlaneOptions options = plane_options_from(folder.options());
  if (folder.options().value("fingerprint", std::uint64_t{0}) != task.fingerprint())
    throw Error(task.name, "not what it was when the study began", "the same inputs and labels");
  const OneThread one_thread;
  PlaneTraining training(options, task, device);
  result->record = training.empty_record();
  std::int64_t epoch = has_ended(folder, options) ? options.epochs : folder.restore(training.state());
  training.go_on_from(epoch);
  const std::set<std::int64_t> measured = epochs_to_measure(options.epochs);
  const auto look = [&] { log_moment(folder, training.measure(epoch), result->record); };
  if (folder.lines().empty()) look();
  while (epoch < options.epochs) {
    training.train(++epoch);
    const bool stops = callbacks.stops();
    if (measured.contains(epoch)) look();
    if (measured.contains(epoch) || stops) folder.save(training.state(), epoch);
    callbacks.progress(static_cast<double>(epoch) / static_cast<double>(options.epochs),
                       "epoch " + std::to_string(epoch));
    if (stops && epoch < options.epochs) return false;
  }
  finish(folder, options, result);
  return true;
}

}  // namespace isentropic::lab
