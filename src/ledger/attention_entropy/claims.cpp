// The claims of source 001 in this folder, in the order of the source.
#include "ledger/attention_entropy/subjects.hpp"

namespace isentropic::ledger {

std::vector<Claim> entropy_claims() {
  using namespace attention_entropy;
  return joined({post_claims(), entropy_of_scores_claims(), floor_claims(), temperature_claims(), geometry_claims(),
                 training_claims(), smooth_maximum_claims(), inverse_sqrt_d_claims(), information_in_output_claims(),
                 heads_claims(), spectrum_claims(), position_claims(), regularisation_claims(), sparse_claims(),
                 heat_map_claims(), open_question_claims()});
}

}  // namespace isentropic::ledger
