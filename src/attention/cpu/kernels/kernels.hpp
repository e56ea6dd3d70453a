// The inner loops, one set per instruction set.
//
// The list is in order of preference and ends with plain C++ that runs anywhere. The first set that the CPU supports is
// used, unless the environment variable ISENTROPIC_ISA names another one. An unknown or unsupported name is an Error at
// the first call that needs kernels.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "isentropic/attention.hpp"

namespace isentropic {

template <class T>
struct Product;
template <class T>
struct FewRowsProduct;
template <class T>
struct MomentLanes;
struct NarrowKernels;
enum class Store : std::uint8_t { overwrite, accumulate };

struct Kernels {
  const char* name;  // "amx", "avx512_bf16", "avx512", "avx2", "portable"
  bool (*supported)();

  // products.hpp
  void (*product)(Product<float>, Store);
  // few_rows.hpp
  void (*dots)(const FewRowsProduct<float>&);
  void (*weigh)(const FewRowsProduct<float>&);
  // s becomes bound tanh(s / bound), derivative 1 - tanh^2; n a multiple of kPad.
  void (*soft_cap)(float* s, float* derivative, std::int64_t n, float bound);
  // softmax_row.hpp
  float (*row_maximum)(const float* s, std::int64_t n);
  std::int64_t (*find_scaled)(const float* s, std::int64_t n, float factor, float value);
  // Sets with `narrow` kernels store e as bfloat16 in `rounded` instead, unless it is null.
  void (*exponentiate)(MomentSet set, float* s, std::int64_t n, float factor, float m, MomentLanes<float>& sums,
                       bfloat16* rounded);
  float (*exponentiate_located)(MomentSet set, float* s, std::int64_t n, float factor, float m,
                                MomentLanes<float>& sums);
  SoftmaxMoments<float> (*sum)(const MomentLanes<float>&);
  // Runs `rounds` of independent register-only multiply-adds, for the peak that kernels are measured against. Returns
  // the number of operations.
  double (*fma_burst)(std::int64_t rounds);
  // gradient_row.hpp
  void (*gradient_row)(const RowConstants& row, std::int64_t n, float* s, float* dp);
  // weights_row.hpp
  void (*add_weights)(const float* s, std::int64_t n, float m, float log_partition, float* mass);
  // narrow_product.hpp; null: 16-bit factors are converted to float32
  const NarrowKernels* narrow = nullptr;
};

// Every set that was built, whether this CPU supports it or not.
const std::vector<const Kernels*>& kernel_list();

// The set in use.
const Kernels& active_kernels();

}  // namespace isentropic
