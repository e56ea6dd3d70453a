// Draws rows of scores in batches and averages what the kernels compute on them.
#include "ledger/invariance/drawn.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numbers>
#include <numeric>

#include "experiments/lengths/slope.hpp"
#include "isentropic/theory/scale_laws.hpp"

namespace isentropic::ledger::invariance {

RowMeans drawn_rows(std::size_t n, double lambda, std::int64_t rows, const std::function<double()>& draw) {
  RowMeans out;
  const double log_n = std::log(static_cast<double>(n));
  const auto at_once = std::max<std::int64_t>(1, (1 << 16) / static_cast<std::int64_t>(n));
  for (std::int64_t first = 0; first < rows; first += at_once) {
    Table scores(static_cast<std::size_t>(std::min(at_once, rows - first)), n);
    std::generate(scores.values.begin(), scores.values.end(), draw);
    const std::vector<Record> records = records_of(scores, lambda);
    for (std::size_t row = 0; row < records.size(); ++row) {
      const std::span<const double> s = scores.row(row);
      out.entropy.add(entropy(records[row]));
      out.mean_score.add(mean_score(records[row]) / lambda);
      out.log_mean_exp.add(log_partition(records[row]) - log_n);
      out.peak.add(peak(records[row]));
      out.collision.add(collision(records[row]));
      out.maximum.add(*std::max_element(s.begin(), s.end()));
      out.mean.add(std::accumulate(s.begin(), s.end(), 0.0) / static_cast<double>(n));
    }
  }
  return out;
}

RowMeans gaussian_rows(Check& check, std::size_t n, double lambda, std::int64_t rows) {
  return drawn_rows(n, lambda, rows, [&] { return check.random().normal(); });
}

double mean_of_maximum(double n) {
  double sum = 0;
  const double step = 0.002;
  for (double x = -8; x < 12; x += step) {
    const double log_below = std::log1p(-0.5 * std::erfc(x / std::sqrt(2.0)));
    sum += x * n * std::exp((n - 1) * log_below - x * x / 2) * step;
  }
  return sum / std::sqrt(2 * std::numbers::pi);
}

void compare_with_draws(Check& check, const std::string& name, double quoted, double draws, double rounding,
                        const Mean& rows, double expectation) {
  check.near(name + ", quoted", expectation, quoted, 5 * rows.deviation() / std::sqrt(draws) + rounding);
}

namespace {

// A Gamma variable of shape a >= 1 by rejection from a cubed normal one (G. Marsaglia, W. W. Tsang, ACM TOMS 26, 2000).
double gamma_variable(Random& random, double a) {
  const double d = a - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = random.normal(), root = 1 + c * x, v = root * root * root;
    if (v > 0 && std::log(1 - random.uniform()) < x * x / 2 + d - d * v + d * std::log(v)) return d * v;
  }
}

}  // namespace

double random_cosine(Random& random, int d) {
  // The squares of the other d - 1 coordinates sum to twice a Gamma variable.
  const double g = random.normal();
  return g / std::sqrt(g * g + 2 * gamma_variable(random, (d - 1) / 2.0));
}

std::vector<std::int64_t> powers_of_two(int first, int last) {
  std::vector<std::int64_t> out;
  for (int k = first; k <= last; ++k) out.push_back(std::int64_t{1} << k);
  return out;
}

std::vector<std::int64_t> context_lengths(const Check& check) { return powers_of_two(6, check.thorough() ? 17 : 12); }

Estimate Curve::slope() const {
  std::vector<Estimate> entropies;
  for (const experiments::lengths::Measurement& point : points) entropies.push_back(point.entropy);
  return experiments::lengths::slope(lengths, entropies);
}

std::vector<double> Curve::x() const { return {lengths.begin(), lengths.end()}; }

std::vector<double> Curve::y() const {
  std::vector<double> out;
  for (const experiments::lengths::Measurement& point : points) out.push_back(point.entropy.mean);
  return out;
}

std::vector<Curve> draw_curves(Check& check, const std::vector<Scale>& laws, const std::vector<std::int64_t>& lengths,
                               std::int64_t d, std::int64_t rows, experiments::lengths::Keys keys) {
  constexpr std::int64_t kQueries = 16, kPlenty = std::int64_t{1} << 13;
  std::vector<Curve> out(laws.size(), Curve{lengths, {}});
  const std::uint64_t seed = check.random().bits();
  for (const std::int64_t n : lengths) {
    std::vector<double> lambdas;
    for (const Scale& law : laws) lambdas.push_back(law_lambda(law, n, d));
    const std::int64_t sets = std::max<std::int64_t>(2, rows * std::min(kPlenty, n) / (n * kQueries));
    const auto measured = experiments::lengths::measure(
        {.keys = keys, .positions = {}, .n = n, .d = d, .sets = sets, .queries = kQueries}, lambdas, seed,
        serial_executor());
    for (std::size_t i = 0; i < laws.size(); ++i) out[i].points.push_back(measured[i]);
  }
  return out;
}

Curve draw_curve(Check& check, const Scale& law, const std::vector<std::int64_t>& lengths, std::int64_t d,
                 std::int64_t rows) {
  return draw_curves(check, {law}, lengths, d, rows).front();
}

void compare_with_theory(Check& check, const std::string& name, const Curve& curve, const Scale& law, std::int64_t d) {
  for (std::size_t i = 0; i < curve.lengths.size(); ++i)
    check.near(fmt::format("H under {}, d = {}, n = {}", name, d, curve.lengths[i]), curve.entropy(i),
               law_entropy(law, curve.lengths[i], d), 1e-3);
}

double scale_in_use(const Scale& scale, std::size_t n, std::size_t d) {
  Table query(1, d, 0.0), keys(n, d, 0.0);
  query(0, 0) = keys(0, 0) = 1;
  const Table weights = weights_of(query, keys, {.query = {}, .key = {}, .scale = scale});
  return std::log(weights(0, 0) / weights(0, 1));
}

Table normal_table(Random& random, std::size_t rows, std::size_t columns, double scale) {
  return {rows, columns, random.normals(rows * columns, scale)};
}

Table directions(Random& random, std::size_t rows, std::size_t columns, double norm) {
  Table out = normal_table(random, rows, columns);
  for (std::size_t row = 0; row < rows; ++row) {
    double squares = 0;
    for (const double x : out.row(row)) squares += x * x;
    for (double& x : out.row(row)) x *= norm / std::sqrt(squares);
  }
  return out;
}

double difference(std::span<const double> x, std::span<const double> y) {
  double most = x.size() == y.size() ? 0 : std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < std::min(x.size(), y.size()); ++i) most = std::max(most, std::abs(x[i] - y[i]));
  return most;
}

}  // namespace isentropic::ledger::invariance
