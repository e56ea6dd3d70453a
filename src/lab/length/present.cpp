// A length study as a table, a page and a figure.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lab/length/findings.hpp"
#include "lab/length/laws.hpp"
#include "report/chart.hpp"
#include "report/page.hpp"
#include "report/text_table.hpp"

namespace isentropic::lab::length {
namespace {

using CellRows = std::vector<std::vector<std::string>>;

std::string number(double value, int digits) {
  return std::isfinite(value) ? fmt::format("{:.{}f}", value, digits) : "";
}

std::vector<std::string> columns_of(const Study& study, const std::vector<std::string>& first,
                                    const std::vector<std::string>& last) {
  std::vector<std::string> out = first;
  for (const double factor : study.factors)
    out.push_back(fmt::format("n = {:.0f}", factor * static_cast<double>(study.length)));
  out.insert(out.end(), last.begin(), last.end());
  return out;
}

std::vector<std::string> loss_columns(const Study& study) {
  return columns_of(study, {"law", "learning rate", "seeds"},
                    {"mean beyond", "vs 1/√d", "vs window", fmt::format("vs own at {}", study.length)});
}

CellRows loss_rows(const Findings& found) {
  CellRows out;
  for (const LawLine& line : found.laws) {
    std::vector<std::string> row = {line.law, fmt::format("{:g}", line.learning_rate), std::to_string(line.seeds)};
    for (const Point& point : line.points) row.push_back(number(point.loss, 4));
    row.push_back(number(line.beyond, 4));
    row.push_back(line.law == "inverse_sqrt_d" || line.against_usual.seeds == 0 ? "" : text_of(line.against_usual, 4));
    row.push_back(line.law == "window" || line.against_window.seeds == 0 ? "" : text_of(line.against_window, 4));
    row.push_back(line.against_own.seeds == 0 ? "" : text_of(line.against_own, 4));
    out.push_back(std::move(row));
  }
  return out;
}

std::vector<std::string> entropy_columns(const Study& study) {
  return columns_of(study, {"law"}, {"dH/dlog n", "variance", "steps", "spikes"});
}

CellRows entropy_rows(const Findings& found) {
  CellRows out;
  for (const LawLine& line : found.laws) {
    std::vector<std::string> row = {line.law};
    for (const Point& point : line.points) row.push_back(number(point.entropy, 3));
    row.push_back(number(line.slope, 3)), row.push_back(number(line.variance, 4));
    row.push_back(line.steps > 0 ? number(line.steps, 0) : "-"), row.push_back(number(line.spikes, 1));
    out.push_back(std::move(row));
  }
  return out;
}

CellRows copying_rows(const Findings& found) {
  CellRows out;
  for (const LawLine& line : found.laws) {
    std::vector<std::string> row = {line.law};
    for (const Point& point : line.points)  // exactly 0: the text is too short to hold a passage twice
      row.push_back(point.copying == 0 ? "" : number(point.copying, 3));
    out.push_back(std::move(row));
  }
  return out;
}

std::vector<std::string> learnt_columns(const Study& study) {
  std::vector<std::string> out = {"law"};
  for (std::int64_t layer = 0; layer < study.layers; ++layer) out.push_back(fmt::format("layer {}", layer));
  return out;
}

CellRows learnt_rows(const Findings& found) {
  CellRows out;
  for (const LawLine& line : found.laws) {
    if (line.learnt.empty()) continue;
    out.push_back({line.law});
    for (const double value : line.learnt) out.back().push_back(number(value, 4));
  }
  return out;
}

CellRows regularised_rows(const Findings& found) {
  CellRows out;
  for (const RegularisedLine& line : found.regularised)
    out.push_back({line.law, fmt::format("{:g}", line.dropout), fmt::format("{:g}", line.decay),
                   number(line.validation, 4), number(line.beyond, 4)});
  return out;
}

std::string text_of_table(const std::string& title, const std::vector<std::string>& columns, const CellRows& rows) {
  if (rows.empty()) return "";
  report::TextTable table(columns);
  for (const auto& row : rows) table.add_row(row);
  return title + "\n" + table.str() + "\n";
}

// Plots a quantity of each law by length.
template <class Number>
report::Plot plot_of(const Findings& found, const std::string& title, const std::string& label, const Number& number) {
  report::Plot out{.title = title, .x_label = "tokens n", .y_label = label, .x_scale = report::PlotScale::log};
  for (const LawLine& line : found.laws) {
    report::PlotCurve curve{.label = line.formula};
    for (std::size_t i = 0; i < line.points.size(); ++i) {
      curve.x.push_back(static_cast<double>(line.points[i].n));
      curve.y.push_back(number(line, i));
    }
    if (line.law == "inverse_sqrt_d") curve.colour = report::kInk;
    if (line.law == "window") curve.style = report::CurveStyle::bound;
    out.curves.push_back(std::move(curve));
  }
  return out;
}

// For a page, which typesets formulas: the laws in the first column by their formulas.
CellRows with_formulas(const Study& study, CellRows rows) {
  const std::vector<Law> laws = laws_of(study);
  for (auto& row : rows) row.front() = law_named(laws, row.front()).formula;
  return rows;
}

}  // namespace

std::string text_table(const Study& study, const std::vector<Result>& results) {
  std::string out;
  const std::string tokens = std::to_string(study.scored);
  for (const Findings& found : findings_of(study, results)) {
    const std::string with = found.positions == "none" ? "without positions" : found.positions + " positions";
    out +=
        text_of_table("Loss on the last " + tokens + " tokens (nats), " + with, loss_columns(study), loss_rows(found));
    out += text_of_table("Entropy of their rows (nats), " + with, entropy_columns(study), entropy_rows(found));
    out += text_of_table("Loss saved on a repeated passage (nats), " + with, columns_of(study, {"law"}, {}),
                         copying_rows(found));
    out += text_of_table("Learnt parameters, mean over heads and seeds, " + with, learnt_columns(study),
                         learnt_rows(found));
    out += text_of_table("Other regularisation, " + with,
                         {"law", "dropout", "weight decay", "trained length", "mean beyond"}, regularised_rows(found));
    out += found.conclusion + "\n\n";
  }
  const std::string mixed = mixed_precision(results);
  return mixed.empty() ? out : out + mixed + "\n\n";
}

std::string page(const Study& study, const std::vector<Result>& results) {
  report::Page page{
      .title = "Which scale carries attention beyond its trained length?",
      .subtitle = fmt::format("trained at n = {}, evaluated at up to n = {}", study.length, study.longest())};
  page.parts.push_back(report::Prose{
      "What is shown",
      {fmt::format(
           "Language models with {} layers of {} heads were trained on windows of {} tokens under every law. Each is "
           "scored on the same last {} tokens of {} held-out documents, given more and more of the text before "
           "them.",
           study.layers, study.heads, study.length, study.scored, study.documents),
       "Laws are ranked by their mean loss beyond the trained length, a metric chosen before any run. Differences are "
       "paired by seed; those within the spread over seeds are reported as none. The thin dotted line is a sliding "
       "window of the trained length, the baseline that a longer context must beat."}});
  if (const std::string mixed = mixed_precision(results); !mixed.empty())
    page.parts.push_back(report::Prose{"Precision", {mixed}});
  for (const Findings& found : findings_of(study, results)) {
    const std::string with = found.positions == "none" ? "Without positions" : "With " + found.positions + " positions";
    page.parts.push_back(report::Prose{with, {found.conclusion_in_formulas}});
    page.parts.push_back(plot_of(found, "Loss on the last tokens, relative to 1/sqrt d with the same seeds", "nats",
                                 [](const LawLine& line, std::size_t i) { return line.gaps[i]; }));
    page.parts.push_back(
        report::Row{{plot_of(found, "Entropy of their rows", "H (nats)",
                             [](const LawLine& line, std::size_t i) { return line.points[i].entropy; }),
                     plot_of(found, "Loss saved on a repeated passage", "nats",
                             [](const LawLine& line, std::size_t i) { return line.points[i].copying; })}});
    page.parts.push_back(
        report::DataTable{with + ": loss", loss_columns(study), with_formulas(study, loss_rows(found))});
    page.parts.push_back(
        report::DataTable{with + ": entropy", entropy_columns(study), with_formulas(study, entropy_rows(found))});
    page.parts.push_back(report::DataTable{with + ": loss saved on a repeated passage (nats)",
                                           columns_of(study, {"law"}, {}), with_formulas(study, copying_rows(found))});
    if (const CellRows learnt = learnt_rows(found); !learnt.empty())
      page.parts.push_back(report::DataTable{with + ": learnt parameters, mean over heads and seeds",
                                             learnt_columns(study), with_formulas(study, learnt)});
    if (!found.regularised.empty())
      page.parts.push_back(report::DataTable{with + ": other regularisation",
                                             {"law", "dropout", "weight decay", "trained length", "mean beyond"},
                                             with_formulas(study, regularised_rows(found))});
  }
  report::Glossary glossary{.heading = "Laws", .entries = {}};
  const std::vector<Law> laws = laws_of(study);
  for (const Law& law : laws)
    glossary.entries.push_back({.label = law.formula,
                                .text = law.networks.empty()
                                            ? "trains its own networks"
                                            : "evaluated on the networks of " + law_named(laws, law.networks).formula});
  page.parts.push_back(glossary);
  return html(page);
}

std::string picture(const Study& study, const std::vector<Result>& results) {
  report::Figure figure{.title = "Loss relative to 1/√d",
                        .subtitle = fmt::format("same last tokens, same seeds; trained at n = {}", study.length),
                        .panels = {}};
  for (const Findings& found : findings_of(study, results)) {
    double low = 0, high = 0.01;
    report::Panel panel{
        .title = found.positions == "none" ? "without positions" : found.positions, .x = {}, .y = {}, .lines = {}};
    int colour = 0;
    for (const LawLine& line : found.laws) {
      report::Line drawn{.label = line.law, .x = {}, .y = {}, .colour = colour++};
      for (std::size_t i = 0; i < line.points.size(); ++i) {
        drawn.x.push_back(static_cast<double>(line.points[i].n)), drawn.y.push_back(line.gaps[i]);
        if (std::isfinite(line.gaps[i])) low = std::min(low, line.gaps[i]), high = std::max(high, line.gaps[i]);
      }
      if (line.law == "inverse_sqrt_d") drawn.stroke = report::Stroke::strong;
      if (line.law == "window") drawn.stroke = report::Stroke::ceiling;
      panel.lines.push_back(std::move(drawn));
    }
    if (panel.lines.empty()) continue;
    const auto length = static_cast<double>(study.length);
    panel.x = report::log2_axis("tokens n", std::exp2(std::floor(std::log2(std::ranges::min(study.factors) * length))),
                                std::exp2(std::ceil(std::log2(std::ranges::max(study.factors) * length))));
    panel.y = report::linear_axis("nats", low, high);
    figure.panels.push_back(std::move(panel));
  }
  return svg(figure);
}

}  // namespace isentropic::lab::length
