// Errors and information of the averaged networks.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <limits>

#include "lab/numbers.hpp"
#include "lab/vib/sweep.hpp"

namespace isentropic::lab::vib {
namespace {

constexpr std::int64_t kRows = 1000;  // examples at a time, so that they fit into memory for any data

at::Tensor wrong(const at::Tensor& scores, const at::Tensor& targets) {
  return (scores.argmax(-1) != targets).sum(-1).to(at::kDouble);
}

at::Tensor total(const at::Tensor& of_examples) { return of_examples.sum(-1, false, at::kDouble); }

}  // namespace

void Sweep::Sums::add(const Sums& other) {
  wrong_one = wrong_one + other.wrong_one;
  wrong_many = wrong_many + other.wrong_many;
  rate = rate + other.rate;
  log_ratio = log_ratio + other.log_ratio;
}

// Sums over the rows first ... first + rows - 1.
Sweep::Sums Sweep::sums_of(const Examples& examples, std::int64_t first, std::int64_t rows) const {
  const auto of_all = [&](const at::Tensor& from) {
    const at::Tensor part = from.narrow(0, first, rows).unsqueeze(0);
    std::vector<std::int64_t> sizes = part.sizes().vec();
    sizes[0] = averages_.count();
    return part.expand(sizes);
  };
  const bool has_classes = problem_.shape.likelihood == Likelihood::classes;
  const at::Tensor targets = of_all(examples.targets), log_marginal = of_all(examples.log_marginal);
  const pytorch::GaussianCode code = averages_.encode(of_all(examples.inputs));
  const at::Tensor rate = total(pytorch::gaussian_rate(code)), zero = at::zeros_like(rate);
  Sums out{.wrong_one = zero, .wrong_many = zero, .rate = rate, .log_ratio = zero};
  at::Tensor probabilities;
  for (int sample = 0; sample < kSamples; ++sample) {
    const at::Tensor outputs =
        averages_.decode(code_of(code, noise(Purpose::test_noise, first * kSamples + sample, rows)));
    out.log_ratio = out.log_ratio + total(averages_.log_likelihood(outputs, targets) - log_marginal);
    if (!has_classes) continue;
    if (sample == 0) out.wrong_one = wrong(outputs, targets);
    const at::Tensor softmax = outputs.softmax(-1);
    probabilities = probabilities.defined() ? probabilities + softmax : softmax;
  }
  if (has_classes) out.wrong_many = wrong(probabilities, targets);
  return out;
}

std::vector<Measures> Sweep::measure(const Examples& examples) const {
  const at::NoGradGuard no_gradient;
  const std::int64_t count = examples.inputs.size(0);
  Sums all = sums_of(examples, 0, std::min(kRows, count));
  for (std::int64_t first = kRows; first < count; first += kRows)
    all.add(sums_of(examples, first, std::min(kRows, count - first)));
  const auto n = static_cast<double>(count);
  const auto one = numbers_of(all.wrong_one / n), many = numbers_of(all.wrong_many / n),
             rate = numbers_of(all.rate / n), ratio = numbers_of(all.log_ratio / (n * kSamples));
  using Limits = std::numeric_limits<double>;
  const bool has_classes = problem_.shape.likelihood == Likelihood::classes;
  std::vector<Measures> out;
  for (std::size_t i = 0; i < members_.size(); ++i)
    out.push_back({.error_one = has_classes ? one[i] : Limits::quiet_NaN(),
                   .error_many = has_classes ? many[i] : Limits::quiet_NaN(),
                   .information_x = members_[i].deterministic ? Limits::infinity() : rate[i],
                   .information_y = ratio[i]});
  return out;
}

}  // namespace isentropic::lab::vib
