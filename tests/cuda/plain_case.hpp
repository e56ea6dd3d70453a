// Problems of the plain kernels, with all that can be read or tested for each score, and how far float32 and float64
// may be from the oracle.
#pragma once

#include "cuda/device_case.hpp"

namespace isentropic::cuda {

// Dense, strided and block-sparse masks, excluded keys, dense bias, relative table, dropout;
std::vector<Case> dense_cases();
Case dense_case(const std::string& name);
// and with them odd sizes and strides, prefixes of documents.
std::vector<Case> plain_cases();

// A case for the oracle and on the device.
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

// Twenty roundings of a score, which every weight is wrong by: sums of d products and of n_k weights err like the
// square root of their lengths, well below.
double tolerance(const reference::Problem& oracle, ElementType type);

// Of the oracle itself, in double: it multiplies weights, wrong by a rounding of the score, by scores, and subtracts.
double oracle_error(const reference::Problem& oracle);

}  // namespace isentropic::cuda
