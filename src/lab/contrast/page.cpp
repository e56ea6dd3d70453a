// The study of contrastive learning as an HTML page and a figure: bounds against the true information, geometry by
// temperature, push and pull.
#include "report/page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "lab/contrast/push_pull.hpp"
#include "lab/contrast/results.hpp"
#include "lab/contrast/study.hpp"
#include "report/plot_picture.hpp"

namespace isentropic::lab::contrast {
namespace {

using report::CurveStyle;
using report::Plot;

// One curve per critic, with the true information and the ceiling.
Plot staircase(const Options& options, const Results& results, std::int64_t batch) {
  Plot out{.title = fmt::format("Batches of {} pairs", batch),
           .x_label = "true mutual information, nats",
           .y_label = "log N - loss, nats"};
  double ceiling = 0;
  for (const std::string& critic : options.critics) {
    report::PlotCurve curve{.label = critic};
    for (const Stair& stair : results.stairs)
      if (stair.critic == critic && stair.batch == batch) {
        curve.x.push_back(stair.information);
        curve.y.push_back(stair.bound);
        ceiling = stair.ceiling;
      }
    out.curves.push_back(std::move(curve));
  }
  const double most = *std::max_element(options.information.begin(), options.information.end());
  out.curves.push_back(
      {.label = "truth", .x = {0, most}, .y = {0, most}, .style = CurveStyle::formula, .colour = report::kInk});
  out.curves.push_back({.label = "log N", .x = {0, most}, .y = {ceiling, ceiling}, .style = CurveStyle::bound});
  return out;
}

Plot by_temperature(const Results& results, const std::string& title, const std::string& label,
                    const std::function<double(const Geometry&)>& number) {
  Plot out{.title = title, .x_label = "temperature", .y_label = label, .x_scale = report::PlotScale::log};
  report::PlotCurve curve{.label = label};
  for (const Arrangement& found : results.arrangements) {
    curve.x.push_back(found.temperature);
    curve.y.push_back(number(found.geometry));
  }
  out.curves.push_back(std::move(curve));
  return out;
}

Plot nearest_neighbours(const Results& results) {
  return by_temperature(results, "Nearest neighbours", "cosine", [](const Geometry& x) { return x.nearest_cosine; });
}

Plot hardest_negative(const Results& results) {
  return by_temperature(results, "Hardest negative", "fraction of the negatives' gradient",
                        [](const Geometry& x) { return x.hardest_share; });
}

std::string subtitle(const Options& options) {
  return fmt::format("{} steps per staircase, {} per temperature, seed {}", options.steps, options.view_steps,
                     options.seed);
}

report::DataTable stair_numbers(const Results& results) {
  report::DataTable out{.title = "Every stair",
                        .columns = {"critic", "batch", "I, nats", "log N - loss", "standard error", "log N"}};
  for (const Stair& stair : results.stairs)
    out.rows.push_back({stair.critic, std::to_string(stair.batch), fmt::format("{:g}", stair.information),
                        fmt::format("{:.4f}", stair.bound), fmt::format("{:.4f}", stair.error),
                        fmt::format("{:.4f}", stair.ceiling)});
  return out;
}

}  // namespace

std::string page(const Options& options, const Results& results) {
  report::Page out{.title = "Contrastive learning: information and embeddings", .subtitle = subtitle(options)};
  out.parts.emplace_back(report::Prose{
      "Information",
      {fmt::format(
           "Pairs of Gaussian vectors with {} coordinates have I = -(d/2) log(1 - rho^2). Critics train with InfoNCE "
           "while I climbs a staircase; log N - loss is a lower bound on I, averaged over the second half of "
           "each stair.",
           options.dimension),
       "The bound cannot exceed log N, where N is the batch size, however good the critic: larger batches raise the "
       "ceiling."}});
  report::Row staircases;
  for (const std::int64_t batch : options.batches) staircases.parts.emplace_back(staircase(options, results, batch));
  out.parts.emplace_back(std::move(staircases));
  out.parts.emplace_back(stair_numbers(results));
  if (results.arrangements.empty()) return report::html(out);
  out.parts.emplace_back(report::Prose{
      "Temperature",
      {"Embeddings on the unit sphere in 8 dimensions are trained to identify noisy views of 32 points. A low "
       "temperature concentrates the gradient on the hardest negative, a high one spreads it over all of them.",
       "Effective rank is e^H of the normalised singular values: 8 when all dimensions are in use, 1 when the "
       "embeddings have collapsed onto a line."}});
  out.parts.emplace_back(report::Row{{by_temperature(results, "Effective rank (maximum 8)", "effective rank",
                                                     [](const Geometry& x) { return x.effective_rank; }),
                                      nearest_neighbours(results)}});
  out.parts.emplace_back(
      report::Row{{hardest_negative(results),
                   by_temperature(results, "Uniformity", "uniformity", [](const Geometry& x) { return x.uniformity; }),
                   by_temperature(results, "Alignment", "alignment", [](const Geometry& x) { return x.alignment; })}});
  out.parts.emplace_back(report::Prose{
      "Push and pull",
      {"Gradient descent steps of one anchor's loss on the circle. The positive is pulled in proportion to "
       "1 - P(k_+), the negatives are pushed in proportion to P(k_j)."}});
  report::Row arrows;
  for (const PushPull& found : push_and_pull(options.seed, temperatures_to_draw(options.temperatures)))
    arrows.parts.emplace_back(push_pull_plot(found));
  out.parts.emplace_back(std::move(arrows));
  return report::html(out);
}

std::string picture(const Options& options, const Results& results) {
  std::vector<Plot> plots;
  for (const std::int64_t batch : options.batches) plots.push_back(staircase(options, results, batch));
  if (!results.arrangements.empty())
    plots.insert(plots.end(), {nearest_neighbours(results), hardest_negative(results)});
  return report::svg(
      report::figure_of("Contrastive learning: information and embeddings", subtitle(options), plots, 2));
}

}  // namespace isentropic::lab::contrast
