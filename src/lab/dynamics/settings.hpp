// How the models of the dynamics study are trained, and which settings each part of the study compares.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace isentropic::lab::dynamics {

struct Study;

// One way to train. Parts that need the same setting share its models.
struct Setting {
  std::size_t text = 0;  // index into the study's texts
  std::string objective = "autoregressive";
  std::int64_t steps = 0, length = 0;
  double gain = 1;             // factor on the initial query and key weights: scores spread gain^2 times as widely
  double entropy_weight = 0;   // of the mean H / log k in the loss: > 0 encourages entropy, < 0 discourages it
  double label_smoothing = 0;  // trainer.hpp
  double target_entropy = 0;   // nats, for which lambda is solved; 0: the scale 1 / sqrt d

  bool operator==(const Setting&) const = default;
  // "masked, n = 128, H* = 2": what differs from a plain autoregressive model of the study's length and first text.
  std::string label(const Study& study) const;
};

Setting plain(const Study& study);

// What each part compares, the plain model first.
std::vector<Setting> objectives(const Study& study);    // entropy
std::vector<Setting> spreads(const Study& study);       // spread
std::vector<Setting> regularisers(const Study& study);  // regulariser
// target: tasks that differ from the first in length, objective or text; each trained without and with every target.
std::vector<Setting> tasks(const Study& study);
Setting with_target(Setting task, double entropy);

// Every setting of the study's parts, once.
std::vector<Setting> settings_of(const Study& study);

nlohmann::ordered_json json_of(const Setting& setting);

}  // namespace isentropic::lab::dynamics
