// Trains and tests the variants of a retrieval study.
#include "lab/retrieval/study.hpp"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/mix.hpp"
#include "isentropic/error.hpp"
#include "lab/adamw.hpp"
#include "lab/effective_rank.hpp"
#include "lab/retrieval/model.hpp"
#include "lab/study_options.hpp"
#include "lab/words.hpp"
#include "model/names.hpp"

namespace isentropic::lab::retrieval {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Study, task, scales, learnt_scales, maps, learnt_maps, without_key_bias,
                                   feature_sizes, seeds, steps, batch, length, width, heads, factors, examples,
                                   learning_rate, seed, device)

namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kSaveEvery = 200;
constexpr std::int64_t kRankRows = 64;

enum class Purpose : std::uint8_t { training, test };

// The curves to train, in order; the seeds of a variant follow one another.
std::vector<Curve> empty_curves(const Study& study) {
  std::vector<Curve> out;
  for (const Variant& variant : variants_of(study))
    for (std::int64_t start = 0; start < study.seeds; ++start)
      out.push_back({variant, study.seed + static_cast<std::uint64_t>(start), 0, {}, {}});
  return out;
}

ModelOptions options_of(const Study& study, const Variant& variant) {
  return {.width = study.width,
          .heads = study.heads,
          .scale = scale_from_text(variant.scale),
          .learn_scale = variant.learnt_scale,
          .map = map_from_text(variant.map),
          .learn_alpha = variant.learnt_map,
          .key_bias = variant.key_bias,
          .features = variant.features};
}

class Run {
 public:
  Run(const Study& study, const Curve& curve)
      : study_(study),
        task_(task_named(study.task)),
        device_(model::device_named("device", study.device)),
        seed_(curve.seed),
        model_(task_, options_of(study, curve.variant), curve.seed) {
    model_.to(device_);
    optimiser_.emplace(model_.trained_parameters(), AdamWOptions{.weight_decay = 0.01});
  }

  NamedTensors state() {
    NamedTensors out;
    for (const auto& item : model_.trained_parameters()) out.emplace_back("w." + item.key(), item.value());
    for (const auto& item : optimiser_->moments()) out.emplace_back(item.key(), item.value());
    return out;
  }
  void set_steps(std::int64_t steps) { optimiser_->set_steps(steps); }

  double train(std::int64_t step) {
    const std::uint64_t seed = seed_of(Purpose::training, step);
    const std::int64_t n = 2 + static_cast<std::int64_t>(seed % static_cast<std::uint64_t>(study_.length - 1));
    const Batch batch = task_.draw(study_.batch, n, seed);
    optimiser_->zero_gradients();
    const at::Tensor loss =
        at::cross_entropy_loss(model_.forward(batch.inputs.to(device_)).logits, batch.targets.to(device_));
    loss.backward();
    optimiser_->clip_gradients(1.0);
    optimiser_->step(learning_rate(study_.learning_rate, step, study_.steps / 20, study_.steps));
    const auto found = loss.item<double>();
    if (!std::isfinite(found)) throw Error("loss", "not finite at step " + std::to_string(step), "a finite one");
    return found;
  }

  Point test(std::int64_t n) {
    const at::NoGradGuard no_gradient;
    Point out{.n = n};
    std::int64_t done = 0;
    while (done < study_.examples) {
      const std::int64_t count = std::min(study_.examples - done, study_.batch);
      const Batch batch = task_.draw(count, n, seed_of(Purpose::test, n * study_.examples + done));
      const Answer answer = model_.forward(batch.inputs.to(device_));
      const double share = static_cast<double>(count) / static_cast<double>(study_.examples);
      const auto add = [&](double& to, const at::Tensor& values) {
        to += share * values.to(at::kDouble).mean().item<double>();
      };
      add(out.accuracy, answer.logits.argmax(1).eq(batch.targets.to(device_)));
      add(out.sparsity, answer.statistics.at("sparsity"));
      add(out.participation, answer.statistics.at("participation"));
      add(out.rank, effective_rank(model_.weights(batch.inputs.narrow(0, 0, 1).to(device_),
                                                  std::min(kRankRows, batch.inputs.size(1)))));
      if (const auto found = answer.statistics.find("entropy"); found != answer.statistics.end())
        add(out.entropy, found->second);
      else
        out.entropy = std::nan("");
      done += count;
    }
    return out;
  }

  std::vector<double> alphas() const { return model_.alphas(); }

 private:
  // Variants with the same seed see the same inputs.
  std::uint64_t seed_of(Purpose purpose, std::int64_t count) const {
    return mix({seed_, static_cast<std::uint64_t>(purpose), static_cast<std::uint64_t>(count)});
  }

  const Study& study_;
  const Task& task_;
  const at::Device device_;
  const std::uint64_t seed_;
  Model model_;
  std::optional<AdamW> optimiser_;
};

Json line_of(std::int64_t step, std::size_t number, const Curve& curve) {
  Json out = {{"step", step}, {"variant", number}};
  out.update(json_of(curve));
  return out;
}

void read_line(const Json& line, std::vector<Curve>& curves) {
  if (!line.contains("points")) return;
  Curve& curve = curves.at(line.at("variant").get<std::size_t>());
  curve.loss = line.at("loss");
  curve.alpha = line.at("alpha").get<std::vector<double>>();
  curve.points.clear();
  for (const Json& point : line.at("points"))
    curve.points.push_back({point.at("n"), point.at("accuracy"), point.at("sparsity"), point.at("participation"),
                            point.at("entropy").is_null() ? std::nan("") : point.at("entropy").get<double>(),
                            point.at("rank")});
}

}  // namespace

void check_study(const Study& study) {
  task_named(study.task);
  model::device_named("device", study.device);
  const auto require = [](const char* name, std::int64_t value, std::int64_t least) {
    if (value < least) throw Error(name, value, "at least " + std::to_string(least));
  };
  require("length", study.length, 2);
  require("heads", study.heads, 1);
  if (study.width % study.heads != 0) throw Error("width", study.width, "a multiple of the heads");
  if (task_named(study.task).needs_positions && study.width / study.heads % 2 != 0)
    throw Error("width", study.width, "an even number for each head: " + study.task + " has rotary positions");
  for (const std::int64_t factor : study.factors) require("factor", factor, 1);
  for (const auto* list : {&study.scales, &study.learnt_scales})
    for (const std::string& scale : *list) scale_from_text(scale);
  for (const std::int64_t size : study.feature_sizes) require("feature size", size, 1);
  for (const auto* list : {&study.maps, &study.learnt_maps, &study.without_key_bias})
    for (const std::string& map : *list) map_from_text(map);
  for (const std::string& map : study.learnt_maps)
    if (!map_from_text(map).learnable()) throw Error("learnt map", "'" + map + "'", "entmax, which has an alpha");
  const std::vector<Variant> variants = variants_of(study);
  if (variants.empty()) throw Error("scales and maps", "none", "at least one variant to train");
  std::vector<std::string> labels;
  for (const Variant& variant : variants) labels.push_back(variant.label());
  require_each_once("variant", labels);
}

Json options_of(const Study& study) { return options_to_json(study); }

Study study_of(const Json& options) { return options_from_json<Study>(options); }

std::optional<std::vector<Curve>> run_study(StudyFolder& folder, const StudyCallbacks& callbacks) {
  const Study study = study_of(folder.options());
  check_study(study);
  std::vector<Curve> curves = empty_curves(study);
  for (const Json& line : folder.lines()) read_line(line, curves);
  const auto all = static_cast<std::int64_t>(curves.size()) * study.steps;
  std::int64_t step = folder.steps();
  while (step < all) {
    const auto number = static_cast<std::size_t>(step / study.steps);
    Curve& curve = curves[number];
    Run run(study, curve);
    if (step % study.steps > 0) folder.restore(run.state()), run.set_steps(step % study.steps);
    while (step < static_cast<std::int64_t>(number + 1) * study.steps) {
      curve.loss = run.train(step % study.steps + 1);
      ++step;
      callbacks.progress(static_cast<double>(step) / static_cast<double>(all), curve.variant.label());
      const bool ends = step % study.steps == 0, stops = callbacks.stops();
      if (ends) {
        curve.alpha = run.alphas();
        for (const std::int64_t factor : study.factors) curve.points.push_back(run.test(factor * study.length));
        folder.log(line_of(step, number, curve));
      }
      if (ends || stops || step % kSaveEvery == 0) folder.save(run.state(), step);
      if (stops && step < all) return {};
    }
  }
  return curves;
}

}  // namespace isentropic::lab::retrieval
