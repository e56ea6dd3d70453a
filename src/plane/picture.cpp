// Draws the paths of layers in the information plane.
#include <algorithm>
#include <cmath>

#include "plane/page.hpp"
#include "report/chart.hpp"

namespace isentropic::plane {
namespace {

constexpr std::size_t kPanels = 4;  // side by side; the page shows all estimators

report::Line path_of(const Record& record, std::size_t estimator, std::size_t layer) {
  report::Line out{record.layers[layer], {}, {}, static_cast<int>(layer), report::Stroke::plain};
  for (const Moment& moment : record.moments) {
    const auto& seeds = moment.points[estimator][layer];
    double input = 0, label = 0;
    for (const information::LayerInformation& point : seeds) input += point.input, label += point.label;
    out.x.push_back(input / static_cast<double>(seeds.size()));
    out.y.push_back(label / static_cast<double>(seeds.size()));
  }
  return out;
}

}  // namespace

std::string picture(const Record& record) {
  report::Figure out{record.title, "I(T;Y) against I(X;T) in bits during training; mean over seeds.", {}};
  for (std::size_t e = 0; e < std::min(kPanels, record.estimators.size()); ++e) {
    report::Panel panel{record.estimators[e],
                        report::linear_axis("I(X;T), bits", 0, std::ceil(record.input_bits)),
                        report::linear_axis("I(T;Y), bits", 0, std::ceil(record.label_bits)),
                        {}};
    for (std::size_t l = 0; l < record.layers.size(); ++l) panel.lines.push_back(path_of(record, e, l));
    out.panels.push_back(std::move(panel));
  }
  return report::svg(out);
}

}  // namespace isentropic::plane
