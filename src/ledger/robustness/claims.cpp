// The claims of source 001 in this folder, in the order of the source.
#include "ledger/robustness/subjects.hpp"

namespace isentropic::ledger {

std::vector<Claim> robustness_claims() {
  using namespace robustness;
  return joined({first_statement_claims(), averaging_claims(), error_term_claims(), lipschitz_claims(),
                 noise_family_claims(), attack_claims(), attackable_claims(), noise_in_practice_claims()});
}

}  // namespace isentropic::ledger
