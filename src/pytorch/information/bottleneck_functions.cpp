// The information bottleneck for Python: single runs, curves, critical points, the Gaussian closed form.
#include "isentropic/information/bottleneck.hpp"
#include "isentropic/information/critical_beta.hpp"
#include "isentropic/information/gaussian_bottleneck.hpp"
#include "pytorch/information/functions.hpp"

namespace isentropic::pytorch::bindings {

using namespace information;

template <>
struct Taken<BottleneckOptions> {
  static constexpr const char* kinds = "word count number count count";
  static BottleneckOptions take(Arguments& arguments) {
    BottleneckOptions out;
    out.kind = Taken<BottleneckKind>::take(arguments);
    out.most_iterations = Taken<std::size_t>::take(arguments);
    out.tolerance = Taken<double>::take(arguments);
    out.random_starts = Taken<std::size_t>::take(arguments);
    out.seed = Taken<std::uint64_t>::take(arguments);
    return out;
  }
};

static void give(Results& out, const BottleneckCode& code) {
  give_all(out, code.beta, code.information_x, code.information_y, code.entropy, code.objective, code.encoder,
           code.iterations, code.largest_decrease, code.converged);
}
static void give(Results& out, const BottleneckDefects& found) {
  give_all(out, found.monotone, found.slope, found.ceiling, found.iteration);
}
// The curve with its defects; the points come last, because their number varies.
static void give(Results& out, const BottleneckCurve& curve) {
  give_all(out, curve.kind, curve.information, curve.entropy_x, curve.entropy_y, defects(curve));
  for (const BottleneckCode& code : curve.points) give(out, code);
}
static void give(Results& out, const BottleneckTerms& terms) {
  give_all(out, terms.entropy_y, terms.log_likelihood, terms.rate, terms.information_y);
}
static void give(Results& out, const CriticalBeta& found) { give_all(out, found.global, found.local, found.input); }
static void give(Results& out, const GaussianBottleneck& found) {
  give_all(out, found.information_x, found.information_y, found.components, found.projection);
}

namespace {

// For a curve held by Python: the hull's points, one row each: I(Z;X), I(Z;Y), H(Z).
double information_y_at(BottleneckKind kind, double information, double entropy_x, const Table& points,
                        double information_x) {
  BottleneckCurve curve{.kind = kind, .points = {}, .information = information, .entropy_x = entropy_x};
  for (std::size_t i = 0; i < points.rows; ++i)
    curve.points.push_back(
        {.information_x = points(i, 0), .information_y = points(i, 1), .entropy = points(i, 2), .encoder = {}});
  return curve.information_y_at(information_x);
}

}  // namespace

Functions bottleneck_functions() {
  return {
      function("iterate_bottleneck", iterate_bottleneck),
      function("bottleneck_curve", bottleneck_curve),
      function("information_y_at", information_y_at),
      function("bottleneck_terms", bottleneck_terms),
      function("variational_bottleneck", variational_bottleneck),
      function("squared_maximal_correlation", squared_maximal_correlation),
      function("critical_beta", critical_beta),
      function(
          "gaussian_bottleneck_of_correlations",
          +[](std::span<const double> correlations, double beta) { return gaussian_bottleneck(correlations, beta); }),
      function(
          "gaussian_bottleneck", +[](const Table& x, const Table& y, const Table& cross,
                                     double beta) { return gaussian_bottleneck(x, y, cross, beta); }),
  };
}

}  // namespace isentropic::pytorch::bindings
