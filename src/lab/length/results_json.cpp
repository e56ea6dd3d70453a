// Results of a length study as JSON lines, and back.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "isentropic/error.hpp"
#include "lab/length/study.hpp"

namespace isentropic::lab::length {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Run, stage, law, positions, learning_rate, seed, attention_dropout, weight_decay)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Point, n, loss, entropy, deviation, copying)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Tested, law, points)

namespace {

using nlohmann::json;

bool is_finite(double x) { return std::isfinite(x); }

bool is_finite(const Point& x) {
  return is_finite(x.loss) && is_finite(x.entropy) && is_finite(x.deviation) && is_finite(x.copying);
}

bool is_finite(const Tested& tested) {
  return std::ranges::all_of(tested.points, [](const Point& point) { return is_finite(point); });
}

bool has_finite_losses(const Result& result) {
  return is_finite(result.validation) && std::ranges::all_of(result.learnt, [](double x) { return is_finite(x); }) &&
         std::ranges::all_of(result.curve, [](const auto& point) { return is_finite(point.second); });
}

nlohmann::ordered_json numbers_of(const Result& result) {
  if (result.diverged)
    return {{"run", json(result.run)}, {"seconds", result.seconds}, {"diverged", true}, {"tests", json::array()}};
  return {{"run", json(result.run)},    {"validation", result.validation}, {"curve", json(result.curve)},
          {"spikes", result.spikes},    {"seconds", result.seconds},       {"learnt", json(result.learnt)},
          {"tests", json(result.tests)}};
}

}  // namespace

Result as_diverged(const Result& result) {
  return {.run = result.run,
          .diverged = true,
          .seconds = result.seconds,
          .device = result.device,
          .bfloat16 = result.bfloat16};
}

Result finite_part(Result result) {
  if (!has_finite_losses(result)) return as_diverged(result);
  for (const Tested& tested : result.tests)
    if (!is_finite(tested)) result.not_finite.push_back(tested.law);
  if (std::ranges::find(result.not_finite, result.run.law) != result.not_finite.end()) return as_diverged(result);
  std::erase_if(result.tests, [](const Tested& tested) { return !is_finite(tested); });
  return result;
}

nlohmann::ordered_json json_of(const Result& result) {
  nlohmann::ordered_json out = numbers_of(result);
  if (!result.not_finite.empty()) out["not_finite"] = result.not_finite;
  if (!result.device.empty()) out["device"] = result.device, out["bfloat16"] = result.bfloat16;
  return out;
}

Result result_of(const nlohmann::ordered_json& line) {
  try {
    const nlohmann::json json = line;
    Result out;
    json.at("run").get_to(out.run), json.at("seconds").get_to(out.seconds);
    out.diverged = json.value("diverged", false);
    out.not_finite = json.value("not_finite", out.not_finite);
    out.device = json.value("device", ""), out.bfloat16 = json.value("bfloat16", false);
    if (out.diverged) return out;
    json.at("validation").get_to(out.validation), json.at("curve").get_to(out.curve);
    json.at("spikes").get_to(out.spikes);
    json.at("learnt").get_to(out.learnt), json.at("tests").get_to(out.tests);
    return out;
  } catch (const nlohmann::json::exception& error) {
    throw Error("log.jsonl", "with a line that is not as it was written", error.what());
  }
}

nlohmann::ordered_json results_of(const Study& study, const std::vector<Result>& results) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Result& result : results) list.push_back(json_of(result));
  return {{"study", "length"}, {"options", options_of(study)}, {"results", list}};
}

}  // namespace isentropic::lab::length
