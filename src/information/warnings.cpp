// Reasons not to trust an estimate.
#include <algorithm>
#include <cmath>
#include <sstream>

#include "information/symbols.hpp"
#include "information/ties.hpp"
#include "isentropic/information/mutual_information.hpp"

namespace isentropic::information {
namespace {

using Warnings = std::vector<std::string>;

std::string number(double x) {
  std::ostringstream out;
  out.precision(3);
  out << x;
  return out.str();
}

void warn_of_ties(const std::string& name, const Table& samples, Warnings* out) {
  if (has_many_ties(samples))
    out->push_back(name + " has many ties (" + number(100 * repeated_share(samples)) +
                   "% of its values occur more than once): neighbours at equal distances mislead this estimator; use "
                   "mesner_shalizi or auto");
}

void warn_of_neighbours(const Table& x, const Table& y, const Table& z, double estimate, Warnings* out) {
  const double rows = static_cast<double>(x.rows), columns = static_cast<double>(x.columns + y.columns + z.columns);
  // N points in d dimensions are about N^(-1/d) of the width apart; above 1/e they have no small neighbourhoods.
  if (columns > std::log(rows))
    out->push_back("high dimension: " + number(columns) + " columns exceed log N = " + number(std::log(rows)) +
                   ", where nearest neighbours are far away and strong dependence is underestimated");
  if (10 * std::exp(estimate) > rows)
    out->push_back("few samples: N = " + number(rows) + " is below 10 e^I = " + number(10 * std::exp(estimate)) +
                   "; nearest-neighbour estimates cannot much exceed log N nats, so the true value may be larger");
}

void warn_of_cells(const Table& x, const Table& y, const Table& z, const InformationOptions& options, Warnings* out) {
  const auto alphabet = [&](const Table& samples) {
    if (samples.columns == 0) return 1.0;
    if (options.estimator == InformationEstimator::discrete) return static_cast<double>(symbols_of(samples).distinct);
    const int bins = options.bins > 0 ? options.bins : usual_bins(samples.rows);
    const auto binning = options.estimator == InformationEstimator::binned ? Binning::equal_width : Binning::equal_mass;
    return static_cast<double>(symbols_of(binned(samples, bins, binning)).distinct);
  };
  // The leading term of the plug-in bias.
  const double bias = alphabet(z) * (alphabet(x) - 1) * (alphabet(y) - 1) / (2 * static_cast<double>(x.rows));
  constexpr double kLarge = .1;
  if (bias > kLarge)
    out->push_back("few samples for so many cells: the plug-in bias would be about " + number(bias) +
                   " nats, of which corrections remove only a part");
}

}  // namespace

std::vector<std::string> information_warnings(const Table& x, const Table& y, const Table& z,
                                              const InformationOptions& options, double estimate) {
  Warnings out;
  switch (options.estimator) {
    case InformationEstimator::ksg1:
    case InformationEstimator::ksg2:
      warn_of_neighbours(x, y, z, estimate, &out);
      warn_of_ties("x", x, &out);
      warn_of_ties("y", y, &out);
      warn_of_ties("the condition", z, &out);
      break;
    case InformationEstimator::mixed: {
      const bool x_is_symbol = symbols_of(x).distinct <= symbols_of(y).distinct;
      warn_of_neighbours(Table(x.rows, 0), x_is_symbol ? y : x, Table{}, estimate, &out);
      break;
    }
    case InformationEstimator::mesner_shalizi:
      warn_of_neighbours(x, y, z, estimate, &out);
      break;
    case InformationEstimator::binned:
    case InformationEstimator::equal_mass:
    case InformationEstimator::discrete:
      warn_of_cells(x, y, z, options, &out);
      break;
    case InformationEstimator::gaussian:
      if (x.rows < 10 * (x.columns + y.columns + z.columns))
        out.push_back("few samples: N = " + std::to_string(x.rows) + " for a covariance of " +
                      std::to_string(x.columns + y.columns + z.columns) +
                      " columns; the estimate is too large by about (columns of x) (columns of y) / (2 N)");
      break;
  }
  return out;
}

}  // namespace isentropic::information
