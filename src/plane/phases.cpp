// Finds peaks and drops in a record.
#include "plane/phases.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "plane/mean.hpp"

namespace isentropic::plane {
namespace {

constexpr double kRounding = 1e-9;  // bits: rounding of sums of logarithms

double sum_of_products(const std::vector<double>& a, const std::vector<double>& b) {
  const double at = mean(a), bt = mean(b);
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - at) * (b[i] - bt);
  return sum;
}

double standard_error(const std::vector<double>& values) {
  const auto count = static_cast<double>(values.size());
  return count < 2 ? 0 : std::sqrt(sum_of_products(values, values) / (count - 1) / count);
}

std::size_t seeds_of(const Record& record) { return record.moments.front().points.front().front().size(); }

std::vector<double> course_of(const Record& record, std::size_t estimator, std::size_t layer, std::size_t seed) {
  std::vector<double> out;
  for (const Moment& moment : record.moments) out.push_back(moment.points[estimator][layer][seed].input);
  return out;
}

double drop_of(const std::vector<double>& course) { return *std::ranges::max_element(course) - course.back(); }

Phase phase_of(const Record& record, std::size_t estimator, std::size_t layer, double threshold) {
  std::vector<double> start, peak, end, drop;
  for (std::size_t seed = 0; seed < seeds_of(record); ++seed) {
    const std::vector<double> course = course_of(record, estimator, layer, seed);
    start.push_back(course.front()), end.push_back(course.back());
    peak.push_back(*std::ranges::max_element(course)), drop.push_back(drop_of(course));
  }
  Phase out{record.estimators[estimator], record.layers[layer], mean(start), mean(peak), mean(end), mean(drop)};
  out.spread = standard_error(drop);
  out.compresses = out.drop - out.spread > threshold;
  return out;
}

double correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const double spread = std::sqrt(sum_of_products(a, a) * sum_of_products(b, b));
  return a.size() < kLeastSeeds || !(spread > 1e-12) ? std::numeric_limits<double>::quiet_NaN()
                                                     : sum_of_products(a, b) / spread;
}

}  // namespace

std::vector<Phase> phases(const Record& record, double threshold) {
  std::vector<Phase> out;
  if (record.moments.empty()) return out;
  for (std::size_t e = 0; e < record.estimators.size(); ++e)
    for (std::size_t l = 0; l < record.layers.size(); ++l) out.push_back(phase_of(record, e, l, threshold));
  return out;
}

std::vector<Rise> rises_with_depth(const Record& record) {
  std::vector<Rise> out;
  for (std::size_t e = 0; e < record.estimators.size(); ++e) {
    Rise& found = out.emplace_back(record.estimators[e]);
    for (const Moment& moment : record.moments)
      for (std::size_t l = 1; l < record.layers.size(); ++l)
        for (std::size_t seed = 0; seed < moment.points[e][l].size(); ++seed) {
          const double rise = moment.points[e][l][seed].input - moment.points[e][l - 1][seed].input;
          ++found.compared;
          if (rise > kRounding) ++found.risen, found.largest = std::max(found.largest, rise);
        }
  }
  return out;
}

std::vector<Agreement> compression_and_accuracy(const Record& record) {
  std::vector<Agreement> out;
  if (record.moments.empty() || record.moments.back().test_accuracy.empty()) return out;
  for (std::size_t e = 0; e < record.estimators.size(); ++e) {
    std::vector<double> drops(seeds_of(record), 0);
    for (std::size_t seed = 0; seed < drops.size(); ++seed)
      for (std::size_t l = 0; l < record.layers.size(); ++l) drops[seed] += drop_of(course_of(record, e, l, seed));
    out.push_back({record.estimators[e], drops.size(), correlation(drops, record.moments.back().test_accuracy)});
  }
  return out;
}

std::vector<std::string> warnings(const Record& record) {
  std::vector<std::string> out;
  for (const Rise& rise : rises_with_depth(record))
    if (rise.estimator == "exact" && rise.risen > 0)
      out.push_back(
          fmt::format("exact I(X;T) rises with depth in {} of {} comparisons, by up to {:.3g} bits: the layers "
                      "do not form a Markov chain, or noise is drawn between them",
                      rise.risen, rise.compared, rise.largest));
  if (!record.moments.empty() && seeds_of(record) == 1)
    out.emplace_back("one seed only: the variability of a drop is unknown");
  return out;
}

nlohmann::ordered_json findings(const Record& record) {
  nlohmann::ordered_json out = {{"threshold", kThreshold}};
  for (auto* key : {"phases", "rises_with_depth", "compression_and_test_accuracy"}) out[key] = nlohmann::json::array();
  for (const Phase& phase : phases(record))
    out["phases"].push_back({{"estimator", phase.estimator},
                             {"layer", phase.layer},
                             {"start", phase.start},
                             {"peak", phase.peak},
                             {"end", phase.end},
                             {"drop", phase.drop},
                             {"spread", phase.spread},
                             {"compresses", phase.compresses}});
  for (const Rise& rise : rises_with_depth(record))
    out["rises_with_depth"].push_back(
        {{"estimator", rise.estimator}, {"compared", rise.compared}, {"risen", rise.risen}, {"largest", rise.largest}});
  for (const Agreement& agreement : compression_and_accuracy(record))
    out["compression_and_test_accuracy"].push_back(
        {{"estimator", agreement.estimator}, {"seeds", agreement.seeds}, {"correlation", agreement.correlation}});
  out["warnings"] = warnings(record);
  return out;
}

}  // namespace isentropic::plane
