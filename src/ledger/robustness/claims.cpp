// The claims of source 001 in this folder, in the order of the source.
#include "ledger/robustness/subjects.hpp"

namespace isentropic::ledger {

std::vector<Claim> robustness_claims() {
  using namespace robustness;
  std::vector<Claim> out;
  for (const auto& subject : {first_statement_claims(), averaging_claims(), error_term_claims(), lipschitz_claims(),
                              noise_family_claims(), attack_claims(), attackable_claims(), noise_in_practice_claims()})
    out.insert(out.end(), subject.begin(), subject.end());
  return out;
}

}  // namespace isentropic::ledger
