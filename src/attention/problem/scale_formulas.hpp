// The formulas of the scale laws, for host and device: their names and parameters are in the table of scale.cpp (see
// isentropic/scale.hpp).
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "isentropic/softmax_record.hpp"

namespace isentropic {

// In the order of Scale::laws(); the last two are not formulas.
enum class LawNumber : int {
  inverse_sqrt_d,
  log_n,
  log_n_sqrt_d,
  sqrt_log_n,
  frozen,
  hybrid,
  trained_length,
  info_scale,
  ssmax,
  yarn,
  llama4,
  constant,
  per_row,
  target_entropy
};

// The variables of a formula: the parameters for the row's head, the learnable ones first.
struct LawTerms {
  static constexpr int kMostParameters = 2;
  double parameter[kMostParameters];
  double d;
  double log_n;           // log_of the number of keys the row sees
  std::int64_t position;  // of the query within its document, from 0
};

inline constexpr double kNotAFormula = std::numeric_limits<double>::quiet_NaN();

// 0 for n <= 1.
ISENTROPIC_HOST_DEVICE inline double log_of(double n) { return n > 1 ? std::log(n) : 0.0; }

ISENTROPIC_HOST_DEVICE inline double llama4_scale(const LawTerms& x) {
  // A query may come before the first key (aligned to the end, more queries than keys): no step yet.
  const std::int64_t passed = x.position < 0 ? 0 : x.position + 1;
  const std::int64_t steps = passed / static_cast<std::int64_t>(x.parameter[0]);
  return (1 + x.parameter[1] * std::log1p(static_cast<double>(steps))) / std::sqrt(x.d);
}

// The distance from a direction to the nearest of n random ones on a sphere in d dimensions shrinks as n^(-1/d), and
// the cosine of that angle grows as sqrt(1 - n^(-2/d)).
ISENTROPIC_HOST_DEVICE inline double nearest_cosine(double log_n, double d) {
  return std::sqrt(-std::expm1(-2 * log_n / d));
}

// A law that is linear in its learnable parameters needs no extra code for its gradients.
ISENTROPIC_HOST_DEVICE inline double scale_by_law(LawNumber law, const LawTerms& x) {
  switch (law) {
    case LawNumber::inverse_sqrt_d:
      return 1 / std::sqrt(x.d);
    case LawNumber::log_n:
      return x.parameter[0] * x.log_n / x.d;
    case LawNumber::log_n_sqrt_d:
      return x.parameter[0] * x.log_n / std::sqrt(x.d);
    case LawNumber::sqrt_log_n:
      return x.parameter[0] * std::sqrt(x.log_n / x.d);
    case LawNumber::frozen:
      return x.parameter[0] * log_of(x.parameter[1]) / x.d;
    case LawNumber::hybrid:
      return x.parameter[0] / std::sqrt(x.d) + x.parameter[1] * x.log_n / x.d;
    case LawNumber::trained_length: {
      const double ratio = x.log_n / log_of(x.parameter[0]);
      return (ratio > 1 ? ratio : 1.0) / std::sqrt(x.d);
    }
    case LawNumber::info_scale:
      return nearest_cosine(x.log_n, x.d) / nearest_cosine(log_of(x.parameter[0]), x.d) / std::sqrt(x.d);
    case LawNumber::ssmax:
      return x.parameter[0] * x.log_n;
    case LawNumber::yarn: {
      const double root = 0.1 * x.parameter[1] * std::log(x.parameter[0]) + 1;
      return root * root / std::sqrt(x.d);
    }
    case LawNumber::llama4:
      return llama4_scale(x);
    case LawNumber::constant:
      return x.parameter[0];
    case LawNumber::per_row:
    case LawNumber::target_entropy:
      break;
  }
  return kNotAFormula;
}

// d lambda / d parameter: the law with that parameter 1 and the other learnable ones 0.
ISENTROPIC_HOST_DEVICE inline double scale_derivative(LawNumber law, LawTerms x, int learnable, int parameter) {
  for (int index = 0; index < LawTerms::kMostParameters; ++index)
    if (index < learnable) x.parameter[index] = index == parameter ? 1.0 : 0.0;
  return scale_by_law(law, x);
}

}  // namespace isentropic
