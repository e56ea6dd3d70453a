// Images at more pixels than in training: does a classifier still know them when they become more patches, and does
// attention spread?
//
// Networks learn from images as they are, cut into patches of `patch` x `patch` pixels, and are tested with the same
// images enlarged 2 and 4 times, cut into patches of as many pixels: 28 x 28 pixels are 49, 196 and 784 patches of
// 4 x 4. Places are fractions of the image (network.hpp), so they mean the same; what a patch shows does not, for its
// part of the image is smaller.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lab/variants.hpp"

namespace isentropic::lab::resolution {

struct Study {
  std::string data;  // a folder of IDX files
  // With 49 patches and 16 numbers of a head, log_n, ssmax:0.064 and trained_length:49 are 1 / sqrt d in training.
  VariantOptions variants = {.scales = {"inverse_sqrt_d", "log_n", "log_n_sqrt_d", "sqrt_log_n", "trained_length:49"},
                             .learnt_scales = {"ssmax:0.064"},
                             .steps = 400,
                             .batch = 32,
                             .measurements = 5,
                             .width = 32,
                             .heads = 2,
                             .examples = 300,
                             .learning_rate = 3e-3};
  std::int64_t patch = 4;                         // pixels on a side
  std::vector<std::int64_t> factors = {1, 2, 4};  // of the rows and columns, in tests
  std::uint64_t checksum = 0;                     // of the images, once they are read
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Study, data, variants, patch, factors, checksum)

// Of images of the test; means over patches, by layer and head.
struct Measured {
  std::int64_t factor = 0, patches = 0;
  double accuracy = 0;
  std::vector<std::vector<double>> entropy = {}, normalised = {};  // H, H / log n
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Measured, factor, patches, accuracy, entropy, normalised)

// Throws Error for what cannot be run, before anything is.
void check_study(const Study& study);
// Reads the images. Error: they cannot be read, are no multiple of the patch, or are not those of the checksum.
MakeLearner learners_of(Study& study);

std::string text_tables(const Study& study, const std::vector<VariantLog>& logs);
std::string page(const Study& study, const std::vector<VariantLog>& logs);
std::string picture(const Study& study, const std::vector<VariantLog>& logs);  // SVG

}  // namespace isentropic::lab::resolution
