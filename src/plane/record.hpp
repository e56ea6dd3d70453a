// The record of a network's training: where its layers are in the information plane, epoch by epoch. In bits.
//
//   {"title": "...", "layers": ["layer 1", ...], "estimators": ["exact", ...], "input_bits": 12, "label_bits": 1,
//    "moments": [{"epoch": 0, "train_accuracy": [...], "test_accuracy": [...],
//                 "input_bits": {"exact": [[...]]}, "label_bits": {"exact": [[...]]}}, ...]}
//
// Values of a moment are given per seed; those of an estimator by layer, then by seed.
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
  std::vector<std::string> layers = {}, estimators = {};  // names; layers in order of depth
  double input_bits = 0, label_bits = 0;                  // H(X), H(Y)
  std::vector<Moment> moments = {};                       // in the order of epochs
};

nlohmann::ordered_json json_of(const Moment& moment, const Record& record);
nlohmann::ordered_json json_of(const Record& record);

// A moment of the record's layers and estimators. Throws an Error that names `place` if something is missing or has
// another shape.
Moment moment_from_json(const nlohmann::ordered_json& json, const Record& record, const std::string& place);
Record record_from_json(const std::string& text, const std::string& place);

}  // namespace isentropic::plane
