// Images at higher resolution than in training: does a classifier still recognise them when they become more patches,
// and does attention spread?
//
// Networks are trained on images as they are, cut into patches of `patch` x `patch` pixels, and evaluated on test
// images enlarged by `factors`, cut into patches of as many pixels: 28 x 28 pixels are 49 patches of 4 x 4, and 196 and
// 784 when enlarged 2 and 4 times. Positions are fractions of the image (network.hpp), so they keep their meaning; the
// content of a patch does not, because it shows a smaller part of the image.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lab/variants.hpp"

namespace isentropic::lab::resolution {

struct Study {
  std::string data;  // a folder of IDX files
  // With 49 patches and head width 16, log_n, ssmax:0.064 and trained_length:49 are about 1 / sqrt d in training.
  VariantOptions variants = {.scales = {"inverse_sqrt_d", "log_n", "log_n_sqrt_d", "sqrt_log_n", "trained_length:49"},
                             .learnt_scales = {"ssmax:0.064"},
                             .steps = 400,
                             .batch = 32,
                             .measurements = 5,
                             .width = 32,
                             .heads = 2,
                             .examples = 300,
                             .learning_rate = 3e-3};
  std::int64_t patch = 4;                         // pixels per side
  std::vector<std::int64_t> factors = {1, 2, 4};  // multiples of the rows and columns, in tests
  std::uint64_t checksum = 0;                     // of the images, set when they are read
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Study, data, variants, patch, factors, checksum)

// On test images; entropies are means over patches, by layer and head.
struct Measured {
  std::int64_t factor = 0, patches = 0;
  double accuracy = 0;
  std::vector<std::vector<double>> entropy = {}, normalised = {};  // H, H / log n
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Measured, factor, patches, accuracy, entropy, normalised)

// Throws Error if the study is invalid, before anything runs.
void check_study(const Study& study);
// Reads the images and sets the checksum. Throws Error if they cannot be read, if their sides are not multiples of the
// patch, or if they differ from the checksum.
MakeLearner learners_of(Study& study);

std::string text_tables(const Study& study, const std::vector<VariantLog>& logs);
std::string page(const Study& study, const std::vector<VariantLog>& logs);
std::string picture(const Study& study, const std::vector<VariantLog>& logs);  // SVG

}  // namespace isentropic::lab::resolution
