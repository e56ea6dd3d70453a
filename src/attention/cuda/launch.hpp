// The kernels of the forward pass, each compiled from a file of its own (forward_instance.cu.in).
#pragma once

#include "attention/cuda/forward.hpp"

namespace isentropic::cuda {

// What a kernel takes beside lambda, a sink and spans of keys: nothing; statistics over key groups, in the same pass;
// soft cap, slopes and dropout; or these and all that is read or tested for each score.
enum class ForwardTerms : std::uint8_t { none, groups, extras, dense };

inline constexpr int kForwardRows = 128;  // of a thread block, heads of up to 128 numbers

// Of wide heads, d and d_v are the most it takes.
template <ElementType type, int d, int d_v, MomentSet moments, ForwardTerms terms>
cudaError_t launch_forward(const Problem& problem, const ForwardOutput& output, cudaStream_t stream);

}  // namespace isentropic::cuda
