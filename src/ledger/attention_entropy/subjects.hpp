// The claims of this folder by subject, in the order of source 001. In their own namespace, because other folders have
// subjects with the same names.
#pragma once

#include <vector>

#include "ledger/claim.hpp"

namespace isentropic::ledger::attention_entropy {

std::vector<Claim> post_claims();                   // the post itself: entropy, initialisation, cosines
std::vector<Claim> entropy_of_scores_claims();      // sections 6 and 7
std::vector<Claim> floor_claims();                  // section 8
std::vector<Claim> temperature_claims();            // section 9
std::vector<Claim> geometry_claims();               // section 10
std::vector<Claim> training_claims();               // section 11
std::vector<Claim> smooth_maximum_claims();         // section 12
std::vector<Claim> inverse_sqrt_d_claims();         // section 14
std::vector<Claim> information_in_output_claims();  // section 15
std::vector<Claim> heads_claims();                  // section 16
std::vector<Claim> spectrum_claims();               // section 17
std::vector<Claim> position_claims();               // section 18
std::vector<Claim> regularisation_claims();         // sections 19 and 20
std::vector<Claim> sparse_claims();                 // sections 21 and 22
std::vector<Claim> heat_map_claims();               // section 23
std::vector<Claim> open_question_claims();          // section 25

}  // namespace isentropic::ledger::attention_entropy
