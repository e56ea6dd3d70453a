// What passes know about every row, one array per field: its scale and, for softmax maps, its record.
#pragma once

#include <cstdint>
#include <vector>

#include "isentropic/entropy_solver.hpp"
#include "isentropic/export.hpp"
#include "isentropic/softmax_record.hpp"
#include "isentropic/tensor.hpp"

namespace isentropic {

// Every array is [batch, heads, n_q]. Real numbers are float32, or float64 if the problem computes in float64.
struct ISENTROPIC_API RowState {
  Tensor lambda;         // the row's scale
  Tensor m, z, u, w, c;  // softmax maps: the record of the keys, without the sink; u, w, c as moments() says
  Tensor k, a;           // int64, likewise
  Tensor visible;        // int64: n of the whole problem; absent if the law does not depend on it
  Tensor status;         // int64, TargetEntropyStatus; target entropies only
  Tensor iterations;     // int64: statistics passes spent, likewise

  std::int64_t rows() const { return lambda.size(); }
  double scale(std::int64_t row) const;
  TargetEntropyStatus solution(std::int64_t row) const;  // `status` as the enum

  bool has_records() const { return m.present(); }
  MomentSet moments() const;  // which sums the records contain
  SoftmaxRecord<double> record(std::int64_t row) const;
  std::vector<SoftmaxRecord<double>> records() const;

  // Allocates empty records, one for each row that has a scale.
  void allocate_records(MomentSet moments);
  void set_record(std::int64_t row, const SoftmaxRecord<double>& record);
};

}  // namespace isentropic
