// Draws batches of correlated normal pairs for InfoNCE.
#include "ledger/contrast/gaussian_pairs.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "ledger/contrast/control_variate.hpp"

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

GaussianBound gaussian_bound(Random& random, double rho, std::size_t d, std::size_t n, const GaussianCritic& critic,
                             std::int64_t anchors) {
  const std::int64_t batches = std::max<std::int64_t>(4, (anchors - 1) / static_cast<std::int64_t>(n) + 1);
  const double log_n = std::log(static_cast<double>(n)),
               information = gaussian_information(rho, static_cast<double>(d));
  const GaussianCritic best = GaussianCritic::optimal(rho);
  GaussianBound out;
  out.largest_batch = -std::numeric_limits<double>::infinity();
  std::vector<double> rows, densities, products, squares;
  for (std::int64_t batch = 0; batch < batches; ++batch) {
    const Contrast contrast = gaussian_batch(random, rho, d, n, critic);
    const std::vector<double> losses = n < 256 ? losses_of(contrast) : single_precision_losses_of(contrast);
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) {
      sum += rows.emplace_back(log_n - losses[i]);
      const auto x = contrast.key.row(i), y = contrast.query.row(i);  // y times critic.cross
      products.push_back(dot(x, y) / critic.cross);
      squares.push_back(dot(y, y) / (critic.cross * critic.cross));
      densities.push_back(information + best.cross * products.back() + best.square * (dot(x, x) + squares.back()));
    }
    out.largest_batch = std::max(out.largest_batch, sum / static_cast<double>(n));
  }
  const auto size = static_cast<double>(d);
  rows = controlled(rows, densities, information);
  rows = controlled(rows, products, rho * size);
  rows = controlled(rows, squares, size);
  Mean batch_means;
  for (std::size_t begin = 0; begin < rows.size(); begin += n)
    batch_means.add(mean_over(std::span(rows).subspan(begin, n)).mean());
  out.estimate = {batch_means.mean(), std::hypot(batch_means.estimate().error, mean_over(rows).estimate().error)};
  return out;
}

}  // namespace isentropic::ledger::contrast
