// The bottleneck curve as a table, as an SVG chart and as JSON.
#include "experiments/bottleneck/present.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "isentropic/version.hpp"
#include "report/chart.hpp"
#include "report/text_table.hpp"

namespace isentropic::experiments::bottleneck {
namespace {

using information::BottleneckCode;
using information::BottleneckCurve;
using information::Table;

using Json = nlohmann::ordered_json;

bool is_deterministic(const Results& results) {
  return results.options.kind == information::BottleneckKind::deterministic;
}

// dI_Y / dprice between a point and the next; nothing if the step is too small to divide by.
std::optional<double> slope_after(const BottleneckCurve& curve, std::size_t i) {
  constexpr double kLeastStep = 1e-6;
  if (i + 1 >= curve.points.size()) return std::nullopt;
  const BottleneckCode &here = curve.points[i], &next = curve.points[i + 1];
  const double step = curve.price(here) - curve.price(next);
  if (step < kLeastStep) return std::nullopt;
  return (here.information_y - next.information_y) / step;
}

double share_kept(const BottleneckCurve& curve, const BottleneckCode& code) {
  return curve.information > 0 ? code.information_y / curve.information : 0;
}

Json matrix_json(const Table& table) {
  Json out = Json::array();
  for (std::size_t x = 0; x < table.rows; ++x) out.push_back(table.row(x));
  return out;
}

report::Line bound(std::string label, std::vector<double> x, std::vector<double> y) {
  return {std::move(label), std::move(x), std::move(y), 0, report::Stroke::ceiling};
}

// Where only the constant code remains.
std::string critical_line(const Results& results) {
  const information::CriticalBeta& critical = results.critical;
  std::string out = fmt::format("critical beta {:.4f}: beyond it only the constant code is left", critical.global);
  if (is_deterministic(results)) {
    const auto constant = std::ranges::find_if(results.curve.points,
                                               [](const BottleneckCode& code) { return code.encoder.columns == 1; });
    return out + (constant == results.curve.points.end()
                      ? "; functions of X may become constant before"
                      : fmt::format("; functions of X are constant from {:.4f} on", constant->beta));
  }
  if (critical.global - critical.local > 1e-4)
    out += fmt::format("; from {:.4f} on it is a local optimum", critical.local);
  return out;
}

}  // namespace

const char* price_name(const Results& results) { return is_deterministic(results) ? "H(Z)" : "I(Z;X)"; }

std::vector<double> usual_betas(double critical) {
  constexpr double kIndependent = 1e-9;
  std::vector<double> out = {.01, .02, .05};
  for (int percent = 10; percent <= 95; percent += 5) out.push_back(percent / 100.0);
  out.insert(out.end(), {.98, .99, 1.02});
  for (double& beta : out) beta *= critical > kIndependent ? critical : 1;
  return out;
}

std::size_t memory_needed(std::size_t rows, std::size_t columns, std::size_t betas) {
  // A code has up to as many symbols as X: one encoder per point, and a dozen in working memory with their decoders.
  constexpr std::size_t kAtWork = 12;
  return sizeof(double) * (betas * rows * rows + kAtWork * rows * (rows + columns));
}

std::string table(const Results& results) {
  const BottleneckCurve& curve = results.curve;
  std::string out = fmt::format("{}: {} x {}, in nats\nH(X) {:.4f}   H(Y) {:.4f}   I(X;Y) {:.4f}\n{}\n\n",
                                results.source, results.rows, results.columns, curve.entropy_x, curve.entropy_y,
                                curve.information, critical_line(results));
  report::TextTable text({"beta", price_name(results), "I(Z;Y)", "of I(X;Y)", "slope", "codes"});
  for (std::size_t i = 0; i < curve.points.size(); ++i) {
    const BottleneckCode& point = curve.points[i];
    const std::optional<double> slope = slope_after(curve, i);
    text.add_row({fmt::format("{:.4f}", point.beta), fmt::format("{:.4f}", curve.price(point)),
                  fmt::format("{:.4f}", point.information_y), fmt::format("{:.1f}%", 100 * share_kept(curve, point)),
                  slope ? fmt::format("{:.4f}", *slope) : "", fmt::format("{}", point.encoder.columns)});
  }
  out += text.str();
  const information::BottleneckDefects found = defects(curve);
  out += fmt::format(
      "\nslope: dI(Z;Y)/d{} to the next row, between the two betas on a concave curve.\n"
      "largest defects: not monotone {:.1e}, slope outside {:.1e}, above the ceiling {:.1e}\n",
      price_name(results), found.monotone, found.slope, found.ceiling);
  const auto unfinished = std::ranges::count_if(curve.points, [](const BottleneckCode& c) { return !c.converged; });
  if (unfinished > 0)
    out += fmt::format("{} of {} points still moved after {} iterations\n", unfinished, curve.points.size(),
                       results.options.most_iterations);
  return out;
}

Json json(const Results& results) {
  const BottleneckCurve& curve = results.curve;
  Json points = Json::array();
  for (std::size_t i = 0; i < curve.points.size(); ++i) {
    const BottleneckCode& point = curve.points[i];
    const std::optional<double> slope = slope_after(curve, i);
    points.push_back({{"beta", point.beta},
                      {"information_x", point.information_x},
                      {"information_y", point.information_y},
                      {"entropy", point.entropy},
                      {"objective", point.objective},
                      {"slope_to_next", slope ? Json(*slope) : Json(nullptr)},
                      {"iterations", point.iterations},
                      {"converged", point.converged},
                      {"encoder", matrix_json(point.encoder)}});
  }
  const information::BottleneckDefects found = defects(curve);
  return {{"command", "ib"},
          {"version", ISENTROPIC_VERSION},
          {"unit", "nats"},
          {"parameters",
           {{"joint", results.source},
            {"kind", is_deterministic(results) ? "deterministic" : "stochastic"},
            {"seed", results.options.seed},
            {"random_starts", results.options.random_starts},
            {"most_iterations", results.options.most_iterations},
            {"tolerance", results.options.tolerance}}},
          {"rows", results.rows},
          {"columns", results.columns},
          {"entropy_x", curve.entropy_x},
          {"entropy_y", curve.entropy_y},
          {"information", curve.information},
          {"critical_beta",
           {{"global", results.critical.global}, {"local", results.critical.local}, {"input", results.critical.input}}},
          {"points", points},
          {"defects",
           {{"monotone", found.monotone},
            {"slope", found.slope},
            {"ceiling", found.ceiling},
            {"iteration", found.iteration}}}};
}

std::string picture(const Results& results) {
  const BottleneckCurve& curve = results.curve;
  report::Line found{is_deterministic(results) ? "functions of X" : "best codes", {}, {}, 0, report::Stroke::strong};
  const auto add = [&](double x, double y) {
    found.x.push_back(x);
    found.y.push_back(y);
  };
  add(0, 0);
  for (auto point = curve.points.rbegin(); point != curve.points.rend(); ++point)
    add(curve.price(*point), point->information_y);
  add(curve.entropy_x, curve.information);
  // Intersections of lines from the origin with I(X;Y).
  const double most = curve.information, beta = results.critical.global;
  std::vector<report::Line> lines = {bound("I(X;Y)", {0, curve.entropy_x}, {most, most}),
                                     bound("I(Z;Y) = I(Z;X)", {0, most}, {0, most})};
  if (beta > 0) {
    const double end = std::min(curve.entropy_x, most / beta);
    lines.push_back(bound("slope critical β", {0, end}, {0, beta * end}));
  }
  lines.push_back(found);
  const report::Panel panel{fmt::format("I(Z;Y) against {}, in nats", price_name(results)),
                            report::linear_axis(price_name(results), 0, std::max(curve.entropy_x, 1e-6)),
                            report::linear_axis("I(Z;Y)", 0, std::max(most, 1e-6)), lines};
  return report::svg({"Information bottleneck",
                      fmt::format("{} x {} joint; critical β {:.4f}", results.rows, results.columns, beta),
                      {panel}});
}

}  // namespace isentropic::experiments::bottleneck
