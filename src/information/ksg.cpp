// Nearest-neighbour estimators: Kozachenko-Leonenko, KSG, Frenzel-Pompe, Ross, Mesner-Shalizi.
#include <algorithm>
#include <boost/math/special_functions/digamma.hpp>
#include <cmath>

#include "information/distributions/rows.hpp"
#include "information/distributions/validate.hpp"
#include "information/neighbourhoods.hpp"
#include "information/scaling.hpp"
#include "information/symbols.hpp"
#include "isentropic/error.hpp"
#include "isentropic/information/entropy.hpp"
#include "isentropic/information/mutual_information.hpp"

namespace isentropic::information {
namespace {

void require_points(const std::string& name, const Table& samples, std::size_t rows) {
  require_samples(name, samples);
  require_rows(name, samples, rows);
}

Neighbourhood neighbourhood_of(KsgAlgorithm algorithm) {
  return algorithm == KsgAlgorithm::one ? Neighbourhood::open_cube : Neighbourhood::box;
}

// For each row, among the rows that share its symbol: how many there are, the distance to the k-th of the others (the
// last one if there are fewer), and how many are within that distance: more than k if there are ties.
struct OwnNeighbours {
  std::vector<std::size_t> members, as_near;
  std::vector<double> distance;
};

// Requires that every symbol occurs at least twice.
OwnNeighbours own_neighbours(const Table& points, const Symbols& symbols, int k, Executor& executor) {
  std::vector<std::vector<std::size_t>> members(symbols.distinct);
  for (std::size_t r = 0; r < points.rows; ++r) members[static_cast<std::size_t>(symbols.of_row[r])].push_back(r);
  const double rounding = rounding_of_distances(points);
  OwnNeighbours out{std::vector<std::size_t>(points.rows), std::vector<std::size_t>(points.rows),
                    std::vector<double>(points.rows)};
  for (const auto& rows : members) {
    const Table part = rows_of(points, rows);
    const std::size_t neighbours = std::min(static_cast<std::size_t>(k), rows.size() - 1);
    std::vector<double> distance = neighbour_distances(part, static_cast<int>(neighbours), executor);
    for (double& d : distance) d += rounding;
    const std::vector<std::size_t> as_near = others_within(part, distance, executor);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      out.members[rows[i]] = rows.size();
      out.as_near[rows[i]] = as_near[i];
      out.distance[rows[i]] = distance[i];
    }
  }
  return out;
}

// The rows whose symbol occurs at least twice.
std::vector<std::size_t> rows_with_company(const Symbols& symbols) {
  const std::vector<std::int64_t> counts = symbols.counts();
  std::vector<std::size_t> out;
  for (std::size_t r = 0; r < symbols.of_row.size(); ++r)
    if (counts[static_cast<std::size_t>(symbols.of_row[r])] > 1) out.push_back(r);
  return out;
}

}  // namespace

double kozachenko_leonenko_entropy(const Table& samples, int k, Executor& executor) {
  require_samples("samples", samples);
  require_neighbours(k, samples.rows);
  double sum = 0;
  for (double distance : neighbour_distances(samples, k, executor)) sum += std::log(2 * distance);
  const double rows = static_cast<double>(samples.rows);
  return boost::math::digamma(rows) - boost::math::digamma(static_cast<double>(k)) +
         static_cast<double>(samples.columns) * sum / rows;
}

double ksg_mutual_information(const Table& x, const Table& y, const KsgOptions& options, Executor& executor) {
  require_samples("x", x);
  require_points("y", y, x.rows);
  require_neighbours(options.k, x.rows);
  const Table joint = beside(scaled("x", x, options.scaling), scaled("y", y, options.scaling));
  const DigammaTable digamma(x.rows);
  const auto k = static_cast<std::size_t>(options.k);
  const NeighbourhoodQuestion question{
      joint, {x.columns, y.columns}, {{0}, {1}}, options.k, neighbourhood_of(options.algorithm)};
  if (options.algorithm == KsgAlgorithm::one) {
    const auto term = [&](const std::size_t* n) { return digamma(n[0] + 1) + digamma(n[1] + 1); };
    return digamma(k) + digamma(x.rows) - mean_over_neighbourhoods(question, term, executor);
  }
  const auto term = [&](const std::size_t* n) { return digamma(n[0]) + digamma(n[1]); };
  return digamma(k) - 1.0 / options.k + digamma(x.rows) - mean_over_neighbourhoods(question, term, executor);
}

double ksg_conditional_mutual_information(const Table& x, const Table& y, const Table& z, const KsgOptions& options,
                                          Executor& executor) {
  require_samples("x", x);
  require_points("y", y, x.rows);
  require_points("z", z, x.rows);
  if (options.algorithm == KsgAlgorithm::two) throw Error("algorithm", "two, with a condition z", "one");
  require_neighbours(options.k, x.rows);
  const Table joint =
      beside(beside(scaled("x", x, options.scaling), scaled("y", y, options.scaling)), scaled("z", z, options.scaling));
  const DigammaTable digamma(x.rows);
  const NeighbourhoodQuestion question{
      joint, {x.columns, y.columns, z.columns}, {{0, 2}, {1, 2}, {2}}, options.k, Neighbourhood::open_cube};
  const auto term = [&](const std::size_t* n) { return digamma(n[0] + 1) + digamma(n[1] + 1) - digamma(n[2] + 1); };
  return digamma(static_cast<std::size_t>(options.k)) - mean_over_neighbourhoods(question, term, executor);
}

double mixed_mutual_information(const Table& x, const Table& y, int k, Scaling scaling, Executor& executor) {
  require_samples("x", x);
  require_points("y", y, x.rows);
  require_neighbours(k, x.rows);
  const Table all = scaled("y", y, scaling);
  const std::vector<std::size_t> kept = rows_with_company(symbols_of(x));
  if (kept.empty()) throw Error("x", "different in every row", "symbols of which some occur more than once");
  const Table points = rows_of(all, kept);
  const OwnNeighbours own = own_neighbours(points, symbols_of(rows_of(x, kept)), k, executor);
  const std::vector<std::size_t> around = others_within(points, own.distance, executor);
  const DigammaTable digamma(points.rows);
  double sum = 0;
  for (std::size_t r = 0; r < points.rows; ++r)
    sum += digamma(own.as_near[r]) - digamma(own.members[r]) - digamma(around[r]);
  return digamma(points.rows) + sum / static_cast<double>(points.rows);
}

double mesner_shalizi_mutual_information(const Table& x, const Table& y, const Table& z, int k, Scaling scaling,
                                         Executor& executor) {
  require_samples("x", x);
  require_points("y", y, x.rows);
  require_neighbours(k, x.rows);
  const Table both = beside(scaled("x", x, scaling), scaled("y", y, scaling));
  const DigammaTable digamma(x.rows);
  if (z.columns == 0) {
    const NeighbourhoodQuestion question{
        both, {x.columns, y.columns}, {{0}, {1}, {0, 1}}, k, Neighbourhood::closed_cube};
    const auto term = [&](const std::size_t* n) { return digamma(n[2]) - digamma(n[0]) - digamma(n[1]); };
    return digamma(x.rows) + mean_over_neighbourhoods(question, term, executor);
  }
  require_points("z", z, x.rows);
  const Table joint = beside(both, scaled("z", z, scaling));
  const NeighbourhoodQuestion question{
      joint, {x.columns, y.columns, z.columns}, {{0, 2}, {1, 2}, {2}, {0, 1, 2}}, k, Neighbourhood::closed_cube};
  const auto term = [&](const std::size_t* n) { return digamma(n[3]) - digamma(n[0]) - digamma(n[1]) + digamma(n[2]); };
  return mean_over_neighbourhoods(question, term, executor);
}

}  // namespace isentropic::information
