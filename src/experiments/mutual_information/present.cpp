// Presents findings as lines of text and as JSON.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "experiments/mutual_information/findings.hpp"
#include "isentropic/information/distribution.hpp"
#include "isentropic/version.hpp"

namespace isentropic::experiments::mutual_information {
namespace {

using Json = nlohmann::ordered_json;

const char* scaling_of(const Request& request) {
  return request.options.scaling == information::Scaling::none ? "none" : "standardised";
}

int bins_of(const Data& data, const Request& request) {
  return request.options.bins > 0 ? request.options.bins : information::usual_bins(data.x.table.rows);
}

Json json(const information::Correlation& correlation) {
  return {{"total", correlation.total}, {"dual_total", correlation.dual_total}};
}

// "a,b"; for many columns, "a..z".
std::string label(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 4;
  return names.size() <= kMost ? fmt::format("{}", fmt::join(names, ",")) : names.front() + ".." + names.back();
}

std::string settings(const Data& data, const Request& request) {
  const information::InformationOptions& options = request.options;
  std::string out = name(options.estimator);
  if (request.estimator_chosen_by_data) out += " (chosen by the data)";
  if (uses_neighbours(options.estimator)) out += fmt::format(", k = {}, scaling {}", options.k, scaling_of(request));
  if (uses_bins(options.estimator)) out += fmt::format(", {} bins", bins_of(data, request));
  if (uses_entropy(options.estimator)) out += ", entropy by " + name(options.entropy);
  return out;
}

std::string text(const information::CorrelationReport& report) {
  std::string out;
  const auto line = [&](const char* title, const information::Correlation& correlation) {
    out += fmt::format("{:<22}{:>10.6f} nats total {:>10.6f} dual total correlation\n", title, correlation.total,
                       correlation.dual_total);
  };
  line("as observed", report.observed);
  line("resampled positions", report.resampled_positions);
  line("shuffled order", report.shuffled_order);
  return out;
}

}  // namespace

std::string text(const Data& data, const Request& request, const Findings& findings) {
  std::string out;
  if (findings.nats) {
    const std::string given = data.given.names.empty() ? "" : fmt::format("|{}", label(data.given.names));
    out += fmt::format("I({};{}{}) = {:.6f} nats = {:.6f} bits\n", label(data.x.names), label(data.y.names), given,
                       *findings.nats, information::to_bits(*findings.nats));
  }
  out += fmt::format("estimator     {}\nsamples       {}{}\n", settings(data, request), data.x.table.rows,
                     data.rows_dropped > 0 ? fmt::format(" ({} more had a missing cell)", data.rows_dropped) : "");
  if (const auto& found = findings.significance)
    out += fmt::format("permutations  p = {:.4g} ({} surrogates: mean {:.6f}, deviation {:.6f})\n", found->p_value,
                       found->permutations, found->surrogate_mean, found->surrogate_deviation);
  if (const auto& found = findings.interval)
    out += fmt::format("interval      {:.6f} to {:.6f} nats ({:.0f}%, {} half-samples)\n", found->low, found->high,
                       100 * kLevel, found->halves);
  if (const auto& found = findings.correlation) out += text(*found);
  return out;
}

Json json(const Data& data, const Request& request, const Findings& findings) {
  const information::InformationEstimator estimator = request.options.estimator;
  Json out = {{"command", "mi"},
              {"version", ISENTROPIC_VERSION},
              {"data", data.source},
              {"x", data.x.names},
              {"y", data.y.names},
              {"given", data.given.names},
              {"n", data.x.table.rows},
              {"rows_dropped", data.rows_dropped},
              {"estimator", name(estimator)},
              {"estimator_chosen_by", request.estimator_chosen_by_data ? "data" : "user"}};
  if (uses_neighbours(estimator)) {
    out["k"] = request.options.k;
    out["scaling"] = scaling_of(request);
  }
  if (uses_bins(estimator)) out["bins"] = bins_of(data, request);
  if (uses_entropy(estimator)) out["entropy_estimator"] = name(request.options.entropy);
  if (findings.nats) {
    out["nats"] = *findings.nats;
    out["bits"] = information::to_bits(*findings.nats);
    out["seconds"] = findings.seconds;
  }
  if (const auto& found = findings.significance) {
    out["p_value"] = found->p_value;
    out["surrogates"] = {{"permutations", found->permutations},
                         {"mean", found->surrogate_mean},
                         {"deviation", found->surrogate_deviation}};
  }
  if (const auto& found = findings.interval)
    out["interval"] = {{"level", kLevel},          {"low", found->low},
                       {"high", found->high},      {"deviation", found->deviation},
                       {"method", "half-samples"}, {"halves", found->halves}};
  if (const auto& found = findings.correlation) {
    out["total_correlation"] = found->observed.total;
    out["dual_total_correlation"] = found->observed.dual_total;
    out["resampled_positions"] = json(found->resampled_positions);
    out["shuffled_order"] = json(found->shuffled_order);
  }
  out["notes"] = data.notes;
  out["warnings"] = findings.warnings;
  return out;
}

}  // namespace isentropic::experiments::mutual_information
