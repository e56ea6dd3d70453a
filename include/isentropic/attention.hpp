// Attention that measures itself: one description of the problem, one result, several passes.
//
// For query i of a head: raw score r_j = q_i.k_j; x_j = lambda_i r_j; soft cap; bias; the mask removes keys; the
// score map turns scores into weights a_ij; output o_i = sum_j a_ij v_j. The row's statistics (statistics.hpp) are
// returned with the output. Memory beyond inputs and outputs is linear in n; no n x n buffer exists.
//
//   float q[...], k[...], v[...];                                    // [batch, heads, n, d]
//   AttentionResult result = attention({.query = View(q, {1, 8, 1024, 64}),
//                                       .key = View(k, {1, 2, 1024, 64}),          // grouped kv heads
//                                       .value = View(v, {1, 2, 1024, 64}),
//                                       .mask = Mask::causal().window(256),
//                                       .scale = Scale::log_n(1.0),
//                                       .statistics = Statistics::all()});
//   result.output;               // [1, 8, 1024, 64]
//   result.statistics.entropy;   // [1, 8, 1024], nats
//
// Types: float32, bfloat16, float16 compute in float32; float64 computes in float64.
// A row without visible keys: output 0, L = -inf, H = 0, gradients 0. NaN and Inf stay in the rows that see them; a
// value whose weight is exactly 0 contributes nothing, even if it is NaN.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "isentropic/entropy_solver.hpp"
#include "isentropic/error.hpp"
#include "isentropic/executor.hpp"
#include "isentropic/export.hpp"
#include "isentropic/key_groups.hpp"
#include "isentropic/mask.hpp"
#include "isentropic/row_state.hpp"
#include "isentropic/scale.hpp"
#include "isentropic/score_map.hpp"
#include "isentropic/score_terms.hpp"
#include "isentropic/softmax_record.hpp"
#include "isentropic/statistics.hpp"
#include "isentropic/tensor.hpp"

namespace isentropic {

// Weights are kept with probability 1 - probability and divided by it. The choice depends only on (seed, batch, head,
// i, j). Statistics describe the weights before dropout.
struct Dropout {
  double probability = 0.0;
  std::uint64_t seed = 0;
};

// A contiguous range of a larger problem, starting at `offset`; a length of -1 means "everything here".
struct Run {
  std::int64_t offset = 0;
  std::int64_t length = -1;
};

// Where a problem lies in a larger one whose queries or keys are split across calls, devices or hosts: the queries and
// keys here are runs of the whole, in ascending order (two of them where each shard has one piece from the front and
// one from the back); no runs means a single run from 0. Masks, positions and visible counts refer to the whole; a
// total of -1 means "this is the whole".
struct Shard {
  std::vector<Run> query_runs = {};
  std::vector<Run> key_runs = {};
  std::int64_t total_queries = -1;
  std::int64_t total_keys = -1;
  // Keys each row sees in the whole problem, int64 [batch or 1, heads or 1, n_q]: required by scales that depend on n
  // when a dense mask or bias is split along the keys. (A block-sparse layout always covers the whole problem.)
  View visible = {};
};

struct AttentionProblem {
  View query;       // [batch, heads, n_q, d]
  View key;         // [batch, kv_heads, n_k, d], kv_heads divides heads
  View value = {};  // [batch, kv_heads, n_k, d_v]; may be absent when only statistics are computed
  Mask mask = Mask::none();
  Scale scale = Scale::inverse_sqrt_d();
  ScoreMap map = ScoreMap::softmax();
  Bias bias = {};
  std::optional<double> soft_cap = {};
  std::optional<PerHead> sink = {};
  Statistics statistics = Statistics::none();
  std::optional<Dropout> dropout = {};
  Shard shard = {};
  Executor* executor = nullptr;  // null: default_executor(), or the calling thread for tiny problems
};

struct AttentionResult {
  Tensor output;             // [batch, heads, n_q, d_v], type of the query
  RowStatistics statistics;  // those requested
  RowState rows;             // scales and records
  Tensor selected;           // top_k: int64 [batch, heads, n_q, min(k, n_k)], -1 where a row has fewer
};

// The forward pass.
ISENTROPIC_API AttentionResult attention(const AttentionProblem& problem);

// The statistics alone: no value is read, no output formed. At least one statistic must be requested.
ISENTROPIC_API AttentionResult attention_statistics(const AttentionProblem& problem);

// The weights a_ij of some rows, float32 or float64 [batch, heads, rows, n_k], before dropout, sink included. For a
// straight-through sample these are the relaxed weights; the same holds for key mass.
ISENTROPIC_API Tensor attention_weights(const AttentionProblem& problem, const std::vector<std::int64_t>& rows);

// Column sums over queries, sum_i a_ij: [batch, heads, n_k]. A second pass that reuses the results of `forward`.
ISENTROPIC_API Tensor attention_key_mass(const AttentionProblem& problem, const AttentionResult& forward);

// ---- Backward ----
//
// With upstream gradients gO, gL, gH, gE, gV, gC of output, L, H, E, V and sum p^2, and D = rowsum(gO o O):
//
//   dS = P o (gO V^T - D' + a1 (s - E) + a2 (s - E)^2 + a3 P)
//   a1 = gE - gH + 2 gV,   a2 = gV,   a3 = 2 gC,   D' = D - gL - gE + gV V + 2 gC sum p^2
//
// and with a sink the terms of O and L carry the sink's share of the normaliser. Then through bias and cap.
// gH and gE need a forward pass that computed entropy or mean_score; gV, gC and the implicit gradient of a target
// entropy need one that computed score_variance or collision.
//
// The entmax weights a depend on alpha as (Correia, Niculae & Martins, "Adaptively Sparse Transformers", 2019)
//
//   d a_j / d alpha = (a_j - r_j) / (alpha - 1)^2 + (h_j - r_j sum_k h_k) / (alpha - 1)
//
// with r_j = a_j^{2 - alpha} / sum_k a_k^{2 - alpha} over the keys whose weight is not 0 and h_j = -a_j log a_j. For
// the weights 3/4 and 1/4 at alpha = 2, r = 1/2 and sum h = 0.562: d a_1 / d alpha = 1/4 + 0.216 - 0.281 = 0.185.

struct AttentionUpstream {
  View output = {};         // [batch, heads, n_q, d_v]
  View log_partition = {};  // each [batch, heads, n_q], any floating type; absent means 0
  View entropy = {};
  View mean_score = {};
  View score_variance = {};
  View collision = {};
};

// The per-row numbers that the gradient needs, all taken from the finished row. When keys are split, every shard is
// given the constants of the whole row.
struct RowConstants {
  // Scores are relative to the row's maximum m, which is one of them and so exact in any type: an absolute
  // log-partition of 10^4 in float32 would already make the third digit of every weight wrong.
  double max_score = 0;      // m; -inf for a row without keys
  double log_partition = 0;  // L - m of the keys, without the sink
  double mean_score = 0;     // E - m
  double gate = 0;           // e^{L_keys - L}: 1 without a sink
  double base = 0;           // gate (gL - D) + gE - gV V - 2 gC sum p^2
  double a1 = 0, a2 = 0, a3 = 0;
  double sink = 0;  // the row's share of the sink's gradient: sink_mass (gL - D)
};

struct AttentionGradients {
  Tensor query, key, value;              // type and shape of the inputs; of a shard: accumulation type, to be added
  Tensor lambda;                         // dL/dlambda_i, [batch, heads, n_q], at fixed q.k
  std::vector<Tensor> scale_parameters;  // [heads] each, in the order of Scale::parameters()
  Tensor alpha;                          // [heads], entmax only
  Tensor bias;  // dense: shape of the bias; alibi: [heads], for the slopes; relative: shape of the table
  Tensor sink;  // [heads]
};

// Whether to compute the bias gradient, besides those of query, key, value, lambda and scale parameters.
enum class BiasGradient : std::uint8_t { skip, compute };

ISENTROPIC_API std::vector<RowConstants> attention_row_constants(const AttentionProblem& problem,
                                                                 const AttentionResult& forward,
                                                                 const AttentionUpstream& upstream);

ISENTROPIC_API AttentionGradients attention_backward(const AttentionProblem& problem, const AttentionResult& forward,
                                                     const AttentionUpstream& upstream,
                                                     BiasGradient bias = BiasGradient::compute);

// For a shard: the row constants come from the whole problem, the scales (in `rows`) from the whole rows. Softmax maps
// only. The returned query, lambda, parameter and bias gradients are this shard's share: shares add up. The sink's
// gradient belongs to the row, not to a shard of its keys: sum RowConstants::sink over the rows of a head.
ISENTROPIC_API AttentionGradients attention_backward(const AttentionProblem& shard, const RowState& rows,
                                                     const std::vector<RowConstants>& constants,
                                                     const AttentionUpstream& upstream,
                                                     BiasGradient bias = BiasGradient::compute);

// ---- Sharding ----

// An unfinished result: each row's unnormalised output and record, both relative to the record's maximum.
struct Partial {
  std::int64_t batch = 0, heads = 0, n_q = 0, d_v = 0;
  DType type = DType::float32;  // of the query
  RowState rows;
  Tensor output;                        // [batch, heads, n_q, d_v], the accumulation type: sum_j e^{s_j - m} v_j
  std::vector<KeyGroupsRecord> groups;  // when key groups were requested
};

ISENTROPIC_API Partial attention_partial(const AttentionProblem& problem);
// Any order, any grouping; the empty partial is the identity.
ISENTROPIC_API Partial merge(const Partial& x, const Partial& y);
// Normalises, merges the sink in and computes the statistics that `problem` requests.
ISENTROPIC_API AttentionResult finish(const Partial& partial, const AttentionProblem& problem);

}  // namespace isentropic
