// Surrogates that break the dependence (local permutations when conditioning on z), and half-sample intervals.
#include "isentropic/information/significance.hpp"

#include <algorithm>
#include <boost/math/special_functions/erf.hpp>
#include <cmath>
#include <numbers>
#include <numeric>
#include <optional>
#include <string>

#include "base/checks.hpp"
#include "base/random.hpp"
#include "information/distributions/rows.hpp"
#include "information/distributions/validate.hpp"
#include "information/point_tree.hpp"
#include "information/scaling.hpp"
#include "information/symbols.hpp"

namespace isentropic::information {
namespace {

using Order = std::vector<std::size_t>;

Order in_order(std::size_t rows) {
  Order out(rows);
  std::iota(out.begin(), out.end(), std::size_t{0});
  return out;
}

constexpr int kNeighbours = 5;  // Runge chooses between 5 and 10

// The rows nearest to every row in z, itself first.
std::vector<Order> neighbours_in(const Table& z) {
  const PointTree tree(z);
  const int k = std::min(kNeighbours, static_cast<int>(z.rows) - 1);
  std::vector<Neighbour> found(static_cast<std::size_t>(k));
  std::vector<Order> out(z.rows);
  for (std::size_t position = 0; position < tree.size(); ++position) {
    tree.nearest(position, k, found.data());
    Order& list = out[tree.row_at(position)];
    list.push_back(tree.row_at(position));
    for (const Neighbour& neighbour : found) list.push_back(tree.row_at(neighbour.position));
  }
  return out;
}

// The groups of rows that share one z with more than kNeighbours others, of which a search would return only a few.
std::vector<Order> large_ties(const Table& z) {
  const Symbols symbols = symbols_of(z);
  std::vector<Order> groups(symbols.distinct);
  for (std::size_t i = 0; i < z.rows; ++i) groups[static_cast<std::size_t>(symbols.of_row[i])].push_back(i);
  std::erase_if(groups, [](const Order& rows) { return rows.size() <= kNeighbours + 1; });
  return groups;
}

// Exchanges rows with similar z: among all that tie, otherwise between neighbours.
class LocalPermutations {
 public:
  explicit LocalPermutations(const Table& z)
      : neighbours_(neighbours_in(scaled("z", z, Scaling::standardised))), ties_(large_ties(z)) {}

  // Every row takes the x of a neighbour in z, preferring one that is not taken yet.
  Order draw(Random* random) {
    Order out(neighbours_.size()), visits = in_order(neighbours_.size());
    random->shuffle(&visits);
    std::vector<char> taken(neighbours_.size(), 0);
    for (std::size_t row : visits) {
      Order& candidates = neighbours_[row];
      random->shuffle(&candidates);
      auto choice = std::find_if(candidates.begin(), candidates.end(), [&](std::size_t c) { return taken[c] == 0; });
      if (choice == candidates.end()) choice = candidates.begin();
      out[row] = *choice;
      taken[*choice] = 1;
    }
    for (const Order& tie : ties_) {
      Order shuffled = tie;
      random->shuffle(&shuffled);
      for (std::size_t i = 0; i < tie.size(); ++i) out[tie[i]] = shuffled[i];
    }
    return out;
  }

 private:
  std::vector<Order> neighbours_, ties_;
};

struct Moments {
  double mean = 0, deviation = 0;
};

Moments moments_of(const std::vector<double>& values) {
  const double count = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double squares = 0;
  for (double v : values) squares += (v - mean) * (v - mean);
  return {mean, count > 1 ? std::sqrt(squares / (count - 1)) : 0};
}

void require_triple(const Table& x, const Table& y, const Table& z, std::size_t least_rows) {
  require_samples("x", x);
  require_samples("y", y);
  require_rows("y", y, x.rows);
  if (z.columns > 0) {
    require_samples("z", z);
    require_rows("z", z, x.rows);
  }
  if (x.rows < least_rows)
    throw Error("x", std::to_string(x.rows) + " rows long", "at least " + std::to_string(least_rows) + " rows");
}

}  // namespace

Significance permutation_significance(const Table& x, const Table& y, const Table& z, const InformationMeasure& measure,
                                      int permutations, std::uint64_t seed,
                                      const std::function<void(double)>& progress) {
  require_triple(x, y, z, 2);
  require_at_least("permutations", permutations, 1);
  std::optional<LocalPermutations> local;
  if (z.columns > 0) local.emplace(z);
  Random random(seed);
  Significance out;
  out.estimate = measure(x, y, z);
  out.permutations = permutations;
  // Permutations may repeat the same table of counts; sums in another order then differ only by rounding and count as
  // equal.
  constexpr double kRounding = 1e-12;
  const double enough =
      std::isfinite(out.estimate) ? out.estimate - kRounding * (1 + std::abs(out.estimate)) : out.estimate;
  std::vector<double> surrogates;
  int as_large = 0;
  for (int p = 0; p < permutations; ++p) {
    Order order = in_order(x.rows);
    if (local)
      order = local->draw(&random);
    else
      random.shuffle(&order);
    surrogates.push_back(measure(rows_of(x, order), y, z));
    as_large += surrogates.back() >= enough ? 1 : 0;
    if (progress) progress((p + 1.0) / permutations);
  }
  const Moments moments = moments_of(surrogates);
  out.surrogate_mean = moments.mean;
  out.surrogate_deviation = moments.deviation;
  out.p_value = (1.0 + as_large) / (1.0 + permutations);
  return out;
}

Interval half_sample_interval(const Table& x, const Table& y, const Table& z, const InformationMeasure& measure,
                              int halves, double level, std::uint64_t seed,
                              const std::function<void(double)>& progress) {
  require_triple(x, y, z, 4);
  require_at_least("halves", halves, 2);
  require(level > 0 && level < 1, "level", level, "a number in (0, 1)");
  Random random(seed);
  std::vector<double> estimates;
  for (int h = 0; h < halves; ++h) {
    Order order = in_order(x.rows);
    random.shuffle(&order);
    order.resize(x.rows / 2);
    estimates.push_back(measure(rows_of(x, order), rows_of(y, order), z.columns > 0 ? rows_of(z, order) : z));
    if (progress) progress((h + 1.0) / halves);
  }
  // Delete-d jackknife: the factor (N - d) / d is 1 if half is deleted.
  const double half = static_cast<double>(x.rows / 2), deleted = static_cast<double>(x.rows) - half;
  Interval out;
  out.estimate = measure(x, y, z);
  out.deviation = moments_of(estimates).deviation * std::sqrt(half / deleted);
  out.halves = halves;
  const double reach = std::numbers::sqrt2 * boost::math::erf_inv(level) * out.deviation;
  out.low = out.estimate - reach;
  out.high = out.estimate + reach;
  return out;
}

}  // namespace isentropic::information
