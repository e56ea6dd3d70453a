// Builds networks side by side, and runs them.
#include "lab/vib/networks.hpp"

#include <ATen/ATen.h>

#include <cmath>
#include <numbers>

#include "lab/vib/randomness.hpp"

namespace isentropic::lab::vib {
namespace {

constexpr const char* kDecoder = "decoder";
constexpr const char* kLogDeviation = "log_deviation";

std::string encoder_layer(std::size_t number) { return "encoder." + std::to_string(number); }

}  // namespace

Networks::Networks(const Shape& shape, std::span<const std::uint64_t> seeds, at::Device device) : shape_(shape) {
  for (std::size_t i = 0; i < shape.encoder.size(); ++i) {
    const bool is_last = i + 1 == shape.encoder.size();
    add_layer(encoder_layer(i), shape.encoder[i], is_last ? 2 * shape.code : shape.encoder[i + 1], seeds, device);
  }
  add_layer(kDecoder, shape.code, shape.outputs, seeds, device);
  if (shape.likelihood == Likelihood::normal)
    parameters_.insert(kLogDeviation, at::zeros({static_cast<std::int64_t>(seeds.size()), 1, shape.outputs}, device));
}

// Drawn on the CPU, so that initial weights are the same on every device.
void Networks::add_layer(const std::string& name, std::int64_t in, std::int64_t out,
                         std::span<const std::uint64_t> seeds, at::Device device) {
  const double range = std::sqrt(6.0 / static_cast<double>(in + out));
  std::vector<at::Tensor> weights;
  for (const std::uint64_t seed : seeds) {
    seed_generators(seed, Purpose::weights, parameters_.size());
    weights.push_back(at::empty({in, out}).uniform_(-range, range).to(device));
  }
  parameters_.insert(name + ".weight", at::stack(weights));
  parameters_.insert(name + ".bias", at::zeros({static_cast<std::int64_t>(seeds.size()), 1, out}, device));
}

at::Tensor Networks::apply(const std::string& layer, const at::Tensor& x) const {
  return at::baddbmm(parameters_[layer + ".bias"], x, parameters_[layer + ".weight"]);
}

pytorch::GaussianCode Networks::encode(const at::Tensor& inputs) const {
  at::Tensor x = inputs;
  for (std::size_t i = 0; i < shape_.encoder.size(); ++i) x = apply(encoder_layer(i), i == 0 ? x : x.relu());
  return pytorch::gaussian_code(x);
}

at::Tensor Networks::decode(const at::Tensor& code) const { return apply(kDecoder, code); }

at::Tensor Networks::log_likelihood(const at::Tensor& outputs, const at::Tensor& targets) const {
  if (shape_.likelihood == Likelihood::classes)
    return at::cross_entropy_loss(outputs.flatten(0, 1), targets.flatten(), {}, at::Reduction::None)
        .neg()
        .view(targets.sizes());
  const at::Tensor& log_deviation = parameters_[kLogDeviation];
  const at::Tensor distance = (targets - outputs) * log_deviation.neg().exp();
  return -(0.5 * distance.square() + log_deviation + 0.5 * std::log(2 * std::numbers::pi)).sum(-1);
}

}  // namespace isentropic::lab::vib
