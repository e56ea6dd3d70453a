// The claims of source 000 in this folder, in the order of the source.
#include "ledger/bottleneck/subjects.hpp"

namespace isentropic::ledger {

std::vector<Claim> bottleneck_claims() {
  using namespace bottleneck;
  return joined({basic_quantity_claims(), tradeoff_claims(), variational_claims(), information_plane_claims(),
                 weighted_average_claims(), reach_claims(), head_claims(), transfer_claims(), residual_claims(),
                 position_claims(), regulariser_claims(), generalisation_claims()});
}

}  // namespace isentropic::ledger
