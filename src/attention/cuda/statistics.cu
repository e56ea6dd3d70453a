// Statistics of finished records, a thread for each row, by the formulas that the CPU uses.
#include "attention/cuda/forward.hpp"
#include "attention/cuda/visible_keys.cuh"

namespace isentropic::cuda {
namespace {

constexpr int kRowsOfBlock = 128, kRowState = 11;

__global__ void statistics_kernel(const ForwardProblem p, const StatisticsOutput out) {
  const std::int64_t row = std::int64_t{blockIdx.x} * kRowsOfBlock + threadIdx.x;
  if (row >= p.batch * p.heads * p.n_q) return;
  const std::int64_t i = row % p.n_q, h = row / p.n_q % p.heads, b = row / p.n_q / p.heads;
  SoftmaxRecord<double> keys;
  keys.m = p.m[row];
  keys.sums = {p.z[row], p.moments == MomentSet::partition ? 0.0 : p.u[row],
               p.moments == MomentSet::all ? p.w[row] : 0.0, p.moments == MomentSet::all ? p.c[row] : 0.0};
  keys.k = count_of(span_of(p, b, i), prefix_of(p, b));
  const SoftmaxRecord<double> all = p.sink ? merge(keys, sink_logit(static_cast<double>(p.sink[h]))) : keys;
  const auto set = [&](Statistic statistic, double value) {
    if (float* column = out.real[static_cast<int>(statistic)]) column[row] = static_cast<float>(value);
  };
  set(Statistic::log_partition, log_partition(all));
  set(Statistic::entropy, entropy(keys));
  set(Statistic::mean_score, mean_score(keys));
  set(Statistic::score_variance, score_variance(keys));
  set(Statistic::max_score, keys.m);
  set(Statistic::normalised_entropy, normalised_entropy(keys));
  set(Statistic::peak, peak(keys));
  set(Statistic::collision, collision(keys));
  set(Statistic::sparsity, sparsity(keys));
  set(Statistic::participation, participation(keys));
  set(Statistic::effective_keys, keys.empty() ? 0.0 : exp(entropy(keys)));
  if (p.sink) set(Statistic::sink_mass, exp(p.sink[h] - log_partition(all)));
  if (out.visible) out.visible[row] = keys.k;
  if (!out.rows) return;
  const double state[kRowState] = {keys.m,
                                   keys.sums.z,
                                   keys.sums.u,
                                   keys.sums.w,
                                   keys.sums.c,
                                   static_cast<double>(keys.k),
                                   -1.0,
                                   p.scales ? p.scales[row] : p.scale,
                                   out.counts ? static_cast<double>(keys.k) : -1.0,
                                   0.0,
                                   static_cast<double>(p.moments)};
  for (int field = 0; field < kRowState; ++field) out.rows[row * kRowState + field] = state[field];
}

}  // namespace

cudaError_t statistics(const ForwardProblem& problem, const StatisticsOutput& output, cudaStream_t stream) {
  const std::int64_t rows = problem.batch * problem.heads * problem.n_q;
  const auto blocks = static_cast<unsigned>((rows + kRowsOfBlock - 1) / kRowsOfBlock);
  if (blocks > 0) statistics_kernel<<<blocks, kRowsOfBlock, 0, stream>>>(problem, output);
  return cudaGetLastError();
}

}  // namespace isentropic::cuda
