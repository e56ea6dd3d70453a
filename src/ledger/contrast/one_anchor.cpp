// Gradients of InfoNCE for one anchor, by the backward pass of attention.
#include "ledger/contrast/one_anchor.hpp"

#include <algorithm>

#include "experiments/tools/kernels.hpp"

namespace isentropic::ledger::contrast {
namespace {

AttentionProblem at_temperature(double temperature) {
  AttentionProblem out;
  out.scale = Scale::constant(1 / temperature);
  return out;
}

}  // namespace

std::vector<double> Case::weights() const {
  return experiments::tools::weights_of(contrast().query, keys, at_temperature(temperature)).values;
}

std::vector<double> Case::mean_key() const {
  return experiments::tools::table_of(
             experiments::tools::attend(contrast().query, keys, keys, at_temperature(temperature)).output)
      .values;
}

Case random_case(Random& random, double temperature, std::size_t n, std::size_t d) {
  Table query(1, d, random.normals(d)), keys(n, d, random.normals(n * d));
  normalise_rows(&query);
  normalise_rows(&keys);
  return {query.values, keys, temperature};
}

std::vector<double> query_slopes(const Case& c) {
  return numeric_gradient(c.query, [&](const std::vector<double>& query) {
    return Case{query, c.keys, c.temperature}.loss();
  });
}

std::vector<double> key_slopes(const Case& c, std::size_t j) {
  const auto row = c.keys.row(j);
  return numeric_gradient({row.begin(), row.end()}, [&](const std::vector<double>& key) {
    Case moved = c;
    std::copy(key.begin(), key.end(), moved.keys.row(j).begin());
    return moved.loss();
  });
}

std::vector<double> combined(double a, std::span<const double> x, double b, std::span<const double> y) {
  std::vector<double> out = times(a, x);
  for (std::size_t c = 0; c < out.size(); ++c) out[c] += b * y[c];
  return out;
}

}  // namespace isentropic::ledger::contrast
