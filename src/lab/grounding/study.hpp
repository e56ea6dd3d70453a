// Text that attends to an image (scenes.hpp): does the entropy of cross-modal attention follow the number of patches
// that match the text, or the total number of patches?
//
// With m matching patches of n and the weight s on them,
//
//   H <= h(s) + s log m + (1 - s) log(n - m),     h(s) = -s log s - (1 - s) log(1 - s),
//
// with equality if weights are equal within both groups. An ideal reader has s = 1 and H = log m for any n; one that
// gives matching patches e^g times the weight of the others has s = m e^g / (m e^g + n - m), which n dilutes. By hand:
// m = 4, n = 64, g = log 15: s = 1/2, H = 0.693 + 0.693 + 2.047 = 3.433.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lab/variants.hpp"

namespace isentropic::lab::grounding {

struct Study {
  // log_n:kappa=0.96 equals 1 / sqrt d at the 64 patches of training with head width 16.
  VariantOptions variants = {.scales = {"inverse_sqrt_d", "log_n:kappa=0.96", "log_n_sqrt_d"},
                             .steps = 400,
                             .batch = 32,
                             .measurements = 10,
                             .width = 32,
                             .heads = 2,
                             .layers = 1,
                             .examples = 256,
                             .learning_rate = 3e-3};
  std::int64_t side = 8;                                      // patches per side in training
  std::int64_t max_matching = 16;                             // in training: 1 to this many patches match
  std::vector<std::int64_t> matching = {1, 2, 4, 8, 16, 32};  // tests at that side
  std::vector<std::int64_t> sides = {4, 8, 16, 32};           // tests with `matching_of_sides` matching patches
  std::int64_t matching_of_sides = 4;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Study, variants, side, max_matching, matching, sides, matching_of_sides)

// Means over scenes, by layer and head where they are lists. Heads may share the work, one for colours and one for
// shapes: the best head is chosen per scene, as the one that gives matching patches the most weight.
struct Measured {
  std::int64_t patches = 0, matching = 0;
  double accuracy = 0;
  double best_weight = 0, best_entropy = 0;                  // s and H of the best head
  std::vector<std::vector<double>> entropy = {};             // H of the last word's attention to the patches, nats
  std::vector<std::vector<double>> weight_of_matching = {};  // s
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Measured, patches, matching, accuracy, best_weight, best_entropy, entropy,
                                   weight_of_matching)

// Throws Error if the study is invalid, before anything runs.
void check_study(const Study& study);
MakeLearner learners_of(const Study& study);

std::string text_tables(const Study& study, const std::vector<VariantLog>& logs);
std::string page(const Study& study, const std::vector<VariantLog>& logs);
std::string picture(const Study& study, const std::vector<VariantLog>& logs);  // SVG

}  // namespace isentropic::lab::grounding
