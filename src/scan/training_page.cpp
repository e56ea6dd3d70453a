// Reads a history, and writes the page's data: statistic, layer, head, step.
#include "scan/training_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "isentropic/error.hpp"
#include "report/chart.hpp"
#include "report/document.hpp"
#include "scan/embedded.hpp"
#include "scan/labels.hpp"
#include "scan/rounded.hpp"
#include "scan/terms.hpp"

namespace isentropic::scan {
namespace {

using Json = nlohmann::ordered_json;

[[noreturn]] void refuse_history(const std::string& where, const std::string& met, const std::string& expected) {
  throw Error("the history" + where, met, expected);
}

std::int64_t step_of(const std::string& key) {
  std::int64_t out = -1;
  const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), out);
  if (error != std::errc() || end != key.data() + key.size() || out < 0)
    refuse_history("", "with the step '" + key.substr(0, 40) + "'", "whole numbers from 0");
  return out;
}

struct HistoryLayer {
  std::string name;
  std::size_t heads = 0;
};

// Steps ascend; layers are in order of appearance.
struct History {
  std::map<std::int64_t, const Json*> steps;
  std::vector<HistoryLayer> layers;
  std::vector<Term> statistics;
};

void see_layer(const std::string& name, const Json& record, const std::string& where, History* out) {
  if (!record.is_object()) refuse_history(where, "not an object", "{statistic: [value of head 0, ...]}");
  auto layer = std::ranges::find(out->layers, name, &HistoryLayer::name);
  if (layer == out->layers.end()) layer = out->layers.insert(out->layers.end(), {name});
  for (const auto& [statistic, values] : record.items()) {
    const auto is_value = [](const Json& x) { return x.is_number() || x.is_null(); };
    if (!values.is_array() || !std::ranges::all_of(values, is_value))
      refuse_history(where, "with the " + statistic + " not a list of numbers", "one number, or null, for each head");
    layer->heads = std::max(layer->heads, values.size());
    if (std::ranges::find(out->statistics, statistic, &Term::name) == out->statistics.end())
      out->statistics.push_back(term(statistic));
  }
}

History read_history(const Json& json) {
  if (!json.is_object() || !json.contains("history") || !json["history"].is_object())
    refuse_history("", "missing", "{\"history\": {step: {layer: {statistic: [by head]}}}}");
  History out;
  for (const auto& [key, layers] : json["history"].items()) {
    out.steps[step_of(key)] = &layers;
    if (!layers.is_object()) refuse_history(" at step " + key, "not an object", "{layer: {statistic: [by head]}}");
    for (const auto& [name, record] : layers.items()) see_layer(name, record, " of " + name + " at step " + key, &out);
  }
  // The most informative first, as in the table of terms.
  const auto place = [](const Term& term) {
    return std::ranges::find(terms(), term.name, &Term::name) - terms().begin();
  };
  std::ranges::stable_sort(out.statistics, {}, place);
  return out;
}

// The steps that the page contains.
std::vector<std::int64_t> chosen_steps(const History& history) {
  std::size_t numbers = 0;
  for (const HistoryLayer& layer : history.layers) numbers += layer.heads * history.statistics.size();
  std::vector<std::int64_t> all, out;
  for (const auto& [step, layers] : history.steps) all.push_back(step);
  const std::size_t count =
      std::min(all.size(), std::max<std::size_t>(2, kMostNumbers / std::max<std::size_t>(1, numbers)));
  for (std::size_t i = 0; i < count; ++i) out.push_back(all[count == 1 ? 0 : i * (all.size() - 1) / (count - 1)]);
  return out;
}

double value_at(const Json& layers, const std::string& layer, const std::string& statistic, std::size_t head) {
  const auto record = layers.find(layer);
  if (record == layers.end()) return kNotMeasured;
  const auto values = record->find(statistic);
  if (values == record->end() || head >= values->size() || (*values)[head].is_null()) return kNotMeasured;
  return (*values)[head].get<double>();
}

Json curves_json(const History& history, const std::vector<std::int64_t>& steps) {
  Json out = Json::array();
  for (const Term& statistic : history.statistics) {
    Json layers = Json::array();
    for (const HistoryLayer& layer : history.layers) {
      Json heads = Json::array();
      for (std::size_t head = 0; head < layer.heads; ++head) {
        Json curve = Json::array();
        for (const std::int64_t step : steps)
          curve.push_back(rounded(value_at(*history.steps.at(step), layer.name, statistic.name, head), 4));
        heads.push_back(std::move(curve));
      }
      layers.push_back(std::move(heads));
    }
    out.push_back(std::move(layers));
  }
  return out;
}

// kind, layer (its index, or null), head, step, value, statistic
Json alarms_json(const Json& json, const History& history) try {
  Json out = Json::array();
  for (const Json& alarm : json.value("alarms", Json::array())) {
    const auto layer = std::ranges::find(history.layers, alarm.at("layer").get<std::string>(), &HistoryLayer::name);
    const Json &head = alarm.at("head"), &step = alarm.at("step"), &value = alarm.at("value");
    if (!head.is_number_integer() || !step.is_number_integer() || !(value.is_number() || value.is_null()))
      refuse_history("", "with an alarm " + alarm.dump().substr(0, 100), "whole numbers as its head and step");
    out.push_back({alarm.at("kind").get<std::string>(),
                   layer == history.layers.end() ? Json(nullptr) : Json(layer - history.layers.begin()), head, step,
                   value.is_null() ? Json(nullptr) : rounded(value.get<double>(), 4),
                   alarm.value("statistic", "normalised_entropy")});
  }
  std::stable_sort(out.begin(), out.end(), [](const Json& a, const Json& b) { return a[3] < b[3]; });
  return out;
} catch (const Json::exception&) {
  refuse_history("", "with an alarm that is incomplete", "kind, layer, head, step and value of each");
}

double mean_entropy_of(const Json& layers) {
  double sum = 0, count = 0;
  for (const Json& layer : layers)
    for (const Json& value : layer.value("entropy", Json::array()))
      if (value.is_number() && std::isfinite(value.get<double>())) sum += value.get<double>(), ++count;
  return count > 0 ? sum / count : kNotMeasured;
}

std::vector<std::string> training_sentences(const History& history, std::size_t shown, const Json& alarms) {
  if (history.steps.empty()) return {"No step was watched."};
  std::size_t heads = 0;
  for (const HistoryLayer& layer : history.layers) heads += layer.heads;
  const auto &first = *history.steps.begin(), &last = *history.steps.rbegin();
  std::string seen = fmt::format("{} step{} from {} to {}, {} layer{}, {} heads", history.steps.size(),
                                 history.steps.size() == 1 ? "" : "s", first.first, last.first, history.layers.size(),
                                 history.layers.size() == 1 ? "" : "s", heads);
  seen += shown < history.steps.size() ? fmt::format("; the page holds {} of the steps, evenly spaced.", shown) : ".";
  std::vector<std::string> out = {seen};
  const double before = mean_entropy_of(*first.second), after = mean_entropy_of(*last.second);
  if (std::isfinite(before) && std::isfinite(after))
    out.push_back(fmt::format("The mean entropy goes from {:.2f} nats at step {} to {:.2f} at step {}.", before,
                              first.first, after, last.first));
  std::map<std::string, std::size_t> counts;
  for (const Json& alarm : alarms) ++counts[alarm[0].get<std::string>()];
  std::string kinds;
  for (const auto& [kind, count] : counts) kinds += fmt::format("{}{} {}", kinds.empty() ? "" : ", ", count, kind);
  out.push_back(alarms.empty() ? "No head raised an alarm."
                               : fmt::format("{} alarm{}: {}; the first at step {}.", alarms.size(),
                                             alarms.size() == 1 ? "" : "s", kinds, alarms[0][3].get<std::int64_t>()));
  return out;
}

}  // namespace

std::string training_page(const std::string& json) {
  const Json parsed = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  const History history = read_history(parsed);
  const std::vector<std::int64_t> steps = chosen_steps(history);
  const Json alarms = alarms_json(parsed, history);
  const Json given = parsed.value("name", Json());
  const std::string name =
      given.is_string() && !given.get<std::string>().empty() ? given.get<std::string>() : "Training";
  Json data = {{"sentences", training_sentences(history, steps.size(), alarms)}, {"steps", steps}, {"alarms", alarms}};
  data["layers"] = Json::array();
  for (const HistoryLayer& layer : history.layers) data["layers"].push_back({layer.name, layer.heads});
  data["terms"] = Json::array();
  for (const Term& term : history.statistics)
    data["terms"].push_back({{"name", term.name},
                             {"title", term.title},
                             {"unit", term.unit},
                             {"meaning", term.meaning},
                             {"is_share", term.is_share}});
  data["curves"] = curves_json(history, steps);
  report::Document document{.title = name + ": attention while it trains", .data_id = "training"};
  document.body = "<header>\n<h1>" + report::escape(name) + "</h1>\n</header>\n<main></main>\n";
  document.data = data.dump(-1, ' ', false, Json::error_handler_t::replace);
  document.styles = {scan_style()};
  for (const std::string_view script : training_scripts()) document.scripts.push_back(script);
  return report::html(document);
}

}  // namespace isentropic::scan
