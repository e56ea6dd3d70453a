// Means and deviations over seeds.
#include "lab/spread.hpp"

#include <cmath>
#include <cstdio>

namespace isentropic::lab {

Spread spread_of(const std::vector<double>& values) {
  Spread out;
  const double count = static_cast<double>(values.size());
  for (const double value : values) out.mean += value / count;
  for (const double value : values) out.deviation += (value - out.mean) * (value - out.mean);
  out.deviation = values.size() > 1 ? std::sqrt(out.deviation / (count - 1)) : 0;
  return out;
}

double mean_of(const std::vector<std::vector<double>>& numbers) {
  double sum = 0, count = 0;
  for (const auto& layer : numbers)
    for (const double x : layer) sum += x, ++count;
  return sum / count;
}

std::string text_of(const std::vector<double>& values, int digits) {
  const Spread spread = spread_of(values);
  char text[64];
  if (values.size() > 1)
    std::snprintf(text, sizeof text, "%.*f ± %.*f", digits, spread.mean, digits, spread.deviation);
  else
    std::snprintf(text, sizeof text, "%.*f", digits, spread.mean);
  return text;
}

}  // namespace isentropic::lab
