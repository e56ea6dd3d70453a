// Trained short, tested long: which scales and score maps still find the one token that decides (tasks.hpp)?
//
// Every variant (variants.hpp) is trained with `seeds` seeds at lengths of 2 to `length`, then evaluated at multiples
// of `length`.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "lab/retrieval/variants.hpp"
#include "lab/study_folder.hpp"

namespace isentropic::lab::retrieval {

struct Study {
  std::string task = "maximum";
  // In the notation of words.hpp. With learnt scales, every head learns the law's parameters from the given values.
  std::vector<std::string> scales = {"inverse_sqrt_d", "log_n:kappa=8", "log_n_sqrt_d", "sqrt_log_n"};
  std::vector<std::string> learnt_scales = {"log_n:kappa=8"};
  std::vector<std::string> maps = {"entmax:alpha=1.5",
                                   "sparsemax",
                                   "relu_squared",
                                   "identity",
                                   "linear",
                                   "linear:feature=exp",
                                   "linear:feature=exp,sharpen=1",
                                   "decay:gamma=0.95"};
  std::vector<std::string> learnt_maps = {"entmax:alpha=1.5"};
  std::vector<std::string> without_key_bias = {"relu_squared"};  // these maps once more
  std::vector<std::int64_t> feature_sizes = {4, 16, 64};         // of linear maps, per head
  std::int64_t seeds = 1, steps = 1000, batch = 64, length = 32, width = 64, heads = 4;
  std::vector<std::int64_t> factors = {1, 4, 16, 64};  // multiples of the length
  std::int64_t examples = 512;                         // per test
  double learning_rate = 1e-3;
  std::uint64_t seed = 1;
  std::string device = "cpu";
};

// Throws Error if the study is invalid, before anything runs.
void check_study(const Study& study);

nlohmann::ordered_json options_of(const Study& study);
Study study_of(const nlohmann::ordered_json& options);

struct Point {
  std::int64_t n = 0;
  double accuracy = 0;
  double sparsity = 0, participation = 0;  // of the querying token's weights, means over heads and inputs
  double entropy = 0;                      // NaN if the weights are not a distribution
  // Effective rank (effective_rank.hpp) of the weights [min(64, n + 1), n + 1] of an input's last tokens in a head,
  // mean over heads and one input per batch. Linear maps of m features have at most m.
  double rank = 0;
};

struct Curve {
  Variant variant;
  std::uint64_t seed = 0;
  double loss = 0;            // of the last training step
  std::vector<double> alpha;  // if learnt, of the last layer's heads
  std::vector<Point> points;
};

// Empty if it was stopped and can be resumed.
std::optional<std::vector<Curve>> run_study(StudyFolder& folder, const StudyCallbacks& callbacks);

// Accuracies, and statistics of the weights at the first and the last test length: one row per variant, means over its
// seeds; for the terminal, and with plots as a page.
std::string text_table(const Study& study, const std::vector<Curve>& curves);
std::string page(const Study& study, const std::vector<Curve>& curves);
std::string picture(const Study& study, const std::vector<Curve>& curves);  // SVG, of the accuracies
nlohmann::ordered_json json_of(const Curve& curve);
nlohmann::ordered_json results_of(const Study& study, const std::vector<Curve>& curves);

}  // namespace isentropic::lab::retrieval
