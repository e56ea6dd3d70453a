// Where finished rows write their statistics. Rows may be written from several threads, each row once.
#pragma once

#include <cstdint>
#include <vector>

#include "attention/problem/dims.hpp"
#include "isentropic/attention.hpp"

namespace isentropic {

// The sums of weights that are not a softmax.
struct PlainRecord {
  double sum_absolute = 0;  // sum |a|
  double sum_squares = 0;   // sum a^2
  double max_absolute = 0;  // max |a|
  double entropy = 0;       // -sum a log a, if the weights are a distribution
  double max_score = 0;
  std::int64_t k = 0;
  std::int64_t argmax = -1;
};

// The sums a pass must accumulate for these statistics.
MomentSet moments_for(const Statistics& statistics);

class StatisticsWriter {
 public:
  explicit StatisticsWriter(const AttentionProblem& problem);

  const Statistics& asked() const { return asked_; }
  void write(std::int64_t row, std::int64_t head, const SoftmaxRecord<double>& keys);
  void write(std::int64_t row, const KeyGroupsRecord& groups, std::int64_t position);
  void write(std::int64_t row, const PlainRecord& record);
  RowStatistics take() { return std::move(statistics_); }

 private:
  void set(Statistic statistic, std::int64_t row, double value);

  const AttentionProblem& problem_;
  Statistics asked_;
  RowStatistics statistics_;
  // Where each statistic's numbers go, null for those not requested: cached because every row writes a dozen of them
  // individually.
  struct Column {
    void* data = nullptr;
    DType type = DType::float32;
  };
  std::vector<Column> columns_;
};

// keys and sink together: what normalises the output.
SoftmaxRecord<double> with_sink(const AttentionProblem& problem, std::int64_t head, const SoftmaxRecord<double>& keys);

}  // namespace isentropic
