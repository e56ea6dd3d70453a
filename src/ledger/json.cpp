// The outcome of `isentropic verify` as JSON.
#include <cmath>
#include <nlohmann/json.hpp>

#include "ledger/present.hpp"
#include "ledger/study.hpp"

namespace isentropic::ledger {
namespace {

using nlohmann::ordered_json;

const char* name(Relation relation) {
  switch (relation) {
    case Relation::near:
      return "near";
    case Relation::at_most:
      return "at most";
    case Relation::at_least:
      return "at least";
    case Relation::between:
      return "between";
    case Relation::finite:
      return "finite";
    case Relation::shown:
      break;
  }
  return "shown";
}

// JSON has no infinities.
ordered_json json_number(double x) {
  if (std::isfinite(x)) return x;
  return std::isnan(x) ? "nan" : x > 0 ? "inf" : "-inf";
}

ordered_json json(const Comparison& x) {
  if (x.relation == Relation::shown) return {{"value", json_number(x.measured)}};
  if (x.relation == Relation::finite)
    return {{"value", json_number(x.measured)}, {"relation", name(x.relation)}, {"passed", x.passed()}};
  return {
      {"value", json_number(x.measured)},      {"relation", name(x.relation)}, {"expected", json_number(x.expected)},
      {"tolerance", json_number(x.tolerance)}, {"judged", x.judged()},         {"passed", x.passed()}};
}

// What the sound reading found, next to what the printed reading found under the same name.
ordered_json measured(const Outcome& outcome) {
  ordered_json out = ordered_json::object();
  for (const Comparison& x : outcome.sound) out[x.name] = json(x);
  for (const Comparison& x : outcome.printed) out[x.name]["printed"] = json(x);
  return out;
}

ordered_json tolerance(const Outcome& outcome) {
  for (const Comparison& x : outcome.sound)
    if (x.judged()) return json_number(x.tolerance);
  return nullptr;
}

// As in the study's file; null if there is none yet.
ordered_json json(const StoredStudy* study) {
  if (study == nullptr) return nullptr;
  ordered_json figures = ordered_json::array();
  for (const StoredStudy::Figure& figure : study->figures) {
    figures.push_back({{"name", figure.name}, {"value", figure.value}});
    if (figure.error) figures.back()["error"] = *figure.error;
  }
  return {{"claim", study->claim},     {"finding", study->finding}, {"commands", study->commands},
          {"machine", study->machine}, {"date", study->date},       {"seeds", study->seeds},
          {"figures", figures}};
}

ordered_json json(const Outcome& outcome) {
  ordered_json out;
  out["id"] = outcome.claim.id;
  out["statement"] = outcome.claim.statement;
  out["verdict"] = name(outcome.claim.verdict);
  out["use"] = outcome.claim.use;
  out["standing"] = standing_of(outcome);
  out["passed"] = outcome.checked ? ordered_json(outcome.passed()) : ordered_json(nullptr);
  const auto fails = outcome.printed_form_fails();
  out["printed_form_fails"] = fails ? ordered_json(*fails) : ordered_json(nullptr);
  out["measured"] = measured(outcome);
  out["tolerance"] = tolerance(outcome);
  if (outcome.claim.standing == Standing::study) out["study"] = json(stored_study_of(outcome.claim.id));
  if (!outcome.error.empty()) out["error"] = outcome.error;
  return out;
}

}  // namespace

ordered_json json(const std::vector<Outcome>& outcomes, const Options& options) {
  ordered_json out;
  out["claims"] = ordered_json::array();
  for (const Outcome& x : outcomes) out["claims"].push_back(json(x));
  const Tally counts = tally(outcomes);
  out["passed"] = counts.passed;
  out["failed"] = counts.failed;
  out["stored"] = counts.stored;
  out["pending"] = counts.pending;
  out["listed"] = counts.listed;
  for (const Outcome& x : outcomes) {
    ordered_json& count = out["verdicts"][name(x.claim.verdict)];
    count = count.is_null() ? 1 : count.get<int>() + 1;
  }
  out["seed"] = options.seed;
  out["effort"] = options.effort == Effort::quick ? "quick" : "thorough";
  return out;
}

}  // namespace isentropic::ledger
