// The reference's own description of an attention problem: plain doubles, every array full-sized and row-major, no
// broadcasting, nothing shared with the library under test.
//
// The oracles materialise every n_q x n_k matrix and use loops; they are meant to be obviously correct, not fast.
// Symbols: b batch entry, h head, i query, j key.
#pragma once

#include <cstdint>
#include <vector>

namespace reference {

using Index = std::int64_t;
using Numbers = std::vector<double>;

enum class Align { start, end };

// Document t contains queries [query[t], query[t+1]) and keys [key[t], key[t+1]).
struct Documents {
  std::vector<Index> query = {}, key = {};
};

// A key is visible when it passes every part that is present.
struct Mask {
  bool causal = false;
  Align align = Align::start;
  bool has_window = false;
  Index left = 0, right = 0;
  Index prefix = 0;
  bool exclude_self = false;
  std::vector<Index> excluded_keys = {};  // [n_q]
  Index stride = 0, local = 0;            // stride 0: unused
  std::vector<char> blocks = {};          // [batch, heads, ceil(n_q / block_q), ceil(n_k / block_k)]; empty: unused
  Index block_q = 0, block_k = 0;
  std::vector<Index> key_lengths = {};    // [batch]
  std::vector<Documents> documents = {};  // one in all, or one per batch entry
  Index segment = 0;                      // 0: unused
  std::vector<char> dense_boolean = {};   // [batch, heads, n_q, n_k]
  Numbers dense_additive = {};            // [batch, heads, n_q, n_k]
};

enum class Law {
  inverse_sqrt_d,
  log_n,
  log_n_sqrt_d,
  sqrt_log_n,
  frozen,
  hybrid,
  trained_length,
  info_scale,
  ssmax,
  yarn,
  llama4,
  constant,
  per_row,
  target_entropy
};

struct Scale {
  Law law = Law::inverse_sqrt_d;
  // Each [heads]: kappa; alpha and beta; s; lambda; the target. yarn: factor, mscale. llama4: coefficient.
  std::vector<Numbers> parameters = {};
  Index length = 0;   // n_max, n_train or step
  Numbers rows = {};  // per_row: [batch, heads, n_q]
};

enum class BiasKind { none, dense, alibi, relative };

struct Bias {
  BiasKind kind = BiasKind::none;
  Numbers dense = {};   // [batch, heads, n_q, n_k]
  Numbers slopes = {};  // [heads]
  Numbers table = {};   // [heads, 2 reach + 1]
  Index reach = 0;
};

enum class MapKind { softmax, top_k, gumbel, sparsemax, entmax, sigmoid, relu_squared, identity, linear, decay };
enum class Normaliser { none, visible, l1, l2 };
enum class Feature { elu_plus_one, relu, exp, identity };

struct ScoreMap {
  MapKind kind = MapKind::softmax;
  Index keys = 0;                 // top_k
  double tau = 1;                 // gumbel
  bool straight_through = false;  // gumbel
  Numbers noise = {};             // gumbel: [batch, heads, n_q, n_k]
  Numbers alpha = {};             // entmax: [heads]
  double offset = 0;              // sigmoid
  Normaliser normaliser = Normaliser::none;
  Feature feature = Feature::identity;  // linear
  Numbers gamma = {};                   // linear, decay: [heads]
  double sharpen = 0;                   // linear, exp: c in c sqrt(2 log n); 0: keys unchanged
};

struct KeyGroups {
  bool asked = false;
  Index first = 0, recent = 0;
};

struct Problem {
  Index batch = 1, heads = 1, kv_heads = 1, n_q = 1, n_k = 1, d = 1, d_v = 1;
  Numbers query = {};  // [batch, heads, n_q, d]
  Numbers key = {};    // [batch, kv_heads, n_k, d]
  Numbers value = {};  // [batch, kv_heads, n_k, d_v]
  Mask mask = {};
  Scale scale = {};
  ScoreMap map = {};
  Bias bias = {};
  double soft_cap = 0;  // 0: none
  Numbers sink = {};    // [heads]; empty: none
  KeyGroups groups = {};
  double dropout = 0;
  std::vector<char> keep = {};  // dropout's choices, [batch, heads, n_q, n_k]; empty: no dropout
  // Entries of an additive mask or a dense bias at or below this mean "masked": the lowest value of their type.
  double lowest = -1.7976931348623157e308;

  Index row(Index b, Index h, Index i) const { return (b * heads + h) * n_q + i; }
  Index cell(Index b, Index h, Index i, Index j) const { return row(b, h, i) * n_k + j; }
  Index kv_head(Index h) const { return h / (heads / kv_heads); }
  const double* query_row(Index b, Index h, Index i) const { return query.data() + row(b, h, i) * d; }
  const double* key_row(Index b, Index h, Index j) const {
    return key.data() + ((b * kv_heads + kv_head(h)) * n_k + j) * d;
  }
  const double* value_row(Index b, Index h, Index j) const {
    return value.data() + ((b * kv_heads + kv_head(h)) * n_k + j) * d_v;
  }
};

}  // namespace reference
