// Results of the study of text and images: tables, a page and a figure.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lab/grounding/study.hpp"
#include "lab/spread.hpp"
#include "report/page.hpp"
#include "report/plot_picture.hpp"
#include "report/text_table.hpp"

namespace isentropic::lab::grounding {
namespace {

using Curve = VariantCurve<Measured>;
using Law = CurvesOfLaw<Measured>;

struct Quantity {
  const char* name;
  double (*number)(const Measured& measured);
};
constexpr Quantity kAccuracy = {"accuracy", [](const Measured& x) { return x.accuracy; }};
constexpr Quantity kWeight = {"weight on matching patches", [](const Measured& x) { return x.best_weight; }};
constexpr Quantity kEntropy = {"H", [](const Measured& x) { return x.best_entropy; }};

// A series of tests: by the number of matching patches, or by the number of patches.
struct Conditions {
  std::string x_label;
  std::size_t first = 0;  // index in the list of tests
  std::vector<double> x = {}, ideal = {};
};

Conditions by_matching(const Study& study) {
  Conditions out{.x_label = "m"};
  for (const std::int64_t matching : study.matching) {
    out.x.push_back(static_cast<double>(matching));
    out.ideal.push_back(std::log(static_cast<double>(matching)));
  }
  return out;
}

Conditions by_patches(const Study& study) {
  Conditions out{.x_label = "n", .first = study.matching.size()};
  for (const std::int64_t side : study.sides) {
    out.x.push_back(static_cast<double>(side * side));
    out.ideal.push_back(std::log(static_cast<double>(study.matching_of_sides)));
  }
  return out;
}

std::vector<double> tested(const Law& law, std::size_t test, const Quantity& quantity) {
  return law.over_seeds([&](const Curve& x) { return quantity.number(x.test.at(test)); });
}

std::vector<std::string> columns(const Conditions& conditions) {
  std::vector<std::string> out = {"scale"};
  for (const double x : conditions.x) out.push_back(fmt::format("{} = {:g}", conditions.x_label, x));
  return out;
}

// name: the law's name in that kind of table.
std::vector<std::vector<std::string>> rows(const std::vector<Law>& laws, const Conditions& conditions,
                                           std::string Law::*name) {
  std::vector<std::vector<std::string>> out = {{"ideal reader, H"}};
  for (const double ideal : conditions.ideal) out.back().push_back(fmt::format("{:.2f}", ideal));
  for (const Law& law : laws)
    for (const Quantity& quantity : {kEntropy, kWeight, kAccuracy}) {
      out.push_back({law.*name + ", " + quantity.name});
      for (std::size_t i = 0; i < conditions.x.size(); ++i)
        out.back().push_back(text_of(tested(law, conditions.first + i, quantity), 2));
    }
  return out;
}

report::Plot plot_of(const std::vector<Law>& laws, const Conditions& conditions, const Quantity& quantity,
                     const std::string& title, std::string Law::*name) {
  report::Plot out{.title = title,
                   .x_label = conditions.first == 0 ? "matching patches m" : "patches n",
                   .y_label = quantity.name,
                   .x_scale = report::PlotScale::log};
  for (const Law& law : laws) {
    report::PlotCurve curve{.label = law.*name, .x = conditions.x};
    for (std::size_t i = 0; i < conditions.x.size(); ++i)
      curve.y.push_back(spread_of(tested(law, conditions.first + i, quantity)).mean);
    out.curves.push_back(std::move(curve));
  }
  if (quantity.number == kEntropy.number)
    out.curves.push_back({.label = "ideal reader, log m",
                          .x = conditions.x,
                          .y = conditions.ideal,
                          .style = report::CurveStyle::formula,
                          .colour = report::kInk});
  return out;
}

// H - log m against the steps, one curve per number of matching patches.
report::Plot course_plot(const Study& study, const Law& law) {
  report::Plot out{.title = "Scale " + law.formula, .x_label = "training steps", .y_label = "H - log m"};
  for (std::size_t m = 0; m < study.matching.size(); ++m) {
    report::PlotCurve line{.label = fmt::format("m = {}", study.matching[m])};
    for (std::size_t i = 0; i < law.curves.front().course.size(); ++i) {
      line.x.push_back(static_cast<double>(law.curves.front().course[i].trained));
      const auto at = [&](const Curve& x) { return kEntropy.number(x.course[i].measured[m]); };
      line.y.push_back(spread_of(law.over_seeds(at)).mean - std::log(static_cast<double>(study.matching[m])));
    }
    out.curves.push_back(std::move(line));
  }
  return out;
}

}  // namespace

std::string text_tables(const Study& study, const std::vector<VariantLog>& logs) {
  const auto laws = by_law<Measured>(logs);
  std::string out;
  const auto add = [&](const std::string& title, const Conditions& conditions) {
    report::TextTable table(columns(conditions));
    for (auto& row : rows(laws, conditions, &Law::label)) table.add_row(std::move(row));
    out += (out.empty() ? "" : "\n") + title + "\n\n" + table.str();
  };
  add(fmt::format("By the number m of matching patches, n = {}; the head with the most weight on them in each scene",
                  study.side * study.side),
      by_matching(study));
  if (!study.sides.empty())
    add(fmt::format("By the number n of patches, of which m = {} match", study.matching_of_sides), by_patches(study));
  return out;
}

std::string page(const Study& study, const std::vector<VariantLog>& logs) {
  const auto laws = by_law<Measured>(logs);
  const Conditions matching = by_matching(study), patches = by_patches(study);
  report::Page out{.title = "Cross-modal attention from text to image",
                   .subtitle = fmt::format("trained with {} patches, of which 1 to {} match; {} seeds",
                                           study.side * study.side, study.max_matching, study.variants.seeds)};
  out.parts.emplace_back(report::Prose{
      "What is shown",
      {"A text of two words, \"red, shape?\", asks about an image whose patches hold coloured shapes. All m objects "
       "that "
       "match the first word share the answer. An ideal reader attends to them alone: H = log m, whatever the number "
       "of patches n.",
       "H and the weight on matching patches are those of the last word's attention to the patches, in the head that "
       "gives them the most weight, chosen per scene; means over scenes and seeds."}});
  out.parts.emplace_back(report::Row{{plot_of(laws, matching, kEntropy, "Entropy by matching patches", &Law::formula),
                                      plot_of(laws, matching, kWeight, "Weight on matching patches", &Law::formula),
                                      plot_of(laws, matching, kAccuracy, "Accuracy", &Law::formula)}});
  out.parts.emplace_back(
      report::Row{{plot_of(laws, patches, kEntropy,
                           fmt::format("Entropy by number of patches, m = {}", study.matching_of_sides), &Law::formula),
                   plot_of(laws, patches, kWeight, "Weight on matching patches", &Law::formula),
                   plot_of(laws, patches, kAccuracy, "Accuracy", &Law::formula)}});
  out.parts.emplace_back(report::Prose{"During training", {"H - log m; 0 is an ideal reader."}});
  report::Row courses;
  for (const Law& law : laws) courses.parts.emplace_back(course_plot(study, law));
  out.parts.emplace_back(std::move(courses));
  out.parts.emplace_back(
      report::DataTable{"By matching patches", columns(matching), rows(laws, matching, &Law::formula)});
  out.parts.emplace_back(
      report::DataTable{"By number of patches", columns(patches), rows(laws, patches, &Law::formula)});
  return html(out);
}

std::string picture(const Study& study, const std::vector<VariantLog>& logs) {
  const auto laws = by_law<Measured>(logs);
  const Conditions matching = by_matching(study), patches = by_patches(study);
  std::vector<report::Plot> plots = {plot_of(laws, matching, kEntropy, "By matching patches", &Law::label),
                                     plot_of(laws, matching, kWeight, "By matching patches", &Law::label)};
  if (!patches.x.empty())
    plots.insert(plots.end(),
                 {plot_of(laws, patches, kEntropy,
                          fmt::format("By number of patches, {} of which match", study.matching_of_sides), &Law::label),
                  plot_of(laws, patches, kWeight, "By number of patches", &Law::label)});
  return report::svg(
      report::figure_of("Cross-modal attention from text to image", "means over scenes and seeds", plots, 2));
}

}  // namespace isentropic::lab::grounding
