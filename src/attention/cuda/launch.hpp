// The forward kernels, each compiled in its own file (forward_instance.cu.in).
#pragma once

#include "attention/cuda/forward.hpp"

namespace isentropic::cuda {

// What a kernel supports besides lambda, a sink and spans of keys: nothing; key-group statistics in the same pass; soft
// cap, slopes and dropout; or these and everything that is read or tested per score.
enum class ForwardTerms : std::uint8_t { none, groups, extras, dense };

inline constexpr int kForwardRows = 128;  // per thread block, for heads up to 128 wide

// For wide heads, d and d_v are upper bounds.
template <ElementType type, int d, int d_v, MomentSet moments, ForwardTerms terms>
cudaError_t launch_forward(const Problem& problem, const ForwardOutput& output, cudaStream_t stream);

}  // namespace isentropic::cuda
