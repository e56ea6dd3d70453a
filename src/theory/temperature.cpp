// The entropy of softmax against temperature: its slope, its limit at 0 and its series at high temperature.
#include "isentropic/theory/temperature.hpp"

#include <algorithm>
#include <cmath>

#include "base/checks.hpp"
#include "isentropic/softmax_record.hpp"

namespace isentropic::theory {

double entropy_slope_in_temperature(std::span<const double> scores, double tau) {
  require_finite("scores", scores);
  require_positive("tau", tau);
  SoftmaxRecord<double> record;
  for (std::size_t j = 0; j < scores.size(); ++j)
    record = merge(record, single_key(scores[j] / tau, static_cast<std::int64_t>(j)));
  return score_variance(record) / tau;  // Var_p(s / tau) = Var_p(s) / tau^2
}

double zero_temperature_entropy(std::span<const double> scores) {
  require_finite("scores", scores);
  const auto ties = std::count(scores.begin(), scores.end(), *std::max_element(scores.begin(), scores.end()));
  return std::log(static_cast<double>(ties));
}

double high_temperature_entropy(std::span<const double> scores, double tau, HighTemperatureOrder order) {
  require_finite("scores", scores);
  require_positive("tau", tau);
  const auto n = static_cast<double>(scores.size());
  double mean = 0, second = 0, third = 0, fourth = 0;  // central moments, in units of tau
  for (double s : scores) mean += s / n;
  for (double s : scores) {
    const double x = (s - mean) / tau;
    second += x * x / n;
    third += x * x * x / n;
    fourth += x * x * x * x / n;
  }
  double out = std::log(n) - second / 2;
  if (order >= HighTemperatureOrder::third) out -= third / 3;
  if (order >= HighTemperatureOrder::fourth) out -= (fourth - 3 * second * second) / 8;
  return out;
}

}  // namespace isentropic::theory
