// Labelled images in IDX files, the format of MNIST: plain, or gzipped under the same name with ".gz" appended.
//
//   FOLDER/train-images-idx3-ubyte   00 00 08 03, count, rows, columns (32 bits each, big-endian), a byte per pixel
//   FOLDER/train-labels-idx1-ubyte   00 00 08 01, count, a byte per label
//   FOLDER/t10k-...                  the same for the test set
//
// Files are untrusted: memory grows with what is read, never with what a header promises. By hand: a file of one image
// of 1 x 2 pixels is 16 + 2 bytes long.
//
// Throws Error, which names the file, if one is missing, truncated, too long, or has another magic number or a count of
// zero; for more than 2^30 pixels; and for different counts of images and labels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace isentropic::io {

struct LabelledImages {
  std::size_t count = 0, rows = 0, columns = 0;
  std::vector<std::uint8_t> pixels;  // image by image, row by row
  std::vector<std::uint8_t> labels;
};

// part: "train" or "t10k".
LabelledImages read_labelled_images(const std::string& folder, const std::string& part);

// CRC-32 of pixels and labels, to distinguish data sets.
std::uint32_t checksum(const LabelledImages& images);

}  // namespace isentropic::io
