// Writes and reads records.
#include "plane/record.hpp"

#include <fmt/format.h>

#include "isentropic/error.hpp"

namespace isentropic::plane {
namespace {

using Json = nlohmann::ordered_json;
using information::LayerInformation;
using Numbers = std::vector<double>;
using BySeedAndLayer = std::vector<Numbers>;

Json bits_of(const Moment& moment, const Record& record, double LayerInformation::*which) {
  Json out = Json::object();
  for (std::size_t e = 0; e < record.estimators.size(); ++e)
    for (const auto& seeds : moment.points[e]) {
      Json layer = Json::array();
      for (const LayerInformation& point : seeds) layer.push_back(point.*which);
      out[record.estimators[e]].push_back(layer);
    }
  return out;
}

Numbers numbers_in(const Json& json, const char* key) {
  return json.contains(key) ? json[key].get<Numbers>() : Numbers();
}

std::size_t seeds_in(const Moment& moment) { return moment.points.front().front().size(); }

void require_seeds_of(const Moment& moment, std::size_t found, const std::string& place) {
  if (found != seeds_in(moment)) throw Error(place, "of other seeds", fmt::format("{} of them", seeds_in(moment)));
}

Moment read_moment(const Json& json, const Record& record, const std::string& place) {
  Moment out{.epoch = json.at("epoch"),
             .loss = numbers_in(json, "loss"),
             .train_accuracy = numbers_in(json, "train_accuracy"),
             .test_accuracy = numbers_in(json, "test_accuracy")};
  for (const std::string& estimator : record.estimators) {
    const BySeedAndLayer input = json.at("input_bits").at(estimator), label = json.at("label_bits").at(estimator);
    auto& layers = out.points.emplace_back(record.layers.size());
    for (std::size_t l = 0; l < layers.size(); ++l)
      for (std::size_t seed = 0; seed < input.at(0).size(); ++seed)
        layers[l].push_back({input.at(l).at(seed), label.at(l).at(seed)});
    if (input.size() != layers.size()) throw Error(place, "of other layers", fmt::format("{} of them", layers.size()));
  }
  for (const Numbers* known : {&out.loss, &out.train_accuracy, &out.test_accuracy})
    if (!known->empty()) require_seeds_of(out, known->size(), place);
  return out;
}

// Errors of nlohmann::json and std::vector do not name the file.
template <class Read>
auto explained(const std::string& place, Read&& read) {
  try {
    return read();
  } catch (const Error&) {
    throw;
  } catch (const std::exception&) {
    throw Error(place, "not a record of the information plane", "one as isentropic writes it");
  }
}

}  // namespace

Json json_of(const Moment& moment, const Record& record) {
  Json out = {{"epoch", moment.epoch}};
  if (!moment.loss.empty()) out["loss"] = moment.loss;
  if (!moment.train_accuracy.empty()) out["train_accuracy"] = moment.train_accuracy;
  if (!moment.test_accuracy.empty()) out["test_accuracy"] = moment.test_accuracy;
  out["input_bits"] = bits_of(moment, record, &LayerInformation::input);
  out["label_bits"] = bits_of(moment, record, &LayerInformation::label);
  return out;
}

Json json_of(const Record& record) {
  Json moments = Json::array();
  for (const Moment& moment : record.moments) moments.push_back(json_of(moment, record));
  return {{"title", record.title},           {"layers", record.layers},         {"estimators", record.estimators},
          {"input_bits", record.input_bits}, {"label_bits", record.label_bits}, {"moments", moments}};
}

Moment moment_from_json(const Json& json, const Record& record, const std::string& place) {
  return explained(place, [&] { return read_moment(json, record, place); });
}

Record record_from_json(const std::string& text, const std::string& place) {
  return explained(place, [&] {
    const Json json = Json::parse(text);
    Record out{.title = json.at("title"),
               .layers = json.at("layers"),
               .estimators = json.at("estimators"),
               .input_bits = json.at("input_bits"),
               .label_bits = json.at("label_bits")};
    if (out.layers.empty() || out.estimators.empty())
      throw Error(place, "without layers or estimators", "at least one of each");
    for (const Json& moment : json.at("moments")) out.moments.push_back(read_moment(moment, out, place));
    for (const Moment& moment : out.moments) require_seeds_of(out.moments.front(), seeds_in(moment), place);
    return out;
  });
}

}  // namespace isentropic::plane
