// The claims of source 003, by subject.
#pragma once

#include "ledger/claim.hpp"

namespace isentropic::ledger::invariance {

std::vector<Claim> approximation_claims();  // the post, sections 1 to 6: the entropy and two approximations
std::vector<Claim> law_claims();            // (23): every law
std::vector<Claim> growth_claims();         // sections 7 to 9: which lambda(n, d)
std::vector<Claim> laplace_claims();        // section 10
std::vector<Claim> gaussian_claims();       // sections 11 and 12
std::vector<Claim> analogy_claims();        // sections 13 to 15
std::vector<Claim> normalisation_claims();  // sections 16 to 18: norms, dynamic scales, positions
std::vector<Claim> mask_claims();           // sections 19 to 22: masks, cross attention, heads, blocks
std::vector<Claim> practice_claims();       // sections 23 to 24: practical sizes, feedback
std::vector<Claim> temperature_claims();    // sections 25 and 26
std::vector<Claim> listing_claims();        // sections 28 and 29
std::vector<Claim> summary_claims();        // section 30
std::vector<Claim> open_question_claims();  // the open questions of sections 28 and 30

void linear_attention(Check& check);  // one of the open questions: an invariant scale for linear features

}  // namespace isentropic::ledger::invariance
