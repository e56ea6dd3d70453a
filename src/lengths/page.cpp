// The results as an HTML page: two plots and the numbers behind them.
#include "report/page.hpp"

#include <fmt/format.h>

#include <cmath>

#include "lengths/present.hpp"

namespace isentropic::lengths {
namespace {

report::Plot plot(const Results& results, const char* title, const char* label, Estimate Measurement::*field) {
  report::Plot out{
      .title = title, .x_label = "keys in the context, n", .y_label = label, .x_scale = report::PlotScale::log};
  for (const Curve& curve : results.main().curves) {
    if (results.options.laws.empty() && curve.law.prominence == Prominence::table_only) continue;
    report::PlotCurve line{.label = curve.law.label};
    for (std::size_t i = 0; i < results.lengths.size(); ++i) {
      line.x.push_back(static_cast<double>(results.lengths[i]));
      line.y.push_back((curve.points[i].*field).mean);
    }
    out.curves.push_back(std::move(line));
  }
  return out;
}

report::PlotCurve ceiling(const Results& results) {
  report::PlotCurve out{.label = "uniform: log n", .style = report::CurveStyle::bound};
  for (const std::int64_t n : results.lengths) {
    out.x.push_back(static_cast<double>(n));
    out.y.push_back(std::log(static_cast<double>(n)));
  }
  return out;
}

report::DataTable numbers(const Results& results, const char* title, Estimate Measurement::*field, int digits) {
  report::DataTable out{.title = title, .columns = {"scale λ"}};
  for (const std::int64_t n : results.lengths) out.columns.push_back(std::to_string(n));
  for (const Curve& curve : results.main().curves) {
    std::vector<std::string> row = {curve.law.label};
    for (const Measurement& point : curve.points) row.push_back(fmt::format("{:.{}f}", (point.*field).mean, digits));
    out.rows.push_back(std::move(row));
  }
  return out;
}

report::DataTable slopes(const Results& results) {
  report::DataTable out{.title = "Slope dH/dlog n (1: spreads over all keys; 0: constant)",
                        .columns = {"scale λ", "slope", "standard error"}};
  for (const Curve& curve : results.main().curves)
    out.rows.push_back(
        {curve.law.label, fmt::format("{:.3f}", curve.slope.mean), fmt::format("{:.3f}", curve.slope.error)});
  return out;
}

}  // namespace

std::string page(const Results& results) {
  report::Page out{.title = "Attention as the context grows",
                   .subtitle = fmt::format("Scale laws λ(n, d) at d = {}, random keys of norm √d, seed {}",
                                           results.options.d, results.options.seed)};
  report::Plot entropy = plot(results, "Entropy of attention: nothing to find", "H, nats", &Measurement::entropy);
  entropy.curves.push_back(ceiling(results));
  out.parts.emplace_back(
      report::Row{{std::move(entropy),
                   plot(results, "Probability of the one key that equals the query", "p", &Measurement::needle)}});
  out.parts.emplace_back(slopes(results));
  out.parts.emplace_back(numbers(results, "Entropy, nats", &Measurement::entropy, 2));
  out.parts.emplace_back(numbers(results, "Probability of the needle", &Measurement::needle, 3));
  return report::html(out);
}

}  // namespace isentropic::lengths
