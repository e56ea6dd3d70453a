// A test case of the backward pass on tensor cores, for the oracle and the device: runs it and compares the results.
#pragma once

#include "attention/cuda/launch_backward.hpp"
#include "cuda/device_case.hpp"
#include "cuda/plain_case.hpp"
#include "reference/forward.hpp"
#include "reference/gradients.hpp"

namespace isentropic::cuda::backward_test {

inline constexpr ElementType kTypes[] = {ElementType::bfloat16, ElementType::float16};

// Whether the output and statistics other than L and H have upstream gradients.
struct UpstreamSet {
  bool output = true, higher = false;
};

// What the kernels receive for each row, from the oracle's forward pass; formulas in passes/row_constants.cpp.
struct HostRows {
  Numbers m, log_z, mean, gate, base, a1, a2, a3;
};
HostRows host_rows(const reference::Problem& oracle, const reference::Upstream& upstream);

struct Trial {
  Trial(const Case& c, ElementType type, const UpstreamSet& set);
  reference::DenseGradients expected() const { return reference::dense_gradients(oracle, upstream); }

  DeviceMemory memory;
  reference::Problem oracle;
  DeviceProblem device;
  reference::Upstream upstream;
  BackwardProblem problem;
};

struct Found {
  Numbers query, key, value, lambda, slopes;
};
Found run(BackwardProblem in, BackwardTile tile, DeviceMemory& memory);

void expect_gradients(const Found& found, const reference::Problem& oracle, const reference::DenseGradients& expected,
                      ElementType type);

// Whether the device has enough shared memory for heads of 256 numbers.
bool has_room_for_wide_heads();

Case causal_of_sizes(Sizes sizes);

}  // namespace isentropic::cuda::backward_test
