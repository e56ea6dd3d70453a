// Solves one layer after another during one forward pass over all windows of the longest length.
#include "lab/solve_scale.hpp"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "attention/problem/problem_spec.hpp"
#include "base/list_of.hpp"
#include "base/one_line.hpp"
#include "isentropic/error.hpp"
#include "lab/numbers.hpp"
#include "lab/what_if.hpp"

namespace isentropic::lab {
namespace {

constexpr double kFarthest = 12;  // powers of two on both sides of 1 / sqrt d
constexpr int kBisections = 34;   // 24 / 2^34 of a power of two: below the resolution of float32

// [heads]: mean entropies of the last rows. The output is not needed: one feature of the keys stands in for the values.
at::Tensor mean_entropies(const at::Tensor& query, const at::Tensor& key, pytorch::AttentionOptions options,
                          std::int64_t last_rows) {
  const std::int64_t n = query.size(2);
  options.statistics = Statistics::of({Statistic::entropy});
  return pytorch::attention(query.narrow(2, n - last_rows, last_rows), key, key.narrow(3, 0, 1).contiguous(), options)
      .statistics.at("entropy")
      .to(at::kDouble)
      .mean(at::IntArrayRef({0, 2}));
}

// The last rows keep their positions at the end of the keys, as with a cache.
pytorch::AttentionOptions for_last_rows(pytorch::AttentionOptions options) {
  options.mask.align = Align::end;
  return options;
}

class LayerSolver {
 public:
  LayerSolver(const Scale& law, std::int64_t rows, const std::vector<std::vector<double>>& targets)
      : law_(law), rows_(rows), targets_(targets) {}

  pytorch::AttentionOutput operator()(std::size_t layer, const at::Tensor& query, const at::Tensor& key,
                                      const at::Tensor& value, const pytorch::AttentionOptions& options) {
    pytorch::AttentionOptions changed = options;
    changed.scale = law_;
    const at::Tensor target = at::tensor(targets_[layer], at::TensorOptions(at::kDouble).device(query.device()));
    const double unit = unit_of(query, key, options);
    at::Tensor low = at::full_like(target, -kFarthest), high = at::full_like(target, kFarthest);
    const auto with = [&](const at::Tensor& exponent) {
      changed.scale_parameters = {{law_.law().parameters.front().name, (unit * at::exp2(exponent)).to(at::kFloat)}};
      return changed;
    };
    for (int step = 0; step < kBisections; ++step) {
      const at::Tensor middle = (low + high) / 2;
      const at::Tensor is_flat = mean_entropies(query, key, for_last_rows(with(middle)), rows_) > target;
      low = at::where(is_flat, middle, low);
      high = at::where(is_flat, high, middle);
    }
    const at::Tensor found = (low + high) / 2;
    values.push_back(numbers_of(unit * at::exp2(found)));
    return pytorch::attention(query, key, value, with(found));
  }

  std::vector<std::vector<double>> values;

 private:
  // The parameter at which the last row's scale is 1 / sqrt d.
  double unit_of(const at::Tensor& query, const at::Tensor& key, const pytorch::AttentionOptions& options) const {
    const std::int64_t n = key.size(2), d = query.size(3);
    std::int64_t seen = n;
    if (options.mask.window_part) seen = std::min(n, options.mask.window_part->left + options.mask.window_part->right);
    const double of_one = law_.with_parameter(0, 1.0).lambda({.visible = seen, .d = d, .position = n - 1, .head = 0});
    return 1 / (std::sqrt(static_cast<double>(d)) * of_one);
  }

  const Scale& law_;
  std::int64_t rows_;
  const std::vector<std::vector<double>>& targets_;
};

at::Tensor all_windows(const model::Transformer& model, const ScanText& text, std::int64_t length,
                       const ScanOptions& options) {
  std::vector<at::Tensor> out;
  for (std::int64_t i = 0; i < length_windows(text, options); ++i)
    out.push_back(batch_of(length_window(i, text, length, options), model.device()));
  return at::cat(out);
}

}  // namespace

std::int64_t reference_length(const model::Transformer& model, const ScanOptions& options) {
  const std::int64_t trained = model.description().trained_length;
  return options.lengths.back() > trained ? trained : options.lengths.front();
}

Scale law_to_solve(const std::string& name) {
  std::vector<std::string> known;
  for (const ScaleLaw& law : Scale::laws()) {
    if (law.parameters.size() != 1 || !law.parameters.front().learnable) continue;
    if (law.name == name) return Scale::named(name, {{law.parameters.front().name, 1.0}});
    known.push_back(law.name);
  }
  throw Error("law", in_quotes(name), isentropic::list_of(known));
}

void check_solvable(const model::Transformer& model, const ScanOptions& options) {
  if (!AttentionChange{}.has_entropy(model.description().map))
    throw Error("map", model.description().map.name(), "one whose weights have an entropy");
  if (options.lengths.size() < 2 || options.lengths.front() == options.lengths.back())
    throw Error("--lengths", options.lengths.empty() ? "absent" : "one length", "two or more");
}

SolvedScale solve_scale(const model::Transformer& model, const ScanText& text, const ScanOptions& options,
                        const Scale& law) {
  const at::NoGradGuard no_gradient;
  SolvedScale out;
  out.reference = reference_length(model, options);
  const std::int64_t rows = std::min(compared_tokens(options), out.reference);
  const auto note = [&](std::size_t, const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                        const pytorch::AttentionOptions& own) {
    out.targets.push_back(numbers_of(mean_entropies(query, key, for_last_rows(own), rows)));
    return pytorch::attention(query, key, value, own);
  };
  model.forward(all_windows(model, text, out.reference, options), {.attention = note});
  LayerSolver solver(law, rows, out.targets);
  model.forward(all_windows(model, text, options.lengths.back(), options), {.attention = std::ref(solver)});
  out.change.kind = scan::AlternativeKind::scale;
  out.change.scale = law;
  out.change.scale_values = solver.values;
  out.change.text = law.name() + ":" + law.law().parameters.front().name + "=by head";
  return out;
}

SolvedScale add_solved_scale(const model::Transformer& model, const std::vector<ScanText>& texts,
                             const ScanOptions& options, const Scale& law, scan::Result* result) {
  SolvedScale solved = solve_scale(model, texts.front(), options, law);
  add_alternatives(model, texts, options, {solved.change}, result);
  scan::Alternative& found = result->alternatives.back();
  found.parameter = law.law().parameters.front().name;
  found.solved_for = solved.reference;
  for (std::size_t i = 0; i < found.heads.size(); ++i) {
    const scan::HeadResult& head = result->heads[i];
    found.heads[i].parameter = solved.change.scale_values[head.layer][head.head];
    found.heads[i].target = solved.targets[head.layer][head.head];
  }
  return solved;
}

std::string config_section(const SolvedScale& solved) {
  ProblemSpec spec;
  spec.scale = *solved.change.scale;
  const nlohmann::ordered_json section = {{"scale", nlohmann::ordered_json::parse(to_json(spec))["scale"]},
                                          {"scale_values", solved.change.scale_values}};
  return nlohmann::ordered_json{{"isentropic", section}}.dump(2) + "\n";
}

}  // namespace isentropic::lab
