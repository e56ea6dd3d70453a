// Results of the study of resolutions: tables, a page and a figure.
#include <fmt/format.h>

#include <cmath>

#include "lab/paired.hpp"
#include "lab/resolution/study.hpp"
#include "lab/spread.hpp"
#include "report/page.hpp"
#include "report/plot_picture.hpp"
#include "report/text_table.hpp"

namespace isentropic::lab::resolution {
namespace {

using Curve = VariantCurve<Measured>;
using Law = CurvesOfLaw<Measured>;

struct Quantity {
  const char* name;
  double (*number)(const Measured& measured);
};
constexpr Quantity kAccuracy = {"accuracy", [](const Measured& x) { return x.accuracy; }};
constexpr Quantity kEntropy = {"H, nats", [](const Measured& x) { return mean_of(x.entropy); }};
constexpr Quantity kNormalised = {"H/log n", [](const Measured& x) { return mean_of(x.normalised); }};

std::vector<double> tested(const Law& law, std::size_t test, const Quantity& quantity) {
  return law.over_seeds([&](const Curve& x) { return quantity.number(x.test.at(test)); });
}

// Differences from another law, seed by seed.
std::vector<double> differences(const Law& law, const Law& reference, std::size_t test, const Quantity& quantity) {
  std::vector<double> out = tested(law, test, quantity);
  const std::vector<double> before = tested(reference, test, quantity);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] -= before[i];
  return out;
}

const std::vector<Measured>& tests_of(const std::vector<Law>& laws) { return laws.front().curves.front().test; }

std::vector<std::string> columns(const std::vector<Law>& laws) {
  std::vector<std::string> out = {"scale"};
  for (const Measured& test : tests_of(laws)) out.push_back(fmt::format("n = {}", test.patches));
  return out;
}

using Cells = std::vector<std::vector<std::string>>;

Cells values(const std::vector<Law>& laws, const Quantity& quantity, int digits, std::string Law::*name) {
  Cells out;
  for (const Law& law : laws) {
    out.push_back({law.*name});
    for (std::size_t i = 0; i < tests_of(laws).size(); ++i)
      out.back().push_back(text_of(tested(law, i, quantity), digits));
  }
  return out;
}

Cells changes(const std::vector<Law>& laws, std::string Law::*name) {
  Cells out;
  for (std::size_t law = 1; law < laws.size(); ++law) {
    out.push_back({laws[law].*name});
    for (std::size_t i = 0; i < tests_of(laws).size(); ++i)
      out.back().push_back(text_of(paired(differences(laws[law], laws.front(), i, kAccuracy)), 3));
  }
  return out;
}

std::string table(const std::string& title, const std::vector<Law>& laws, Cells cells) {
  report::TextTable out(columns(laws));
  for (auto& row : cells) out.add_row(std::move(row));
  return title + "\n\n" + out.str();
}

report::Plot plot_of(const std::vector<Law>& laws, const Quantity& quantity, const std::string& title,
                     std::string Law::*name) {
  report::Plot out{.title = title, .x_label = "patches n", .y_label = quantity.name, .x_scale = report::PlotScale::log};
  report::PlotCurve most{.label = "log n", .style = report::CurveStyle::bound};
  for (const Law& law : laws) {
    report::PlotCurve curve{.label = law.*name};
    for (std::size_t i = 0; i < tests_of(laws).size(); ++i) {
      curve.x.push_back(static_cast<double>(tests_of(laws)[i].patches));
      curve.y.push_back(spread_of(tested(law, i, quantity)).mean);
    }
    most.x = curve.x;
    out.curves.push_back(std::move(curve));
  }
  for (const double n : most.x) most.y.push_back(std::log(n));
  if (quantity.number == kEntropy.number) out.curves.push_back(std::move(most));
  return out;
}

report::Plot course_plot(const std::vector<Law>& laws, const Quantity& quantity) {
  report::Plot out{.title = "During training", .x_label = "training steps", .y_label = quantity.name};
  for (const Law& law : laws) {
    report::PlotCurve line{.label = law.formula};
    for (std::size_t i = 0; i < law.curves.front().course.size(); ++i) {
      line.x.push_back(static_cast<double>(law.curves.front().course[i].trained));
      line.y.push_back(spread_of(law.over_seeds([&](const Curve& x) {
                         return quantity.number(x.course[i].measured.front());
                       })).mean);
    }
    out.curves.push_back(std::move(line));
  }
  return out;
}

std::string change_title(const std::string& reference) {
  return "Accuracy relative to " + reference + ", paired by seed; none: the 95% interval contains 0";
}

}  // namespace

std::string text_tables(const Study&, const std::vector<VariantLog>& logs) {
  const auto laws = by_law<Measured>(logs);
  std::string out = table("Accuracy by number of patches", laws, values(laws, kAccuracy, 3, &Law::label));
  if (laws.size() > 1)
    out.append("\n").append(table(change_title(laws.front().label), laws, changes(laws, &Law::label)));
  out.append("\n").append(
      table("Entropy (nats), mean over layers and heads", laws, values(laws, kEntropy, 2, &Law::label)));
  return out.append("\n").append(table("H/log n", laws, values(laws, kNormalised, 2, &Law::label)));
}

std::string page(const Study& study, const std::vector<VariantLog>& logs) {
  const auto laws = by_law<Measured>(logs);
  report::Page out{.title = "Vision transformers at higher resolution than in training",
                   .subtitle = fmt::format("patches of {0} x {0} pixels, {1} seeds, up to {2} test images", study.patch,
                                           study.variants.seeds, study.variants.examples)};
  out.parts.emplace_back(report::Prose{
      "What is shown",
      {"Small vision transformers are trained on images at their own size and evaluated on the same kind of images "
       "enlarged: more patches of the same number of pixels. Positions are fractions of the image. Accuracy is the "
       "mean over seeds, entropy the mean over seeds, layers, heads and patches."}});
  out.parts.emplace_back(report::Row{
      {plot_of(laws, kAccuracy, "Accuracy", &Law::formula), plot_of(laws, kEntropy, "Entropy", &Law::formula),
       plot_of(laws, kNormalised, "Entropy relative to uniform weights", &Law::formula)}});
  out.parts.emplace_back(report::Row{{course_plot(laws, kAccuracy), course_plot(laws, kNormalised)}});
  out.parts.emplace_back(report::DataTable{"Accuracy", columns(laws), values(laws, kAccuracy, 3, &Law::formula)});
  if (laws.size() > 1)
    out.parts.emplace_back(
        report::DataTable{change_title(laws.front().formula), columns(laws), changes(laws, &Law::formula)});
  out.parts.emplace_back(report::DataTable{"Entropy (nats)", columns(laws), values(laws, kEntropy, 2, &Law::formula)});
  return html(out);
}

std::string picture(const Study& study, const std::vector<VariantLog>& logs) {
  const auto laws = by_law<Measured>(logs);
  return report::svg(report::figure_of("Vision transformers at higher resolution than in training",
                                       fmt::format("means over {} seeds", study.variants.seeds),
                                       {plot_of(laws, kAccuracy, "By number of patches", &Law::label),
                                        plot_of(laws, kEntropy, "By number of patches", &Law::label)}));
}

}  // namespace isentropic::lab::resolution
