// The record's header compiles for both host and device: each merges records and reads every statistic here.
#include <cstdint>

#include "isentropic/softmax_record.hpp"

using namespace isentropic;

template <class T>
__host__ __device__ T merge_and_read(const T* scores, std::int64_t n) {
  SoftmaxRecord<T> row;
  for (std::int64_t j = 0; j < n; ++j) row = merge(row, single_key(scores[j], j));
  row = merge(row, sink_logit(T(0)));
  return log_partition(row) + entropy(row) + normalised_entropy(row) + mean_score(row) + score_variance(row) +
         peak(row) + collision(row) + participation(row) + sparsity(row);
}

template <class T>
__global__ void read_rows(const T* scores, std::int64_t n, T* read) {
  read[threadIdx.x] = merge_and_read(scores + threadIdx.x * n, n);
}

template <class T>
T read_on_both(const T* scores, std::int64_t n, T* read) {
  read_rows<<<1, 32>>>(scores, n, read);
  const T equal_scores[] = {T(0), T(0)};
  return merge_and_read(equal_scores, 2);
}

template float read_on_both(const float*, std::int64_t, float*);
template double read_on_both(const double*, std::int64_t, double*);
