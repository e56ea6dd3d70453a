// The claims of source 002 in this folder, in the order of the source.
#include "ledger/contrast/subjects.hpp"

namespace isentropic::ledger {

std::vector<Claim> contrast_claims() {
  using namespace contrast;
  return joined({noise_contrast_claims(), noise_estimate_claims(), tabular_critic_claims(), info_nce_claims(),
                 information_bound_claims(), critic_claims(), gradient_claims(), key_gradient_claims(),
                 pull_and_push_claims(), temperature_claims(), collapse_claims(), score_scale_claims(),
                 softmax_map_claims(), common_operator_claims(), attention_as_contrast_claims(),
                 total_correlation_claims(), head_claims(), language_model_claims(), principle_claims()});
}

}  // namespace isentropic::ledger
