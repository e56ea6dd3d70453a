// The claims of source 004 in this folder, in the order of the source.
#include "ledger/concentration/subjects.hpp"

namespace isentropic::ledger {

std::vector<Claim> concentration_claims() {
  using namespace concentration;
  return joined({rank_claims(), index_claims(), exponential_claims(), relu_squared_claims(), identity_claims(),
                 features_claims(), infinite_dimension_claims(), decay_claims(), conclusion_claims()});
}

}  // namespace isentropic::ledger
