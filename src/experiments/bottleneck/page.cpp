// The curve, the codes behind some of its points, and the numbers, as an HTML page.
#include "report/page.hpp"

#include <fmt/format.h>

#include "experiments/bottleneck/present.hpp"

namespace isentropic::experiments::bottleneck {
namespace {

using information::BottleneckCode;

report::Plot plane(const Results& results) {
  const information::BottleneckCurve& curve = results.curve;
  report::PlotCurve found{.label = "best codes found", .x = {0}, .y = {0}};
  for (auto point = curve.points.rbegin(); point != curve.points.rend(); ++point) {
    found.x.push_back(curve.price(*point));
    found.y.push_back(point->information_y);
  }
  const double most = curve.information;
  return {
      .title = "What codes of X keep about Y",
      .x_label = fmt::format("{}, nats", price_name(results)),
      .y_label = "I(Z;Y), nats",
      .curves = {found,
                 {.label = "I(X;Y)", .x = {0, curve.entropy_x}, .y = {most, most}, .style = report::CurveStyle::bound},
                 {.label = "I(Z;Y) = I(Z;X)", .x = {0, most}, .y = {0, most}, .style = report::CurveStyle::bound}}};
}

report::HeatMap encoder(const BottleneckCode& code) {
  report::HeatMap out{.title = fmt::format("p(z|x) at β = {:.4g}", code.beta), .x_label = "code z", .y_label = "x"};
  for (std::size_t x = 0; x < code.encoder.rows; ++x)
    out.rows.emplace_back(code.encoder.row(x).begin(), code.encoder.row(x).end());
  return out;
}

// The first code of each size: where the bottleneck drops a symbol.
report::Row encoders(const Results& results) {
  report::Row out;
  std::size_t size = 0;
  for (const BottleneckCode& code : results.curve.points) {
    if (code.encoder.columns == size || code.encoder.columns < 2 || out.parts.size() == 4) continue;
    size = code.encoder.columns;
    out.parts.emplace_back(encoder(code));
  }
  return out;
}

report::DataTable numbers(const Results& results) {
  report::DataTable out{.title = "Every point", .columns = {"β", price_name(results), "I(Z;Y)", "codes", "iterations"}};
  for (const BottleneckCode& point : results.curve.points)
    out.rows.push_back({fmt::format("{:.4f}", point.beta), fmt::format("{:.5f}", results.curve.price(point)),
                        fmt::format("{:.5f}", point.information_y), std::to_string(point.encoder.columns),
                        std::to_string(point.iterations)});
  return out;
}

}  // namespace

std::string page(const Results& results) {
  const information::BottleneckCurve& curve = results.curve;
  report::Page out{.title = "The information bottleneck",
                   .subtitle = fmt::format("{}: {} x {}", results.source, results.rows, results.columns)};
  out.parts.emplace_back(report::Prose{
      .paragraphs = {fmt::format("H(X) = {:.4f}, H(Y) = {:.4f}, I(X;Y) = {:.4f} nats. A code Z of X is charged β for "
                                 "every nat it holds about X; beyond β = {:.4f} only the constant code is left.",
                                 curve.entropy_x, curve.entropy_y, curve.information, results.critical.global)}});
  out.parts.emplace_back(plane(results));
  out.parts.emplace_back(encoders(results));
  out.parts.emplace_back(numbers(results));
  return report::html(out);
}

}  // namespace isentropic::experiments::bottleneck
