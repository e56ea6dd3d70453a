// The lengths experiment as an SVG chart: entropy and needle probability against n.
#include <fmt/format.h>

#include <cmath>

#include "experiments/lengths/present.hpp"
#include "report/chart.hpp"

namespace isentropic::experiments::lengths {
namespace {

using report::Line;
using report::Panel;
using report::Stroke;

// The curves to draw: the named ones if any, else the prominent ones. Colours depend on the law, not on the order.
std::vector<Line> lines_of(const Results& results, Estimate Measurement::*field) {
  const bool named = !results.options.laws.empty();
  std::vector<Line> out;
  int colour = 0;
  for (const Curve& curve : results.main().curves) {
    if (!named && curve.law.prominence == Prominence::table_only) continue;
    Line line{curve.law.label, {}, {}, 0, Stroke::plain};
    if (curve.law.name == "kappa_log_n") {
      line.stroke = Stroke::strong;
    } else {
      line.colour = colour++;
    }
    for (std::size_t i = 0; i < results.lengths.size(); ++i) {
      line.x.push_back(static_cast<double>(results.lengths[i]));
      line.y.push_back((curve.points[i].*field).mean);
    }
    out.push_back(std::move(line));
  }
  return out;
}

}  // namespace

std::string picture(const Results& results) {
  const double shortest = static_cast<double>(results.lengths.front());
  const double longest = static_cast<double>(results.lengths.back());
  const report::Axis lengths = report::log2_axis("keys in the context, n", shortest, longest);

  Panel entropy{"Entropy H of attention, in nats", lengths, report::linear_axis("H", 0, std::log(longest)),
                lines_of(results, &Measurement::entropy)};
  Line ceiling{"uniform: log n", {}, {}, 0, Stroke::ceiling};
  for (const std::int64_t n : results.lengths) {
    ceiling.x.push_back(static_cast<double>(n));
    ceiling.y.push_back(std::log(static_cast<double>(n)));
  }
  entropy.lines.insert(entropy.lines.begin(), ceiling);
  const Panel needle{"Probability of the key that matches", lengths, report::linear_axis("p", 0, 1, 5),
                     lines_of(results, &Measurement::needle)};

  const PositionCode& positions = results.options.positions;
  std::string subtitle = fmt::format("Scale laws λ(n, d) at d = {}; random keys", results.options.d);
  if (positions.kind != Positions::none)
    subtitle += fmt::format(", {} positions of strength {:g}", name(positions.kind), positions.strength);
  subtitle += ". Left: nothing to find. Right: one key equals the query.";
  return report::svg({"Attention as the context grows", subtitle, {entropy, needle}});
}

}  // namespace isentropic::experiments::lengths
