// Reads images, draws Gaussians.
#include "lab/vib/problem.hpp"

#include <ATen/ATen.h>

#include <cmath>
#include <numbers>

#include "base/mix.hpp"
#include "io/idx.hpp"
#include "isentropic/error.hpp"
#include "lab/vib/randomness.hpp"

namespace isentropic::lab::vib {
namespace {

constexpr std::size_t kMostFeatures = 16384;  // 128 x 128 pixels: each network has 1024 weights for one
constexpr std::int64_t kGaussianTrain = 20'000, kGaussianTest = 50'000;

at::Tensor bytes_of(const std::vector<std::uint8_t>& values) {
  return at::from_blob(const_cast<std::uint8_t*>(values.data()), {static_cast<std::int64_t>(values.size())}, at::kByte);
}

Examples examples_of(const io::LabelledImages& images, at::Device device) {
  Examples out;
  const auto count = static_cast<std::int64_t>(images.count);
  out.inputs = bytes_of(images.pixels).to(device).to(at::kFloat).reshape({count, -1}).mul_(2.0 / 255).sub_(1);
  out.targets = bytes_of(images.labels).to(device, at::kLong);
  const at::Tensor shares = at::bincount(out.targets).to(at::kDouble) / static_cast<double>(count);
  out.log_marginal = shares.log().index_select(0, out.targets).to(at::kFloat);
  return out;
}

Examples correlated(const at::Tensor& rho, const at::Tensor& rotation, std::int64_t count, at::Device device) {
  const at::Tensor u = at::randn({count, rho.size(0)}), noise = at::randn_like(u);
  const at::Tensor v = rho * u + (1 - rho.square()).sqrt() * noise;
  const at::Tensor log_marginal = -0.5 * (v.square() + std::log(2 * std::numbers::pi)).sum(-1);
  return {u.matmul(rotation).to(device), v.to(device), log_marginal.to(device)};
}

}  // namespace

Problem image_problem(const std::string& folder, at::Device device) {
  const io::LabelledImages train = io::read_labelled_images(folder, "train");
  const io::LabelledImages test = io::read_labelled_images(folder, "t10k");
  const auto size = [](const io::LabelledImages& x) {
    return std::to_string(x.rows) + " x " + std::to_string(x.columns) + " pixels";
  };
  if (train.rows * train.columns > kMostFeatures)
    throw Error("training images of " + folder, "of " + size(train), "at most " + std::to_string(kMostFeatures));
  if (size(train) != size(test)) throw Error("test images of " + folder, "of " + size(test), size(train));
  Problem out{.train = examples_of(train, device), .test = examples_of(test, device), .rate = 1e-4};
  out.checksum = mix({io::checksum(train), io::checksum(test)});
  const std::int64_t classes = out.train.targets.max().item<std::int64_t>() + 1;
  const std::int64_t largest = out.test.targets.max().item<std::int64_t>();
  if (largest >= classes)
    throw Error("test labels of " + folder, "up to " + std::to_string(largest),
                "labels of the training images, up to " + std::to_string(classes - 1));
  out.shape = {.encoder = {out.train.inputs.size(1), 1024, 1024}, .code = 256, .outputs = classes};
  return out;
}

Problem gaussian_problem(std::uint64_t seed, at::Device device) {
  Problem out{.rate = 1e-2, .correlations = {0.95, 0.8, 0.6, 0.3}};
  const auto count = static_cast<std::int64_t>(out.correlations.size());
  seed_generators(seed, Purpose::problem);
  const at::Tensor rho = at::tensor(out.correlations, at::kFloat);
  const at::Tensor rotation = std::get<0>(at::linalg_qr(at::randn({count, count})));
  out.train = correlated(rho, rotation, kGaussianTrain, device);
  out.test = correlated(rho, rotation, kGaussianTest, device);
  out.shape = {.encoder = {count}, .code = 2 * count, .outputs = count, .likelihood = Likelihood::normal};
  return out;
}

}  // namespace isentropic::lab::vib
