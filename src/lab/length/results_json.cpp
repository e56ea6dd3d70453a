// Results of a length study as JSON lines, and back.
#include <nlohmann/json.hpp>

#include "isentropic/error.hpp"
#include "lab/length/study.hpp"

namespace isentropic::lab::length {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Run, stage, law, positions, rate, seed, dropout, decay)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Point, n, loss, entropy, deviation, copying)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Tested, law, points)

nlohmann::ordered_json json_of(const Result& result) {
  using nlohmann::json;
  if (result.diverged)
    return {{"run", json(result.run)}, {"seconds", result.seconds}, {"diverged", true}, {"tests", json::array()}};
  return {{"run", json(result.run)},    {"validation", result.validation}, {"curve", json(result.curve)},
          {"spikes", result.spikes},    {"seconds", result.seconds},       {"learnt", json(result.learnt)},
          {"tests", json(result.tests)}};
}

Result result_of(const nlohmann::ordered_json& line) {
  try {
    const nlohmann::json json = line;
    Result out;
    json.at("run").get_to(out.run), json.at("seconds").get_to(out.seconds);
    out.diverged = json.value("diverged", false);
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
