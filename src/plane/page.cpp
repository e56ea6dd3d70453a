// Builds the page (moving points, which estimator sees compression, accuracies, a glossary) and the terminal's table.
#include "plane/page.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "plane/mean.hpp"
#include "plane/phases.hpp"
#include "report/page.hpp"
#include "report/text_table.hpp"

namespace isentropic::plane {
namespace {

using information::LayerInformation;
using report::DataTable;
using report::Frames;
using report::Glossary;

const char* meaning(information::LayerEstimator::Kind kind) {
  using Kind = information::LayerEstimator::Kind;
  switch (kind) {
    case Kind::exact:
      return "distinct float32 activations: what a deterministic function of X really keeps";
    case Kind::width:
      return "activations binned with that width";
    case Kind::count:
      return "that many bins over the layer's range, recomputed at every epoch";
    case Kind::equal_mass:
      return "that many bins of equal mass per unit, recomputed at every epoch";
    case Kind::kolchinsky_upper:
      return "Gaussian noise of that variance, pairwise upper bound (Kolchinsky and Tracey 2017); at most 10 bits";
    case Kind::kolchinsky_lower:
      return "the same noise, pairwise lower bound; at most 10 bits";
    case Kind::noise:
      break;
  }
  return "the same noise, sampled once per input; at most 10 bits";
}

std::vector<double> bits(const std::vector<LayerInformation>& seeds, double LayerInformation::*which) {
  std::vector<double> out;
  for (const LayerInformation& point : seeds) out.push_back(point.*which);
  return out;
}

Frames frames_of(const Record& record) {
  Frames out{.title = "The information plane", .x_label = "I(X;T), bits", .y_label = "I(T;Y), bits"};
  for (const Moment& moment : record.moments) out.names.push_back(fmt::format("epoch {}", moment.epoch));
  for (std::size_t e = 0; e < record.estimators.size(); ++e) {
    Frames::Plane& plane = out.planes.emplace_back(record.estimators[e]);
    for (std::size_t l = 0; l < record.layers.size(); ++l) {
      Frames::Series& series = plane.series.emplace_back(record.layers[l]);
      for (const Moment& moment : record.moments) {
        series.x.push_back(bits(moment.points[e][l], &LayerInformation::input));
        series.y.push_back(bits(moment.points[e][l], &LayerInformation::label));
      }
    }
  }
  return out;
}

DataTable phase_table(const Record& record) {
  DataTable out{.title = "I(X;T) by epoch (bits), mean over seeds",
                .columns = {"estimator", "layer", "start", "peak", "end", "drop", "spread", "compresses"}};
  const auto text = [](double x) { return fmt::format("{:.2f}", x); };
  for (const Phase& phase : phases(record))
    out.rows.push_back({phase.estimator, phase.layer, text(phase.start), text(phase.peak), text(phase.end),
                        text(phase.drop), text(phase.spread), phase.compresses ? "yes" : "no"});
  return out;
}

constexpr std::pair<const char*, std::vector<double> Moment::*> kAccuracies[] = {{"training", &Moment::train_accuracy},
                                                                                 {"test", &Moment::test_accuracy}};

report::Plot accuracy_plot(const Record& record) {
  report::Plot out{.title = "Accuracy, mean over seeds", .x_label = "epoch", .y_label = "accuracy"};
  out.x_scale = report::PlotScale::log;
  for (const auto& [label, which] : kAccuracies) {
    report::PlotCurve curve{label};
    for (const Moment& moment : record.moments)
      if (!(moment.*which).empty()) {
        curve.x.push_back(static_cast<double>(moment.epoch));
        curve.y.push_back(mean(moment.*which));
      }
    if (!curve.x.empty()) out.curves.push_back(std::move(curve));
  }
  return out;
}

// "training 0.956, test 0.885", or the one that is known.
std::string last_accuracies(const Record& record) {
  std::vector<std::string> out;
  if (record.moments.empty()) return {};
  for (const auto& [label, which] : kAccuracies)
    if (const std::vector<double>& seeds = record.moments.back().*which; !seeds.empty())
      out.push_back(fmt::format("{} {:.3f}", label, mean(seeds)));
  return fmt::format("{}", fmt::join(out, ", "));
}

// "width:0.5 sees layer 1, layer 2 compress."
std::vector<std::string> sentences(const Record& record) {
  std::vector<std::string> out;
  const std::vector<Phase> all = phases(record);
  for (const std::string& estimator : record.estimators) {
    std::vector<std::string> layers;
    for (const Phase& phase : all)
      if (phase.estimator == estimator && phase.compresses) layers.push_back(phase.layer);
    out.push_back(layers.empty() ? fmt::format("{} sees no layer compress.", estimator)
                                 : fmt::format("{} sees {} compress.", estimator, fmt::join(layers, ", ")));
  }
  return out;
}

std::string accuracy_text(const Agreement& agreement) {
  if (std::isnan(agreement.correlation)) return fmt::format("{}: undefined", agreement.estimator);
  return fmt::format("{}: {:+.2f}", agreement.estimator, agreement.correlation);
}

report::Prose accuracy_prose(const std::vector<Agreement>& found) {
  const std::string heading = "Compression and test accuracy";
  const std::size_t seeds = found.front().seeds;
  if (seeds < kLeastSeeds)
    return {
        heading,
        {fmt::format("Their correlation needs {} seeds; there {} {}.", kLeastSeeds, seeds == 1 ? "is" : "are", seeds)}};
  std::vector<std::string> texts;
  for (const Agreement& agreement : found) texts.push_back(accuracy_text(agreement));
  return {
      heading,
      {fmt::format("Correlation over {} seeds between the mean drop and the test accuracy (no sign is assumed). {}.",
                   seeds, fmt::join(texts, "; "))}};
}

}  // namespace

std::string page(const Record& record) {
  report::Page out{.title = record.title};
  out.subtitle = fmt::format(
      "H(X) = {:.3f} bits, H(Y) = {:.3f} bits; a layer compresses where I(X;T) falls after its peak "
      "by more than {} bits beyond the spread over seeds",
      record.input_bits, record.label_bits, kThreshold);
  out.parts.push_back(frames_of(record));
  report::Prose seen{"Which estimator sees compression", sentences(record)};
  for (const std::string& warning : warnings(record)) seen.paragraphs.push_back("Warning: " + warning + ".");
  out.parts.push_back(seen);
  out.parts.push_back(phase_table(record));
  report::Plot accuracies = accuracy_plot(record);
  if (!accuracies.curves.empty()) out.parts.push_back(std::move(accuracies));
  const std::vector<Agreement> agreements = compression_and_accuracy(record);
  if (!agreements.empty()) out.parts.push_back(accuracy_prose(agreements));
  Glossary names{.heading = "Estimators"};
  for (const std::string& name : record.estimators)
    names.entries.push_back({name, meaning(information::LayerEstimator::named(name).kind)});
  out.parts.push_back(names);
  return report::html(out);
}

std::string terminal_text(const Record& record) {
  const DataTable found = phase_table(record);
  report::TextTable table(found.columns);
  for (std::size_t r = 0; r < found.rows.size(); ++r) {
    if (r > 0 && r % record.layers.size() == 0) table.add_rule();
    table.add_row(found.rows[r]);
  }
  std::string out = table.str() + "\n";
  for (const std::string& sentence : sentences(record)) out += sentence + "\n";
  if (const std::string accuracies = last_accuracies(record); !accuracies.empty())
    out += "accuracy: " + accuracies + "\n";
  for (const std::string& warning : warnings(record)) out += "warning: " + warning + "\n";
  return out;
}

}  // namespace isentropic::plane
