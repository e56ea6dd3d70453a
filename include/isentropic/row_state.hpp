// What passes know of every row, one array per field: its scale and, of softmax maps, its record.
#pragma once

#include <cstdint>
#include <vector>

#include "isentropic/entropy_solver.hpp"
#include "isentropic/export.hpp"
#include "isentropic/softmax_record.hpp"
#include "isentropic/tensor.hpp"

namespace isentropic {

// Every array is [batch, heads, n_q]. Real numbers are float32, or float64 where the problem computes in it.
struct ISENTROPIC_API RowState {
  Tensor lambda;         // the scale that the row was given
  Tensor m, z, u, w, c;  // softmax maps: the record of the keys, without the sink; u, w and c as moments() says
  Tensor k, a;           // int64, likewise
  Tensor visible;        // int64: n of the whole problem; absent where the law does not look at it
  Tensor status;         // int64, TargetEntropyStatus; of target entropies alone
  Tensor iterations;     // int64: statistics passes spent, likewise

  std::int64_t rows() const { return lambda.size(); }
  double scale(std::int64_t row) const;
  TargetEntropyStatus solution(std::int64_t row) const;  // `status`, by its name

  bool has_records() const { return m.present(); }
  MomentSet moments() const;  // which sums the records hold
  SoftmaxRecord<double> record(std::int64_t row) const;
  std::vector<SoftmaxRecord<double>> records() const;

  // Arrays for the records of as many rows as there are scales: empty ones.
  void allocate_records(MomentSet moments);
  void set_record(std::int64_t row, const SoftmaxRecord<double>& record);
};

}  // namespace isentropic
