// Results of the study of sequence reversal: tables, a page and a figure.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "lab/seq2seq/study.hpp"
#include "lab/spread.hpp"
#include "report/page.hpp"
#include "report/plot_picture.hpp"
#include "report/text_table.hpp"

namespace isentropic::lab::seq2seq {
namespace {

using Curve = VariantCurve<Measured>;
using Law = CurvesOfLaw<Measured>;
using Numbers = std::vector<std::vector<double>>;

struct Kind {
  const char* name;
  AttentionEntropy Measured::*attention;
};
constexpr Kind kKinds[] = {{"encoder self-attention", &Measured::encoder},
                           {"decoder self-attention", &Measured::decoder},
                           {"cross-attention", &Measured::cross}};

double least_of(const Numbers& numbers) {
  double out = std::numeric_limits<double>::infinity();
  for (const auto& layer : numbers) out = std::min(out, *std::ranges::min_element(layer));
  return out;
}

const Measured& first_of(const Curve& curve) { return curve.course.front().measured.front(); }
const Measured& last_of(const Curve& curve) { return curve.course.back().measured.front(); }

// The first measured step from which on a condition holds to the end; NaN if it does not hold at the end.
template <class Condition>
double settled(const Curve& curve, const Condition& holds) {
  double out = std::nan("");
  for (const auto& moment : curve.course) {
    if (!holds(moment.measured.front()))
      out = std::nan("");
    else if (std::isnan(out))
      out = static_cast<double>(moment.trained);
  }
  return out;
}

// The step from which on the mean entropy is below half its initial value.
double halved(const Curve& curve, AttentionEntropy Measured::*attention) {
  const double start = mean_of((first_of(curve).*attention).entropy);
  return settled(curve, [&](const Measured& x) { return mean_of((x.*attention).entropy) < start / 2; });
}

double learnt(const Curve& curve) {
  return settled(curve, [](const Measured& x) { return x.symbols_right >= 0.9; });
}

// "600, 675, never", by seed.
std::string steps_text(const std::vector<double>& steps) {
  std::string out;
  for (const double step : steps)
    out += (out.empty() ? "" : ", ") + (std::isnan(step) ? "never" : fmt::format("{:.0f}", step));
  return out;
}

std::vector<std::string> accuracy_columns(const Study& study) {
  std::vector<std::string> out = {"scale"};
  for (const std::int64_t n : study.lengths) out.push_back(fmt::format("symbols, {}", n));
  for (const std::int64_t n : study.lengths) out.push_back(fmt::format("whole, {}", n));
  out.emplace_back("0.9 correct from step");
  return out;
}

std::vector<std::string> accuracy_row(const Study& study, const Law& law) {
  std::vector<std::string> out;
  for (double Measured::*share : {&Measured::symbols_right, &Measured::sequences_right})
    for (std::size_t i = 0; i < study.lengths.size(); ++i)
      out.push_back(text_of(law.over_seeds([&](const Curve& x) { return x.test[i].*share; }), 3));
  out.push_back(steps_text(law.over_seeds(learnt)));
  return out;
}

const std::vector<std::string>& entropy_columns() {
  static const std::vector<std::string> out = {"scale and attention", "H, first",      "H, last",
                                               "H/log k, first",      "H/log k, last", "sharpest head, H",
                                               "halved from step"};
  return out;
}

std::vector<std::string> entropy_row(const Law& law, const Kind& kind) {
  const auto text = [&](const auto& number) { return text_of(law.over_seeds(number), 2); };
  return {text([&](const Curve& x) { return mean_of((first_of(x).*kind.attention).entropy); }),
          text([&](const Curve& x) { return mean_of((last_of(x).*kind.attention).entropy); }),
          text([&](const Curve& x) { return mean_of((first_of(x).*kind.attention).normalised); }),
          text([&](const Curve& x) { return mean_of((last_of(x).*kind.attention).normalised); }),
          text([&](const Curve& x) { return least_of((last_of(x).*kind.attention).entropy); }),
          steps_text(law.over_seeds([&](const Curve& x) { return halved(x, kind.attention); }))};
}

std::vector<std::string> labelled(std::string label, std::vector<std::string> cells) {
  cells.insert(cells.begin(), std::move(label));
  return cells;
}

// Means over seeds against the steps.
report::Plot course_plot(const Law& law, std::string Law::*name) {
  report::Plot out{
      .title = "Scale " + law.*name, .x_label = "training steps", .y_label = "H/log k; fraction of symbols"};
  const auto add = [&](const std::string& label, report::CurveStyle style, std::optional<int> colour,
                       const auto& number) {
    report::PlotCurve line{.label = label, .style = style, .colour = colour};
    for (std::size_t i = 0; i < law.curves.front().course.size(); ++i) {
      line.x.push_back(static_cast<double>(law.curves.front().course[i].trained));
      const auto at = [&](const Curve& x) { return number(x.course[i].measured.front()); };
      line.y.push_back(spread_of(law.over_seeds(at)).mean);
    }
    out.curves.push_back(std::move(line));
  };
  for (const Kind& kind : kKinds)
    add(kind.name, report::CurveStyle::measured, {},
        [&](const Measured& x) { return mean_of((x.*kind.attention).normalised); });
  add("correct symbols", report::CurveStyle::formula, report::kInk, [](const Measured& x) { return x.symbols_right; });
  return out;
}

// At the end of training.
report::HeatMap head_map(const Curve& curve) {
  report::HeatMap out{.title = "H/log k by layer and head, scale " + formula_of(curve.variant) + ", seed " +
                               std::to_string(curve.variant.seed),
                      .x_label = "head"};
  for (const Kind& kind : kKinds) {
    const Numbers& layers = (last_of(curve).*kind.attention).normalised;
    for (std::size_t layer = 0; layer < layers.size(); ++layer) {
      out.rows.push_back(layers[layer]);
      out.row_names.push_back(fmt::format("{}, {}", kind.name, layer));
    }
  }
  return out;
}

}  // namespace

std::string text_tables(const Study& study, const std::vector<VariantLog>& logs) {
  const auto laws = by_law<Measured>(logs);
  report::TextTable accuracy(accuracy_columns(study)), entropy(entropy_columns());
  for (const Law& law : laws) {
    accuracy.add_row(labelled(law.label, accuracy_row(study, law)));
    for (const Kind& kind : kKinds) entropy.add_row(labelled(law.label + " " + kind.name, entropy_row(law, kind)));
  }
  return "Fraction of correct symbols and of fully correct sequences, by length n\n\n" + accuracy.str() +
         fmt::format("\nEntropy at n = {} (nats), mean over layers and heads\n\n", study.length) + entropy.str();
}

std::string page(const Study& study, const std::vector<VariantLog>& logs) {
  const auto laws = by_law<Measured>(logs);
  report::Page out{.title = "Encoder, decoder and cross-attention while a network learns to reverse",
                   .subtitle = fmt::format("trained at lengths of 1 to {}, {} seeds, source positions counted from "
                                           "its {}",
                                           study.length, study.variants.seeds, study.positions_from)};
  out.parts.emplace_back(report::Prose{
      "What is shown",
      {fmt::format(
           "Small networks learn to write a sequence in reverse. H/log k, where k is the number of keys a row sees, "
           "is 1 for uniform attention and 0 for attention to a single token; means over layers, heads, rows "
           "and seeds, at n = {}.",
           study.length),
       "Each output token is a copy of one source token: a decoder that has learnt the task needs one sharp "
       "cross-attention head and nothing from the others."}});
  report::Row courses, maps;
  report::DataTable accuracy{"Accuracy", accuracy_columns(study), {}}, entropy{"Entropy", entropy_columns(), {}};
  for (const Law& law : laws) {
    courses.parts.emplace_back(course_plot(law, &Law::formula));
    maps.parts.emplace_back(head_map(law.curves.front()));
    accuracy.rows.push_back(labelled(law.formula, accuracy_row(study, law)));
    for (const Kind& kind : kKinds)
      entropy.rows.push_back(labelled(law.formula + ", " + kind.name, entropy_row(law, kind)));
  }
  out.parts.emplace_back(std::move(courses));
  out.parts.emplace_back(std::move(accuracy));
  out.parts.emplace_back(std::move(entropy));
  out.parts.emplace_back(std::move(maps));
  return html(out);
}

std::string picture(const Study& study, const std::vector<VariantLog>& logs) {
  std::vector<report::Plot> plots;
  for (const Law& law : by_law<Measured>(logs)) plots.push_back(course_plot(law, &Law::label));
  return report::svg(
      report::figure_of("Entropy of attention while a network learns to reverse",
                        fmt::format("H/log k, means over layers, heads and seeds, at n = {}", study.length), plots));
}

}  // namespace isentropic::lab::seq2seq
