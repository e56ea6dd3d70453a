// The study of contrastive learning as an HTML page and a picture: bounds against the truth, geometry by temperature,
// push and pull.
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

// One curve for each critic; the truth and the ceiling with them.
Plot staircase(const Options& options, const Results& results, std::int64_t batch) {
  Plot out{.title = fmt::format("Batches of {} pairs", batch),
           .x_label = "true information, nats",
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
  return by_temperature(results, "Hardest negative", "share of the gradient",
                        [](const Geometry& x) { return x.hardest_share; });
}

std::string subtitle(const Options& options) {
  return fmt::format("{} steps of each staircase, {} at each temperature, seed {}", options.steps, options.view_steps,
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
  report::Page out{.title = "What contrastive learning sees", .subtitle = subtitle(options)};
  out.parts.emplace_back(report::Prose{
      "Information",
      {fmt::format("Pairs of Gaussians of {} coordinates share I = -(d/2) log(1 - rho^2). Critics learn with InfoNCE "
                   "while I climbs; log N - loss is a lower bound of I, over the second half of each stair.",
                   options.dimension),
       "The bound cannot pass log N, N the pairs of a batch, however good the critic is: larger batches go on where "
       "small ones stop."}});
  report::Row staircases;
  for (const std::int64_t batch : options.batches) staircases.parts.emplace_back(staircase(options, results, batch));
  out.parts.emplace_back(std::move(staircases));
  out.parts.emplace_back(stair_numbers(results));
  if (results.arrangements.empty()) return report::html(out);
  out.parts.emplace_back(report::Prose{
      "Temperature",
      {"Noisy views of 32 points are told apart by embeddings on the unit sphere of 8 dimensions. A low temperature "
       "looks at the hardest negative, a high one at all alike: then neighbours come nearer to each other. A very low "
       "one has hardly a gradient left once views are told apart, and spreads them slowly.",
       "No temperature collapses the embeddings: effective rank is e^H of the normalised singular values, and 8 where "
       "all dimensions are in use."}});
  out.parts.emplace_back(report::Row{{by_temperature(results, "Effective rank, of 8", "effective rank",
                                                     [](const Geometry& x) { return x.effective_rank; }),
                                      nearest_neighbours(results)}});
  out.parts.emplace_back(
      report::Row{{hardest_negative(results),
                   by_temperature(results, "Uniformity", "uniformity", [](const Geometry& x) { return x.uniformity; }),
                   by_temperature(results, "Alignment", "alignment", [](const Geometry& x) { return x.alignment; })}});
  out.parts.emplace_back(report::Prose{
      "Push and pull",
      {"Steps of descent of one anchor's loss on the circle. The positive comes nearer with 1 - P(k_+), negatives "
       "leave with P(k_j)."}});
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
  return report::svg(report::figure_of("What contrastive learning sees", subtitle(options), plots, 2));
}

}  // namespace isentropic::lab::contrast
