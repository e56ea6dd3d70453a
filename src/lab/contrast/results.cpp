// Reads the results from the log, and writes them as JSON and as text tables.
#include "lab/contrast/results.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "isentropic/version.hpp"
#include "lab/contrast/study.hpp"
#include "report/text_table.hpp"

namespace isentropic::lab::contrast {
namespace {

using Json = nlohmann::ordered_json;

// Mean and standard error over the second half of `bounds`, block means in order.
void settle(const std::vector<double>& bounds, Stair* stair) {
  const std::size_t first = bounds.size() / 2;
  const auto count = static_cast<double>(bounds.size() - first);
  double sum = 0, squares = 0;
  for (std::size_t i = first; i < bounds.size(); ++i) sum += bounds[i];
  stair->bound = sum / count;
  for (std::size_t i = first; i < bounds.size(); ++i) squares += std::pow(bounds[i] - stair->bound, 2);
  stair->error = count > 1 ? std::sqrt(squares / (count - 1) / count) : 0;
}

}  // namespace

Results results_from(const Options& options, const std::vector<Json>& log) {
  Results out;
  const std::size_t stairs = options.information.size(), batches = options.batches.size();
  std::vector<std::vector<double>> bounds(options.critics.size() * batches * stairs);
  for (const std::string& critic : options.critics)
    for (const std::int64_t batch : options.batches)
      for (const double information : options.information)
        out.stairs.push_back({.critic = critic,
                              .batch = batch,
                              .information = information,
                              .ceiling = std::log(static_cast<double>(batch))});
  for (const Json& line : log) {
    if (line["part"] == "views") {
      if (line.contains("effective_rank"))
        out.arrangements.push_back({line["temperature"], line["loss"], geometry_from(line)});
      continue;
    }
    // Staircases come first and one after the other (parts_of), so that the step says which one a line belongs to.
    const auto staircase = static_cast<std::size_t>((line["step"].get<std::int64_t>() - 1) / options.steps);
    bounds[staircase * stairs + line["stair"].get<std::size_t>()].push_back(line["bound"]);
  }
  for (std::size_t i = 0; i < bounds.size(); ++i) settle(bounds[i], &out.stairs[i]);
  return out;
}

Json json(const Options& options, const Results& results) {
  Json stairs = Json::array(), arrangements = Json::array();
  for (const Stair& stair : results.stairs)
    stairs.push_back({{"critic", stair.critic},
                      {"batch", stair.batch},
                      {"information", stair.information},
                      {"bound", stair.bound},
                      {"error", stair.error},
                      {"ceiling", stair.ceiling}});
  for (const Arrangement& found : results.arrangements) {
    arrangements.push_back({{"temperature", found.temperature}, {"loss", found.loss}});
    add_to(arrangements.back(), found.geometry);
  }
  return {{"command", "train contrast"},
          {"version", ISENTROPIC_VERSION},
          {"parameters", json(options)},
          {"information", stairs},
          {"views", arrangements}};
}

std::string tables(const Options& options, const Results& results) {
  std::vector<std::string> header = {"critic", "batch", "log N"};
  for (const double information : options.information) header.push_back(fmt::format("I = {:g}", information));
  report::TextTable stairs(header), views({"temperature", "alignment", "uniformity", "effective rank", "mean cosine",
                                           "nearest cosine", "hardest share"});
  for (std::size_t i = 0; i < results.stairs.size(); i += options.information.size()) {
    const Stair& first = results.stairs[i];
    std::vector<std::string> row = {first.critic, std::to_string(first.batch), fmt::format("{:.2f}", first.ceiling)};
    for (std::size_t stair = i; stair < i + options.information.size(); ++stair)
      row.push_back(fmt::format("{:.2f}", results.stairs[stair].bound));
    stairs.add_row(row);
  }
  for (const auto& [temperature, loss, geometry] : results.arrangements)
    views.add_row({fmt::format("{:g}", temperature), fmt::format("{:.4f}", geometry.alignment),
                   fmt::format("{:.3f}", geometry.uniformity), fmt::format("{:.2f}", geometry.effective_rank),
                   fmt::format("{:.3f}", geometry.mean_cosine), fmt::format("{:.3f}", geometry.nearest_cosine),
                   fmt::format("{:.3f}", geometry.hardest_share)});
  return "The bound log N - loss (nats) at each level of the true information I\n\n" + stairs.str() +
         "\nEmbeddings of noisy views at each temperature\n\n" + views.str();
}

}  // namespace isentropic::lab::contrast
