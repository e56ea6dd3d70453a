// A variational bottleneck with a single Gaussian code variable, trained on samples: x ~ N(0,1), y = rho x + noise with
// total variance 1. In nats.
//
//   encoder z = a x + s e, e ~ N(0,1);   decoder y ~ N(w z, v);   prior z ~ N(0, r^2)
//   loss    E[-log q(y|z)] + beta E KL(p(z|x) || prior)
#pragma once

#include <cstdint>

#include "base/random.hpp"

namespace isentropic::experiments::tools {

// Whether gradients of the likelihood pass through the sample z (z = a x + s e is differentiated) or stop there.
enum class Sampling : std::uint8_t { reparameterised, detached };

struct GaussianTraining {
  double correlation = .9;
  double beta = .5;
  std::int64_t steps = 1500, batch = 256;
  Sampling sampling = Sampling::reparameterised;
};

struct GaussianCode {
  double information_x = 0, information_y = 0;  // I(X;Z), I(Z;Y) of the trained encoder
};

// Adam; the last third of the steps runs at a fifth of the learning rate and is averaged.
GaussianCode train_gaussian_code(const GaussianTraining& training, Random& random);

}  // namespace isentropic::experiments::tools
