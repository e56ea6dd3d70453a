// The subjects of this folder, in the order of source 001.
#pragma once

#include <vector>

#include "ledger/claim.hpp"

namespace isentropic::ledger::robustness {

std::vector<Claim> first_statement_claims();    // P1 ... P3
std::vector<Claim> averaging_claims();          // 1 ... 9
std::vector<Claim> error_term_claims();         // 10 ... 18
std::vector<Claim> lipschitz_claims();          // 19 ... 23
std::vector<Claim> noise_family_claims();       // 24 ... 27, section 5
std::vector<Claim> attack_claims();             // 57 ... 62
std::vector<Claim> attackable_claims();         // section 13
std::vector<Claim> noise_in_practice_claims();  // sections 22 and 24

}  // namespace isentropic::ledger::robustness
