// Texts and JSON of closed-form predictions.
#include "scan/theory_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "scan/result.hpp"
#include "scan/rounded.hpp"

namespace isentropic::scan {
namespace {

using Json = nlohmann::ordered_json;

struct TheoryNumber {
  const char* name;
  double TheoryHead::*number;
  const char* title;
  const char* meaning;
};
constexpr std::array<TheoryNumber, 17> kTheoryNumbers = {
    {{"spread", &TheoryHead::spread, "spread of scores",
      "The standard deviation of a row's scores over the keys it sees, as they enter the softmax."},
     {"freezing_point", &TheoryHead::freezing_point, "freezing point",
      "sqrt(2 log n): Gaussian scores of a larger spread make a row rest on a few keys, however many it sees."},
     {"skewness", &TheoryHead::skewness, "skewness of scores",
      "The third moment of a row's scores: 0 for Gaussian ones, positive where a few stand out above."},
     {"excess_kurtosis", &TheoryHead::excess_kurtosis, "excess kurtosis of scores",
      "The fourth moment of a row's scores less 3: 0 for Gaussian ones, positive where their tails are heavier."},
     {"entropy", &TheoryHead::entropy, "entropy of sampled rows", "H of the rows that the spread was taken of."},
     {"predicted_entropy", &TheoryHead::predicted_entropy, "entropy of Gaussian scores",
      "The expected H of as many Gaussian scores with the same spread: what is to be expected of a head without "
      "structure."},
     {"worst_gain", &TheoryHead::worst_gain, "worst gain",
      "How far the worst change of a row's scores moves its output, by unit of the change's length, over the mean |o|: "
      "the largest singular value of [a_j (v_j - o)]."},
     {"left_out", &TheoryHead::left_out, "mass outside the top 32",
      "What a row gives to all but its 32 heaviest keys: what attention to the top 32 alone would leave out."},
     {"left_out_change", &TheoryHead::left_out_change, "change without it",
      "How far the output moves when a row keeps its 32 heaviest keys alone, over the mean |o|."},
     {"left_out_bound", &TheoryHead::left_out_bound, "bound of that change",
      "2 m max|v - mean v| over the mean |o|, m the mass left out: no values of this size could move it farther."},
     {"noise_rms", &TheoryHead::noise_rms, "fluctuation under noise",
      "sqrt(E|o~ - o|^2) over the mean |o|: how far noise on the scores moves the output, measured."},
     {"predicted_rms", &TheoryHead::predicted_rms, "predicted fluctuation",
      "sqrt(r sum a^2 |v - o|^2) over the mean |o| with r = Var(e^eps) / (E e^eps)^2: the same to leading order."},
     {"noise_bias", &TheoryHead::noise_bias, "bias under noise",
      "E[o~] - o along the predicted direction, over the mean |o|, measured."},
     {"predicted_bias", &TheoryHead::predicted_bias, "predicted bias",
      "|r sum a^2 (v - o)| over the mean |o|: the same to leading order."},
     {"match_entropy", &TheoryHead::match_entropy, "entropy of rows with a match",
      "H of rows whose token has occurred before."},
     {"match_surprise", &TheoryHead::match_surprise, "surprise of the match",
      "-log of the weight of the key after the latest earlier occurrence of the row's token, mean over these rows."},
     {"calibrated_factor", &TheoryHead::calibrated_factor, "calibrated factor",
      "With its scores multiplied by it, the head's entropy is the mean surprise of the match, which is then least: "
      "below 1 "
      "the head is too sure of itself, above 1 not sure enough; none where it does not look for matches."}}};

bool is_measured(const TheoryCheck& check, const TheoryNumber& field) {
  return std::ranges::any_of(check.heads, [&](const TheoryHead& head) { return !std::isnan(head.*field.number); });
}

}  // namespace

bool TheoryHead::has_gaussian_scores() const { return std::abs(skewness) < 0.5 && std::abs(excess_kurtosis) < 1; }

std::string theory_text(const Result& result) {
  const std::vector<TheoryHead>& heads = result.theory.heads;
  if (heads.empty()) return "";
  const auto count = [&](const auto& holds) { return std::ranges::count_if(heads, holds); };
  std::string out = fmt::format(
      "theory: scores of {} of {} heads are spread below the freezing point sqrt(2 log n), of {} Gaussian; {} have an "
      "entropy within 0.1 nats of Gaussian scores\n",
      count([](const TheoryHead& head) { return head.is_spread(); }), heads.size(),
      count([](const TheoryHead& head) { return head.has_gaussian_scores(); }),
      count([](const TheoryHead& head) { return std::abs(head.entropy - head.predicted_entropy) < 0.1; }));
  out += fmt::format("top {}: what {} heads leave out moves their output by at most 1%; the bound says so of {}\n",
                     kTopKeys, count([](const TheoryHead& head) { return head.left_out_change <= 0.01; }),
                     count([](const TheoryHead& head) { return head.left_out_bound <= 0.01; }));
  if (!result.theory.noise.empty())
    out += fmt::format("noise {}: the fluctuation of {} heads is within 10% of its prediction\n", result.theory.noise,
                       count([](const TheoryHead& head) {
                         return std::abs(head.noise_rms - head.predicted_rms) < 0.1 * head.predicted_rms;
                       }));
  return out;
}

Json json_of(const TheoryCheck& check) {
  Json out = {{"noise", check.noise}, {"heads", Json::array()}};
  for (const TheoryHead& head : check.heads) {
    Json one = Json::object();
    for (const TheoryNumber& field : kTheoryNumbers)
      if (!std::isnan(head.*field.number)) one[field.name] = rounded(head.*field.number, 6);
    out["heads"].push_back(std::move(one));
  }
  return out;
}

TheoryCheck theory_of(const Json& json) {
  TheoryCheck out;
  out.noise = json.at("noise");
  for (const Json& one : json.at("heads")) {
    TheoryHead& head = out.heads.emplace_back();
    for (const TheoryNumber& field : kTheoryNumbers)
      if (one.contains(field.name)) head.*field.number = one[field.name].get<double>();
  }
  return out;
}

Json theory_page_data(const Result& result) {
  const TheoryCheck& check = result.theory;
  Json out = {{"noise", check.noise}, {"columns", Json::array()}, {"rows", Json::array()}};
  for (const TheoryNumber& field : kTheoryNumbers)
    if (is_measured(check, field)) out["columns"].push_back({{"title", field.title}, {"meaning", field.meaning}});
  for (const TheoryHead& head : check.heads) {
    const char* phase = std::isnan(head.spread) ? "–" : head.is_spread() ? "spread" : "frozen";
    Json row = {{"phase", phase}, {"is_gaussian", head.has_gaussian_scores()}};
    for (const TheoryNumber& field : kTheoryNumbers)
      if (is_measured(check, field)) row["values"].push_back(rounded(head.*field.number, 4));
    out["rows"].push_back(std::move(row));
  }
  return out;
}

}  // namespace isentropic::scan
