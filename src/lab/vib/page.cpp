// Results as an HTML page and a figure: the information plane, errors against beta, and a table of all networks.
#include "report/page.hpp"

#include <fmt/format.h>

#include <cmath>

#include "isentropic/information/gaussian_bottleneck.hpp"
#include "lab/vib/results.hpp"
#include "report/plot_picture.hpp"

namespace isentropic::lab::vib {
namespace {

constexpr const char* kTitle = "The variational information bottleneck";

std::string subtitle(const Results& results) {
  return results.correlations.empty() ? "labelled images" : "Gaussian data with known optimal codes";
}

report::PlotCurve exact_curve(const std::vector<double>& correlations) {
  report::PlotCurve out{.label = "exact", .style = report::CurveStyle::formula, .colour = report::kInk};
  for (int i = 0; i <= 200; ++i) {
    const auto point = information::gaussian_bottleneck(correlations, std::pow(10.0, -3.0 * i / 200));
    out.x.push_back(point.information_x);
    out.y.push_back(point.information_y);
  }
  return out;
}

report::Plot plane(const Results& results) {
  report::PlotCurve test{.label = "test"}, train{.label = "training"};
  const std::vector<BetaResult> rows = by_beta(results);
  for (auto row = rows.rbegin(); row != rows.rend(); ++row) {  // by increasing I(Z;X)
    if (row->member.deterministic) continue;
    test.x.push_back(row->information_x.mean);
    test.y.push_back(row->information_y.mean);
    train.x.push_back(row->train_information_x.mean);
    train.y.push_back(row->train_information_y.mean);
  }
  report::Plot out{.title = "Information kept by the code",
                   .x_label = "upper bound on I(Z;X), nats",
                   .y_label = "lower bound on I(Z;Y), nats",
                   .x_scale = results.correlations.empty() ? report::PlotScale::log : report::PlotScale::linear,
                   .curves = {test, train}};
  if (!results.correlations.empty()) out.curves.push_back(exact_curve(results.correlations));
  return out;
}

report::Plot errors(const Results& results) {
  report::PlotCurve one{.label = "one sample"}, many{.label = fmt::format("{} samples", kSamples)};
  report::PlotCurve none{.label = "no noise", .style = report::CurveStyle::bound};
  for (const BetaResult& row : by_beta(results)) {
    if (row.member.deterministic && !one.x.empty()) {
      none.x = {one.x.front(), one.x.back()};
      none.y = {100 * row.error_one.mean, 100 * row.error_one.mean};
    }
    if (row.member.beta == 0) continue;  // a logarithmic axis cannot show it
    one.x.push_back(row.member.beta);
    many.x.push_back(row.member.beta);
    one.y.push_back(100 * row.error_one.mean);
    many.y.push_back(100 * row.error_many.mean);
  }
  return {.title = "Test error",
          .x_label = "β",
          .y_label = "error, %",
          .x_scale = report::PlotScale::log,
          .curves = {one, many, none}};
}

report::DataTable numbers(const Results& results) {
  const bool has_errors = results.correlations.empty();
  report::DataTable out{
      .title = "All networks",
      .columns = {"β", "seed", "noise", "I(Z;X) ≤", "I(Z;Y) ≥", "I(Z;X) in training ≤", "I(Z;Y) in training ≥"}};
  if (has_errors)
    out.columns.insert(out.columns.begin() + 3, {"error, %", fmt::format("error with {} samples, %", kSamples)});
  const auto shown = [](double value) {
    return std::isfinite(value) ? fmt::format("{:.4f}", value) : std::string("-");
  };
  for (const auto& [member, train, test] : results.members) {
    std::vector<std::string> row = {fmt::format("{:g}", member.beta), std::to_string(member.seed),
                                    member.deterministic ? "no" : "yes"};
    if (has_errors)
      for (const double error : {test.error_one, test.error_many}) row.push_back(fmt::format("{:.2f}", 100 * error));
    for (const double information : {test.information_x, test.information_y, train.information_x, train.information_y})
      row.push_back(shown(information));
    out.rows.push_back(std::move(row));
  }
  return out;
}

}  // namespace

std::string page(const Results& results) {
  report::Page out{.title = kTitle, .subtitle = subtitle(results)};
  out.parts.emplace_back(report::Prose{
      .paragraphs = {
          "A network encodes its input X as a noisy code Z and predicts Y from Z. The loss charges β for every nat "
          "of information about X. The mean KL divergence of the codes from the prior is an upper bound on I(Z;X); "
          "the mean of log q(y|z) / p(y) is a lower bound on I(Z;Y). Both are in nats; points are means over seeds."}});
  out.parts.emplace_back(plane(results));
  if (results.correlations.empty()) out.parts.emplace_back(errors(results));
  out.parts.emplace_back(numbers(results));
  return report::html(out);
}

std::string picture(const Results& results) {
  std::vector<report::Plot> plots = {plane(results)};
  if (results.correlations.empty()) plots.push_back(errors(results));
  return report::svg(report::figure_of(kTitle, subtitle(results) + ", means over seeds", plots));
}

}  // namespace isentropic::lab::vib
