// The results as a self-explanatory HTML page: what is drawn, what to read off, the laws, what to do, the numbers.
#include "report/page.hpp"

#include <fmt/format.h>

#include <cmath>

#include "experiments/lengths/present.hpp"

namespace isentropic::experiments::lengths {
namespace {

report::Plot plot(const Results& results, const char* title, const char* label, Estimate Measurement::*field) {
  report::Plot out{
      .title = title, .x_label = "keys in the context, n", .y_label = label, .x_scale = report::PlotScale::log};
  for (const Curve& curve : results.main().curves) {
    if (results.options.laws.empty() && curve.law.prominence == Prominence::table_only) continue;
    report::PlotCurve line{.label = curve.law.label};
    if (curve.law.name == "kappa_log_n") line.colour = report::kInk;  // the law that the picture is about
    for (std::size_t i = 0; i < results.lengths.size(); ++i) {
      line.x.push_back(static_cast<double>(results.lengths[i]));
      line.y.push_back((curve.points[i].*field).mean);
    }
    out.curves.push_back(std::move(line));
  }
  return out;
}

report::PlotCurve ceiling(const Results& results) {
  report::PlotCurve out{.label = "uniform: log n", .style = report::CurveStyle::bound};
  for (const std::int64_t n : results.lengths) {
    out.x.push_back(static_cast<double>(n));
    out.y.push_back(std::log(static_cast<double>(n)));
  }
  return out;
}

report::DataTable numbers(const Results& results, const char* title, Estimate Measurement::*field, int digits) {
  report::DataTable out{.title = title, .columns = {"scale λ"}};
  for (const std::int64_t n : results.lengths) out.columns.push_back(std::to_string(n));
  for (const Curve& curve : results.main().curves) {
    std::vector<std::string> row = {curve.law.label};
    for (const Measurement& point : curve.points) row.push_back(fmt::format("{:.{}f}", (point.*field).mean, digits));
    out.rows.push_back(std::move(row));
  }
  return out;
}

report::DataTable slopes(const Results& results) {
  report::DataTable out{.title = "Slope dH/dlog n (1: spreads over all keys; 0: constant)",
                        .columns = {"scale λ", "slope", "standard error"}};
  for (const Curve& curve : results.main().curves)
    out.rows.push_back(
        {curve.law.label, fmt::format("{:.3f}", curve.slope.mean), fmt::format("{:.3f}", curve.slope.error)});
  return out;
}

// The same laws with other head sizes and key families, and the kappa that would keep H constant there.
report::DataTable slopes_elsewhere(const Results& results) {
  report::DataTable out{.title = "Slope on other keys and head sizes", .columns = {"keys", "d"}};
  const std::vector<Curve>& laws = results.main().curves;
  for (const Curve& curve : laws) out.columns.push_back(curve.law.label);
  out.columns.emplace_back("κ of slope 0");
  for (const Sweep& sweep : results.sweeps) {
    std::vector<std::string> row = {name(sweep.keys), std::to_string(sweep.d)};
    for (std::size_t i = 0; i < laws.size(); ++i)
      row.push_back(i < sweep.curves.size() ? fmt::format("{:.3f}", sweep.curves[i].slope.mean) : "");
    row.push_back(sweep.compensation.is_clear() ? fmt::format("{:.1f}", sweep.compensation.zero->mean) : "none");
    out.rows.push_back(std::move(row));
  }
  return out;
}

std::string positions_text(const PositionCode& positions) {
  if (positions.kind == Positions::none) return "";
  return fmt::format(" Positions are coded: {}, of strength {:g}.", name(positions.kind), positions.strength);
}

report::Prose what_is_drawn(const Results& results) {
  return {
      "What is drawn",
      {fmt::format("A query looks at n keys, with the weights softmax(lambda q.k). Every curve is one law by which "
                   "lambda follows n and the size d of a head. Queries and keys are random directions of norm "
                   "sqrt d, as after a normalisation layer, here with d = {}; all laws see the same ones.{}",
                   results.options.d, positions_text(results.options.positions)),
       "First plot: there is nothing to find. H is the entropy of the weights in nats, so e^H is the number of keys "
       "that "
       "share the attention; dashed is log n, the entropy of equal weights. Second plot: the key farthest away equals "
       "the query, a needle in the haystack, and p is the weight that it gets."}};
}

report::Prose what_to_read_off() {
  return {
      "What to read off",
      {"In the first plot, the slope dH/dlog n: 1 says that attention spreads over all keys, however many there are; 0 "
       "that a row attends to as many keys in a long context as in a short one. In the second, whether a curve "
       "stays up: one that falls loses the match among the other keys as the context grows.",
       "A law that serves long contexts is level in the first plot and high in the second. A low entropy by itself is "
       "no "
       "virtue: a scale that is too large attends to one key whether it matches or not."}};
}

// Summarises the numbers, one sentence per extreme.
report::Prose what_was_found(const Results& results) {
  std::vector<std::string> out;
  for (const Curve& curve : results.main().curves)
    if (curve.law.name == "inverse_sqrt_d")
      out.push_back(
          fmt::format("The usual scale 1/sqrt d has slope {:.2f}: it gives a perfect match {:.0f}% of the "
                      "weight among {} keys and {:.0f}% among {}.",
                      curve.slope.mean, 100 * curve.points.front().needle.mean, results.lengths.front(),
                      100 * curve.points.back().needle.mean, results.lengths.back()));
  const Compensation& compensation = results.main().compensation;
  if (compensation.is_clear())
    out.push_back(fmt::format("kappa log n/d holds the entropy constant on these keys at kappa = {:.1f}.",
                              compensation.zero->mean));
  else
    out.push_back(fmt::format("No kappa up to {:g} holds the entropy constant under kappa log n/d on these keys.",
                              compensation.tried.back().kappa));
  return {"What was found", out};
}

report::Glossary laws(const Results& results) {
  report::Glossary out{.heading = "The laws"};
  for (const Curve& curve : results.main().curves) out.entries.push_back({curve.law.label, curve.law.idea});
  return out;
}

report::Prose what_to_do() {
  return {
      "What to do with it",
      {"The constants depend on the keys, and those of a trained head are not random. Measure the entropy of your "
       "heads over lengths (`isentropic.Monitor` in PyTorch); where it grows like log n and long inputs fail, try a "
       "law whose curve is level.",
       "In PyTorch: `isentropic.attention(q, k, v, scale=isentropic.Scale.log_n(kappa))`, or "
       "`Scale.target_entropy(2.0)` to hold the entropy outright. In C++ the same laws are in "
       "`isentropic/scale.hpp`. `isentropic lengths --d 128 --positions alibi` repeats this page for another head."}};
}

}  // namespace

std::string page(const Results& results) {
  report::Page out{.title = "Attention as the context grows",
                   .subtitle = fmt::format("Scale laws λ(n, d) at d = {}, random keys of norm √d, seed {}",
                                           results.options.d, results.options.seed)};
  report::Plot entropy = plot(results, "Entropy of attention: nothing to find", "H, nats", &Measurement::entropy);
  entropy.curves.push_back(ceiling(results));
  out.parts.emplace_back(
      report::Row{{std::move(entropy),
                   plot(results, "Probability of the one key that equals the query", "p", &Measurement::needle)}});
  out.parts.emplace_back(what_is_drawn(results));
  out.parts.emplace_back(what_to_read_off());
  out.parts.emplace_back(what_was_found(results));
  out.parts.emplace_back(laws(results));
  out.parts.emplace_back(what_to_do());
  out.parts.emplace_back(report::Prose{.heading = "The numbers"});
  out.parts.emplace_back(slopes(results));
  out.parts.emplace_back(slopes_elsewhere(results));
  out.parts.emplace_back(numbers(results, "Entropy, nats, by number of keys", &Measurement::entropy, 2));
  out.parts.emplace_back(numbers(results, "Probability of the needle, by number of keys", &Measurement::needle, 3));
  return report::html(out);
}

}  // namespace isentropic::experiments::lengths
