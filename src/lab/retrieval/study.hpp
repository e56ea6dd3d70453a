// Trained short, tested long: which scales and score maps still find the one token that decides (tasks.hpp).
//
// Every variant, a scale law and a map, is trained from `seeds` starts at lengths of 2 to `length` and then asked at
// multiples of that. Softmax meets every scale; other maps meet inverse_sqrt_d and log_n.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "lab/study_folder.hpp"

namespace isentropic::lab::retrieval {

struct Study {
  std::string task = "maximum";
  // As words.hpp has them. Of learnt scales every head learns the law's numbers, from where they are given.
  std::vector<std::string> scales = {"inverse_sqrt_d", "log_n:kappa=8", "log_n_sqrt_d", "sqrt_log_n"};
  std::vector<std::string> learnt_scales = {"log_n:kappa=8"};
  std::vector<std::string> maps = {"entmax:alpha=1.5", "sparsemax", "relu_squared", "linear", "identity"};
  std::int64_t seeds = 1, steps = 1000, batch = 64, length = 32, width = 64, heads = 4;
  std::vector<std::int64_t> factors = {1, 4, 16, 64};  // of the length
  std::int64_t examples = 512;                         // of a test
  double rate = 1e-3;
  std::uint64_t seed = 1;
  std::string device = "cpu";
};

// Throws Error for what cannot be run, before anything is.
void check_study(const Study& study);

nlohmann::ordered_json options_of(const Study& study);
Study study_of(const nlohmann::ordered_json& options);

struct Point {
  std::int64_t n = 0;
  double accuracy = 0;
  double sparsity = 0, participation = 0;  // of the weights of the token that asks, means over heads and inputs
  double entropy = 0;                      // NaN where the weights are no distribution
};

struct Curve {
  std::string scale, map;
  bool learnt = false;
  std::uint64_t seed = 0;
  double loss = 0;  // the last of training
  std::vector<Point> points;

  std::string label() const;
};

// None: it was stopped, and can go on.
std::optional<std::vector<Curve>> run_study(StudyFolder& folder, const StudyCallbacks& callbacks);

// Accuracies, a row for each variant, means over its seeds; for a terminal, and with plots as a page.
std::string text_table(const Study& study, const std::vector<Curve>& curves);
std::string page(const Study& study, const std::vector<Curve>& curves);
nlohmann::ordered_json json_of(const Curve& curve);
nlohmann::ordered_json results_of(const Study& study, const std::vector<Curve>& curves);

}  // namespace isentropic::lab::retrieval
