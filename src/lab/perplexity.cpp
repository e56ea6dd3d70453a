// Runs a model over windows of a text and averages.
#include "lab/perplexity.hpp"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>

#include "isentropic/error.hpp"
#include "isentropic/pytorch/regularisers.hpp"

namespace isentropic::lab {
namespace {

struct Sums {
  double loss = 0, entropy = 0, normalised = 0;
  std::int64_t tokens = 0, layers = 0;
};

at::Tensor ids_of(const std::vector<std::int32_t>& tokens, std::int64_t from, std::int64_t count, at::Device device) {
  const std::vector<std::int64_t> ids(tokens.begin() + from, tokens.begin() + from + count);
  return at::tensor(ids, at::kLong).unsqueeze(0).to(device);
}

// Adds one window and scores its last `scored` tokens, or all if it has fewer.
void add_window(const model::Transformer& model, const at::Tensor& ids, std::int64_t scored, Sums* sums) {
  const std::int64_t predicted = ids.size(1) - 1;
  model::ForwardOptions options;
  options.statistics = Statistics::of({Statistic::entropy, Statistic::normalised_entropy, Statistic::visible});
  const model::ForwardOutput out = model.forward(ids, options);
  const std::int64_t count = std::min(scored, predicted);
  const at::Tensor losses =
      model.token_losses(out.hidden.narrow(1, predicted - count, count), ids.narrow(1, predicted - count + 1, count))
          .to(at::kCPU, at::kDouble)
          .flatten();
  sums->loss += losses.sum().item<double>();
  sums->tokens += count;
  for (const auto& layer : out.statistics) {
    sums->entropy += pytorch::mean_over_rows(layer, "entropy").mean().item<double>();
    sums->normalised += pytorch::mean_over_rows(layer, "normalised_entropy").mean().item<double>();
    ++sums->layers;
  }
}

Perplexity mean_of(const Sums& sums, std::int64_t length, std::int64_t windows) {
  const auto layers = static_cast<double>(std::max<std::int64_t>(1, sums.layers));
  return {.length = length,
          .windows = windows,
          .tokens = sums.tokens,
          .loss = sums.loss / static_cast<double>(sums.tokens),
          .entropy = sums.entropy / layers,
          .normalised_entropy = sums.normalised / layers};
}

void require_tokens(const std::vector<std::int32_t>& tokens, std::int64_t needed) {
  if (static_cast<std::int64_t>(tokens.size()) < needed)
    throw Error("text", std::to_string(tokens.size()) + " tokens long", "at least " + std::to_string(needed));
}

}  // namespace

Perplexity perplexity(const model::Transformer& model, const std::vector<std::int32_t>& tokens,
                      const PerplexityOptions& options) {
  require_tokens(tokens, std::max<std::int64_t>(2, options.length));
  const at::NoGradGuard no_gradient;
  const std::int64_t windows = static_cast<std::int64_t>(tokens.size()) / options.length;
  Sums sums;
  for (std::int64_t window = 0; window < windows; ++window) {
    add_window(model, ids_of(tokens, window * options.length, options.length, model.device()), options.length, &sums);
    if (options.progress) options.progress(static_cast<double>(window + 1) / static_cast<double>(windows));
  }
  return mean_of(sums, options.length, windows);
}

std::vector<Perplexity> perplexity_by_length(const model::Transformer& model, const std::vector<std::int32_t>& tokens,
                                             const std::vector<std::int64_t>& lengths,
                                             const PerplexityOptions& options) {
  const at::NoGradGuard no_gradient;
  const std::int64_t longest = *std::ranges::max_element(lengths), shortest = *std::ranges::min_element(lengths);
  require_tokens(tokens, longest);
  const std::int64_t windows = static_cast<std::int64_t>(tokens.size()) / longest;
  const std::int64_t scored = std::max<std::int64_t>(1, shortest / 2);
  double work = 0, done = 0;
  for (const std::int64_t length : lengths) work += static_cast<double>(length * windows);
  std::vector<Perplexity> out;
  for (const std::int64_t length : lengths) {
    Sums sums;
    for (std::int64_t window = 0; window < windows; ++window) {
      const std::int64_t end = (window + 1) * longest;
      add_window(model, ids_of(tokens, end - length, length, model.device()), scored, &sums);
      done += static_cast<double>(length);
      if (options.progress) options.progress(done / work);
    }
    out.push_back(mean_of(sums, length, windows));
  }
  return out;
}

}  // namespace isentropic::lab
