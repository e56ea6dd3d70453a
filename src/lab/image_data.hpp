// Labelled images of a folder of IDX files (io/idx.hpp) as tensors: a set to train on and one to test with.
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
  std::uint64_t checksum = 0;  // of all files, to tell whether they are the same as before
};

// Error as of io/idx.hpp, where images have more than `most_pixels`, where training and test differ in their sizes, or
// where a label of the test was never seen.
ImageData read_image_data(const std::string& folder, std::int64_t most_pixels);

}  // namespace isentropic::lab
