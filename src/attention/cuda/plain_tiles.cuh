// Tiles of the plain kernels: 64 x 64 numbers, processed by 256 threads.
//
// The outer axis of a tile is that of the queries or keys the block owns; the block walks along the inner axis. While
// products are formed, thread t holds 4 x 4 numbers: outer 4 (t / 16) ... + 3, inner 4 (t % 16) ... + 3. They are then
// stored in shared memory, inner index first, and thread t reads sixteen numbers of outer index t / 4 (inner_of): the
// sums of an owner are shared by four threads, neighbours in a warp. The stored tile is the left operand of the next
// product.
#pragma once

#include "attention/cuda/scores.cuh"
#include "attention/cuda/thread_block.cuh"

namespace isentropic::cuda::plain {

constexpr int kTile = 64, kThreads = 256, kEdge = 4;
constexpr int kSharers = kThreads / kTile, kShare = kTile / kSharers;
constexpr int kSlice = 32;         // of the common index of scores
constexpr int kPitch = kTile + 4;  // of staged rows: aligned for vectors, and transposed stores have no bank conflicts
constexpr std::int64_t kNoTile = std::numeric_limits<std::int64_t>::max();

// Blocks that fit on a multiprocessor at a time, limited by registers.
template <class R, int kSlices>
inline constexpr int kBlocksOfSm = sizeof(R) == 4 && kSlices <= 2 ? 2 : 1;

__device__ inline int first_row() { return static_cast<int>(threadIdx.x) / (kTile / kEdge) * kEdge; }
__device__ inline int first_column() { return static_cast<int>(threadIdx.x) % (kTile / kEdge) * kEdge; }

__device__ inline int outer_of_thread() { return static_cast<int>(threadIdx.x) / kSharers; }
__device__ inline bool is_first_sharer() { return threadIdx.x % kSharers == 0; }
// The inner index of the thread's number n < kShare; every four consecutive n are neighbours, the first at a multiple
// of 4.
__device__ inline int inner_of(int n) {
  return n / 4 * (4 * kSharers) + static_cast<int>(threadIdx.x) % kSharers * 4 + n % 4;
}

inline std::int64_t tiles_of(std::int64_t n) { return (n + kTile - 1) / kTile; }

// ---- Factors ----

// One head of a tensor: rows x columns.
struct Matrix {
  const void* data;
  ElementType type;
  std::int64_t origin, stride, rows, columns;
  const std::int64_t* which = nullptr;  // row r is row which[r] of the head
  std::int64_t head_rows = 0;           // with `which`: rows in the head
};

__device__ inline Matrix matrix_of(const void* data, ElementType type, const Strides& stride, std::int64_t b,
                                   std::int64_t h, std::int64_t rows, std::int64_t columns) {
  return {data, type, b * stride.batch + h * stride.head, stride.row, rows, data ? columns : 0};
}

__device__ inline Matrix queries_of(const Problem& p, const Head& head) {
  return matrix_of(p.query, p.type, p.query_stride, head.b, head.h, p.n_q, p.d);
}
__device__ inline std::int64_t kv_head_of(const Problem& p, std::int64_t h) { return h / (p.heads / p.kv_heads); }
__device__ inline Matrix keys_of(const Problem& p, const Head& head) {
  return matrix_of(p.key, p.type, p.key_stride, head.b, kv_head_of(p, head.h), p.n_k, p.d);
}
__device__ inline Matrix values_of(const Problem& p, const Head& head) {
  return matrix_of(p.value, p.type, p.value_stride, head.b, kv_head_of(p, head.h), p.n_k, p.d_v);
}

// The index of a row, or -1 if out of range.
__device__ inline std::int64_t row_of(const Matrix& m, std::int64_t r) {
  if (r >= m.rows) return -1;
  if (!m.which) return r;
  return m.which[r] < m.head_rows ? m.which[r] : -1;
}

// staged[c][r] = m[first + r][column + c] for kSlice columns, 0 where out of range.
template <class R>
__device__ inline void stage_transposed(const Matrix& m, std::int64_t first, std::int64_t column, R* staged) {
  constexpr int kLanes = 8;  // neighbouring columns of a row; with 4 rows they cover a warp and all banks
  with_element<R>(m.type, [&](auto element) {
    using E = decltype(element);
    const E* data = static_cast<const E*>(m.data) + m.origin;
#pragma unroll 1
    for (int r = static_cast<int>(threadIdx.x) / kLanes; r < kTile; r += kThreads / kLanes) {
      const std::int64_t row = row_of(m, first + r);
#pragma unroll
      for (int c = static_cast<int>(threadIdx.x) % kLanes; c < kSlice; c += kLanes)
        staged[c * kPitch + r] =
            row >= 0 && column + c < m.columns ? static_cast<R>(to_real(data[row * m.stride + column + c])) : R(0);
    }
  });
}

// staged[r][c] = m[first + r][column + c], kTile columns. Returns whether everything this thread read is finite.
template <class R>
__device__ inline bool stage(const Matrix& m, std::int64_t first, std::int64_t column, R* staged) {
  bool finite = true;
  with_element<R>(m.type, [&](auto element) {
    using E = decltype(element);
    const E* data = static_cast<const E*>(m.data) + m.origin;
    const int c = static_cast<int>(threadIdx.x) % kTile;
#pragma unroll 4
    for (int r = static_cast<int>(threadIdx.x) / kTile; r < kTile; r += kThreads / kTile) {
      const std::int64_t row = row_of(m, first + r);
      const R x =
          row >= 0 && column + c < m.columns ? static_cast<R>(to_real(data[row * m.stride + column + c])) : R(0);
      finite = finite && isfinite(x);
      staged[r * kPitch + c] = x;
    }
  });
  return finite;
}

// ---- Products ----

struct alignas(16) TwoDoubles {
  double x, y;
};
struct alignas(16) FourFloats {
  float x, y, z, w;
};

__device__ inline void read_four(const float* from, float (&x)[kEdge]) {
  const FourFloats v = *reinterpret_cast<const FourFloats*>(from);
  x[0] = v.x, x[1] = v.y, x[2] = v.z, x[3] = v.w;
}
__device__ inline void read_four(const double* from, double (&x)[kEdge]) {
  const TwoDoubles v = *reinterpret_cast<const TwoDoubles*>(from), w = *reinterpret_cast<const TwoDoubles*>(from + 2);
  x[0] = v.x, x[1] = v.y, x[2] = w.x, x[3] = w.y;
}
__device__ inline void write_four(float* to, float x, float y, float z, float w) {
  *reinterpret_cast<FourFloats*>(to) = {x, y, z, w};
}
__device__ inline void write_four(double* to, double x, double y, double z, double w) {
  *reinterpret_cast<TwoDoubles*>(to) = {x, y};
  *reinterpret_cast<TwoDoubles*>(to + 2) = {z, w};
}

// sum[r][c] += left[t][r] right[t][c]. Contained: a left factor of 0 skips the product, whatever is on the right.
template <bool kContained, int kCount, class R>
__device__ inline void add_products(const R* left, const R* right, R (&sum)[kEdge][kEdge]) {
  left += first_row(), right += first_column();
#pragma unroll 2
  for (int t = 0; t < kCount; ++t) {
    R x[kEdge], y[kEdge];
    read_four(left + t * kPitch, x);
    read_four(right + t * kPitch, y);
#pragma unroll
    for (int r = 0; r < kEdge; ++r)
#pragma unroll
      for (int c = 0; c < kEdge; ++c)
        if (!kContained || x[r] != R(0)) sum[r][c] = fma(x[r], y[c], sum[r][c]);
  }
}

// Products of rows of `left` and rows of `right`. Synchronises the block before it writes to `staged`.
template <class R>
__device__ inline void multiply_rows(const Matrix& left, std::int64_t first_left, const Matrix& right,
                                     std::int64_t first_right, R* staged, R (&sum)[kEdge][kEdge]) {
#pragma unroll
  for (int r = 0; r < kEdge; ++r)
#pragma unroll
    for (int c = 0; c < kEdge; ++c) sum[r][c] = R(0);
  for (std::int64_t column = 0; column < left.columns; column += kSlice) {
    __syncthreads();
    stage_transposed(left, first_left, column, staged);
    stage_transposed(right, first_right, column, staged + kSlice * kPitch);
    __syncthreads();
    add_products<false, kSlice>(staged, staged + kSlice * kPitch, sum);
  }
}

// tile[c][r] = sum[r][c]; the caller synchronises before reading it.
template <class R>
__device__ inline void keep_products(const R (&sum)[kEdge][kEdge], R* tile) {
#pragma unroll
  for (int c = 0; c < kEdge; ++c)
    write_four(tile + (first_column() + c) * kPitch + first_row(), sum[0][c], sum[1][c], sum[2][c], sum[3][c]);
}

// sum[s][r][c] += weights[t][r] right[first + t][column + kTile s + c]. Synchronises before reading `weights`.
template <class R, int kSlices>
__device__ inline void add_weighted(const R* weights, const Matrix& right, std::int64_t first, std::int64_t column,
                                    R* staged, R (&sum)[kSlices][kEdge][kEdge]) {
#pragma unroll
  for (int s = 0; s < kSlices; ++s) {
    if (column + s * kTile >= right.columns) break;
    __syncthreads();
    const bool finite = stage(right, first, column + s * kTile, staged);
    if (__syncthreads_or(!finite))
      add_products<true, kTile>(weights, staged, sum[s]);
    else
      add_products<false, kTile>(weights, staged, sum[s]);
  }
}

// m[first + r][column + c] = sum[r][c], skipping rows and columns out of range.
template <class R>
__device__ inline void store_tile(const Matrix& m, std::int64_t first, std::int64_t column,
                                  const R (&sum)[kEdge][kEdge]) {
  with_element<R>(m.type, [&](auto element) {
    using E = decltype(element);
    E* data = static_cast<E*>(const_cast<void*>(m.data)) + m.origin;
#pragma unroll
    for (int r = 0; r < kEdge; ++r)
#pragma unroll
      for (int c = 0; c < kEdge; ++c) {
        const std::int64_t row = first + first_row() + r, at = column + first_column() + c;
        if (row < m.rows && at < m.columns) data[row * m.stride + at] = from_real<E>(sum[r][c]);
      }
  });
}

// ---- Over the threads that share an owner ----

template <class T>
__device__ inline T sum_of_sharers(T x) {
  for (int lanes = kSharers / 2; lanes > 0; lanes /= 2) x += __shfl_xor_sync(0xffffffffu, x, lanes);
  return x;
}
template <class T>
__device__ inline T largest_of_sharers(T x) {
  for (int lanes = kSharers / 2; lanes > 0; lanes /= 2) {
    const T other = __shfl_xor_sync(0xffffffffu, x, lanes);
    x = other > x ? other : x;
  }
  return x;
}

// ---- Who sees whom ----

// Keys that any row of a tile may see.
struct KeyRange {
  int prefix_begin, prefix_end, begin, end;
};

__device__ inline void widen(KeyRange& range, const RowSpans& row) {
  if (row.prefix_begin < row.prefix_end)
    atomicMin(&range.prefix_begin, row.prefix_begin), atomicMax(&range.prefix_end, row.prefix_end);
  if (row.begin < row.end) atomicMin(&range.begin, row.begin), atomicMax(&range.end, row.end);
}

// The first tile of keys from j on that intersects the range.
__device__ inline std::int64_t next_tile(const KeyRange& range, std::int64_t j) {
  const auto in = [&](int begin, int end) { return j < end ? max(j, std::int64_t{begin / kTile * kTile}) : kNoTile; };
  return min(in(range.prefix_begin, range.prefix_end), in(range.begin, range.end));
}

// Loads rows first, first + 1, ... of a head, and the range of their keys; the block may then read both. Call it only
// once: it does not wait for threads still reading the range.
template <class R>
__device__ inline void load_rows(const Problem& p, const Head& head, std::int64_t first, ScoreRow<R>* rows,
                                 KeyRange& range) {
  if (threadIdx.x == 0) range = {INT32_MAX, 0, INT32_MAX, 0};
  __syncthreads();
  if (threadIdx.x < kTile) {
    const ScoreRow<R> row = score_row<R>(p, head, first + threadIdx.x);
    rows[threadIdx.x] = row;
    widen(range, row.spans);
  }
  __syncthreads();
}

// Bit n: the thread's row sees key `keys` + inner_of(n).
template <class R>
__device__ inline unsigned seen_by_row(const Problem& p, const Head& head, const ScoreRow<R>* rows, std::int64_t keys) {
  const ScoreRow<R>& row = rows[outer_of_thread()];
  unsigned seen = 0;
#pragma unroll 4
  for (int n = 0; n < kShare; ++n) seen |= sees(p, head, row, keys + inner_of(n)) ? 1u << n : 0u;
  return seen;
}
// Bit n: row inner_of(n) of the tile sees the thread's key.
template <class R>
__device__ inline unsigned seeing_key(const Problem& p, const Head& head, const ScoreRow<R>* rows, std::int64_t keys) {
  unsigned seen = 0;
#pragma unroll 4
  for (int n = 0; n < kShare; ++n) seen |= sees(p, head, rows[inner_of(n)], keys + outer_of_thread()) ? 1u << n : 0u;
  return seen;
}

// ---- Weights of finished rows ----

// The factor of e^{s - m} in the weight: 1 / (z + e^{sink - m}), computed as e^{m - M} / (z e^{m - M} + e^{sink - M})
// with M the larger of m and sink. 0 without keys.
template <class R>
__device__ inline R weight_factor(const Problem& p, const Head& head, R m, R z) {
  if (z == R(0)) return R(0);
  if (!p.sink) return R(1) / z;
  const R sink = real_at<R>(p.sink, head.h), top = sink > m ? sink : m, share = exp(m - top);
  return share / (z * share + exp(sink - top));
}

// ---- Launches ----

template <class... Parameters, class... Arguments>
cudaError_t launch(void (*kernel)(Parameters...), std::int64_t blocks, std::size_t shared, cudaStream_t stream,
                   const Arguments&... arguments) {
  return launch_kernel(kernel, static_cast<unsigned>(blocks), kThreads, shared, stream, arguments...);
}

// Calls f(R()) with the type of the sums.
template <class F>
auto with_real(ElementType type, F f) {
  return type == ElementType::float64 ? f(double()) : f(float());
}

}  // namespace isentropic::cuda::plain
