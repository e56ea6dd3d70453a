// The parts of finishing a row that do not depend on the type of its sum.
#include "attention/passes/row_finisher.hpp"

#include <cmath>

namespace isentropic {

RowFinisher::RowFinisher(const AttentionProblem& problem, const Visibility& visibility, MomentSet moments,
                         AttentionResult& result)
    : problem_(problem), visibility_(visibility), dims_(problem), writer_(problem), result_(result) {
  result_.rows.allocate_records(moments);
}

double RowFinisher::output_factor(std::int64_t head, const SoftmaxRecord<double>& keys) const {
  if (keys.empty()) return 0;
  const SoftmaxRecord<double> total = with_sink(problem_, head, keys);
  return std::exp(keys.m - total.m) / total.sums.z;
}

}  // namespace isentropic
