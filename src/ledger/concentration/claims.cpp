// The claims of source 004 in this folder, in the order of the source.
#include "ledger/concentration/subjects.hpp"

namespace isentropic::ledger {

std::vector<Claim> concentration_claims() {
  using namespace concentration;
  std::vector<Claim> out;
  for (const auto subject : {rank_claims, index_claims, exponential_claims, relu_squared_claims, identity_claims,
                             features_claims, decay_claims, conclusion_claims}) {
    const std::vector<Claim> claims = subject();
    out.insert(out.end(), claims.begin(), claims.end());
  }
  return out;
}

}  // namespace isentropic::ledger
