// Deep stacks of tanh layers, plain and residual: what their Jacobian and coarse readings retain, 10.4.16d.
#include <cmath>
#include <set>

#include "experiments/tools/estimate.hpp"
#include "experiments/tools/random_laws.hpp"
#include "isentropic/information/attention_matrices.hpp"
#include "isentropic/information/entropy.hpp"
#include "ledger/bottleneck/subjects.hpp"

namespace isentropic::ledger::bottleneck {
namespace {

// A residual stack may limit the norm of its weights, and so Lip(F), to .9 or to 1 / depth.
enum class Stack : std::uint8_t { plain, residual, scaled_residual, limited_residual, limited_by_depth };

struct Jacobian {
  double size = 0;       // root mean square of the singular values
  double condition = 0;  // ratio of the largest to the smallest
};

// The largest singular value, to about 1%, by power iteration.
double spectral_norm(const Table& weights) {
  std::vector<double> v(weights.columns, 1.);
  double size = 0;
  for (int step = 0; step < 25; ++step) {
    std::vector<double> next(weights.columns, 0.);
    for (std::size_t r = 0; r < weights.rows; ++r) {
      double along = 0;
      for (std::size_t c = 0; c < weights.columns; ++c) along += weights(r, c) * v[c];
      for (std::size_t c = 0; c < weights.columns; ++c) next[c] += weights(r, c) * along;
    }
    double squares = 0;
    for (double x : next) squares += x * x;
    size = std::sqrt(squares);
    for (double& x : next) x /= size;
    v = next;
  }
  return std::sqrt(size);
}

Jacobian jacobian_of(Stack stack, std::size_t depth, Random& random) {
  const std::size_t d = 32;
  const double branch = stack == Stack::scaled_residual ? 1 / std::sqrt(static_cast<double>(depth)) : 1;
  const double skip = stack == Stack::plain ? 0 : 1;
  std::vector<double> h = random.normals(d);
  Table jacobian(d, d);
  for (std::size_t x = 0; x < d; ++x) jacobian(x, x) = 1;
  for (std::size_t layer = 0; layer < depth; ++layer) {
    Table weights(d, d, random.normals(d * d, 1 / std::sqrt(static_cast<double>(d))));
    if (stack == Stack::limited_residual || stack == Stack::limited_by_depth) {
      const double limit = stack == Stack::limited_residual ? .9 : 1 / static_cast<double>(depth);
      const double norm = spectral_norm(weights);
      for (double& w : weights.values) w *= limit / norm;
    }
    std::vector<double> next(d);
    for (std::size_t r = 0; r < d; ++r) {
      double a = 0;
      for (std::size_t c = 0; c < d; ++c) a += weights(r, c) * h[c];
      const double f = std::tanh(a);
      next[r] = skip * h[r] + branch * f;
      for (double& w : weights.row(r)) w *= branch * (1 - f * f);
    }
    Table moved = product(weights, jacobian);
    for (std::size_t x = 0; x < moved.values.size(); ++x) moved.values[x] += skip * jacobian.values[x];
    jacobian = std::move(moved), h = std::move(next);
  }
  const std::vector<double> values = singular_values(jacobian);
  double squares = 0;
  for (double s : values) squares += s * s;
  return {std::sqrt(squares / static_cast<double>(d)), values.front() / values.back()};
}

// Logarithms over several stacks.
struct TypicalJacobian {
  Mean log_size, log_condition;
  double least_condition = 1e300;
};

TypicalJacobian typical_jacobian(Stack stack, std::size_t depth, std::int64_t stacks, Random& random) {
  TypicalJacobian out;
  for (std::int64_t t = 0; t < stacks; ++t) {
    const Jacobian one = jacobian_of(stack, depth, random);
    out.log_size.add(std::log(one.size)), out.log_condition.add(std::log(one.condition));
    out.least_condition = std::min(out.least_condition, one.condition);
  }
  return out;
}

// What remains of 4096 inputs, read on a grid of .1, after 60 layers of 16 units.
struct Read {
  double bits = 0;      // I(X; what is read)
  double distinct = 0;  // log2 of the number of distinct readings, an upper bound of bits
};

Read read_after_layers(Stack stack, Random& random) {
  const std::size_t depth = 60, units = 16;
  Table h(4096, 12);
  for (std::size_t x = 0; x < h.rows; ++x)
    for (std::size_t b = 0; b < 12; ++b) h(x, b) = (x >> b & 1) ? 1 : -1;
  h = product(h, Table(12, units, random.normals(12 * units, 1 / std::sqrt(12.))));
  for (std::size_t layer = 0; layer < depth; ++layer) {
    Table f = product(h, Table(units, units, random.normals(units * units, 1. / 4)));
    for (std::size_t x = 0; x < f.values.size(); ++x) {
      const double t = std::tanh(f.values[x]);
      f.values[x] = stack == Stack::plain ? t : h.values[x] + t / std::sqrt(static_cast<double>(depth));
    }
    h = std::move(f);
  }
  std::set<std::vector<double>> readings;
  for (double& value : h.values) value = std::round(value * 10);
  for (std::size_t x = 0; x < h.rows; ++x) readings.emplace(h.row(x).begin(), h.row(x).end());
  return {to_bits(entropy_from_symbols(h, EntropyEstimator::plug_in)), std::log2(static_cast<double>(readings.size()))};
}

void signals_after_many_layers(Check& check) {
  Mean plain, scaled;
  double excess = -1e9;
  for (std::int64_t t = 0; t < check.effort(8, 60); ++t) {
    const Read lost = read_after_layers(Stack::plain, check.random());
    plain.add(lost.distinct), excess = std::max(excess, lost.bits - lost.distinct);
    if (t % 4 == 0) scaled.add(read_after_layers(Stack::scaled_residual, check.random()).bits);
  }
  check.as_quoted("plain tanh, 60 layers: log2 of distinct readings on a grid of .1", plain, 4.86, 1, .005);
  check.at_most("plain tanh, 60 layers: the mean of these, of 12", plain.mean(), 8);
  check.at_most("its bits less log2 of distinct readings", excess, 0, 1e-12);
  check.near("scaled residual, 60 layers: bits left of 12", scaled.mean(), 12, .01);
}

}  // namespace

void deep_residuals_need_a_scale(Check& check) {
  struct Quoted {
    Stack stack;
    std::string name;
    double size, condition;  // geometric means over five stacks
  };
  const std::vector<Quoted> quoted = {{Stack::scaled_residual, "scaled residual", 1.24, 5.7},
                                      {Stack::residual, "residual", 1.6e3, 8e8},
                                      {Stack::plain, "plain tanh", 2.2e-3, 2.6e18}};
  const std::vector<double> depths = {10, 50, 200};
  const Stack carried = check.choose(Stack::scaled_residual, Stack::residual);
  report::Plot plot{.title = "Root mean square singular value of a deep stack's Jacobian",
                    .x_label = "layers",
                    .y_label = "singular value",
                    .x_scale = report::PlotScale::log,
                    .y_scale = report::PlotScale::log};
  for (const Quoted& q : quoted) {
    report::PlotCurve sizes{q.name};
    TypicalJacobian found;
    for (double depth : depths) {
      found = typical_jacobian(q.stack, static_cast<std::size_t>(depth), check.effort(8, 60), check.random());
      sizes.x.push_back(depth), sizes.y.push_back(std::exp(found.log_size.mean()));
    }
    if (q.stack == carried) {
      check.at_most("residual, depth 200: condition of the Jacobian", std::exp(found.log_condition.mean()), 100);
      check.between("residual, depth 200: mean singular value", sizes.y.back(), 1, 2);
    }
    check.as_quoted(q.name + ", depth 200: log of the mean singular value", found.log_size, std::log(q.size), 5, .03);
    if (q.stack == Stack::plain)  // only rounding keeps it from being larger
      check.at_least("plain tanh, depth 200: least condition", found.least_condition, 1e16);
    else
      check.as_quoted(q.name + ", depth 200: log of the condition", found.log_condition, std::log(q.condition), 5, .06);
    plot.curves.push_back(sizes);
  }
  check.plot(plot);
  const TypicalJacobian limited = typical_jacobian(Stack::limited_residual, 200, check.effort(2, 20), check.random());
  check.at_least("Lip(F) = .9, depth 200: condition of the Jacobian", std::exp(limited.log_condition.mean()), 1e3);
  check.at_least("Lip(F) = .9, depth 200: mean singular value", std::exp(limited.log_size.mean()), 10);
  const TypicalJacobian gentle = typical_jacobian(Stack::limited_by_depth, 200, check.effort(2, 20), check.random());
  check.at_most("Lip(F) = 1/200, depth 200: condition of the Jacobian", std::exp(gentle.log_condition.mean()),
                std::pow((1 + 1. / 200) / (1 - 1. / 200), 200));
  signals_after_many_layers(check);
}

}  // namespace isentropic::ledger::bottleneck
