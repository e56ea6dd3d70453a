// Output and records of finished rows, read back from the device and compared with the oracle.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "attention/cuda/forward.hpp"
#include "cuda/device_case.hpp"
#include "reference/forward.hpp"

namespace isentropic::cuda {

struct FinishedRows {
  Numbers output, m, z, u, w, c;   // output: empty if none was written
  std::vector<std::int64_t> k, a;  // empty: not checked
};

// Without k and a, which not every kernel writes.
inline FinishedRows read_rows(const Problem& problem, const ForwardOutput& out) {
  require(cudaDeviceSynchronize());
  const auto rows = static_cast<std::size_t>(problem.rows());
  const auto reals = [&](const void* data) { return read_numbers(real_type(problem.type), data, rows); };
  FinishedRows found;
  if (out.output) found.output = read_numbers(problem.type, out.output, rows * static_cast<std::size_t>(problem.d_v));
  found.m = reals(out.rows.m), found.z = reals(out.rows.z);
  found.u = reals(out.rows.u), found.w = reals(out.rows.w), found.c = reals(out.rows.c);
  return found;
}

// Checks L, H, V and sum p^2 of the records. V is a difference of moments, so its error grows with the mean.
inline void expect_records(const reference::Forward& expected, const FinishedRows& found,
                           MomentSet moments = MomentSet::all) {
  const auto& of = expected.statistics;
  const std::size_t n_k = expected.weights.size() / found.m.size();
  for (std::size_t row = 0; row < found.m.size(); ++row) {
    SCOPED_TRACE("row " + std::to_string(row));
    if (!found.k.empty()) {
      ASSERT_EQ(found.k[row], expected.visible[row]);
    }
    if (expected.visible[row] == 0) {
      ASSERT_EQ(found.m[row], -INFINITY);
      ASSERT_EQ(found.z[row], 0);
      if (!found.a.empty()) {
        ASSERT_EQ(found.a[row], -1);
      }
      continue;
    }
    if (!found.a.empty()) {
      // Scores that differ only in the last digits may swap places.
      const double* weights = expected.weights.data() + row * n_k;
      ASSERT_GE(found.a[row], 0);
      ASSERT_LT(found.a[row], static_cast<std::int64_t>(n_k));
      ASSERT_GE(weights[found.a[row]], (1 - 1e-3) * *std::max_element(weights, weights + n_k));
    }
    const double z = found.z[row], mean = found.u[row] / z, highest = of.at("max_score")[row];
    ASSERT_NEAR(found.m[row], highest, 2e-5 * (1 + std::abs(highest)));
    ASSERT_NEAR(1 / z, of.at("peak")[row], 2e-4);
    if (moments == MomentSet::partition) continue;
    ASSERT_NEAR(std::log(z) - mean, of.at("entropy")[row], 2e-4 * (1 + of.at("entropy")[row]));
    if (moments == MomentSet::entropy) continue;
    const double variance = of.at("score_variance")[row];
    ASSERT_NEAR(found.w[row] / z - mean * mean, variance, 2e-4 * (1 + variance + mean * mean));
    ASSERT_NEAR(found.c[row] / (z * z), of.at("collision")[row], 2e-4);
  }
}

}  // namespace isentropic::cuda
