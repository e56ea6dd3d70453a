// S of weights that decay with distance, a_j = lambda^(n - j), over lambda and n.
//
// lambda = 1 - 2^-k remembers about 2^k keys: n S^2 tends to (1 + lambda)/(1 - lambda) = 2^(k+1) - 1 as n grows, and S
// falls like n^-1/2; while n is below 2^k S stays near 1. No keys are drawn: the weights do not depend on them.
#pragma once

#include <cstdint>
#include <vector>

namespace isentropic::experiments::sparsity {

inline constexpr int kSlowestDecay = 12;  // lambda = 1 - 2^-12
inline constexpr std::int64_t kDecayLengths[] = {4, 16, 64, 256, 1024, 4096, 16384};

struct DecayCurve {
  double lambda = 0.5;
  std::vector<double> measured = {};       // S measured with the kernel, one per length in kDecayLengths
  std::vector<double> participation = {};  // n S^2

  double formula(double n) const;
  double most_keys() const;  // (1 + lambda)/(1 - lambda), the limit of n S^2
};

// lambda = 1 - 2^-1 ... 1 - 2^-kSlowestDecay.
std::vector<DecayCurve> decay_curves();

}  // namespace isentropic::experiments::sparsity
