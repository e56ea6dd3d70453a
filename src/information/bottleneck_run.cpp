// One bottleneck code at one beta: the self-consistent iteration, or moves and merges for deterministic codes.
#include "information/bottleneck_run.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

namespace isentropic::information::bottleneck {
namespace {

constexpr double kLeastLog = -700;  // log of a vanished probability

// ---- Stochastic codes: p(z|x) ~ p(z) exp(-KL / beta) ----

struct State {
  Table encoder, log_encoder;
  Decoder decoder;
  Information information;
  double objective;
};

class SoftIteration {
 public:
  SoftIteration(const Problem& problem, double beta) : problem_(problem), beta_(beta) {}

  State start(const Table& encoder) const {
    Table scores = encoder;
    for (double& p : scores.values) p = p > 0 ? std::log(p) : kLeastLog;
    return at(std::move(scores));
  }
  State after(const State& state) const { return at(log_preferences(problem_, state.decoder, beta_)); }

  // Two steps show how fast the slowest component still moves; a leap extrapolates to its limit (squared extrapolation,
  // Varadhan & Roland 2008, in the logarithms of the encoder). It may overshoot, so the caller keeps it only if J
  // increased.
  State leap(const State& a, const State& b, const State& c) const {
    double speed = 0, turn = 0;
    for (std::size_t x = 0; x < problem_.inputs(); ++x)
      for (std::size_t z = 0; z < c.encoder.columns; ++z) {
        const double mass = problem_.px[x] * c.encoder(x, z);
        const double first = b.log_encoder(x, z) - a.log_encoder(x, z);
        const double second = c.log_encoder(x, z) - b.log_encoder(x, z) - first;
        speed += mass * first * first;
        turn += mass * second * second;
      }
    const double length = turn > 0 ? std::sqrt(speed / turn) : 1;
    Table scores = a.log_encoder;
    for (std::size_t i = 0; i < scores.values.size(); ++i) {
      const double first = b.log_encoder.values[i] - a.log_encoder.values[i];
      const double second = c.log_encoder.values[i] - b.log_encoder.values[i] - first;
      scores.values[i] += 2 * length * first + length * length * second;
    }
    return at(std::move(scores));
  }

 private:
  // The encoder whose logarithms are the scores up to each row's normaliser. H(Z|X) = log z - u / z over its rows, as
  // for any softmax.
  State at(Table scores) const {
    Table encoder(scores.rows, scores.columns);
    double conditional = 0;
    for (std::size_t x = 0; x < scores.rows; ++x) {
      const auto row = scores.row(x);
      const auto p = encoder.row(x);
      const double most = *std::ranges::max_element(row);
      double z = 0, u = 0;
      for (std::size_t k = 0; k < row.size(); ++k) {
        row[k] -= most;
        z += p[k] = std::exp(row[k]);
        u += row[k] * p[k];
      }
      const double log_z = std::log(z);
      for (std::size_t k = 0; k < row.size(); ++k) {
        p[k] /= z;
        row[k] = std::max(row[k] - log_z, kLeastLog);
      }
      conditional += problem_.px[x] * (log_z - u / z);
    }
    Decoder decoder(problem_, encoder);
    const Information information = information_of(problem_, decoder, conditional);
    return {std::move(encoder), std::move(scores), std::move(decoder), information,
            objective(information, beta_, BottleneckKind::stochastic)};
  }

  const Problem& problem_;
  double beta_;
};

BottleneckCode run_soft(const Problem& problem, double beta, const Table& start, const BottleneckOptions& options) {
  constexpr std::size_t kPlainSteps = 20;  // before leaps, and before a small change counts as convergence
  const SoftIteration iteration(problem, beta);
  BottleneckCode out;
  State state = iteration.start(start);
  while (out.iterations < options.most_iterations && !out.converged) {
    const double before = state.objective;
    State one = iteration.after(state), two = iteration.after(one);
    out.largest_decrease = std::max({out.largest_decrease, before - one.objective, one.objective - two.objective});
    if (out.iterations >= kPlainSteps) {
      State far = iteration.leap(state, one, two);
      if (far.objective > two.objective) two = std::move(far);
    }
    state = std::move(two);
    out.iterations += 2;
    if (out.iterations > kPlainSteps && state.objective - before < options.tolerance) out.converged = true;
  }
  out.information_x = state.information.x;
  out.information_y = state.information.y;
  out.entropy = state.information.entropy;
  out.objective = state.objective;
  out.encoder = std::move(state.encoder);
  return out;
}

// ---- Deterministic codes ----

// The best code for each x individually; a tie leaves x where it is.
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

// The change of I(Z;Y) - beta H(Z) when codes a and b are merged.
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

// Single moves cannot merge two codes of several members each, even when that pays off: merge the best pair if it does.
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

BottleneckCode run_hard(const Problem& problem, double beta, const Table& start, const BottleneckOptions& options) {
  BottleneckCode out;
  Table encoder = hard_rows(Table(start.rows, start.columns), start);
  Decoder decoder(problem, encoder);
  Information information = information_of(problem, decoder, 0);
  out.objective = objective(information, beta, BottleneckKind::deterministic);
  while (out.iterations < options.most_iterations && !out.converged) {
    Table next = hard_rows(log_preferences(problem, decoder, beta), encoder);
    if (next.values == encoder.values && !merge_best_pair(problem, &next, beta)) out.converged = true;
    encoder = std::move(next);
    decoder = Decoder(problem, encoder);
    information = information_of(problem, decoder, 0);
    const double value = objective(information, beta, BottleneckKind::deterministic);
    out.largest_decrease = std::max(out.largest_decrease, out.objective - value);
    out.objective = value;
    ++out.iterations;
  }
  out.information_x = information.x;
  out.information_y = information.y;
  out.entropy = information.entropy;
  out.encoder = std::move(encoder);
  return out;
}

}  // namespace

double objective(const Information& information, double beta, BottleneckKind kind) {
  return information.y - beta * (kind == BottleneckKind::deterministic ? information.entropy : information.x);
}

BottleneckCode run(const Problem& problem, double beta, const Table& start, const BottleneckOptions& options) {
  const bool hard = options.kind == BottleneckKind::deterministic;
  BottleneckCode out = (hard ? run_hard : run_soft)(problem, beta, start, options);
  out.beta = beta;
  return out;
}

}  // namespace isentropic::information::bottleneck
