// Random row records, for tests of per-row computations.
#pragma once

#include "attention/cuda/rows.hpp"
#include "cuda/device_case.hpp"

namespace isentropic::cuda {

using Records = std::vector<SoftmaxRecord<double>>;

// Finished rows of 0 to 20 keys, rounded to the accumulation type.
inline Records random_records(const Problem& p, std::mt19937& random) {
  const ElementType real = real_type(p.type);
  Records out;
  for (std::int64_t row = 0; row < p.rows(); ++row) {
    SoftmaxRecord<double> record;
    const Numbers scores = normal(row % 21, 2, real, random);
    for (std::size_t j = 0; j < scores.size(); ++j)
      record = merge(record, single_key(scores[j], static_cast<std::int64_t>(j)));
    for (double* sum : {&record.m, &record.sums.z, &record.sums.u, &record.sums.w, &record.sums.c})
      *sum = round_to(real, *sum);
    out.push_back(record);
  }
  return out;
}

inline RowArrays on_device(const Problem& p, const Records& records, DeviceMemory& memory) {
  Numbers m, z, u, w, c;
  std::vector<std::int64_t> k, a;
  for (const SoftmaxRecord<double>& record : records) {
    m.push_back(record.m), z.push_back(record.sums.z), u.push_back(record.sums.u);
    w.push_back(record.sums.w), c.push_back(record.sums.c), k.push_back(record.k), a.push_back(record.a);
  }
  const auto numbers = [&](const Numbers& values) { return memory.numbers(real_type(p.type), values); };
  return {numbers(m), numbers(z), numbers(u), numbers(w), numbers(c), memory.list(k), memory.list(a)};
}

inline Problem row_problem(ElementType type, std::int64_t d_v = 64) {
  Problem p;
  p.type = type;
  p.batch = 2, p.heads = 3, p.kv_heads = 1, p.n_q = 71, p.n_k = 90, p.d = 64, p.d_v = d_v;
  return p;
}

// Equal within `steps` units of rounding of the accumulation type; NaN and Inf must match.
inline void expect_close(ElementType type, double found, double expected, double steps) {
  if (!std::isfinite(expected)) {
    const bool same = std::isnan(expected) ? std::isnan(found) : found == expected;
    ASSERT_TRUE(same) << found << " where " << expected << " is expected";
    return;
  }
  const double unit = type == ElementType::float64 ? std::numeric_limits<double>::epsilon()
                                                   : static_cast<double>(std::numeric_limits<float>::epsilon());
  ASSERT_NEAR(found, expected, steps * unit * (1 + std::abs(expected)));
}

}  // namespace isentropic::cuda
