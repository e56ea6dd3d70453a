// Results of a retrieval study: tables, a page, a figure, JSON.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "lab/retrieval/study.hpp"
#include "lab/retrieval/tasks.hpp"
#include "lab/spread.hpp"
#include "lab/words.hpp"
#include "report/page.hpp"
#include "report/plot_picture.hpp"
#include "report/text_table.hpp"

namespace isentropic::lab::retrieval {
namespace {

// A quantity of a variant's curves, by length and seed.
struct VariantNumbers {
  std::string label, title;  // for the terminal, for a page
  ScoreMap map;
  std::vector<double> n;
  std::vector<std::vector<double>> values;  // by length, then by seed

  std::vector<double> means() const {
    std::vector<double> out;
    for (const std::vector<double>& seeds : values) out.push_back(spread_of(seeds).mean);
    return out;
  }
};

std::vector<VariantNumbers> numbers_of(const std::vector<Curve>& curves, double Point::*field) {
  std::vector<VariantNumbers> out;
  for (const Curve& curve : curves) {
    const std::string label = curve.variant.label();
    if (out.empty() || out.back().label != label) {
      out.push_back({label, curve.variant.title(), map_from_text(curve.variant.map), {}, {}});
      out.back().values.resize(curve.points.size());
      for (const Point& point : curve.points) out.back().n.push_back(static_cast<double>(point.n));
    }
    for (std::size_t i = 0; i < curve.points.size(); ++i) out.back().values[i].push_back(curve.points[i].*field);
  }
  return out;
}

report::Plot plot_of(const std::vector<VariantNumbers>& variants, const std::string& title, const std::string& label) {
  report::Plot out{.title = title, .x_label = "tokens n", .y_label = label, .x_scale = report::PlotScale::log};
  for (const VariantNumbers& variant : variants)
    out.curves.push_back({.label = variant.title, .x = variant.n, .y = variant.means()});
  return out;
}

std::vector<std::string> length_columns(const Study& study) {
  std::vector<std::string> out = {"map and scale"};
  for (const std::int64_t factor : study.factors) out.push_back("n = " + std::to_string(factor * study.length));
  return out;
}

using Cells = std::vector<std::vector<std::string>>;

Cells cells_of(const std::vector<VariantNumbers>& variants, int digits, std::string VariantNumbers::*name) {
  Cells out;
  for (const VariantNumbers& variant : variants) {
    out.push_back({variant.*name});
    for (const std::vector<double>& seeds : variant.values) out.back().push_back(text_of(seeds, digits));
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

// Statistics of the weights at the first and the last test length, means over seeds.
Cells weight_cells(const Study& study, const std::vector<Curve>& curves, std::string VariantNumbers::*name) {
  Cells out = {{"map and scale"}};
  const auto length = [&](std::int64_t factor) { return " (" + std::to_string(factor * study.length) + ")"; };
  for (const Measure& measure : kOfWeights)
    for (const std::int64_t factor : {study.factors.front(), study.factors.back()})
      out.front().push_back(measure.name + length(factor));
  for (const Measure& measure : kOfWeights) {
    const std::vector<VariantNumbers> variants = numbers_of(curves, measure.field);
    out.resize(variants.size() + 1);
    for (std::size_t i = 0; i < variants.size(); ++i) {
      if (out[i + 1].empty()) out[i + 1].push_back(variants[i].*name);
      const std::vector<double> means = variants[i].means();
      for (const double mean : {means.front(), means.back()})
        out[i + 1].push_back(fmt::format("{:.{}f}", mean, measure.digits));
    }
  }
  return out;
}

report::PlotCurve chance(const Task& task, const std::vector<double>& n) {
  return {.label = "chance",
          .x = n,
          .y = std::vector<double>(n.size(), 1.0 / static_cast<double>(task.classes)),
          .style = report::CurveStyle::bound};
}

// The maps in one panel of the figure.
struct Family {
  const char* title;
  std::vector<ScoreMap::Kind> kinds;
};

}  // namespace

std::string text_table(const Study& study, const std::vector<Curve>& curves) {
  report::TextTable accuracy(length_columns(study));
  for (auto& row : cells_of(numbers_of(curves, &Point::accuracy), 3, &VariantNumbers::label))
    accuracy.add_row(std::move(row));
  Cells cells = weight_cells(study, curves, &VariantNumbers::label);
  report::TextTable weights(std::move(cells.front()));
  for (std::size_t i = 1; i < cells.size(); ++i) weights.add_row(std::move(cells[i]));
  return accuracy.str() + "\n" + weights.str();
}

std::string page(const Study& study, const std::vector<Curve>& curves) {
  const Task& task = task_named(study.task);
  const auto accuracy = numbers_of(curves, &Point::accuracy), sparsity = numbers_of(curves, &Point::sparsity),
             participation = numbers_of(curves, &Point::participation), entropy = numbers_of(curves, &Point::entropy),
             rank = numbers_of(curves, &Point::rank);
  report::Page page{.title = "Retrieval beyond the trained length",
                    .subtitle = "task " + task.name + ": " + task.question};
  page.parts.push_back(report::Prose{
      "What is shown",
      {"Small networks with one scale law and one score map each were trained at lengths of 2 to " +
           std::to_string(study.length) + " and evaluated at longer ones. Chance is 1 in " +
           std::to_string(task.classes) + ". Curves are means over " + std::to_string(study.seeds) + " seeds.",
       "A map that still answers at many times the trained length gives the one decisive token enough of its weight "
       "among all the others."}});
  page.parts.push_back(plot_of(accuracy, "Accuracy", "accuracy"));
  page.parts.push_back(
      report::Row{{plot_of(sparsity, "Sparsity S of the querying token's weights (1: spread evenly)", "S"),
                   plot_of(participation, "Participation 1 / sum p^2, in keys", "participation")}});
  page.parts.push_back(
      report::Row{{plot_of(entropy, "Entropy of those weights, where they are a distribution", "H (nats)"),
                   plot_of(rank, "Effective rank of the last 64 tokens' weights", "rank")}});
  page.parts.push_back(
      report::DataTable{"Accuracy", length_columns(study), cells_of(accuracy, 3, &VariantNumbers::title)});
  Cells weights = weight_cells(study, curves, &VariantNumbers::title);
  const std::vector<std::string> columns = weights.front();
  weights.erase(weights.begin());
  page.parts.push_back(report::DataTable{
      "The querying token's weights: S and participation; effective rank of the last 64 tokens' weights", columns,
      std::move(weights)});
  return html(page);
}

std::string picture(const Study& study, const std::vector<Curve>& curves) {
  using Kind = ScoreMap::Kind;
  const std::vector<Family> families = {{"softmax", {Kind::softmax}},
                                        {"sparse maps", {Kind::entmax, Kind::sparsemax}},
                                        {"linear features", {Kind::linear}},
                                        {"other maps", {}}};
  std::vector<report::Plot> plots(families.size());
  for (const VariantNumbers& variant : numbers_of(curves, &Point::accuracy)) {
    const auto family = std::ranges::find_if(families, [&](const Family& x) {
      return x.kinds.empty() || std::ranges::find(x.kinds, variant.map.kind()) != x.kinds.end();
    });
    report::Plot& plot = plots[static_cast<std::size_t>(family - families.begin())];
    plot.title = family->title;
    plot.x_label = "tokens n", plot.x_scale = report::PlotScale::log;
    plot.curves.push_back({.label = variant.label, .x = variant.n, .y = variant.means()});
  }
  std::erase_if(plots, [](const report::Plot& plot) { return plot.curves.empty(); });
  const Task& task = task_named(study.task);
  for (report::Plot& plot : plots) plot.curves.push_back(chance(task, plot.curves.front().x));
  report::Figure out = report::figure_of("Accuracy by length",
                                         fmt::format("task {} ({}), trained at up to {} tokens, means over {} seeds",
                                                     task.name, task.question, study.length, study.seeds),
                                         plots, 2);
  out.label_width = 285;
  return report::svg(out);
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
