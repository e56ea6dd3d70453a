// Reads images, generates Gaussians.
#include "lab/vib/problem.hpp"

#include <ATen/ATen.h>

#include <cmath>
#include <numbers>

#include "lab/image_data.hpp"
#include "lab/vib/randomness.hpp"

namespace isentropic::lab::vib {
namespace {

constexpr std::int64_t kMostFeatures = 16384;  // 128 x 128 pixels: each network has 1024 weights per pixel
constexpr std::int64_t kGaussianTrain = 20'000, kGaussianTest = 50'000;

Examples examples_of(const ImageSet& images, at::Device device) {
  Examples out;
  out.inputs = images.pixels.to(device).to(at::kFloat).flatten(1).mul_(2.0 / 255).sub_(1);
  out.targets = images.labels.to(device);
  const at::Tensor shares = at::bincount(out.targets).to(at::kDouble) / static_cast<double>(out.targets.size(0));
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
  const ImageData images = read_image_data(folder, kMostFeatures);
  Problem out{.train = examples_of(images.train, device), .test = examples_of(images.test, device), .rate = 1e-4};
  out.checksum = images.checksum;
  out.shape = {.encoder = {out.train.inputs.size(1), 1024, 1024}, .code = 256, .outputs = images.classes};
  return out;
}

const std::vector<double>& correlations() {
  static const std::vector<double> out = {0.95, 0.8, 0.6, 0.3};
  return out;
}

Problem gaussian_problem(std::uint64_t seed, at::Device device) {
  Problem out{.rate = 1e-2, .correlations = correlations()};
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
