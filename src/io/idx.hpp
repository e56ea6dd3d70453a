// Labelled images in IDX files, as MNIST comes: plain, or packed with gzip under the same name and ".gz".
//
//   FOLDER/train-images-idx3-ubyte   00 00 08 03, count, rows, columns (32 bits each, big-endian), then a byte per
//   pixel FOLDER/train-labels-idx1-ubyte   00 00 08 01, count, then a byte per label FOLDER/t10k-... the same for the
//   test
//
// Files are not trusted: memory grows with what is read, never with what a header promises. By hand: a file of one
// image of 1 x 2 pixels is 16 + 2 bytes long.
//
// Error names the file: missing, cut off, too long, with another magic number or a count of zero; pixels beyond 2^30;
// images and labels of different counts.
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

// CRC-32 of pixels and labels, to tell one set from another.
std::uint32_t checksum(const LabelledImages& images);

}  // namespace isentropic::io
