#include "ledger/contrast/gaussian_pairs.hpp"

#include <algorithm>
#include <numeric>

#include "instruments/estimate.hpp"

namespace isentropic::ledger::contrast {

Contrast gaussian_batch(Random& random, double rho, std::size_t d, std::size_t n, const GaussianCritic& critic) {
  Contrast out{Table(n, d), Table(n, d, random.normals(n * d)), std::vector<std::int64_t>(n), 1};
  const double rest = std::sqrt(1 - rho * rho);
  for (std::size_t i = 0; i < n * d; ++i)
    out.query.values[i] = critic.cross * (rho * out.key.values[i] + rest * random.normal());
  std::iota(out.target.begin(), out.target.end(), 0);
  for (std::size_t j = 0; j < n; ++j) out.bias.push_back(critic.square * dot(out.key.row(j), out.key.row(j)));
  return out;
}

Estimate gaussian_bound(Random& random, double rho, std::size_t d, std::size_t n, const GaussianCritic& critic,
                        std::int64_t anchors) {
  const std::int64_t batches = std::max<std::int64_t>(4, (anchors - 1) / static_cast<std::int64_t>(n) + 1);
  Mean batch_means, rows;
  for (std::int64_t batch = 0; batch < batches; ++batch) {
    Mean here;
    for (double loss : losses_of(gaussian_batch(random, rho, d, n, critic))) {
      here.add(std::log(static_cast<double>(n)) - loss);
      rows.add(std::log(static_cast<double>(n)) - loss);
    }
    batch_means.add(here.mean());
  }
  return {batch_means.mean(), std::hypot(batch_means.estimate().error, rows.estimate().error)};
}

}  // namespace isentropic::ledger::contrast
