// Key-group statistics: one record per group of a row's keys, merged only at the end (key_groups.hpp).
#include "attention/cuda/plain.hpp"
#include "attention/cuda/plain_tiles.cuh"

namespace isentropic::cuda {
namespace {

using namespace plain;

template <class R>
struct GroupShared {
  R staged[kTile * kPitch], products[kTile * kPitch];
  ScoreRow<R> rows[kTile];
  KeyRange range;
};

// A record that also sums distances, sum_j e^{s_j - m} (p - j).
template <class R>
struct GroupRecord {
  R m = -kInfinity<R>, z = R(0), u = R(0), distance = R(0);
  int k = 0;

  // Rebases the sums to a larger maximum. Without mass there is nothing to rebase; a NaN stays NaN.
  __device__ void rebase(R highest) {
    if (m != -kInfinity<R>) {
      const R delta = m - highest, r = exp(delta);
      u = r == R(0) ? R(0) : r * (u + delta * z);
      z *= r, distance *= r;
    }
    m = highest;
  }
  __device__ void add(R score, R lag) {
    ++k;
    if (score == -kInfinity<R>) return;
    if (score > m) rebase(score);
    const R t = score - m, weight = exp(t);
    z += weight, u += t * weight, distance += weight * lag;
  }
  __device__ void merge(GroupRecord other) {
    if (other.m > m) rebase(other.m);
    if (m > other.m) other.rebase(m);
    z += other.z, u += other.u, distance += other.distance, k += other.k;
  }
  __device__ void merge_sharers() {
    for (int lanes = kSharers / 2; lanes > 0; lanes /= 2) {
      const auto of_other = [&](auto x) { return __shfl_xor_sync(0xffffffffu, x, lanes); };
      GroupRecord other;
      other.m = of_other(m), other.z = of_other(z), other.u = of_other(u), other.distance = of_other(distance);
      other.k = of_other(k);
      merge(other);
    }
  }
};

// The bounds of a row's groups.
struct GroupBounds {
  std::int64_t first_end, recent_begin, recent_end;

  __device__ GroupBounds(std::int64_t document, std::int64_t position, const KeyGroupArrays& groups)
      : first_end(document + groups.first),
        recent_begin(max(first_end, position - groups.recent + 1)),
        recent_end(max(recent_begin, position + 1)) {}
};

template <class R>
__device__ void write_groups(const KeyGroupArrays& out, std::int64_t place, const GroupRecord<R>& first,
                             const GroupRecord<R>& recent, const GroupRecord<R>& rest) {
  GroupRecord<R> kept = recent;
  kept.merge(rest);
  GroupRecord<R> all = kept;
  all.merge(first);
  const auto set = [&](void* array, R value) {
    if (array) static_cast<R*>(array)[place] = all.z == R(0) ? R(0) : value;
  };
  const auto mass = [&](const GroupRecord<R>& part) {
    return part.m == all.m ? part.z / all.z : part.z * exp(part.m - all.m) / all.z;
  };
  SoftmaxRecord<R> without_first;
  without_first.m = kept.m, without_first.k = kept.k;
  without_first.sums = {all.z == all.z ? kept.z : all.z, kept.u, R(0), R(0)};  // a NaN score makes the row NaN
  set(out.first_mass, mass(first));
  set(out.recent_mass, mass(recent));
  set(out.entropy_without_first, entropy(without_first));
  set(out.mean_distance, all.distance / all.z);
}

template <class R>
__global__ void __launch_bounds__(kThreads, kBlocksOfSm<R, 0>)
    groups_kernel(const __grid_constant__ Problem p, const __grid_constant__ KeyGroupArrays out,
                  const std::int64_t tiles) {
  GroupShared<R>& shared = *reinterpret_cast<GroupShared<R>*>(block_memory());
  const std::int64_t first = (tiles - 1 - blockIdx.x % tiles) * kTile, of = blockIdx.x / tiles;
  const Head head = {of / p.heads, of % p.heads};
  load_rows(p, head, first, shared.rows, shared.range);
  const ScoreRow<R>& row = shared.rows[outer_of_thread()];
  std::int64_t document = 0;
  if (out.positions_in_document && row.i < p.n_q)
    document = row.position - out.positions_in_document[head.b * p.n_q + row.i];
  const GroupBounds bounds(document, row.position, out);

  GroupRecord<R> first_keys, recent_keys, other_keys;
  for (std::int64_t keys = next_tile(shared.range, 0); keys < p.n_k; keys = next_tile(shared.range, keys + kTile)) {
    const unsigned seen = seen_by_row(p, head, shared.rows, keys);
    if (!__syncthreads_or(seen != 0)) continue;
    R products[kEdge][kEdge];
    multiply_rows(queries_of(p, head), first, keys_of(p, head), keys, shared.staged, products);
    keep_products(products, shared.products);
    __syncthreads();
#pragma unroll 1
    for (int n = 0; n < kShare; ++n) {
      if (!(seen >> n & 1u)) continue;
      const std::int64_t j = keys + inner_of(n);
      const R product = shared.products[inner_of(n) * kPitch + outer_of_thread()];
      const R score = finish_score(p, head, row, j, product).score, lag = static_cast<R>(row.position - j);
      if (j < bounds.first_end)
        first_keys.add(score, lag);
      else if (j >= bounds.recent_begin && j < bounds.recent_end)
        recent_keys.add(score, lag);
      else
        other_keys.add(score, lag);
    }
  }
  first_keys.merge_sharers(), recent_keys.merge_sharers(), other_keys.merge_sharers();
  if (is_first_sharer() && row.i < p.n_q) write_groups(out, of * p.n_q + row.i, first_keys, recent_keys, other_keys);
}

}  // namespace

cudaError_t plain_key_groups(const Problem& problem, const KeyGroupArrays& groups, cudaStream_t stream) {
  return with_real(problem.type, [&](auto real) {
    using R = decltype(real);
    const std::int64_t tiles = tiles_of(problem.n_q);
    return launch(groups_kernel<R>, problem.batch * problem.heads * tiles, sizeof(GroupShared<R>), stream, problem,
                  groups, tiles);
  });
}

}  // namespace isentropic::cuda
