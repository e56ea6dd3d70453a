// Finishes a streamed row, on any device: turns the record into statistics and the unnormalised sum into an output.
#pragma once

#include "attention/passes/passes.hpp"
#include "attention/passes/statistics_writer.hpp"
#include "attention/problem/visibility.hpp"
#include "base/element.hpp"

namespace isentropic {

// Rows may be finished from several threads, each row once.
class RowFinisher {
 public:
  // Fills `result`, which must not move: records, output if any, and, in take_statistics(), statistics.
  RowFinisher(const AttentionProblem& problem, const Visibility& visibility, MomentSet moments,
              AttentionResult& result);

  // The statistics that the pass must supply.
  const Statistics& asked() const { return writer_.asked(); }

  // `sum`: sum_j e^{s_j - m} v_j, which becomes the output; null without values. `groups`: null if not requested.
  template <class T>
  void finish(std::int64_t b, std::int64_t h, std::int64_t i, const SoftmaxRecord<double>& record,
              const KeyGroupsRecord* groups, T* sum) {
    const std::int64_t row = dims_.row(b, h, i);
    result_.rows.set_record(row, record);
    writer_.write(row, h, record);
    if (groups) writer_.write(row, *groups, visibility_.place(b, i).position);
    if (!sum) return;
    const T factor = static_cast<T>(output_factor(h, record));
    for (std::int64_t c = 0; c < dims_.d_v; ++c) sum[c] *= factor;
    if (problem_.map.sample() == GumbelSample::straight_through) take_chosen_value(b, h, record.a, sum);
    store(result_.output, row * dims_.d_v, dims_.d_v, sum);
  }

  void take_statistics() { result_.statistics = writer_.take(); }

 private:
  // e^{m - L}: the factor that normalises a sum relative to m; 0 for a row without keys.
  double output_factor(std::int64_t head, const SoftmaxRecord<double>& keys) const;

  // The value of the key a straight-through sample chose.
  template <class T>
  void take_chosen_value(std::int64_t b, std::int64_t h, std::int64_t chosen, T* out) const {
    std::fill_n(out, dims_.d_v, T(0));
    if (chosen < 0) return;
    const View& value = problem_.value;
    load(value, b * value.stride[0] + dims_.kv_head(h) * value.stride[1] + chosen * value.stride[2], dims_.d_v, out);
  }

  const AttentionProblem& problem_;
  const Visibility& visibility_;
  const Dims dims_;
  StatisticsWriter writer_;
  AttentionResult& result_;
};

}  // namespace isentropic
