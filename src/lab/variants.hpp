// Studies that train the same small network once for every scale law and every seed.
//
// A learnt law has its parameters learnt by every head, starting from the given values. Networks with the same seed
// start from the same weights and see the same batches, so that only the law differs. They are trained one after
// another, for `steps` steps each; the log has a line with the measurements before the first step and at each of
// `measurements` roughly evenly spaced steps, the last of which also has the test results:
//
//   {"step": 812, "variant": 1, "scale": "log_n", "learnt": false, "seed": 1, "trained": 12, "loss": 0.7,
//    "measured": [...]}
//
// "step" counts the steps of all variants, "trained" those of this one.
#pragma once

#include <torch/nn/module.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "isentropic/pytorch/multi_head_attention.hpp"
#include "lab/study_folder.hpp"
#include "lab/study_options.hpp"

namespace isentropic::lab {

struct VariantOptions {
  std::vector<std::string> scales = {}, learnt_scales = {};  // in the notation of words.hpp
  std::int64_t seeds = 3, steps = 1000, batch = 64, measurements = 20;
  std::int64_t width = 64, heads = 4, layers = 2;
  std::int64_t examples = 512;  // per test
  double learning_rate = 1e-3;
  std::uint64_t seed = 1;  // the first; the others follow
  std::string device = "cpu";
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(VariantOptions, scales, learnt_scales, seeds, steps, batch, measurements, width,
                                   heads, layers, examples, learning_rate, seed, device)

// Throws Error if the options are invalid.
void check(const VariantOptions& options);
// Throws Error unless value >= least.
void require_at_least(const char* name, std::int64_t value, std::int64_t least);

struct Variant {
  std::string scale;
  bool learnt = false;
  std::uint64_t seed = 0;

  std::string label() const { return scale + (learnt ? ", learnt" : ""); }
};

// In training order: the seeds of a scale follow one another.
std::vector<Variant> variants_of(const VariantOptions& options);
// Over all variants.
std::int64_t steps_of(const VariantOptions& options);
// The attention of a variant's network.
pytorch::MultiHeadAttentionOptions attention_of(const VariantOptions& options, const Variant& variant);

// A network and its task. Measurements are a list with one object per condition, a length or a size.
class Learner {
 public:
  virtual ~Learner() = default;
  virtual torch::nn::Module& network() = 0;        // on its device
  virtual at::Tensor loss(std::int64_t step) = 0;  // on the batch of that step, counted from 1
  virtual nlohmann::ordered_json measure() = 0;    // during training
  virtual nlohmann::ordered_json test() = 0;       // after training
};
using MakeLearner = std::function<std::unique_ptr<Learner>(const Variant& variant)>;

// The log of a finished study, one entry per variant, in their order.
struct VariantLog {
  Variant variant;
  std::vector<nlohmann::ordered_json> course;  // its log lines
  nlohmann::ordered_json test;
};

// Runs or resumes the study in the folder. Empty if it was stopped and can be resumed.
std::optional<std::vector<VariantLog>> train_variants(StudyFolder& folder, const StudyCallbacks& callbacks,
                                                      const VariantOptions& options, const MakeLearner& make);

// results.json: {"study": ..., "options": ..., "curves": [{"scale", "learnt", "seed", "course": [...], "test":
// [...]}]}.
nlohmann::ordered_json results_of(const std::string& study, const nlohmann::ordered_json& options,
                                  const std::vector<VariantLog>& logs);

// The same with typed measurements.
template <class Measured>
struct VariantCurve {
  struct Moment {
    std::int64_t trained = 0;
    std::vector<Measured> measured;
  };
  Variant variant;
  std::vector<Moment> course;
  std::vector<Measured> test;
};

template <class Measured>
std::vector<VariantCurve<Measured>> curves_of(const std::vector<VariantLog>& logs) {
  const auto list = [](const nlohmann::ordered_json& x) { return nlohmann::json(x).get<std::vector<Measured>>(); };
  std::vector<VariantCurve<Measured>> out;
  for (const VariantLog& log : logs) {
    out.push_back({log.variant, {}, list(log.test)});
    for (const auto& line : log.course) out.back().course.push_back({line.at("trained"), list(line.at("measured"))});
  }
  return out;
}

// Variants that differ only in their seeds.
template <class Measured>
struct CurvesOfLaw {
  std::string label, formula;  // for the terminal; for a page, which typesets formulas
  std::vector<VariantCurve<Measured>> curves;

  // A quantity of every curve, one value per seed.
  template <class Number>
  std::vector<double> over_seeds(const Number& number) const {
    std::vector<double> out;
    for (const VariantCurve<Measured>& curve : curves) out.push_back(number(curve));
    return out;
  }
};

// "kappa log n / d (kappa=8), learnt".
std::string formula_of(const Variant& variant);

template <class Measured>
std::vector<CurvesOfLaw<Measured>> by_law(const std::vector<VariantLog>& logs) {
  std::vector<CurvesOfLaw<Measured>> out;
  for (VariantCurve<Measured>& curve : curves_of<Measured>(logs)) {
    const std::string label = curve.variant.label();
    if (out.empty() || out.back().label != label) out.push_back({label, formula_of(curve.variant), {}});
    out.back().curves.push_back(std::move(curve));
  }
  return out;
}

}  // namespace isentropic::lab
