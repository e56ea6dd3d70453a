// The claims of source 003, in the order of the source.
#include "ledger/invariance/subjects.hpp"

namespace isentropic::ledger {

std::vector<Claim> invariance_claims() {
  using namespace invariance;
  return joined({approximation_claims(), law_claims(), growth_claims(), laplace_claims(), gaussian_claims(),
                 analogy_claims(), normalisation_claims(), mask_claims(), practice_claims(), temperature_claims(),
                 listing_claims(), summary_claims(), open_question_claims()});
}

}  // namespace isentropic::ledger
