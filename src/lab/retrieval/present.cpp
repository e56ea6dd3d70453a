// What a retrieval study found: a table, a page, JSON.
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "lab/retrieval/study.hpp"
#include "lab/retrieval/tasks.hpp"
#include "report/page.hpp"
#include "report/text_table.hpp"

namespace isentropic::lab::retrieval {
namespace {

std::string rounded(double value, int digits) {
  if (!std::isfinite(value)) return "";
  char text[32];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

// The mean of a number over the curves of a variant, by length.
struct MeanCurve {
  std::string label, title;  // for a terminal, for a page
  std::vector<double> n, values;
  int seeds = 0;
};

std::vector<MeanCurve> mean_curves(const std::vector<Curve>& curves, double Point::*field) {
  std::vector<MeanCurve> out;
  for (const Curve& curve : curves) {
    const std::string label = curve.variant.label();
    if (out.empty() || out.back().label != label) {
      out.push_back({label, curve.variant.title(), {}, std::vector<double>(curve.points.size()), 0});
      for (const Point& point : curve.points) out.back().n.push_back(static_cast<double>(point.n));
    }
    for (std::size_t i = 0; i < curve.points.size(); ++i) out.back().values[i] += curve.points[i].*field;
    ++out.back().seeds;
  }
  for (MeanCurve& curve : out)
    for (double& value : curve.values) value /= curve.seeds;
  return out;
}

report::Plot plot_of(const std::vector<MeanCurve>& curves, const std::string& title, const std::string& label) {
  report::Plot out{.title = title, .x_label = "tokens n", .y_label = label, .x_scale = report::PlotScale::log};
  for (const MeanCurve& curve : curves) out.curves.push_back({.label = curve.title, .x = curve.n, .y = curve.values});
  return out;
}

std::vector<std::string> length_columns(const Study& study) {
  std::vector<std::string> out = {"map and scale"};
  for (const std::int64_t factor : study.factors) out.push_back("n = " + std::to_string(factor * study.length));
  return out;
}

std::vector<std::vector<std::string>> cells_of(const std::vector<MeanCurve>& curves, int digits,
                                               std::string MeanCurve::*name) {
  std::vector<std::vector<std::string>> out;
  for (const MeanCurve& curve : curves) {
    out.push_back({curve.*name});
    for (const double value : curve.values) out.back().push_back(rounded(value, digits));
  }
  return out;
}

struct Measure {
  const char* name;
  double Point::*field;
  int digits;
};

constexpr Measure kOfWeights[] = {
    {"S", &Point::sparsity, 3}, {"participation", &Point::participation, 1}, {"rank", &Point::rank, 1}};

// What weights are like at the first and the last length of the tests.
using Cells = std::vector<std::vector<std::string>>;
Cells weight_cells(const Study& study, const std::vector<Curve>& curves, std::string MeanCurve::*name) {
  Cells out = {{"map and scale"}};
  const auto length = [&](std::int64_t factor) { return " (" + std::to_string(factor * study.length) + ")"; };
  for (const Measure& measure : kOfWeights)
    for (const std::int64_t factor : {study.factors.front(), study.factors.back()})
      out.front().push_back(measure.name + length(factor));
  for (const Measure& measure : kOfWeights) {
    const std::vector<MeanCurve> means = mean_curves(curves, measure.field);
    out.resize(means.size() + 1);
    for (std::size_t i = 0; i < means.size(); ++i) {
      if (out[i + 1].empty()) out[i + 1].push_back(means[i].*name);
      for (const double value : {means[i].values.front(), means[i].values.back()})
        out[i + 1].push_back(rounded(value, measure.digits));
    }
  }
  return out;
}

}  // namespace

std::string text_table(const Study& study, const std::vector<Curve>& curves) {
  report::TextTable accuracy(length_columns(study));
  for (auto& row : cells_of(mean_curves(curves, &Point::accuracy), 3, &MeanCurve::label))
    accuracy.add_row(std::move(row));
  Cells cells = weight_cells(study, curves, &MeanCurve::label);
  report::TextTable weights(std::move(cells.front()));
  for (std::size_t i = 1; i < cells.size(); ++i) weights.add_row(std::move(cells[i]));
  return accuracy.str() + "\n" + weights.str();
}

std::string page(const Study& study, const std::vector<Curve>& curves) {
  const Task& task = task_named(study.task);
  const auto accuracy = mean_curves(curves, &Point::accuracy), sparsity = mean_curves(curves, &Point::sparsity),
             participation = mean_curves(curves, &Point::participation), entropy = mean_curves(curves, &Point::entropy),
             rank = mean_curves(curves, &Point::rank);
  report::Page page{.title = "Retrieval beyond the length of training",
                    .subtitle = "task " + task.name + ": " + task.question};
  page.parts.push_back(report::Prose{
      "What is shown",
      {"Small networks with one scale law and one score map each were trained at lengths of 2 to " +
           std::to_string(study.length) + " and asked at longer ones. Chance is 1 in " + std::to_string(task.classes) +
           ". Curves are means over " + std::to_string(study.seeds) + " starts.",
       "A map that still answers at many times its length gives the one token that decides enough of its weight among "
       "all the others."}});
  page.parts.push_back(plot_of(accuracy, "Share of right answers", "accuracy"));
  page.parts.push_back(
      report::Row{{plot_of(sparsity, "Sparsity S of the weights of the token that asks (1: spread evenly)", "S"),
                   plot_of(participation, "Keys that take part, 1 / sum p^2", "participation")}});
  page.parts.push_back(
      report::Row{{plot_of(entropy, "Entropy of the same weights, where they are a distribution", "H (nats)"),
                   plot_of(rank, "Effective rank of the weights of the last 64 tokens", "rank")}});
  page.parts.push_back(report::DataTable{"Accuracy", length_columns(study), cells_of(accuracy, 3, &MeanCurve::title)});
  Cells weights = weight_cells(study, curves, &MeanCurve::title);
  const std::vector<std::string> columns = weights.front();
  weights.erase(weights.begin());
  page.parts.push_back(
      report::DataTable{"Weights of the token that asks: S, keys that take part; effective rank of "
                        "the weights of the last 64 tokens",
                        columns, std::move(weights)});
  return html(page);
}

nlohmann::ordered_json json_of(const Curve& curve) {
  using Json = nlohmann::ordered_json;
  Json points = Json::array();
  for (const Point& point : curve.points)
    points.push_back({{"n", point.n},
                      {"accuracy", point.accuracy},
                      {"sparsity", point.sparsity},
                      {"participation", point.participation},
                      {"entropy", std::isfinite(point.entropy) ? Json(point.entropy) : Json()},
                      {"rank", point.rank}});
  Json out = json_of(curve.variant);
  out.update({{"seed", curve.seed}, {"loss", curve.loss}, {"alpha", curve.alpha}, {"points", points}});
  return out;
}

nlohmann::ordered_json results_of(const Study& study, const std::vector<Curve>& curves) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Curve& curve : curves) list.push_back(json_of(curve));
  return {{"study", "retrieval"}, {"options", options_of(study)}, {"curves", list}};
}

}  // namespace isentropic::lab::retrieval
