// The claims of source 002 by subject, in the order of the source. In their own namespace, because other folders have
// subjects with the same names.
#pragma once

#include <vector>

#include "ledger/claim.hpp"

namespace isentropic::ledger::contrast {

std::vector<Claim> noise_contrast_claims();
std::vector<Claim> noise_estimate_claims();
std::vector<Claim> tabular_critic_claims();
std::vector<Claim> info_nce_claims();
std::vector<Claim> information_bound_claims();
std::vector<Claim> critic_claims();
std::vector<Claim> gradient_claims();
std::vector<Claim> key_gradient_claims();
std::vector<Claim> pull_and_push_claims();
std::vector<Claim> temperature_claims();
std::vector<Claim> collapse_claims();
std::vector<Claim> score_scale_claims();
std::vector<Claim> softmax_map_claims();
std::vector<Claim> common_operator_claims();
std::vector<Claim> attention_as_contrast_claims();
std::vector<Claim> total_correlation_claims();
std::vector<Claim> head_claims();
std::vector<Claim> language_model_claims();
std::vector<Claim> principle_claims();

}  // namespace isentropic::ledger::contrast
