// A single entry point for every estimator of mutual information.
#include <algorithm>
#include <cmath>

#include "base/checks.hpp"
#include "information/distributions/validate.hpp"
#include "information/gaussian.hpp"
#include "information/symbols.hpp"
#include "information/ties.hpp"
#include "isentropic/information/mutual_information.hpp"

namespace isentropic::information {
namespace {

KsgOptions ksg_options(const InformationOptions& options) {
  return {options.k, options.estimator == InformationEstimator::ksg1 ? KsgAlgorithm::one : KsgAlgorithm::two,
          options.scaling};
}

// The samples as symbols, as they are or binned.
Symbols symbols_for(const Table& samples, const InformationOptions& options) {
  if (options.estimator == InformationEstimator::discrete) return symbols_of(samples);
  const Binning binning =
      options.estimator == InformationEstimator::binned ? Binning::equal_width : Binning::equal_mass;
  return symbols_of(binned(samples, options.bins > 0 ? options.bins : usual_bins(samples.rows), binning));
}

bool looks_discrete(const Table& samples) {
  const double distinct = static_cast<double>(symbols_of(samples).distinct);
  return distinct <= std::sqrt(static_cast<double>(samples.rows));
}

}  // namespace

const std::vector<InformationEstimator>& information_estimators() {
  static const std::vector<InformationEstimator> all = {
      InformationEstimator::ksg1,   InformationEstimator::ksg2,          InformationEstimator::gaussian,
      InformationEstimator::binned, InformationEstimator::equal_mass,    InformationEstimator::discrete,
      InformationEstimator::mixed,  InformationEstimator::mesner_shalizi};
  return all;
}

std::string name(InformationEstimator estimator) {
  switch (estimator) {
    case InformationEstimator::ksg1:
      return "ksg1";
    case InformationEstimator::ksg2:
      return "ksg2";
    case InformationEstimator::gaussian:
      return "gaussian";
    case InformationEstimator::binned:
      return "binned";
    case InformationEstimator::equal_mass:
      return "equal_mass";
    case InformationEstimator::discrete:
      return "discrete";
    case InformationEstimator::mixed:
      return "mixed";
    case InformationEstimator::mesner_shalizi:
      return "mesner_shalizi";
  }
  return {};
}

InformationEstimator information_estimator_named(const std::string& wanted) {
  std::string names;
  for (InformationEstimator estimator : information_estimators()) {
    if (name(estimator) == wanted) return estimator;
    names += (names.empty() ? "" : ", ") + name(estimator);
  }
  throw Error("estimator", "'" + wanted + "'", "one of " + names);
}

Table beside(const Table& x, const Table& y) {
  if (x.columns == 0) return y;
  if (y.columns == 0) return x;
  require_rows("y", y, x.rows);
  Table out(x.rows, x.columns + y.columns);
  for (std::size_t r = 0; r < x.rows; ++r) {
    const auto end = std::copy(x.row(r).begin(), x.row(r).end(), out.row(r).begin());
    std::copy(y.row(r).begin(), y.row(r).end(), end);
  }
  return out;
}

double estimate_information(const Table& x, const Table& y, const InformationOptions& options, Executor& executor) {
  return estimate_information(x, y, Table{}, options, executor);
}

double estimate_information(const Table& x, const Table& y, const Table& z, const InformationOptions& options,
                            Executor& executor) {
  require_samples("x", x);
  require_samples("y", y);
  require_rows("y", y, x.rows);
  const bool given = z.columns > 0;
  if (given) {
    require_samples("z", z);
    require_rows("z", z, x.rows);
    if (options.estimator == InformationEstimator::ksg2 || options.estimator == InformationEstimator::mixed)
      throw Error("estimator", name(options.estimator) + ", with a condition z",
                  "one of ksg1, mesner_shalizi, gaussian, binned, equal_mass, discrete");
  }
  switch (options.estimator) {
    case InformationEstimator::ksg1:
    case InformationEstimator::ksg2:
      return given ? ksg_conditional_mutual_information(x, y, z, ksg_options(options), executor)
                   : ksg_mutual_information(x, y, ksg_options(options), executor);
    case InformationEstimator::gaussian:
      return gaussian_information(x, y, z);
    case InformationEstimator::binned:
    case InformationEstimator::equal_mass:
    case InformationEstimator::discrete: {
      require_at_least("bins", options.bins, 0);
      const Symbols xs = symbols_for(x, options), ys = symbols_for(y, options);
      return given ? information_of_symbols(xs, ys, symbols_for(z, options), options.entropy)
                   : information_of_symbols(xs, ys, options.entropy);
    }
    case InformationEstimator::mixed: {
      const bool x_is_symbol = symbols_of(x).distinct <= symbols_of(y).distinct;
      return mixed_mutual_information(x_is_symbol ? x : y, x_is_symbol ? y : x, options.k, options.scaling, executor);
    }
    case InformationEstimator::mesner_shalizi:
      return mesner_shalizi_mutual_information(x, y, z, options.k, options.scaling, executor);
  }
  return 0;
}

InformationEstimator suitable_estimator(const Table& x, const Table& y, const Table& z) {
  const int symbols = (looks_discrete(x) ? 1 : 0) + (looks_discrete(y) ? 1 : 0);
  if (symbols == 2 && (z.columns == 0 || looks_discrete(z))) return InformationEstimator::discrete;
  if (symbols == 1 && z.columns == 0) return InformationEstimator::mixed;
  const bool ties = has_many_ties(x) || has_many_ties(y) || has_many_ties(z);
  return ties ? InformationEstimator::mesner_shalizi : InformationEstimator::ksg1;
}

}  // namespace isentropic::information
