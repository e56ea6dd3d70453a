// Closed forms for Python: noise on scores, the worst perturbation of scores, noise-contrastive learning.
#include "isentropic/theory/attack.hpp"
#include "isentropic/theory/contrast.hpp"
#include "isentropic/theory/noise.hpp"
#include "pytorch/information/functions.hpp"

namespace isentropic::pytorch::bindings {

using namespace theory;

static void give(Results& out, const Attack& attack) { give_all(out, attack.change, attack.gain); }
static void give(Results& out, const NoiseEffect& effect) { give_all(out, effect.bias, effect.rms); }
static void give(Results& out, const NceExpansion& found) { give_all(out, found.constant, found.first_order); }
static void give(Results& out, const ContrastGradients& found) { give_all(out, found.query, found.key); }

namespace {

// Uses the constructor, which checks the parameter.
NoiseLaw noise_law(NoiseFamily family, double parameter) {
  switch (family) {
    case NoiseFamily::gaussian:
      return NoiseLaw::gaussian(parameter);
    case NoiseFamily::uniform:
      return NoiseLaw::uniform(parameter);
    case NoiseFamily::laplace:
      return NoiseLaw::laplace(parameter);
    case NoiseFamily::gumbel:
      break;
  }
  return NoiseLaw::gumbel(parameter);
}

}  // namespace

Functions noise_functions() {
  return {
      function(
          "exponential_moment", +[](NoiseFamily family, double parameter,
                                    double order) { return noise_law(family, parameter).exponential_moment(order); }),
      function(
          "variance_ratio",
          +[](NoiseFamily family, double parameter) { return noise_law(family, parameter).variance_ratio(); }),
      function(
          "tail_index",
          +[](NoiseFamily family, double parameter) { return noise_law(family, parameter).tail_index(); }),
      function(
          "rate_exponent",
          +[](NoiseFamily family, double parameter) { return noise_law(family, parameter).rate_exponent(); }),
      function("noise_effect", noise_effect),
      function("group_noise_effect", group_noise_effect),
      function("value_noise_shift", value_noise_shift),
      function("two_key_gaussian_rms", two_key_gaussian_rms),
      function(
          "mean_of_ratio",
          +[](double mean_x, double mean_y, double covariance, double variance_y) {
            return mean_of_ratio({mean_x, mean_y, covariance, variance_y});
          }),

      function("size_in", size_in),
      function("projections", projections),
      function("output_gradient", output_gradient),
      function("first_order_attack", first_order_attack),
      function("exact_attack", exact_attack),
      function("attack_gain", attack_gain),
      function("norm_attack", norm_attack),

      function("nce_posterior", nce_posterior),
      function("nce_loss", nce_loss),
      function("nce_gradient", nce_gradient),
      function("nce_expansion", nce_expansion),
      function("nce_variance", nce_variance),
      function("contrast_gradients", contrast_gradients),
      function("contrast_gradient_norm", contrast_gradient_norm),
      function("info_nce_limit", info_nce_limit),
      function("gaussian_info_nce_limit", gaussian_info_nce_limit),
      function("high_temperature_softmax", high_temperature_softmax),
  };
}

}  // namespace isentropic::pytorch::bindings
