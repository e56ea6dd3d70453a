// Differences between two variants, paired by seed: variants with the same seed share their initial weights and the
// order of their data, so that their difference varies less than either of them.
//
//   d_i = a_i - b_i over n seeds,   mean = sum d_i / n,   error = sqrt(sum (d_i - mean)^2 / (n (n - 1)))
//
// A difference is beyond the spread if |mean| > t error, where t is the 97.5% quantile of Student's t with n - 1
// degrees of freedom, that is, if the 95% confidence interval excludes 0. Otherwise it is called none. There is no
// correction for multiple comparisons: of 20 without a true difference, about one is reported as a difference.
//   a = (1, 2, 4), b = (0, 0, 1): d = (1, 2, 3), mean 2, error 1/sqrt 3 = 0.5774, t = 4.303: none, since 2 < 2.484.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

namespace isentropic::lab {

// 97.5% quantile of Student's t; from 11 degrees of freedom on, an expansion about the normal quantile, accurate to
// 2e-4 (Abramowitz and Stegun, 26.7.5).
inline double student_quantile(int degrees) {
  constexpr double kTable[] = {12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281};
  if (degrees < 1) return std::numeric_limits<double>::infinity();
  if (degrees <= 10) return kTable[degrees - 1];
  const double z = 1.959964, z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z, v = degrees;
  return z + (z3 + z) / (4 * v) + (5 * z5 + 16 * z3 + 3 * z) / (96 * v * v) +
         (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * v * v * v);
}

struct Paired {
  double mean = 0, error = 0;  // error: NaN for fewer than two seeds
  int seeds = 0;

  bool beyond_spread() const { return seeds > 1 && std::abs(mean) > student_quantile(seeds - 1) * error; }
};

// Of given differences, one per seed. Without any, the mean is NaN.
inline Paired paired(const std::vector<double>& differences) {
  const auto count = static_cast<double>(differences.size());
  Paired out{std::nan(""), std::nan(""), static_cast<int>(differences.size())};
  if (differences.empty()) return out;
  double sum = 0, squares = 0;
  for (const double x : differences) sum += x;
  out.mean = sum / count;
  for (const double x : differences) squares += (x - out.mean) * (x - out.mean);
  if (count > 1) out.error = std::sqrt(squares / (count * (count - 1)));
  return out;
}

// a - b; both in the order of their seeds.
inline Paired paired(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> differences;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) differences.push_back(a[i] - b[i]);
  return paired(differences);
}

// "-0.0123 ± 0.0021", "none (-0.0012 ± 0.0021)", and "-0.0123 (one seed)", whose spread is unknown.
inline std::string text_of(const Paired& difference, int digits) {
  char mean[64], error[64];
  std::snprintf(mean, sizeof mean, "%+.*f", digits, difference.mean);
  std::snprintf(error, sizeof error, "%.*f", digits, difference.error);
  if (difference.seeds < 2) return std::string(mean) + " (one seed)";
  const std::string both = std::string(mean) + " ± " + error;
  return difference.beyond_spread() ? both : "none (" + both + ")";
}

}  // namespace isentropic::lab
