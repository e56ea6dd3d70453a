// The data of a variational bottleneck: labelled images, or Gaussians with known optimal codes.
//
// Images: x = 2 pixel / 255 - 1, y the label. Gaussians: U and V are standard normal with correlations rho_i between
// U_i and V_i; X = R U with R a rotation, so that the encoder has directions to find, and Y = V. The information that
// codes of X can keep about Y is that of gaussian_bottleneck.hpp with these rho_i.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

namespace isentropic::lab::vib {

enum class Likelihood : std::uint8_t {
  classes,  // log softmax(o)_y
  normal,   // sum_j log N(y_j; o_j, s_j^2) with s_j learnt
};

struct Examples {
  at::Tensor inputs;        // [n, features]
  at::Tensor targets;       // [n] labels, or [n, outputs]
  at::Tensor log_marginal;  // [n]: log p(y), so that I(Z;Y) >= mean(log q(y|z) - log p(y))
};

// Layer widths of a network: features, hidden layers, 2 code; code, outputs.
struct Shape {
  std::vector<std::int64_t> encoder;  // features, then the hidden layers
  std::int64_t code = 0, outputs = 0;
  Likelihood likelihood = Likelihood::classes;
};

struct Problem {
  Examples train = {}, test = {};
  Shape shape = {};
  double rate = 0;                        // learning rate of the first two epochs
  std::vector<double> correlations = {};  // rho_i; empty if the optimal codes are not known
  std::uint64_t checksum = 0;             // of the files; 0 for generated data
};

// The network of Alemi et al.: 784-1024-1024-512 for images of 28 x 28, a code of 256 dimensions. Throws Error as
// io/idx.hpp does, and if images have more than 16384 pixels, if training and test images differ in size, or if a test
// label exceeds every training label.
Problem image_problem(const std::string& folder, at::Device device);

// The correlations of the Gaussian problem.
const std::vector<double>& correlations();

// Four correlations, and linear maps to and from a code of eight dimensions.
Problem gaussian_problem(std::uint64_t seed, at::Device device);

}  // namespace isentropic::lab::vib
