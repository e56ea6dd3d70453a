// Statistics of finished records, one thread per row, by the same formulas as on the CPU.
#include "attention/cuda/statistics_record.cuh"
#include "attention/cuda/thread_block.cuh"

namespace isentropic::cuda {
namespace {

constexpr int kRowsOfBlock = 128;

template <class R>
__global__ void statistics_kernel(const Problem p, const RowArrays in, const StatisticsOutput out) {
  const std::int64_t row = std::int64_t{blockIdx.x} * kRowsOfBlock + threadIdx.x;
  if (row >= p.batch * p.heads * p.n_q) return;
  const RowIndex at = row_index(p, row);
  const SoftmaxRecord<double> keys = record_at<R>(p, in, at);
  const double sink = number_at<R>(p.sink, at.h);
  const SoftmaxRecord<double> all = p.sink ? merge(keys, sink_logit(sink)) : keys;
  // Double-precision logarithms and exponentials take most of the time, so only requested statistics are computed.
  const auto set = [&](Statistic statistic, auto value) {
    if (void* column = out.real[static_cast<int>(statistic)]) static_cast<R*>(column)[row] = static_cast<R>(value());
  };
  set(Statistic::log_partition, [&] { return log_partition(all); });
  set(Statistic::entropy, [&] { return entropy(keys); });
  set(Statistic::mean_score, [&] { return mean_score(keys); });
  set(Statistic::score_variance, [&] { return score_variance(keys); });
  set(Statistic::max_score, [&] { return keys.m; });
  set(Statistic::normalised_entropy, [&] { return normalised_entropy(keys); });
  set(Statistic::peak, [&] { return fmin(peak(keys), 1.0); });  // the stored maximum is rounded
  set(Statistic::collision, [&] { return collision(keys); });
  set(Statistic::sparsity, [&] { return sparsity(keys); });
  set(Statistic::participation, [&] { return participation(keys); });
  set(Statistic::effective_keys, [&] { return keys.empty() ? 0.0 : exp(entropy(keys)); });
  if (p.sink) set(Statistic::sink_mass, [&] { return exp(sink - log_partition(all)); });
  if (out.visible) out.visible[row] = keys.k;
  const std::int64_t highest = in.a ? in.a[row] : -1;
  if (out.argmax) out.argmax[row] = highest;
  if (out.k) out.k[row] = keys.k;
  if (out.a) out.a[row] = highest;
  if (out.n) out.n[row] = out.counts_n ? keys.k : -1;
  if (out.status) out.status[row] = 0;
  if (out.lambda) static_cast<R*>(out.lambda)[row] = static_cast<R>(p.scale);
}

}  // namespace

cudaError_t statistics(const Problem& problem, const RowArrays& rows, const StatisticsOutput& output,
                       cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>((problem.rows() + kRowsOfBlock - 1) / kRowsOfBlock);
  const auto kernel = problem.type == ElementType::float64 ? statistics_kernel<double> : statistics_kernel<float>;
  return launch_kernel(kernel, blocks, kRowsOfBlock, 0, stream, problem, rows, output);
}

}  // namespace isentropic::cuda
