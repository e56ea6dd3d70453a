// The results as an HTML page: how far noise moves the output, how much of that attacks reach, and the numbers.
#include "report/page.hpp"

#include <fmt/format.h>

#include "experiments/noise/numbers.hpp"
#include "experiments/noise/present.hpp"

namespace isentropic::experiments::noise {
namespace {

using report::CurveStyle;
using report::Plot;
using report::PlotCurve;
using report::PlotScale;

// The prediction as a line with the measurements as points on it; without a prediction, the measurements joined.
void add_curve(const Curve& curve, int colour, Estimate Point::*measured, double Point::*predicted, Plot* plot) {
  PlotCurve line{.label = curve.noise.label(), .style = CurveStyle::formula, .colour = colour};
  PlotCurve points{.style = CurveStyle::points};
  for (const Point& point : curve.points) {
    line.x.push_back(static_cast<double>(point.n)), line.y.push_back(std::abs(point.*predicted));
    points.x.push_back(static_cast<double>(point.n)), points.y.push_back(std::abs((point.*measured).mean));
  }
  if (std::isfinite(line.y.front())) {
    plot->curves.push_back(std::move(line));
    plot->curves.push_back(std::move(points));
  } else {
    points.label = line.label + " (no prediction)", points.style = CurveStyle::measured, points.colour = colour;
    plot->curves.push_back(std::move(points));
  }
}

Plot plot(const Results& results, const char* title, const char* label, Estimate Point::*measured,
          double Point::*predicted) {
  Plot out{.title = title, .x_label = "keys n", .y_label = label, .x_scale = PlotScale::log, .y_scale = PlotScale::log};
  int colour = 0;
  for (const Curve& curve : results.curves) add_curve(curve, colour++, measured, predicted, &out);
  return out;
}

Plot attack_plot(const Results& results, theory::Budget budget) {
  static constexpr const char* kTitles[] = {"The largest |delta_i| is limited", "The l2 norm is limited",
                                            "The l1 norm is limited"};
  Plot out{.title = kTitles[static_cast<std::size_t>(budget)],
           .x_label = "budget eps",
           .y_label = "share of the best gain",
           .x_scale = PlotScale::log};
  for (std::size_t direction = 0; direction < kDirectionNames.size(); ++direction) {
    PlotCurve line{.label = kDirectionNames[direction]};
    for (const AttackRow& row : results.attacks)
      if (row.budget == budget) line.x.push_back(row.eps), line.y.push_back(row.shares[direction].mean());
    out.curves.push_back(std::move(line));
  }
  return out;
}

report::DataTable powers(const Results& results) {
  report::DataTable out{.title = "How fast the median change falls: the power of n",
                        .columns = {"noise", "measured", "predicted"}};
  for (const Curve& curve : results.curves)
    out.rows.push_back({curve.noise.label(), with_error(curve.power, 3),
                        curve.predicted_power ? number(*curve.predicted_power, 3) : "none"});
  return out;
}

report::DataTable every_point(const Results& results) {
  report::DataTable out{.title = "Every point",
                        .columns = {"noise", "n", "bias", "predicted bias", "rms", "predicted rms", "median"}};
  for (const Curve& curve : results.curves)
    for (const Point& point : curve.points)
      out.rows.push_back({curve.noise.label(), std::to_string(point.n), with_error(point.bias, 6),
                          number(point.predicted_bias, 6), with_error(point.rms, 5), number(point.predicted_rms, 5),
                          number(point.median.mean, 5)});
  return out;
}

report::DataTable every_attack(const Results& results) {
  report::DataTable out{.title = "Every attack: share of the best gain",
                        .columns = {"budget", "eps", "sign", "gradient", "single", "best gain", "worst row"}};
  for (const AttackRow& row : results.attacks) {
    std::vector<std::string> cells = {kBudgetNames[static_cast<std::size_t>(row.budget)], fmt::format("{:g}", row.eps)};
    for (const Mean& share : row.shares) cells.push_back(number(share.mean(), 3));
    cells.push_back(number(row.best_gain, 4));
    cells.push_back(number(row.worst_share, 3));
    out.rows.push_back(std::move(cells));
  }
  return out;
}

report::Prose noise_prose() {
  return {"",
          {"Noise eps on the scores multiplies every weight a_i by e^{eps_i}. With r = Var(e^eps)/(E e^eps)^2 and the "
           "output o = sum_i a_i v_i, the change has the bias -r sum_i a_i^2 (v_i - o), of order 1/n for spread "
           "weights, and the rms sqrt(r sum_i a_i^2 |v_i - o|^2), of order n^-1/2. Here the scores are 0, 1, 0, 1, ... "
           "and the values equal to them.",
           "Lines are these formulas, points are what the attention kernel gives. A line that falls says that the "
           "noise averages out: the rms by half a decade for every decade of keys, the bias by a whole one. A level "
           "line says that it does not. Few independent keys seldom meet the tail that the formula counts, so points "
           "lie below their line at the left."}};
}

report::Prose attack_prose(const Results& results) {
  return {"Attacks",
          {fmt::format("An attacker adds delta to the scores, |delta| <= eps, to move the output along a direction. "
                       "For small eps the best delta follows the gradient g_i = a_i (x_i - o), x_i the value along "
                       "that direction: its sign where the largest |delta_i| is limited, g itself in l2, the single "
                       "largest |g_i| in l1. Drawn is the share of the exact optimum that each of the three reaches, "
                       "over {} rows of 10 keys with scores and values N(0, 1).",
                       results.options.attack_trials),
           "The best direction for a small budget is not the best for a large one. In the table below, worst row is "
           "the least share of the direction that is best for small eps: a test that uses it alone may call a row "
           "robust that is not."}};
}

}  // namespace

std::string page(const Results& results) {
  report::Page out{.title = "Noise and attacks on attention",
                   .subtitle = fmt::format("How far the output moves when the scores do; {} draws at each length, "
                                           "seed {}",
                                           results.options.draws, results.options.seed)};
  out.parts.emplace_back(noise_prose());
  out.parts.emplace_back(report::Row{
      {plot(results, "rms change of the output", "rms", &Point::rms, &Point::predicted_rms),
       plot(results, "Bias of the output, without its sign", "|bias|", &Point::bias, &Point::predicted_bias)}});
  out.parts.emplace_back(powers(results));
  out.parts.emplace_back(attack_prose(results));
  report::Row attacks;
  for (const theory::Budget budget : kBudgets) attacks.parts.emplace_back(attack_plot(results, budget));
  out.parts.emplace_back(std::move(attacks));
  out.parts.emplace_back(every_attack(results));
  out.parts.emplace_back(every_point(results));
  return report::html(out);
}

}  // namespace isentropic::experiments::noise
