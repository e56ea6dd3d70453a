// Labelled images from a folder of IDX files (io/idx.hpp) as tensors: a training set and a test set.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

namespace isentropic::lab {

struct ImageSet {
  at::Tensor pixels;  // [count, rows, columns], bytes
  at::Tensor labels;  // [count], int64
};

struct ImageData {
  ImageSet train, test;
  std::int64_t classes = 0;    // labels are 0 ... classes - 1
  std::uint64_t checksum = 0;  // of all files, to detect that they have changed
};

// Throws Error as io/idx.hpp does, and if images have more than `most_pixels` pixels, if training and test images
// differ in size, or if a test label exceeds every training label.
ImageData read_image_data(const std::string& folder, std::int64_t most_pixels);

}  // namespace isentropic::lab
