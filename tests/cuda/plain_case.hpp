// Problems for the plain kernels, with everything that may be read or tested per score, and how far float32 and float64
// may deviate from the oracle.
#pragma once

#include "cuda/device_case.hpp"

namespace isentropic::cuda {

// Dense, strided and block-sparse masks, excluded keys, dense bias, relative table, dropout.
std::vector<Case> dense_cases();
Case dense_case(const std::string& name);
// These plus odd sizes and strides, and prefixes of documents.
std::vector<Case> plain_cases();

// One case for both the oracle and the device.
struct PlainProblem {
  explicit PlainProblem(const Case& c, ElementType type) : oracle(oracle_of(c, type)) {
    DeviceProblem device{memory, on_device(oracle, type, memory)};
    device.problem.moments = MomentSet::all;
    c.change(oracle, device);
    problem = device.problem;
  }
  reference::Problem oracle;
  DeviceMemory memory;
  Problem problem;
};

// The largest |score|, with and without cap and bias.
double score_size(const reference::Problem& oracle);

// Twenty roundings of a score, the error of every weight: sums of d products and of n_k weights err like the square
// root of their lengths, which is well below that.
double tolerance(const reference::Problem& oracle, ElementType type);

// The oracle's own error, in double: it multiplies weights, off by a rounding of the score, by scores, and subtracts.
double oracle_error(const reference::Problem& oracle);

}  // namespace isentropic::cuda
