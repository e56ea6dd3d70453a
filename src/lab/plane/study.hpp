// The information plane of networks in training: trains several seeds at once and measures their layers at
// geometrically spaced epochs.
//
// Layers are measured on all inputs, training and test alike. Each is computed in float64 from the float32 of the one
// before it and rounded to float32: equal activations then stay equal from layer to layer, wherever they are in memory,
// and exact information cannot rise by rounding.
//
// With noise, N(0, noise^2) is added to every layer in training. Layers are measured without it, by noise estimators
// with that variance; `exact` then shows what the layer would keep if the noise were switched off.
//
// An epoch depends only on (seed, epoch) and the saved state, so that a resumed study is bit-identical.
#pragma once

#include <string>
#include <vector>

#include "lab/plane/networks.hpp"
#include "lab/plane/task.hpp"
#include "lab/study_folder.hpp"
#include "plane/record.hpp"

namespace isentropic::lab {

struct PlaneOptions {
  std::string file = {};          // of the task; empty: the built-in one
  std::string optimiser = "sgd";  // rate .05; or adam, rate .001
  double noise = 0;               // its standard deviation
  std::int64_t epochs = 4000;
  std::vector<std::string> estimators = {};  // empty: the defaults
  PlaneNetworkOptions network = {};
};

nlohmann::ordered_json json_of(const PlaneOptions& options);
PlaneOptions plane_options_from(const nlohmann::ordered_json& json);

// Throws Error for an unknown or unusable option.
void check_plane_options(const PlaneOptions& options);

struct PlaneResult {
  plane::Record record;
  nlohmann::ordered_json json;  // results.json, with the moments of the log
};

// Trains and measures from the folder's last saved epoch; writes results.json, plane.svg and page.html at the end.
// Returns false if it was stopped. Throws Error for a loss that is not finite, or a task that is not the one the study
// began with.
bool run_plane(StudyFolder& folder, const PlaneTask& task, const std::string& device, const StudyCallbacks& callbacks,
               PlaneResult* result);

// The options for study.json with the task's fingerprint, which run_plane checks.
nlohmann::ordered_json plane_study_options(const PlaneOptions& options, const PlaneTask& task);

}  // namespace isentropic::lab
