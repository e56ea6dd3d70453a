// Attention on PyTorch tensors from C++: the operator isentropic::attention, with gradients.
//
//   auto [output, statistics] = isentropic::pytorch::attention(
//       q, k, v, {.mask = Mask::causal(), .scale = Scale::log_n(), .scale_parameters = {{"kappa", kappa}},
//                 .statistics = Statistics::of({Statistic::entropy})});
//   (output.square().mean() - 0.01 * statistics.at("entropy").mean()).backward();
//
// Link the library isentropic_torch; nothing outside this folder depends on PyTorch.
#pragma once

#include <ATen/ATen.h>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "isentropic/attention.hpp"
#include "isentropic/export.hpp"
#include "isentropic/mask.hpp"
#include "isentropic/score_map.hpp"
#include "isentropic/statistics.hpp"

namespace isentropic::pytorch {

struct AttentionOptions {
  Mask mask = Mask::none();  // its dense and block-sparse parts are given as `visible` instead
  at::Tensor visible = {};   // boolean or additive, [batch or 1, heads or 1, n_q or 1, n_k]
  Scale scale = Scale::inverse_sqrt_d();
  // Law parameters given as tensors [], [1] or [heads], by name; they get gradients and override the numbers in
  // `scale`. The rows of per_row: {"rows", [batch or 1, heads or 1, n_q]}.
  std::map<std::string, at::Tensor> scale_parameters = {};
  ScoreMap map = ScoreMap::softmax();
  at::Tensor alpha = {};          // of entmax, [], [1] or [heads]; it gets a gradient and overrides the number in `map`
  at::Tensor bias = {};           // [batch or 1, heads or 1, n_q or 1, n_k]
  at::Tensor alibi_slopes = {};   // [heads]
  at::Tensor relative_bias = {};  // [heads or 1, 2 r + 1]
  std::optional<double> soft_cap = {};
  at::Tensor sink = {};  // [heads]
  double dropout = 0.0;
  at::Tensor seed = {};  // int64 [1], for dropout and gumbel maps; drawn from PyTorch's generator when absent
  Statistics statistics = Statistics::none();
  Shard shard = {};  // where queries and keys lie in a larger problem, except for its `visible`
};

struct AttentionOutput {
  at::Tensor output;                             // [batch, heads, n_q, d_v]
  std::map<std::string, at::Tensor> statistics;  // each [batch, heads, n_q]
  at::Tensor rows, row_counts, selected;         // read by key_mass
};

// query [batch, heads, n_q, d], key [batch, kv_heads, n_k, d], value [batch, kv_heads, n_k, d_v].
ISENTROPIC_API AttentionOutput attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                                         const AttentionOptions& options = {});

// The exact weights of some rows, [batch, heads, rows, n_k], before dropout; no gradients.
ISENTROPIC_API at::Tensor attention_weights(const at::Tensor& query, const at::Tensor& key,
                                            const std::vector<std::int64_t>& rows,
                                            const AttentionOptions& options = {});

// int64 [1], from PyTorch's generator: calls that share it draw the same noise.
ISENTROPIC_API at::Tensor draw_seed();

// The learnable parameters of a law in its order, each [heads], filled with the law's numbers as initial values.
ISENTROPIC_API std::vector<std::pair<std::string, at::Tensor>> learnable_parameters(const Scale& scale,
                                                                                    std::int64_t heads);

// The total weight each key receives, [batch, heads, n_k]: the weights summed over the rows of `forward`, computed with
// the same query, key and options; no gradients.
ISENTROPIC_API at::Tensor key_mass(const at::Tensor& query, const at::Tensor& key, const AttentionOptions& options,
                                   const AttentionOutput& forward);

}  // namespace isentropic::pytorch
