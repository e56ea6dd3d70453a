// What is known of a network while it learned: where its layers stood in the information plane, epoch by epoch. Bits.
//
//   {"title": "...", "layers": ["layer 1", ...], "estimators": ["exact", ...], "input_bits": 12, "label_bits": 1,
//    "moments": [{"epoch": 0, "train_accuracy": [...], "test_accuracy": [...],
//                 "input_bits": {"exact": [[...]]}, "label_bits": {"exact": [[...]]}}, ...]}
//
// Numbers of a moment are given for each seed; those of an estimator by layer, then by seed.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "isentropic/information/layer_information.hpp"

namespace isentropic::plane {

struct Moment {
  std::int64_t epoch = 0;
  std::vector<double> loss = {}, train_accuracy = {}, test_accuracy = {};            // empty: not known
  std::vector<std::vector<std::vector<information::LayerInformation>>> points = {};  // by estimator, layer, seed
};

struct Record {
  std::string title = {};
  std::vector<std::string> layers = {}, estimators = {};  // in the order of depth; names
  double input_bits = 0, label_bits = 0;                  // H(X), H(Y)
  std::vector<Moment> moments = {};                       // in the order of epochs
};

nlohmann::ordered_json json_of(const Moment& moment, const Record& record);
nlohmann::ordered_json json_of(const Record& record);

// Of the record's layers and estimators. Error, which names `place`: something missing, or of another shape.
Moment moment_from_json(const nlohmann::ordered_json& json, const Record& record, const std::string& place);
Record record_from_json(const std::string& text, const std::string& place);

}  // namespace isentropic::plane
