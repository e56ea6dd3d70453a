// How the entropy of attention changes while small language models learn, and what changing it does.
//
//   entropy       H / log k by layer, head and step, autoregressive and masked: does it fall fast and settle, is it
//                 lower in deep layers, does it fall when the validation loss turns?
//   spread        the spread of the initial scores against gradients and steps to a loss
//   regulariser   terms that encourage or discourage entropy, and label smoothing, against validation loss, steps to a
//                 loss and robustness to noise
//   target        a scale solved for an entropy H*: validation loss against H*, and whether the best H* of one task is
//                 also the best at another length, objective or text
//
// Models with the same seed start from the same weights and see the same windows in the same order, so that settings
// are compared seed by seed (paired.hpp). All are trained by Trainer (trainer.hpp) at one size.
#pragma once

#include <algorithm>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "lab/dynamics/course.hpp"
#include "lab/study_folder.hpp"

namespace isentropic::lab::dynamics {

struct Study {
  // The first is used by all parts; each of the others is one more task of `target`. Identified by path and content.
  std::vector<std::string> texts;
  std::vector<std::uint64_t> fingerprints;
  std::vector<std::string> parts = {"entropy", "spread", "regulariser", "target"};
  std::int64_t seeds = 3, steps = 600, batch = 8, length = 64;
  std::int64_t layers = 4, heads = 4, width = 64, vocabulary = 512;
  double learning_rate = 3e-3, weight_decay = 0.1, held_out = 0.1;
  std::int64_t points = 24;               // evaluations per run, about
  std::int64_t validation_tokens = 2048;  // at most
  std::vector<double> gains = {4, 8, 16};
  std::vector<double> entropy_weights = {0.03, 0.3};  // tried with both signs
  std::vector<double> label_smoothings = {0.1};
  double score_noise = 1, token_noise = 0.1;  // ValidationNoise, at the end of every run
  std::vector<double> targets = {0.5, 1, 1.5, 2, 2.5, 3};
  std::vector<std::int64_t> other_lengths = {128};
  std::int64_t target_steps = 200;
  std::uint64_t seed = 1;
  std::string device = "cpu";
  bool bfloat16 = false;

  bool has(const std::string& part) const { return std::ranges::find(parts, part) != parts.end(); }
};

// Throws Error if the study is invalid, before anything runs.
void check_study(const Study& study);
// Reads the texts and returns the study with their fingerprints.
Study with_texts(Study study);

nlohmann::ordered_json options_of(const Study& study);
Study study_of(const nlohmann::ordered_json& options);

struct Material;
// Reads the texts unless `material` has them. Empty if it was stopped and can be resumed.
std::optional<Courses> run_study(StudyFolder& folder, std::optional<Material> material,
                                 const StudyCallbacks& callbacks);

}  // namespace isentropic::lab::dynamics
