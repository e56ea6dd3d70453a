// Parses changes to a model's attention and tries each on a few tokens.
#include "cli/models/what_if_arguments.hpp"

#include <cmath>

#include "cli/tools/arguments.hpp"
#include "lab/solve_scale.hpp"
#include "lab/what_if.hpp"

namespace isentropic::cli {
namespace {

lab::AttentionChange checked(const model::Transformer& model, scan::AlternativeKind kind, const std::string& text) try {
  lab::AttentionChange out = lab::AttentionChange::from_text(kind, text);
  lab::check_change(model, out);
  return out;
} catch (const Error& error) {
  throw Error(std::string("--") + scan::name(kind) + " " + text + ": " + error.what());
}

}  // namespace

void WhatIfArguments::offer(CLI::App* command) {
  const auto offer = [&](const char* option, std::vector<std::string>* into, const char* help) {
    command->add_option(option, *into, help)->allow_extra_args(false)->group("What if");
  };
  offer("--scale", &scales,
        "also with this scale law, such as log_n:kappa=0.9 (repeatable; isentropic info lists them)");
  offer("--map", &maps, "also with this score map, such as top_k:keys=64 (repeatable; isentropic info lists them)");
  offer("--mask", &masks,
        "also with this mask: window:256, prefix:4+window:256, strided:64,32, segments:512 (repeatable)");
  command
      ->add_option(
          "--solve-kappa", solve,
          "also with this law (default: log_n), its parameter solved per head so that the entropy at the longest of "
          "--lengths equals that at the trained length")
      ->type_name("LAW")
      ->expected(0, 1)
      ->default_str("log_n")
      ->group("What if");
  command->add_flag("--theory", theory, "compare the heads with closed forms: freezing point, Gaussian scores, entropy")
      ->group("What if");
  command
      ->add_flag(
          "--calibrate", calibrate,
          "also find, per head, the factor on the scores at which the entropy of rows whose token has occurred before "
          "equals the surprisal of what followed")
      ->group("What if");
  command
      ->add_option(
          "--noise", noise,
          "also add noise to the scores (gaussian:0.5, uniform:1, laplace:0.3 or gumbel:3) and report how far the "
          "outputs move, measured and predicted")
      ->group("What if");
}

std::vector<lab::AttentionChange> WhatIfArguments::changes(const model::Transformer& model) const {
  std::vector<lab::AttentionChange> out;
  for (const std::string& text : scales) out.push_back(checked(model, scan::AlternativeKind::scale, text));
  for (const std::string& text : maps) out.push_back(checked(model, scan::AlternativeKind::map, text));
  for (const std::string& text : masks) out.push_back(checked(model, scan::AlternativeKind::mask, text));
  return out;
}

std::optional<lab::TheoryOptions> WhatIfArguments::theory_options() const {
  if (!theory && !calibrate && noise.empty()) return {};
  lab::TheoryOptions out;
  out.calibrate = calibrate;
  if (noise.empty()) return out;
  out.noise = lab::noise_from_text(noise);
  out.noise_text = noise;
  if (!std::isfinite(out.noise->variance_ratio()))
    throw Error("--noise", noise, "a law with finite E e^(2 noise): laplace below 0.5, gumbel above 2");
  return out;
}

std::optional<Scale> WhatIfArguments::law_to_solve(const model::Transformer& model,
                                                   const lab::ScanOptions& options) const {
  if (solve.empty()) return {};
  try {
    lab::check_solvable(model, options);
    return lab::law_to_solve(solve);
  } catch (const Error& error) {
    throw Error(std::string("--solve-kappa: ") + error.what());
  }
}

}  // namespace isentropic::cli
