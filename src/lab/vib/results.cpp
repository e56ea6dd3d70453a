// Results as JSON and as a text table.
#include "lab/vib/results.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "isentropic/information/gaussian_bottleneck.hpp"
#include "report/text_table.hpp"

namespace isentropic::lab::vib {
namespace {

using Json = nlohmann::ordered_json;

// The JSON writer turns values that are not finite into null.
Json measures_json(const Measures& measures) {
  return {{"error_one", measures.error_one},
          {"error_many", measures.error_many},
          {"information_x", measures.information_x},
          {"information_y", measures.information_y}};
}

Measures measures_of(const Json& json) {
  const auto number = [&](const char* name, double absent) {
    const Json& found = json.at(name);
    return found.is_null() ? absent : found.get<double>();
  };
  using Limits = std::numeric_limits<double>;
  return {.error_one = number("error_one", Limits::quiet_NaN()),
          .error_many = number("error_many", Limits::quiet_NaN()),
          .information_x = number("information_x", Limits::infinity()),
          .information_y = json.at("information_y")};
}

Spread spread_of(const std::vector<double>& values) {
  Spread out;
  const auto count = static_cast<double>(values.size());
  for (const double value : values) out.mean += value / count;
  if (values.size() < 2 || !std::isfinite(out.mean)) return out;
  double squares = 0;
  for (const double value : values) squares += (value - out.mean) * (value - out.mean);
  out.deviation = std::sqrt(squares / (count - 1));
  return out;
}

BetaResult summary_of(const std::vector<MemberResult>& members) {
  const auto over_seeds = [&](const auto& number_of) {
    std::vector<double> values;
    for (const MemberResult& member : members) values.push_back(number_of(member));
    return spread_of(values);
  };
  return {.member = members.front().member,
          .error_one = over_seeds([](const MemberResult& x) { return x.test.error_one; }),
          .error_many = over_seeds([](const MemberResult& x) { return x.test.error_many; }),
          .information_x = over_seeds([](const MemberResult& x) { return x.test.information_x; }),
          .information_y = over_seeds([](const MemberResult& x) { return x.test.information_y; }),
          .train_information_x = over_seeds([](const MemberResult& x) { return x.train.information_x; }),
          .train_information_y = over_seeds([](const MemberResult& x) { return x.train.information_y; })};
}

std::string label(const Member& member) { return member.deterministic ? "no noise" : fmt::format("{:g}", member.beta); }

std::string shown(const Spread& spread, double times = 1) {
  if (!std::isfinite(spread.mean)) return "-";
  std::string out = fmt::format("{:.{}f}", times * spread.mean, times > 1 ? 2 : 4);
  if (spread.deviation > 0) out += fmt::format(" ± {:.{}f}", times * spread.deviation, times > 1 ? 2 : 4);
  return out;
}

std::string image_table(const Results& results) {
  report::TextTable out(
      {"β", "error, %", fmt::format("with {} samples, %", kSamples), "I(Z;X) ≤", "I(Z;Y) ≥", "train I(Z;Y) ≥"});
  for (const BetaResult& row : by_beta(results))
    out.add_row({label(row.member), shown(row.error_one, 100), shown(row.error_many, 100), shown(row.information_x),
                 shown(row.information_y), shown(row.train_information_y)});
  return out.str();
}

std::string gaussian_table(const Results& results) {
  report::TextTable out({"β", "I(Z;X) ≤", "exact", "I(Z;Y) ≥", "exact", "best at this I(Z;X)"});
  for (const BetaResult& row : by_beta(results)) {
    std::vector<std::string> cells = {
        label(row.member), shown(row.information_x), "-", shown(row.information_y), "-", "-"};
    if (row.member.beta > 0) {
      const auto exact = information::gaussian_bottleneck(results.correlations, row.member.beta);
      cells[2] = fmt::format("{:.4f}", exact.information_x);
      cells[4] = fmt::format("{:.4f}", exact.information_y);
    }
    if (!row.member.deterministic)
      cells[5] = fmt::format("{:.4f}", best_information_y(results.correlations, row.information_x.mean));
    out.add_row(cells);
  }
  return out.str();
}

}  // namespace

Json to_json(const MemberResult& result) {
  return {{"beta", result.member.beta},
          {"seed", result.member.seed},
          {"deterministic", result.member.deterministic},
          {"train", measures_json(result.train)},
          {"test", measures_json(result.test)}};
}

MemberResult member_result_of(const Json& json) {
  return {.member = {.beta = json.at("beta"), .seed = json.at("seed"), .deterministic = json.at("deterministic")},
          .train = measures_of(json.at("train")),
          .test = measures_of(json.at("test"))};
}

Json to_json(const Results& results) {
  Json members = Json::array();
  for (const MemberResult& result : results.members) {
    Json entry = to_json(result);
    if (!results.correlations.empty() && !result.member.deterministic)
      entry["best_information_y"] = best_information_y(results.correlations, result.test.information_x);
    members.push_back(std::move(entry));
  }
  Json out = {{"members", std::move(members)}};
  if (!results.correlations.empty()) out["correlations"] = results.correlations;
  return out;
}

std::vector<BetaResult> by_beta(const Results& results) {
  std::vector<BetaResult> out;
  std::vector<MemberResult> group;
  const auto close = [&] {
    if (!group.empty()) out.push_back(summary_of(group));
    group.clear();
  };
  for (const MemberResult& result : results.members) {
    const bool belongs = !group.empty() && group.front().member.beta == result.member.beta &&
                         group.front().member.deterministic == result.member.deterministic;
    if (!belongs) close();
    group.push_back(result);
  }
  close();
  return out;
}

// I_X falls as beta rises: beta is found by bisection of its logarithm.
double best_information_y(const std::vector<double>& correlations, double information_x) {
  double low = std::log(1e-12), high = 0;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    const bool keeps_more =
        information::gaussian_bottleneck(correlations, std::exp(middle)).information_x > information_x;
    (keeps_more ? low : high) = middle;
  }
  return information::gaussian_bottleneck(correlations, std::exp(high)).information_y;
}

std::string text_table(const Results& results) {
  return results.correlations.empty() ? image_table(results) : gaussian_table(results);
}

}  // namespace isentropic::lab::vib
