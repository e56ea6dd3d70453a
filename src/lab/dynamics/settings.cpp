// Lists the settings of a study.
#include "lab/dynamics/settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lab/dynamics/study.hpp"

namespace isentropic::lab::dynamics {

std::string Setting::label(const Study& study) const {
  std::string out = objective;
  if (text > 0) out += fmt::format(", text {}", text + 1);
  if (length != study.length) out += fmt::format(", n = {}", length);
  if (gain != 1) out += fmt::format(", gain {:g}", gain);
  if (entropy_weight != 0) out += fmt::format(", entropy {:+g}", entropy_weight);
  if (label_smoothing != 0) out += fmt::format(", label smoothing {:g}", label_smoothing);
  if (target_entropy != 0) out += fmt::format(", H* = {:g}", target_entropy);
  return out;
}

Setting plain(const Study& study) { return {.steps = study.steps, .length = study.length}; }

std::vector<Setting> objectives(const Study& study) {
  std::vector<Setting> out(2, plain(study));
  out[1].objective = "masked";
  return out;
}

std::vector<Setting> spreads(const Study& study) {
  std::vector<Setting> out = {plain(study)};
  for (const double gain : study.gains) {
    out.push_back(plain(study));
    out.back().gain = gain;
  }
  return out;
}

std::vector<Setting> regularisers(const Study& study) {
  std::vector<Setting> out = {plain(study)};
  for (const double sign : {1.0, -1.0})
    for (const double weight : study.entropy_weights) {
      out.push_back(plain(study));
      out.back().entropy_weight = sign * weight;
    }
  for (const double smoothing : study.label_smoothings) {
    out.push_back(plain(study));
    out.back().label_smoothing = smoothing;
  }
  return out;
}

std::vector<Setting> tasks(const Study& study) {
  Setting first = plain(study);
  first.steps = study.target_steps;
  std::vector<Setting> out = {first};
  for (const std::int64_t length : study.other_lengths) {
    out.push_back(first);
    out.back().length = length;
  }
  out.push_back(first);
  out.back().objective = "masked";
  for (std::size_t text = 1; text < study.texts.size(); ++text) {
    out.push_back(first);
    out.back().text = text;
  }
  return out;
}

Setting with_target(Setting task, double entropy) {
  task.target_entropy = entropy;
  return task;
}

std::vector<Setting> settings_of(const Study& study) {
  std::vector<Setting> out;
  const auto add = [&](const Setting& setting) {
    if (std::ranges::find(out, setting) == out.end()) out.push_back(setting);
  };
  if (study.has("entropy")) std::ranges::for_each(objectives(study), add);
  if (study.has("spread")) std::ranges::for_each(spreads(study), add);
  if (study.has("regulariser")) std::ranges::for_each(regularisers(study), add);
  if (!study.has("target")) return out;
  for (const Setting& task : tasks(study)) {
    add(task);
    for (const double target : study.targets) add(with_target(task, target));
  }
  return out;
}

nlohmann::ordered_json json_of(const Setting& setting) {
  return {{"text", setting.text},
          {"objective", setting.objective},
          {"steps", setting.steps},
          {"length", setting.length},
          {"gain", setting.gain},
          {"entropy_weight", setting.entropy_weight},
          {"label_smoothing", setting.label_smoothing},
          {"target_entropy", setting.target_entropy}};
}

}  // namespace isentropic::lab::dynamics
