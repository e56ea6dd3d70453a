// The table of laws, and their networks.
#include "lab/length/laws.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "isentropic/error.hpp"
#include "isentropic/theory/scale_laws.hpp"
#include "lab/language_model_run.hpp"
#include "lab/length/distance_attention.hpp"
#include "lab/words.hpp"

namespace isentropic::lab::length {
namespace {

// The kappa at which the entropy of random keys has slope 0 over the study's lengths from n_train on; 1 if none.
double solved_kappa(const Study& study) {
  std::vector<std::int64_t> lengths = study.lengths();
  std::erase_if(lengths, [&](std::int64_t n) { return n < study.length; });
  if (lengths.size() < 2) return 1;
  return theory::invariant_kappa(lengths, study.width / study.heads).value_or(1);
}

std::string scale_of(const Study& study, const Law& law) {
  return law.solved ? text_of(Scale::log_n(solved_kappa(study))) : law.scale;
}

std::vector<Law> all_laws(const Study& study) {
  const double d = static_cast<double>(study.width) / static_cast<double>(study.heads);
  const double log_n = std::log(static_cast<double>(study.length));
  const std::string n_train = std::to_string(study.length);
  const auto scale = [](Scale law) { return text_of(law); };
  const std::string usual = "inverse_sqrt_d", info = "info_scale:n_train=" + n_train;
  return {
      {.name = "inverse_sqrt_d", .formula = "1/sqrt d"},
      {.name = "log_n", .formula = "log n/d", .scale = "log_n"},
      {.name = "log_n_solved", .formula = "kappa log n/d, kappa solved for d", .scale = "log_n", .solved = true},
      {.name = "log_n_learnt", .formula = "kappa log n/d, kappa learnt", .scale = "log_n", .learnt = true},
      {.name = "log_n_sqrt_d", .formula = "log n/sqrt d", .scale = "log_n_sqrt_d"},
      {.name = "sqrt_log_n", .formula = "sqrt(log n/d)", .scale = "sqrt_log_n"},
      {.name = "frozen", .formula = "log n_train/d", .scale = scale(Scale::frozen(1.0, study.length))},
      {.name = "ssmax",
       .formula = "s log n, s learnt",
       .scale = scale(Scale::ssmax(1 / (std::sqrt(d) * log_n))),
       .learnt = true},
      {.name = "hybrid",
       .formula = "1/(2 sqrt d) + log n/(2 sqrt d log n_train)",
       .scale = scale(Scale::hybrid(0.5, 0.5 * std::sqrt(d) / log_n))},
      {.name = "target_entropy",
       .formula = "solved for a target entropy",
       .scale = scale(Scale::target_entropy(study.target_entropy))},
      {.name = "cosine", .formula = "sqrt d cos(q, k), learnt gains", .cosine = true},
      {.name = "scale_invariant", .formula = "a_t s + m_t for a key t back", .attention = Attention::scale_invariant},
      {.name = "trained_length",
       .formula = "max(1, log n/log n_train)/sqrt d",
       .networks = usual,
       .scale = scale(Scale::trained_length(study.length))},
      {.name = "info_scale",
       .formula = "sqrt((1 - n^{-2/d})/(1 - n_train^{-2/d}))/sqrt d",
       .networks = usual,
       .scale = info},
      {.name = "adaptive", .formula = "theta(H)/sqrt d", .networks = usual, .attention = Attention::adaptive},
      {.name = "yarn", .formula = "YaRN", .networks = usual, .yarn = true},
      {.name = "window", .formula = "1/sqrt d, a window of n_train", .networks = usual, .window = true},
      {.name = "info_cosine",
       .formula = "InfoScale on sqrt d cos(q, k)",
       .networks = "cosine",
       .scale = info,
       .cosine = true},
  };
}

}  // namespace

std::vector<Law> laws_of(const Study& study) {
  std::vector<Law> all = all_laws(study);
  if (study.laws.empty()) return all;
  for (const std::string& name : study.laws) law_named(all, name);
  const auto is_asked = [&](const Law& law) { return std::ranges::find(study.laws, law.name) != study.laws.end(); };
  const auto is_needed = [&](const Law& law) {
    return std::ranges::any_of(all, [&](const Law& x) { return is_asked(x) && x.networks == law.name; });
  };
  std::vector<Law> out;
  std::ranges::copy_if(all, std::back_inserter(out), [&](const Law& law) { return is_asked(law) || is_needed(law); });
  return out;
}

const Law& law_named(const std::vector<Law>& laws, const std::string& name) {
  const auto found = std::ranges::find(laws, name, &Law::name);
  if (found != laws.end()) return *found;
  std::string known;
  for (const Law& law : laws) known += (known.empty() ? "" : ", ") + law.name;
  throw Error("law", "'" + name + "'", "one of " + known);
}

model::Description describe(const Study& study, const Law& law, const std::string& positions, std::int64_t vocabulary) {
  LanguageModelRun run;
  run.layers = study.layers, run.heads = study.heads, run.width = study.width, run.length = study.length;
  run.positions = positions, run.scale = scale_of(study, law), run.learn_scale = law.learnt;
  model::Description out = lab::describe(run, vocabulary);
  out.tied = true;
  if (law.cosine) out.query_key_norm = model::QueryKeyNorm::per_head;
  return out;
}

model::Description for_evaluation(model::Description trained, const Study& study, const Law& law, std::int64_t n) {
  if (law.networks.empty()) return trained;
  trained.scale = scale_from_text(law.scale);
  const double factor = static_cast<double>(n) / static_cast<double>(study.length);
  if (law.yarn && factor > 1)
    for (model::Rotary& rotary : trained.rotary) {
      rotary.scaling = model::Rotary::Scaling::yarn;
      rotary.factor = factor;
      rotary.original_length = study.length;
    }
  if (law.window)
    for (model::Layer& layer : trained.layers) layer.window = study.length;
  return trained;
}

model::AttentionFunction attention_of(const Law& law) {
  switch (law.attention) {
    case Attention::scale_invariant:
      return scale_invariant_attention;
    case Attention::adaptive:
      return adaptive_attention;
    case Attention::scaled:
      break;
  }
  return nullptr;
}

}  // namespace isentropic::lab::length
