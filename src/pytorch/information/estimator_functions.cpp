// Estimators from samples for Python: entropies, mutual information, significance, many variables.
#include "isentropic/information/entropy.hpp"
#include "isentropic/information/multivariate.hpp"
#include "isentropic/information/significance.hpp"
#include "pytorch/information/functions.hpp"

namespace isentropic::pytorch::bindings {
namespace {

using namespace information;

// InformationOptions before the data are known: the estimator may be "auto".
struct Choice {
  std::string estimator;
  InformationOptions options;

  InformationOptions for_samples(const Table& x, const Table& y, const Table& z = {}) const {
    InformationOptions out = options;
    if (estimator == "auto")
      out.estimator = suitable_estimator(x, y, z);
    else
      out.estimator = information_estimator_named(estimator == "ksg" ? "ksg1" : estimator);
    return out;
  }
  InformationMeasure measure(const Table& x, const Table& y, const Table& z) const {
    return [chosen = for_samples(x, y, z)](const Table& a, const Table& b, const Table& c) {
      TorchThreads threads;
      return estimate_information(a, b, c, chosen, threads);
    };
  }
};

}  // namespace

template <>
struct Taken<Choice> {
  static constexpr const char* kinds = "word small word small word";
  static Choice take(Arguments& arguments) {
    Choice out;
    out.estimator = arguments.word();
    out.options.k = Taken<int>::take(arguments);
    out.options.scaling = Taken<Scaling>::take(arguments);
    out.options.bins = Taken<int>::take(arguments);
    out.options.entropy = Taken<EntropyEstimator>::take(arguments);
    return out;
  }
};

static void give(Results& out, const Correlation& found) { give_all(out, found.total, found.dual_total); }
static void give(Results& out, const CorrelationReport& found) {
  give_all(out, found.observed, found.resampled_positions, found.shuffled_order);
}
static void give(Results& out, const Significance& found) {
  give_all(out, found.estimate, found.p_value, found.surrogate_mean, found.surrogate_deviation, found.permutations);
}
static void give(Results& out, const Interval& found) {
  give_all(out, found.estimate, found.deviation, found.low, found.high, found.halves);
}
static void give(Results& out, const DataProcessing& found) {
  give_all(out, found.x_z, found.z_y, found.x_y, found.slack, found.margin());
}

Functions estimator_functions() {
  return {
      function("entropy_from_counts", entropy_from_counts),
      function("entropy_from_symbols", entropy_from_symbols),
      function("gaussian_entropy", gaussian_entropy),
      function("gaussian_entropy_from_samples", gaussian_entropy_from_samples),
      function("kozachenko_leonenko_entropy", kozachenko_leonenko_entropy),
      function(
          "entropy_estimators", +[] { return choices<EntropyEstimator>().words; }),

      function(
          "mutual_information",
          +[](const Table& x, const Table& y, const Table& z, const Choice& choice, Executor& executor) {
            return estimate_information(x, y, z, choice.for_samples(x, y, z), executor);
          }),
      function("mixed_mutual_information", mixed_mutual_information),
      function("gaussian_mutual_information", gaussian_mutual_information),
      function("mutual_information_from_counts", mutual_information_from_counts),
      function("binned", binned),
      function("usual_bins", usual_bins),
      function("suitable_estimator", suitable_estimator),
      function(
          "information_estimators", +[] { return choices<InformationEstimator>().words; }),
      function(
          "information_warnings",
          +[](const Table& x, const Table& y, const Table& z, double estimate, const Choice& choice) {
            return information_warnings(x, y, z, choice.for_samples(x, y, z), estimate);
          }),

      function(
          "permutation_significance",
          +[](const Table& x, const Table& y, const Table& z, int permutations, std::uint64_t seed,
              const Choice& choice) {
            return permutation_significance(x, y, z, choice.measure(x, y, z), permutations, seed);
          }),
      function(
          "half_sample_interval",
          +[](const Table& x, const Table& y, const Table& z, int halves, double level, std::uint64_t seed,
              const Choice& choice) {
            return half_sample_interval(x, y, z, choice.measure(x, y, z), halves, level, seed);
          }),

      function(
          "correlation",
          +[](const Table& samples, const Choice& choice, Executor& executor) {
            return estimate_correlation(samples, choice.for_samples(samples, samples), executor);
          }),
      function(
          "correlation_with_baselines",
          +[](const Table& samples, std::uint64_t seed, const Choice& choice, Executor& executor) {
            return correlation_with_baselines(samples, choice.for_samples(samples, samples), seed, executor);
          }),
      function("with_resampled_positions", with_resampled_positions),
      function("with_shuffled_order", with_shuffled_order),
      function("order_information", order_information),
      function(
          "data_processing",
          +[](const Table& x, const Table& z, const Table& y, const Choice& choice, Executor& executor) {
            return data_processing(x, z, y, choice.for_samples(x, y, z), executor);
          }),
  };
}

}  // namespace isentropic::pytorch::bindings
