// The constants of a row's gradient (RowConstants of isentropic/attention.hpp) from its finished record and the
// gradients of its statistics, for host and device.
#pragma once

#include "isentropic/softmax_record.hpp"
#include "isentropic/statistics.hpp"

namespace isentropic::cuda {

// Gradients of L, H, E, V and sum p^2, to which those of derived statistics are propagated, and of the sink directly.
struct RowGradients {
  double log_partition = 0, entropy = 0, mean_score = 0, score_variance = 0, collision = 0, sink = 0;
};

// m, L - m, E - m and the factors of the terms of dS (backward.hpp); the row's contribution to the sink's gradient.
struct RowGradientConstants {
  double max_score, log_partition, mean_score, gate, base, a1, a2, a3, sink;
};

// A sink is a logit that takes part of the mass.
struct RowSink {
  bool present = false;
  double logit = 0;
};

ISENTROPIC_HOST_DEVICE inline double log_partition(const SoftmaxRecord<double>& keys, const RowSink& sink) {
  return isentropic::log_partition(sink.present ? merge(keys, sink_logit(sink.logit)) : keys);
}

// g x, except that a gradient of 0 stays 0 whatever x is: an unused row may contain NaN or Inf.
ISENTROPIC_HOST_DEVICE inline double contained(double g, double x) { return g == 0 ? 0.0 : g * x; }

// gradient_of(statistic) returns 0 if there is none.
template <class F>
ISENTROPIC_HOST_DEVICE inline RowGradients carry_over(const SoftmaxRecord<double>& keys, double sink_mass,
                                                      F gradient_of) {
  RowGradients out;
  out.log_partition = gradient_of(Statistic::log_partition);
  out.entropy = gradient_of(Statistic::entropy);
  out.mean_score = gradient_of(Statistic::mean_score);
  out.score_variance = gradient_of(Statistic::score_variance);
  out.collision = gradient_of(Statistic::collision);
  const double of_mass = contained(gradient_of(Statistic::sink_mass), sink_mass);
  out.log_partition -= of_mass;
  out.sink = of_mass;
  if (const double g = gradient_of(Statistic::normalised_entropy); g != 0 && keys.k > 1)
    out.entropy += g / std::log(static_cast<double>(keys.k));
  if (keys.empty()) return out;
  if (const double g = gradient_of(Statistic::effective_keys); g != 0) out.entropy += g * std::exp(entropy(keys));
  const double squares = collision(keys);
  if (const double g = gradient_of(Statistic::participation); g != 0) out.collision -= g / (squares * squares);
  if (const double g = gradient_of(Statistic::sparsity); g != 0)
    out.collision -= g / (2 * std::sqrt(static_cast<double>(keys.k) * squares) * squares);
  return out;
}

// output_product: D = sum_c gO_c O_c.
template <class F>
ISENTROPIC_HOST_DEVICE inline RowGradientConstants gradient_constants(const SoftmaxRecord<double>& keys,
                                                                      const RowSink& sink, double output_product,
                                                                      F gradient_of) {
  const double total = sink.present ? log_partition(keys, sink) : 0.0;
  const double sink_mass = sink.present ? std::exp(sink.logit - total) : 0.0;
  const RowGradients g = carry_over(keys, sink_mass, gradient_of);
  const double of_normaliser = g.log_partition - output_product;
  RowGradientConstants out;
  out.max_score = keys.m;
  out.log_partition = keys.empty() ? 0.0 : std::log(keys.sums.z);
  out.mean_score = keys.empty() ? 0.0 : keys.sums.u / keys.sums.z;
  out.gate = sink.present ? std::exp(isentropic::log_partition(keys) - total) : 1.0;
  out.base = contained(of_normaliser, out.gate) + g.mean_score - contained(g.score_variance, score_variance(keys)) -
             contained(2 * g.collision, collision(keys));
  out.a1 = g.mean_score - g.entropy + 2 * g.score_variance;
  out.a2 = g.score_variance;
  out.a3 = 2 * g.collision;
  out.sink = contained(of_normaliser, sink_mass) + g.sink;
  return out;
}

}  // namespace isentropic::cuda
