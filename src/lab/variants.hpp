// Studies that train the same small network once for every scale law and every seed.
//
// Learnt laws are those whose numbers every head learns, from where they are given. Networks of one seed start from the
// same weights and meet the same batches, so that what differs is the law. They are trained one after another, `steps`
// each; the log has a line with what is measured before the first step, at `measurements` steps of about equal
// distance, and, in the last of them, what is tested:
//
//   {"step": 812, "variant": 1, "scale": "log_n", "learnt": false, "seed": 1, "trained": 12, "loss": 0.7, "measured":
//   [...]}
//
// "step" counts those of all variants and "trained" those of this one.
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
  std::vector<std::string> scales = {}, learnt_scales = {};  // as words.hpp has them
  std::int64_t seeds = 3, steps = 1000, batch = 64, measurements = 20;
  std::int64_t width = 64, heads = 4, layers = 2;
  std::int64_t examples = 512;  // of a test
  double learning_rate = 1e-3;
  std::uint64_t seed = 1;  // of the first; the others follow it
  std::string device = "cpu";
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(VariantOptions, scales, learnt_scales, seeds, steps, batch, measurements, width,
                                   heads, layers, examples, learning_rate, seed, device)

// Throws Error for what cannot be run.
void check(const VariantOptions& options);
// Throws Error unless value >= least.
void require_at_least(const char* name, std::int64_t value, std::int64_t least);

struct Variant {
  std::string scale;
  bool learnt = false;
  std::uint64_t seed = 0;

  std::string label() const { return scale + (learnt ? ", learnt" : ""); }
};

// In the order of training: seeds of a scale follow each other.
std::vector<Variant> variants_of(const VariantOptions& options);
// Of all of them.
std::int64_t steps_of(const VariantOptions& options);
// The attention of a variant's network.
pytorch::MultiHeadAttentionOptions attention_of(const VariantOptions& options, const Variant& variant);

// A network and what it is taught. What is measured is a list: one object for each condition, a length or a size.
class Learner {
 public:
  virtual ~Learner() = default;
  virtual torch::nn::Module& network() = 0;        // on its device
  virtual at::Tensor loss(std::int64_t step) = 0;  // of the batch of that step, 1 and on
  virtual nlohmann::ordered_json measure() = 0;    // while it learns
  virtual nlohmann::ordered_json test() = 0;       // once it has learnt
};
using MakeLearner = std::function<std::unique_ptr<Learner>(const Variant& variant)>;

// What the log of a study that has ended says of each variant, in their order.
struct VariantLog {
  Variant variant;
  std::vector<nlohmann::ordered_json> course;  // its lines
  nlohmann::ordered_json test;
};

// Runs, or goes on, in the folder. None: it was stopped, and can go on.
std::optional<std::vector<VariantLog>> train_variants(StudyFolder& folder, const StudyCallbacks& callbacks,
                                                      const VariantOptions& options, const MakeLearner& make);

// results.json: {"study": ..., "options": ..., "curves": [{"scale", "learnt", "seed", "course": [...], "test":
// [...]}]}.
nlohmann::ordered_json results_of(const std::string& study, const nlohmann::ordered_json& options,
                                  const std::vector<VariantLog>& logs);

// The same with what was measured as a type.
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

// Variants that differ in their seeds alone.
template <class Measured>
struct CurvesOfLaw {
  std::string label, formula;  // for a terminal; for a page, which sets formulas
  std::vector<VariantCurve<Measured>> curves;

  // A number of every curve: one for each seed.
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
