// Turns the records of finished rows into the requested statistics.
#include "attention/passes/statistics_writer.hpp"

#include <cmath>
#include <initializer_list>

#include "attention/problem/validate.hpp"
#include "base/element.hpp"

namespace isentropic {
namespace {

constexpr Statistic kEvery[] = {
#define ISENTROPIC_LIST(name) Statistic::name,
    ISENTROPIC_FOR_EACH_STATISTIC(ISENTROPIC_LIST)
#undef ISENTROPIC_LIST
};

bool is_integer(Statistic statistic) { return statistic == Statistic::visible || statistic == Statistic::argmax; }

bool wants_any(const Statistics& statistics, std::initializer_list<Statistic> list) {
  for (Statistic statistic : list)
    if (statistics.has(statistic)) return true;
  return false;
}

}  // namespace

MomentSet moments_for(const Statistics& statistics) {
  if (wants_any(statistics,
                {Statistic::score_variance, Statistic::collision, Statistic::sparsity, Statistic::participation}))
    return MomentSet::all;
  if (wants_any(statistics, {Statistic::entropy, Statistic::normalised_entropy, Statistic::effective_keys,
                             Statistic::mean_score, Statistic::entropy_without_first}))
    return MomentSet::entropy;
  return MomentSet::partition;
}

SoftmaxRecord<double> with_sink(const AttentionProblem& problem, std::int64_t head, const SoftmaxRecord<double>& keys) {
  return problem.sink ? merge(keys, sink_logit((*problem.sink)[head])) : keys;
}

StatisticsWriter::StatisticsWriter(const AttentionProblem& problem)
    : problem_(problem), asked_(available_statistics(problem)), columns_(std::size(kEvery)) {
  const Dims dims(problem);
  for (Statistic statistic : kEvery)
    if (asked_.has(statistic)) {
      Tensor& column = statistics_[statistic];
      column =
          Tensor(is_integer(statistic) ? DType::int64 : statistics_type(problem), {dims.batch, dims.heads, dims.n_q});
      with_element_type(column.type(), [&]<class E>() {
        columns_[static_cast<std::size_t>(statistic)] = {column.values<E>().data(), column.type()};
      });
    }
}

void StatisticsWriter::set(Statistic statistic, std::int64_t row, double value) {
  const Column& column = columns_[static_cast<std::size_t>(statistic)];
  if (!column.data) return;
  if (column.type == DType::float32)
    static_cast<float*>(column.data)[row] = static_cast<float>(value);
  else if (column.type == DType::float64)
    static_cast<double*>(column.data)[row] = value;
  else
    static_cast<std::int64_t*>(column.data)[row] = static_cast<std::int64_t>(value);
}

void StatisticsWriter::write(std::int64_t row, std::int64_t head, const SoftmaxRecord<double>& keys) {
  if (asked_.empty()) return;
  const double total = log_partition(with_sink(problem_, head, keys));
  set(Statistic::log_partition, row, total);
  set(Statistic::entropy, row, entropy(keys));
  set(Statistic::mean_score, row, mean_score(keys));
  set(Statistic::score_variance, row, score_variance(keys));
  set(Statistic::max_score, row, keys.m);
  set(Statistic::normalised_entropy, row, normalised_entropy(keys));
  set(Statistic::peak, row, peak(keys));
  set(Statistic::collision, row, collision(keys));
  set(Statistic::sparsity, row, sparsity(keys));
  set(Statistic::participation, row, participation(keys));
  set(Statistic::effective_keys, row, keys.empty() ? 0.0 : std::exp(entropy(keys)));
  set(Statistic::visible, row, static_cast<double>(keys.k));
  set(Statistic::argmax, row, static_cast<double>(keys.a));
  if (problem_.sink) set(Statistic::sink_mass, row, std::exp((*problem_.sink)[head] - total));
}

void StatisticsWriter::write(std::int64_t row, const KeyGroupsRecord& groups, std::int64_t position) {
  const LocatedRecord kept = merge(groups.group[kRecentKeys], groups.group[kOtherKeys]);
  const LocatedRecord all = merge(groups.group[kFirstKeys], kept);
  const auto mass = [&](KeyGroup group) {
    const SoftmaxRecord<double>& part = groups.group[group].record;
    return part.empty() ? 0.0 : std::exp(log_partition(part) - log_partition(all.record));
  };
  set(Statistic::first_mass, row, mass(kFirstKeys));
  set(Statistic::recent_mass, row, mass(kRecentKeys));
  set(Statistic::entropy_without_first, row, entropy(kept.record));
  const double mean_position = all.record.empty() ? static_cast<double>(position) : all.location / all.record.sums.z;
  set(Statistic::mean_distance, row, static_cast<double>(position) - mean_position);
}

void StatisticsWriter::write(std::int64_t row, const PlainRecord& record) {
  const double k = static_cast<double>(record.k);
  const bool any = record.sum_squares != 0;
  set(Statistic::sparsity, row, any ? record.sum_absolute / std::sqrt(k * record.sum_squares) : 0.0);
  set(Statistic::participation, row, any ? record.sum_absolute * record.sum_absolute / record.sum_squares : 0.0);
  set(Statistic::collision, row, record.sum_squares);
  set(Statistic::peak, row, record.max_absolute);
  set(Statistic::entropy, row, record.entropy);
  set(Statistic::normalised_entropy, row, record.k > 1 ? record.entropy / std::log(k) : 0.0);
  set(Statistic::effective_keys, row, any ? std::exp(record.entropy) : 0.0);
  set(Statistic::max_score, row, record.max_score);
  set(Statistic::visible, row, k);
  set(Statistic::argmax, row, static_cast<double>(record.argmax));
}

}  // namespace isentropic
