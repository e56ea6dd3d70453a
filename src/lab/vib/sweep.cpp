// Draws batches and updates all networks at once.
#include "lab/vib/sweep.hpp"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cmath>

namespace isentropic::lab::vib {
namespace {

constexpr AdamWOptions kAdam = {.beta1 = 0.5, .beta2 = 0.999, .weight_decay = 0};
constexpr double kRateFactor = 0.97;
constexpr std::int64_t kEpochsOfRate = 2;
constexpr double kAverageDecay = 0.999;

std::vector<std::uint64_t> seeds_of(const std::vector<Member>& members) {
  std::vector<std::uint64_t> out;
  for (const Member& member : members) out.push_back(member.seed);
  return out;
}

std::vector<std::uint64_t> each_once(std::vector<std::uint64_t> seeds) {
  std::ranges::sort(seeds);
  seeds.erase(std::ranges::unique(seeds).begin(), seeds.end());
  return seeds;
}

}  // namespace

Sweep::Sweep(const Problem& problem, const std::vector<Member>& members, std::int64_t batch)
    : problem_(problem),
      members_(members),
      batch_(batch),
      seeds_(each_once(seeds_of(members))),
      networks_(problem.shape, seeds_of(members), problem.train.inputs.device()),
      averages_(problem.shape, seeds_of(members), problem.train.inputs.device()),
      optimiser_(networks_.parameters(), kAdam) {
  std::vector<std::int64_t> seed_of;
  std::vector<double> beta, noisy;
  for (const Member& member : members) {
    seed_of.push_back(std::ranges::find(seeds_, member.seed) - seeds_.begin());
    beta.push_back(member.beta);
    noisy.push_back(member.deterministic ? 0 : 1);
  }
  const at::Device device = problem.train.inputs.device();
  seed_of_ = at::tensor(seed_of, at::kLong).to(device);
  beta_ = at::tensor(beta, at::kFloat).to(device).unsqueeze(-1);
  noisy_ = at::tensor(noisy, at::kFloat).to(device).view({-1, 1, 1});
}

// Every seed has an order of its own.
void Sweep::begin_epoch(std::int64_t epoch) {
  std::vector<at::Tensor> orders;
  for (const std::uint64_t seed : seeds_) {
    seed_generators(seed, Purpose::order, static_cast<std::uint64_t>(epoch));
    orders.push_back(at::randperm(problem_.train.inputs.size(0), at::kLong));
  }
  order_ = at::stack(orders).to(problem_.train.inputs.device());
  epoch_ = epoch;
}

Sweep::Batch Sweep::draw() {
  const std::int64_t epoch = step_ / steps_of_epoch(), place = step_ % steps_of_epoch() * batch_;
  if (epoch != epoch_) begin_epoch(epoch);
  const at::Tensor chosen = order_.narrow(1, place, batch_).index_select(0, seed_of_);
  const auto take = [&](const at::Tensor& from) {
    return from.index_select(0, chosen.flatten()).unflatten(0, {chosen.size(0), batch_});
  };
  return {take(problem_.train.inputs), take(problem_.train.targets)};
}

// [members, rows, code].
at::Tensor Sweep::noise(Purpose purpose, std::int64_t count, std::int64_t rows) const {
  std::vector<at::Tensor> drawn;
  for (const std::uint64_t seed : seeds_) {
    seed_generators(seed, purpose, static_cast<std::uint64_t>(count));
    drawn.push_back(at::randn({rows, problem_.shape.code}, problem_.train.inputs.options()));
  }
  return at::stack(drawn).index_select(0, seed_of_);
}

at::Tensor Sweep::code_of(const pytorch::GaussianCode& code, const at::Tensor& noise) const {
  return code.mean + code.deviation * (noise * noisy_);
}

void Sweep::train_step() {
  const Batch batch = draw();
  const pytorch::GaussianCode code = networks_.encode(batch.inputs);
  const at::Tensor outputs = networks_.decode(code_of(code, noise(Purpose::training_noise, step_, batch_)));
  at::Tensor losses = -networks_.log_likelihood(outputs, batch.targets);
  losses = losses + beta_ * pytorch::gaussian_rate(code);
  optimiser_.zero_gradients();
  losses.mean(1).sum().backward();  // networks share no parameters, so that each has its own gradient
  const double falls = static_cast<double>(step_ / steps_of_epoch() / kEpochsOfRate);
  optimiser_.step(problem_.rate * std::pow(kRateFactor, falls));
  ++step_;
  average();
}

void Sweep::average() {
  const at::NoGradGuard no_gradient;
  const double share = (1 - kAverageDecay) / (1 - std::pow(kAverageDecay, static_cast<double>(step_)));
  for (const auto& item : networks_.parameters()) {
    at::Tensor average = averages_.parameters()[item.key()];
    average.lerp_(item.value(), share);
  }
}

NamedTensors Sweep::state() const {
  NamedTensors out;
  for (const auto& item : networks_.parameters()) out.emplace_back("w." + item.key(), item.value());
  for (const auto& item : averages_.parameters()) out.emplace_back("a." + item.key(), item.value());
  for (const auto& item : optimiser_.moments()) out.emplace_back(item.key(), item.value());
  return out;
}

void Sweep::set_step(std::int64_t step) {
  step_ = step;
  optimiser_.set_steps(step);
}

}  // namespace isentropic::lab::vib
