// Asynchronous copies into the shared memory of a backward block: its own keys and values once, then each block of
// queries and output gradients in turn.
#pragma once

#include <type_traits>

#include "attention/cuda/backward_order.cuh"
#include "attention/cuda/backward_shape.cuh"
#include "attention/cuda/tiles.cuh"

namespace isentropic::cuda {

template <class Shape>
class BackwardCopies {
 public:
  using E = typename Shape::E;
  static constexpr int kD = Shape::kD, kValueD = Shape::kValueD, kQueries = Shape::kQueries, kKeys = Shape::kKeys;
  using Order = BackwardOrder<kQueries, kKeys>;
  using QueryBlock = typename Order::QueryBlock;

  // Copies the order's numbers: holding a reference would force its owner out of registers into memory.
  __device__ BackwardCopies(const BackwardProblem& problem, const Order& order, std::uint32_t shared_)
      : in(problem), p(problem.problem), b(order.b), kv_head(order.kv_head), j0(order.j0), shared(shared_) {}

  __device__ std::uint32_t queries(int buffer) const {
    return shared + Shape::kQueriesAt + buffer * Shape::kQueryBytes;
  }
  __device__ std::uint32_t output_gradients(int buffer) const {
    return shared + Shape::kOutputsAt + (Shape::kOutputBuffers == 2 ? buffer * Shape::kOutputBytes : 0);
  }

  __device__ static void arrive() {
    commit_copies();
    wait_for_copies<0>();
    __syncthreads();
  }

  // Keys from `end` on are zero-filled.
  __device__ void copy_keys(std::int64_t end) const { copy_own<kD>(shared, p.key, p.key_stride, end, p.d); }
  __device__ void copy_values(std::int64_t end) const {
    copy_own<kValueD>(shared + Shape::kValuesAt, p.value, p.value_stride, end, p.d_v);
  }

  // Points at this thread's share of the next block.
  __device__ void aim_at(const QueryBlock& block) {
    query_share = share_of<kD>(p.query, p.query_stride, block);
    output_share = in.output_gradient ? share_of<kValueD>(in.output_gradient, in.output_gradient_stride, block)
                                      : query_share;  // never read
  }
  __device__ void aim_at_next() {
    query_share += kQueries * p.query_stride.row;
    output_share += kQueries * in.output_gradient_stride.row;
  }
  __device__ void copy_queries(const QueryBlock& block, int buffer) const {
    copy_share<kD, kQueries, kBackwardThreads>(queries(buffer), query_share, p.query_stride.row, rows_from(block),
                                               used<kD>(p.d));
  }
  // Zero-filled if there is no output gradient.
  __device__ void copy_output_gradients(const QueryBlock& block, int buffer) const {
    copy_share<kValueD, kQueries, kBackwardThreads>(output_gradients(buffer), output_share,
                                                    in.output_gradient_stride.row,
                                                    in.output_gradient ? rows_from(block) : 0, used<kValueD>(p.d_v));
  }

 private:
  // Wide heads need not fill their tiles.
  template <int kWidth>
  __device__ static int used(std::int64_t width) {
    return Shape::kWide ? static_cast<int>(width) : kWidth;
  }
  __device__ int rows_from(const QueryBlock& block) const {
    return static_cast<int>(min(p.n_q - block.i0(), std::int64_t{kQueries}));
  }

  template <int kWidth>
  __device__ void copy_own(std::uint32_t to, const void* all, const Strides& stride, std::int64_t end,
                           std::int64_t width) const {
    const void* present = all ? all : p.query;  // without a tensor nothing is read: zeros
    const E* from = static_cast<const E*>(present) + b * stride.batch + kv_head * stride.head;
    copy_rows<kWidth, kKeys, kBackwardThreads>(to, from, stride.row, j0, all ? end : 0, used<kWidth>(width));
  }

  template <int kWidth>
  __device__ const E* share_of(const void* all, const Strides& stride, const QueryBlock& block) const {
    using Share = CopyShare<kWidth, kQueries, kBackwardThreads>;
    return static_cast<const E*>(all) + b * stride.batch + block.h * stride.head +
           (block.i0() + Share::row()) * stride.row + Share::chunk() * 8;
  }

  const BackwardProblem& in;
  const Problem& p;
  const int b, kv_head;
  const std::int64_t j0;
  const std::uint32_t shared;
  const E *query_share = nullptr, *output_share = nullptr;
};

}  // namespace isentropic::cuda
