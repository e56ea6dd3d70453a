// Trains networks for several scale laws and seeds one after another, and reads their log.
#include "lab/variants.hpp"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>

#include "lab/adamw.hpp"
#include "lab/study_options.hpp"
#include "lab/words.hpp"
#include "model/names.hpp"

namespace isentropic::lab {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kSaveVariantEvery = 200;

// Whether step `trained` is one of those measured: the last one always is.
bool is_measured(std::int64_t trained, const VariantOptions& options) {
  const std::int64_t count = std::min(options.measurements, options.steps);
  return trained * count / options.steps != (trained - 1) * count / options.steps;
}

class VariantRun {
 public:
  VariantRun(StudyFolder& folder, const VariantOptions& options, std::size_t number, const Variant& variant,
             std::unique_ptr<Learner> learner)
      : folder_(folder),
        options_(options),
        number_(number),
        variant_(variant),
        learner_(std::move(learner)),
        optimiser_(learner_->network().named_parameters(), AdamWOptions{.weight_decay = 0.01}) {
    const std::int64_t first = static_cast<std::int64_t>(number) * options.steps;
    if (folder.steps() <= first) return;
    folder.restore(state());
    trained_ = folder.steps() - first;
    optimiser_.set_steps(trained_);
  }

  bool has_ended() const { return trained_ == options_.steps; }
  std::int64_t step() const { return static_cast<std::int64_t>(number_) * options_.steps + trained_; }

  void train() {
    // The measurement before training is logged under the first step: if that step is lost, so is the line.
    if (trained_ == 0) log(step() + 1, Json());
    const at::Tensor loss = learner_->loss(trained_ + 1);
    optimiser_.zero_gradients();
    loss.backward();
    optimiser_.clip_gradients(1.0);
    ++trained_;
    optimiser_.step(learning_rate(options_.learning_rate, trained_, options_.steps / 20, options_.steps));
    if (!is_measured(trained_, options_)) return;
    if (!std::isfinite(loss.item<double>()))
      throw Error("loss of the scale " + variant_.label(), "not finite at step " + std::to_string(trained_),
                  "a finite one");
    log(step(), loss.item<double>());
  }

  void save() { folder_.save(state(), step()); }

 private:
  NamedTensors state() {
    NamedTensors out;
    for (const auto& item : learner_->network().named_parameters()) out.emplace_back("w." + item.key(), item.value());
    for (const auto& item : optimiser_.moments()) out.emplace_back(item.key(), item.value());
    return out;
  }

  void log(std::int64_t step, const Json& loss) {
    const at::NoGradGuard no_gradient;
    Json line = {{"step", step},
                 {"variant", number_},
                 {"scale", variant_.scale},
                 {"learnt", variant_.learnt},
                 {"seed", variant_.seed},
                 {"trained", trained_},
                 {"loss", loss},
                 {"measured", learner_->measure()}};
    if (has_ended()) line["test"] = learner_->test();
    folder_.log(line);
  }

  StudyFolder& folder_;
  const VariantOptions& options_;
  const std::size_t number_;
  const Variant& variant_;
  std::unique_ptr<Learner> learner_;
  AdamW optimiser_;
  std::int64_t trained_ = 0;
};

// Throws Error if a line is missing or malformed.
std::vector<VariantLog> read_variants(StudyFolder& folder, const VariantOptions& options) try {
  std::vector<VariantLog> out;
  for (const Variant& variant : variants_of(options)) out.push_back({variant, {}, {}});
  for (Json& line : folder.lines()) {
    VariantLog& log = out.at(line.at("variant").get<std::size_t>());
    if (line.contains("test")) log.test = line["test"];
    log.course.push_back(std::move(line));
  }
  for (const VariantLog& log : out)
    if (log.course.empty() || log.course.back().at("trained") != options.steps) throw std::out_of_range("a variant");
  return out;
} catch (const std::exception&) {  // a missing or malformed line
  throw Error(folder.path() + "/log.jsonl", "without the end of every variant", "the log of this study");
}

}  // namespace

void require_at_least(const char* name, std::int64_t value, std::int64_t least) {
  if (value < least) throw Error(name, value, "at least " + std::to_string(least));
}

void check(const VariantOptions& options) {
  model::device_named("device", options.device);
  if (options.scales.empty() && options.learnt_scales.empty()) throw Error("scales", "none", "one or more");
  for (const std::string& scale : options.scales) scale_from_text(scale);
  for (const auto* scales : {&options.scales, &options.learnt_scales}) require_each_once("scale", *scales);
  for (const std::string& scale : options.learnt_scales)
    if (scale_from_text(scale).learnable() == 0)
      throw Error("learnt scale", "'" + scale + "'", "a law with numbers to learn, as log_n");
  for (const auto& [name, value] : {std::pair("seeds", options.seeds), std::pair("steps", options.steps),
                                    std::pair("batch", options.batch), std::pair("measurements", options.measurements),
                                    std::pair("width", options.width), std::pair("heads", options.heads),
                                    std::pair("layers", options.layers), std::pair("examples", options.examples)})
    require_at_least(name, value, 1);
  if (options.width % options.heads != 0) throw Error("width", options.width, "a multiple of the heads");
}

std::vector<Variant> variants_of(const VariantOptions& options) {
  std::vector<Variant> out;
  const auto add = [&](const std::string& scale, bool learnt) {
    for (std::int64_t start = 0; start < options.seeds; ++start)
      out.push_back({scale, learnt, options.seed + static_cast<std::uint64_t>(start)});
  };
  for (const std::string& scale : options.scales) add(scale, false);
  for (const std::string& scale : options.learnt_scales) add(scale, true);
  return out;
}

std::int64_t steps_of(const VariantOptions& options) {
  return static_cast<std::int64_t>(variants_of(options).size()) * options.steps;
}

pytorch::MultiHeadAttentionOptions attention_of(const VariantOptions& options, const Variant& variant) {
  pytorch::MultiHeadAttentionOptions out{.d_model = options.width, .num_heads = options.heads};
  out.scale = scale_from_text(variant.scale);
  out.learn_scale = variant.learnt;
  return out;
}

std::optional<std::vector<VariantLog>> train_variants(StudyFolder& folder, const StudyCallbacks& callbacks,
                                                      const VariantOptions& options, const MakeLearner& make) {
  const std::vector<Variant> variants = variants_of(options);
  const std::int64_t all = steps_of(options);
  while (folder.steps() < all) {
    const auto number = static_cast<std::size_t>(folder.steps() / options.steps);
    const Variant& variant = variants[number];
    VariantRun run(folder, options, number, variant, make(variant));
    while (!run.has_ended()) {
      run.train();
      callbacks.progress(static_cast<double>(run.step()) / static_cast<double>(all),
                         variant.label() + ", seed " + std::to_string(variant.seed));
      const bool stops = callbacks.stops();
      if (stops || run.has_ended() || run.step() % kSaveVariantEvery == 0) run.save();
      if (stops && run.step() < all) return std::nullopt;
    }
  }
  return read_variants(folder, options);
}

Json results_of(const std::string& study, const Json& options, const std::vector<VariantLog>& logs) {
  Json curves = Json::array();
  for (const VariantLog& log : logs) {
    Json course = Json::array();
    for (const Json& line : log.course)
      course.push_back({{"trained", line.at("trained")}, {"loss", line.at("loss")}, {"measured", line.at("measured")}});
    curves.push_back({{"scale", log.variant.scale},
                      {"learnt", log.variant.learnt},
                      {"seed", log.variant.seed},
                      {"course", course},
                      {"test", log.test}});
  }
  return {{"study", study}, {"options", options}, {"curves", curves}};
}

std::string formula_of(const Variant& variant) {
  const std::size_t colon = variant.scale.find(':');
  std::string out = scale_from_text(variant.scale).law().formula;
  if (colon != std::string::npos) out += " (" + variant.scale.substr(colon + 1) + ")";
  return out + (variant.learnt ? ", learnt" : "");
}

}  // namespace isentropic::lab
