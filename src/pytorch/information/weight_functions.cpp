// Closed forms for Python about given weights: the simplex, sensitivity, sparsity, the loss from keeping only a few.
#include "isentropic/theory/generalisation.hpp"
#include "isentropic/theory/sensitivity.hpp"
#include "isentropic/theory/simplex.hpp"
#include "isentropic/theory/sparsity.hpp"
#include "isentropic/theory/top_k.hpp"
#include "pytorch/information/functions.hpp"

namespace isentropic::pytorch::bindings {

using namespace theory;

static void give(Results& out, const FeatureMoments& moments) { give_all(out, moments.mean, moments.deviation); }

Functions weight_functions() {
  return {
      function("kl_to_uniform", kl_to_uniform),
      function("fisher_metric", fisher_metric),
      function("natural_entropy_gradient", natural_entropy_gradient),
      function("euclidean_entropy_gradient", euclidean_entropy_gradient),
      function("entropy_flow", entropy_flow),
      function("log_sum_exp_excess_bound", log_sum_exp_excess_bound),
      function("hard_attention_distance_bound", hard_attention_distance_bound),
      function("softmax_jacobian_bound", softmax_jacobian_bound),

      function("range_of", range_of),
      function("diameter", diameter),
      function("weights_change_bound", weights_change_bound),
      function("output_change_bound", output_change_bound),
      function("softmax_infinity_norm", softmax_infinity_norm),
      function("softmax_euclidean_norm", softmax_euclidean_norm),
      function("output_euclidean_norm", output_euclidean_norm),

      function("sparsity_of_exp", sparsity_of_exp),
      function("sparsity_of_relu_squared", sparsity_of_relu_squared),
      function("sparsity_of_identity", sparsity_of_identity),
      function("sparsity_floor", sparsity_floor),
      function("sparsity_of_taylor", sparsity_of_taylor),
      function("taylor_sparsity_floor", taylor_sparsity_floor),
      function("taylor_features", taylor_features),
      function("sparsity_of_features", sparsity_of_features),
      function("sparsity_of_independent_features", sparsity_of_independent_features),
      function("gaussian_feature_moments", gaussian_feature_moments),
      function("sparsity_of_decay", sparsity_of_decay),
      function("decay_sparsity_bound", decay_sparsity_bound),
      function("decay_sparsity_rate", decay_sparsity_rate),
      function("slow_decay_sparsity", slow_decay_sparsity),

      function("top_k_missing_mass", top_k_missing_mass),
      function("top_k_l1_distance", top_k_l1_distance),
      function("top_k_output_bound", top_k_output_bound),
      function("sub_gaussian_deviation", sub_gaussian_deviation),
      function("generalisation_bound", generalisation_bound),
  };
}

}  // namespace isentropic::pytorch::bindings
