// One run of the self-consistent iteration, and the objective as expectations.
#include "isentropic/information/bottleneck.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "information/bottleneck_problem.hpp"
#include "information/bottleneck_run.hpp"
#include "information/validate.hpp"
#include "isentropic/error.hpp"
#include "isentropic/information/distribution.hpp"

namespace isentropic {
namespace bottleneck {
namespace {

void softmax_rows(Table* scores) {
  for (std::size_t x = 0; x < scores->rows; ++x) {
    const auto row = scores->row(x);
    const double most = *std::ranges::max_element(row);
    double sum = 0;
    for (double& s : row) sum += s = std::exp(s - most);
    for (double& s : row) s /= sum;
  }
}

// The best code of every x alone; a tie leaves x where it is.
Table hard_rows(const Table& scores, const Table& current) {
  Table out(scores.rows, scores.columns);
  for (std::size_t x = 0; x < scores.rows; ++x) {
    const auto row = scores.row(x);
    std::size_t best = static_cast<std::size_t>(std::ranges::max_element(current.row(x)) - current.row(x).begin());
    for (std::size_t z = 0; z < row.size(); ++z)
      if (row[z] > row[best]) best = z;
    out(x, best) = 1;
  }
  return out;
}

// What merging codes a and b adds to I(Z;Y) - beta H(Z).
double gain_of_merging(const Decoder& decoder, std::size_t a, std::size_t b, double beta) {
  const double pa = decoder.pz[a], pb = decoder.pz[b], both = pa + pb;
  double gain = beta * (both * std::log(both) - pa * std::log(pa) - pb * std::log(pb));
  for (std::size_t y = 0; y < decoder.pyz.columns; ++y) {
    const double qa = decoder.pyz(a, y), qb = decoder.pyz(b, y), mixed = (pa * qa + pb * qb) / both;
    if (qa > 0) gain -= pa * qa * std::log(qa / mixed);
    if (qb > 0) gain -= pb * qb * std::log(qb / mixed);
  }
  return gain;
}

// Single moves cannot join two codes of several members each, although it may pay: join the best pair if it does.
bool merge_best_pair(const Problem& problem, Table* encoder, double beta) {
  const Decoder decoder(problem, *encoder);
  double best = 1e-13;
  std::size_t a = 0, b = 0;
  for (std::size_t i = 0; i < decoder.pz.size(); ++i)
    for (std::size_t j = i + 1; j < decoder.pz.size(); ++j) {
      if (decoder.pz[i] == 0 || decoder.pz[j] == 0) continue;
      const double gain = gain_of_merging(decoder, i, j, beta);
      if (gain > best) best = gain, a = i, b = j;
    }
  if (a == b) return false;
  for (std::size_t x = 0; x < encoder->rows; ++x) {
    (*encoder)(x, a) += (*encoder)(x, b);
    (*encoder)(x, b) = 0;
  }
  return true;
}

}  // namespace

double objective(const Information& information, double beta, BottleneckKind kind) {
  return information.y - beta * (kind == BottleneckKind::deterministic ? information.entropy : information.x);
}

BottleneckCode run(const Problem& problem, double beta, Table encoder, const BottleneckOptions& options) {
  constexpr std::size_t kLeastIterations = 20;  // before a small change counts as the end: starts may be plateaus
  const bool hard = options.kind == BottleneckKind::deterministic;
  if (hard) encoder = hard_rows(Table(encoder.rows, encoder.columns), encoder);
  BottleneckCode out;
  out.beta = beta;
  Decoder decoder(problem, encoder);
  Information information = information_of(problem, encoder, decoder);
  out.objective = objective(information, beta, options.kind);
  while (out.iterations < options.most_iterations && !out.converged) {
    Table next = log_preferences(problem, decoder, beta);
    if (hard) {
      next = hard_rows(next, encoder);
      if (next.values == encoder.values && !merge_best_pair(problem, &next, beta)) out.converged = true;
    } else {
      softmax_rows(&next);
    }
    encoder = std::move(next);
    decoder = Decoder(problem, encoder);
    information = information_of(problem, encoder, decoder);
    const double value = objective(information, beta, options.kind), change = value - out.objective;
    out.largest_decrease = std::max(out.largest_decrease, -change);
    out.objective = value;
    ++out.iterations;
    if (!hard && out.iterations > kLeastIterations && std::abs(change) < options.tolerance) out.converged = true;
  }
  out.information_x = information.x;
  out.information_y = information.y;
  out.entropy = information.entropy;
  out.encoder = std::move(encoder);
  return out;
}

void require_beta(double beta) {
  if (!(beta > 0) || std::isinf(beta)) throw Error("beta", std::to_string(beta), "a finite number > 0");
}

}  // namespace bottleneck

using bottleneck::Decoder;
using bottleneck::Problem;

BottleneckCode iterate_bottleneck(const Table& joint, double beta, const Table& start,
                                  const BottleneckOptions& options) {
  const Problem problem(joint);
  bottleneck::require_encoder(start, joint.rows);
  bottleneck::require_beta(beta);
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
  const bottleneck::Information information = bottleneck::information_of(problem, used, decoder);
  out.rate = information.x;
  out.information_y = information.y;
  for (std::size_t z = 0; z < decoder.pz.size(); ++z)
    for (double p : decoder.pyz.row(z))
      if (p > 0) out.log_likelihood += decoder.pz[z] * p * std::log(p);
  return out;
}

double variational_bottleneck(const Table& joint, const Table& encoder, const Table& decoder,
                              std::span<const double> prior, double beta) {
  const Problem problem(joint);
  bottleneck::require_encoder(encoder, joint.rows);
  bottleneck::require_beta(beta);
  if (decoder.rows != encoder.columns || decoder.columns != joint.columns)
    throw Error("decoder", std::to_string(decoder.rows) + " x " + std::to_string(decoder.columns),
                std::to_string(encoder.columns) + " codes x " + std::to_string(joint.columns) + " values of Y");
  for (std::size_t z = 0; z < decoder.rows; ++z)
    require_distribution("decoder row " + std::to_string(z), decoder.row(z));
  if (prior.size() != encoder.columns)
    throw Error("prior", std::to_string(prior.size()) + " long", std::to_string(encoder.columns) + ", one per code");
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

}  // namespace isentropic
