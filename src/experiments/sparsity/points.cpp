// Means over key sets.
#include "experiments/sparsity/points.hpp"

#include "experiments/tools/estimate.hpp"

namespace isentropic::experiments::sparsity {

void Points::add(const std::vector<Concentration>& found) {
  tools::Mean sparsity, shared;
  for (const Concentration& x : found) sparsity.add(x.sparsity), shared.add(x.participation);
  mean.push_back(sparsity.mean());
  error.push_back(sparsity.estimate().error);
  participation.push_back(shared.mean());
}

}  // namespace isentropic::experiments::sparsity
