// A single run of the iteration on a joint distribution, and the objective as expectations.
#include "isentropic/information/bottleneck.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "base/checks.hpp"
#include "information/bottleneck_problem.hpp"
#include "information/bottleneck_run.hpp"
#include "information/distributions/validate.hpp"
#include "isentropic/information/distribution.hpp"

namespace isentropic::information {
using bottleneck::Decoder;
using bottleneck::Problem;

BottleneckCode iterate_bottleneck(const Table& joint, double beta, const Table& start,
                                  const BottleneckOptions& options) {
  const Problem problem(joint);
  bottleneck::require_encoder(start, joint.rows);
  require_positive("beta", beta);
  BottleneckCode out = bottleneck::run(problem, beta, problem.without_unused(start), options);
  out.encoder = problem.with_unused(out.encoder, joint.rows);
  return out;
}

BottleneckTerms bottleneck_terms(const Table& joint, const Table& encoder) {
  const Problem problem(joint);
  bottleneck::require_encoder(encoder, joint.rows);
  const Table used = problem.without_unused(encoder);
  const Decoder decoder(problem, used);
  BottleneckTerms out;
  out.entropy_y = entropy(problem.py);
  for (std::size_t x = 0; x < used.rows; ++x) out.rate += problem.px[x] * kl_divergence(used.row(x), decoder.pz);
  for (std::size_t z = 0; z < decoder.pz.size(); ++z)
    for (std::size_t y = 0; y < problem.py.size(); ++y) {
      const double p = decoder.pyz(z, y);
      if (p == 0) continue;
      out.log_likelihood += decoder.pz[z] * p * std::log(p);
      out.information_y += decoder.pz[z] * p * std::log(p / problem.py[y]);
    }
  return out;
}

double variational_bottleneck(const Table& joint, const Table& encoder, const Table& decoder,
                              std::span<const double> prior, double beta) {
  const Problem problem(joint);
  bottleneck::require_encoder(encoder, joint.rows);
  require_positive("beta", beta);
  if (decoder.rows != encoder.columns || decoder.columns != joint.columns)
    throw Error("decoder", shape_text(decoder),
                std::to_string(encoder.columns) + " codes x " + std::to_string(joint.columns) + " values of Y");
  for (std::size_t z = 0; z < decoder.rows; ++z)
    require_distribution("decoder row " + std::to_string(z), decoder.row(z));
  require_length("prior", prior.size(), encoder.columns, "one for each code");
  require_distribution("prior", prior);
  const Table used = problem.without_unused(encoder);
  double value = entropy(problem.py);
  for (std::size_t x = 0; x < used.rows; ++x)
    for (std::size_t z = 0; z < used.columns; ++z) {
      const double mass = problem.px[x] * used(x, z);
      if (mass == 0) continue;
      value -= beta * mass * std::log(used(x, z) / prior[z]);
      for (std::size_t y = 0; y < joint.columns; ++y)
        if (const double p = problem.channel(x, y); p > 0) value += mass * p * std::log(decoder(z, y));
    }
  return value;
}

}  // namespace isentropic::information
