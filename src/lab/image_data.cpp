// Reads and checks training and test images.
#include "lab/image_data.hpp"

#include <ATen/ATen.h>

#include "base/mix.hpp"
#include "io/idx.hpp"
#include "isentropic/error.hpp"

namespace isentropic::lab {
namespace {

at::Tensor bytes_of(const std::vector<std::uint8_t>& values, at::IntArrayRef sizes) {
  return at::from_blob(const_cast<std::uint8_t*>(values.data()), sizes, at::kByte).clone();
}

ImageSet set_of(const io::LabelledImages& images) {
  const auto count = static_cast<std::int64_t>(images.count), rows = static_cast<std::int64_t>(images.rows),
             columns = static_cast<std::int64_t>(images.columns);
  return {bytes_of(images.pixels, {count, rows, columns}), bytes_of(images.labels, {count}).to(at::kLong)};
}

std::string size_of(const io::LabelledImages& x) {
  return std::to_string(x.rows) + " x " + std::to_string(x.columns) + " pixels";
}

}  // namespace

ImageData read_image_data(const std::string& folder, std::int64_t most_pixels) {
  const io::LabelledImages train = io::read_labelled_images(folder, "train");
  const io::LabelledImages test = io::read_labelled_images(folder, "t10k");
  if (train.rows * train.columns > static_cast<std::size_t>(most_pixels))
    throw Error("training images of " + folder, "of " + size_of(train), "at most " + std::to_string(most_pixels));
  if (size_of(train) != size_of(test)) throw Error("test images of " + folder, "of " + size_of(test), size_of(train));
  ImageData out{.train = set_of(train), .test = set_of(test)};
  out.checksum = mix({io::checksum(train), io::checksum(test)});
  out.classes = out.train.labels.max().item<std::int64_t>() + 1;
  const std::int64_t largest = out.test.labels.max().item<std::int64_t>();
  if (largest >= out.classes)
    throw Error("test labels of " + folder, "up to " + std::to_string(largest),
                "labels of the training images, up to " + std::to_string(out.classes - 1));
  return out;
}

}  // namespace isentropic::lab
