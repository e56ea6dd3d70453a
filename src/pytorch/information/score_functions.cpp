// Closed forms for Python: entropies of random, bounded and biased scores, and the effect of scale laws on them.
#include "isentropic/theory/attention_channel.hpp"
#include "isentropic/theory/bounded_scores.hpp"
#include "isentropic/theory/collapse.hpp"
#include "isentropic/theory/dot_products.hpp"
#include "isentropic/theory/laplace.hpp"
#include "isentropic/theory/linear_features.hpp"
#include "isentropic/theory/position_bias.hpp"
#include "isentropic/theory/position_capacity.hpp"
#include "isentropic/theory/random_energy.hpp"
#include "isentropic/theory/random_scores.hpp"
#include "isentropic/theory/scale_laws.hpp"
#include "isentropic/theory/temperature.hpp"
#include "pytorch/information/functions.hpp"

namespace isentropic::pytorch::bindings {

using namespace theory;

static void give(Results& out, const BoundedEntropyFloor& floor) { give_all(out, floor.entropy, floor.top_keys); }
static void give(Results& out, const GumbelLimit& limit) { give_all(out, limit.location, limit.scale); }
static void give(Results& out, const ExpectedRow& row) {
  give_all(out, row.log_partition, row.mean_score, row.entropy, row.collision, row.planted);
}
static void give(Results& out, const KappaFit& fit) { give_all(out, fit.kappa, fit.relative_error, fit.exponent); }

namespace {

// Uses the constructor, which checks the parameter; two of the laws have none.
ScoreLaw score_law(ScoreLaw::Kind kind, double parameter) {
  switch (kind) {
    case ScoreLaw::Kind::gaussian:
      return ScoreLaw::gaussian(parameter);
    case ScoreLaw::Kind::cosine:
      return ScoreLaw::cosine(parameter);
    case ScoreLaw::Kind::exponential:
      return ScoreLaw::exponential();
    case ScoreLaw::Kind::uniform:
      return ScoreLaw::uniform();
  }
  return {};
}

double high_temperature_entropy_of(std::span<const double> scores, double tau, int order) {
  if (order < 2 || order > 4) throw Error("order", order, "2, 3 or 4");
  return high_temperature_entropy(scores, tau, static_cast<HighTemperatureOrder>(order));
}

Functions random_score_functions() {
  return {
      function("freezing_spread", freezing_spread),
      function("phase", phase),
      function("random_energy_entropy", random_energy_entropy),
      function("frozen_coefficient", frozen_coefficient),
      function("expected_maximum", expected_maximum),
      function("maximum_limit", maximum_limit),
      function("cosine_divergence", cosine_divergence),
      function("cosine_divergence_exponent", cosine_divergence_exponent),
      function("cosine_saddle_entropy", cosine_saddle_entropy),
      function("cosine_saddle_scale", cosine_saddle_scale),
      function(
          "expected_row",
          +[](ScoreLaw::Kind law, double log_n, double lambda, double parameter, std::optional<double> planted_score) {
            return expected_row(score_law(law, parameter), log_n, lambda, planted_score);
          }),
      function(
          "scale_for_entropy",
          +[](ScoreLaw::Kind law, double log_n, double entropy, double parameter) {
            return scale_for_entropy(score_law(law, parameter), log_n, entropy);
          }),
      function("laplace_log_integral", laplace_log_integral),
      function("laplace_log_mean_exp", laplace_log_mean_exp),
      function("uniform_log_mean_exp", uniform_log_mean_exp),
      function("uniform_log_mean_exp_edge", uniform_log_mean_exp_edge),
      function("uniform_scores_entropy", uniform_scores_entropy),
      function("mean_dot_product", mean_dot_product),
      function("variance_of_dot_product", variance_of_dot_product),
  };
}

Functions law_functions() {
  return {
      function("law_lambda", law_lambda),
      function("law_entropy", law_entropy),
      function("law_slope", law_slope),
      function("invariant_kappa", invariant_kappa),
      function("fit_kappa", fit_kappa),
      function("planted_probability", planted_probability),
      function("needle_probability", needle_probability),
      function("tail_growth", tail_growth),
      function("gaussian_local_exponent", gaussian_local_exponent),
      function("entropy_deficit", entropy_deficit),
      function("lognormal_entropy_deficit", lognormal_entropy_deficit),
      function("feature_sharpening", feature_sharpening),
      function("entropy_slope_in_temperature", entropy_slope_in_temperature),
      function("zero_temperature_entropy", zero_temperature_entropy),
      function("high_temperature_entropy", high_temperature_entropy_of),
  };
}

Functions limit_functions() {
  return {
      function("cosine_score_range", cosine_score_range),
      function("bounded_entropy_gap", bounded_entropy_gap),
      function("bounded_top_share", bounded_top_share),
      function("bounded_entropy_floor", bounded_entropy_floor),
      function("largest_bounded_weight", largest_bounded_weight),
      function("smallest_bounded_weight", smallest_bounded_weight),
      function("least_entropy_of_norm", least_entropy_of_norm),
      function("norm_that_keeps_entropy", norm_that_keeps_entropy),
      function(
          "alibi_entropy", +[](double slope) { return one_sided_alibi_entropy(slope); }),
      function(
          "alibi_entropy_of_keys", +[](double slope, std::int64_t n) { return one_sided_alibi_entropy(slope, n); }),
      function("least_position_coordinates", least_position_coordinates),
      function("gaussian_output_information", gaussian_output_information),
      function("coin_output_information", coin_output_information),
  };
}

}  // namespace

Functions score_functions() {
  Functions out = random_score_functions();
  for (const Functions& more : {law_functions(), limit_functions()}) out.insert(out.end(), more.begin(), more.end());
  return out;
}

}  // namespace isentropic::pytorch::bindings
