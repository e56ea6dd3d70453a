// The softmax as a loss (isentropic/softmax_loss.hpp) on an NVIDIA GPU: the work on a chunk of scores between the
// products that compute them and those that use their gradients.
//
// A chunk holds the products q_i.k_j of some rows and some keys in float32, from any fast matrix multiplication:
//
//   records:   m, z, u of every row over all keys, with the target added last; loss, L and H
//   gradients: G_ij = dx_ij / largest, x = lambda q.k, for dQ = lambda largest G K and dK = lambda largest G^T Q
//
// Framework-free: takes pointers, strides, sizes and a stream, and returns the launch error. Nothing is allocated and
// no call waits for the device. Rows of products and gradients begin at multiples of 16 bytes and may be read and
// written up to a multiple of 4 elements. Sums are taken in a fixed order: the same chunk gives the same bits.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "attention/cuda/problem.hpp"

namespace isentropic::cuda {

struct LossChunk {
  const float* products = nullptr;  // [rows, keys]
  std::int64_t stride = 0;
  std::int64_t rows = 0, keys = 0;
  std::int64_t first_row = 0, first_key = 0;  // in the whole problem, whose arrays follow
  std::int64_t all_keys = 0;
  const std::int64_t* target = nullptr;  // [N]; an index that is not a key means none
  const float* scale = nullptr;          // lambda, one number on the device
  const float* bias = nullptr;           // [M]; -inf hides a key; null: none
  float soft_cap = 0;                    // 0: none
  bool exclude_self = false;
};

// Arrays of the whole problem.
struct LossRows {
  float *loss = nullptr, *log_partition = nullptr, *entropy = nullptr;  // [N]
  double* records = nullptr;                                            // [N, 7]: m, z, u, 0, 0, the number of keys, -1
};

// Requires a chunk with all keys.
cudaError_t loss_records(const LossChunk& chunk, const LossRows& rows, cudaStream_t stream);

// Upstream gradients of row results, [N]; null: 0. The weights stand for a sum over rows of weight (loss_factor loss +
// partition_factor L + square_factor L^2).
struct LossUpstream {
  const float *loss = nullptr, *log_partition = nullptr, *entropy = nullptr;
  const float* weights = nullptr;
  float loss_factor = 1, partition_factor = 0, square_factor = 0;
  const float* largest = nullptr;  // one number on the device, above 0: gradients are formed relative to it
};

// Constants of a row's gradient: d/ds_j = p_j (base - entropy (s_j - m - mean)), p_j = e^{s_j - m} / z, except for the
// target, whose gradient is stored. All relative to `largest`.
struct alignas(16) LossTerms {
  float m, inverse_z, mean, base, entropy, target_gradient;
  std::int32_t target;  // -1: none
  std::int32_t used;    // 0: no upstream gradient, so the row contributes none
};

// For rows [first, first + count), from their losses and records. used: [N], 1 where a row has an upstream gradient.
cudaError_t loss_terms(const LossChunk& sizes, std::int64_t first, std::int64_t count, const LossRows& rows,
                       const LossUpstream& upstream, LossTerms* terms, bool* used, cudaStream_t stream);

// G of a chunk, [rows, keys] of bfloat16, float16 or float32, and each row's part of the gradient of lambda, sum_j dx_j
// q.k_j: added to scale_gradient[first_row + i], or stored; null: not wanted.
struct LossGradient {
  void* values = nullptr;
  ElementType type = ElementType::bfloat16;
  std::int64_t stride = 0;
  float* scale_gradient = nullptr;
  bool add = false;
};
cudaError_t loss_gradient(const LossChunk& chunk, const LossTerms* terms, const float* largest,
                          const LossGradient& gradient, cudaStream_t stream);

// Adds sum_i ds_ij, relative to `largest`, to sums[first_key + j].
cudaError_t loss_bias_gradient(const LossChunk& chunk, const LossTerms* terms, float* sums, cudaStream_t stream);

// out_i = factor x_i in another type; factor: one number on the device. x and out are 16-byte aligned.
cudaError_t scale_and_round(const float* x, const float* factor, ElementType type, void* out, std::int64_t count,
                            cudaStream_t stream);

}  // namespace isentropic::cuda
