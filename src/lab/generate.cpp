// Samples one token after another.
#include "lab/generate.hpp"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "base/random.hpp"
#include "isentropic/error.hpp"

namespace isentropic::lab {
namespace {

std::int64_t draw(const at::Tensor& logits, const GenerationOptions& options, Random& random) {
  if (options.greedy) return logits.argmax().item<std::int64_t>();
  const at::Tensor p = at::softmax(logits.to(at::kCPU, at::kDouble) / options.temperature, -1);
  const auto [sorted, order] = p.sort(/*dim=*/-1, /*descending=*/true);
  const at::Tensor mass = sorted.cumsum(-1);
  // The most likely token is always kept.
  const std::int64_t kept =
      std::min<std::int64_t>(sorted.numel(), (mass < options.top_p).sum().item<std::int64_t>() + 1);
  const double wanted = random.uniform() * mass[kept - 1].item<double>();
  const std::int64_t place = std::min(kept - 1, (mass.narrow(0, 0, kept) <= wanted).sum().item<std::int64_t>());
  return order[place].item<std::int64_t>();
}

}  // namespace

void generate(const model::Transformer& model, const std::vector<std::int32_t>& prompt,
              const GenerationOptions& options, const std::function<bool(std::int32_t id)>& put) {
  if (prompt.empty()) throw Error("prompt", "without a token", "some text");
  const at::NoGradGuard no_gradient;
  Random random(options.seed);
  model::Cache cache;
  at::Tensor ids = at::tensor(std::vector<std::int64_t>(prompt.begin(), prompt.end()), at::kLong);
  ids = ids.unsqueeze(0).to(model.device());
  for (std::int64_t i = 0; i < options.tokens; ++i) {
    const at::Tensor hidden = model.forward(ids, {.cache = &cache}).hidden;
    const std::int64_t id = draw(model.logits(hidden.select(1, -1)).flatten(), options, random);
    if (std::ranges::find(options.ends, id) != options.ends.end()) return;
    if (!put(static_cast<std::int32_t>(id))) return;
    ids = at::full({1, 1}, id, ids.options());
  }
}

}  // namespace isentropic::lab
