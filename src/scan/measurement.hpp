// The data a scan receives about a model's attention: one layer over one window of text at a time, from any framework.
//
// A scan never holds a full weight matrix: it takes statistics of all n rows, and weights of a few sampled rows.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "scan/row_digest.hpp"

namespace isentropic::scan {

enum class Kind : std::uint8_t { decoder, encoder, cross };
const char* name(Kind kind);

struct LayerDescription {
  std::string module;  // "model.layers.0.self_attn"
  Kind kind = Kind::decoder;
  std::int64_t heads = 0, head_width = 0;
  std::optional<std::int64_t> window = {};  // maximum number of keys a row sees
};

struct KeyRange {
  std::int64_t begin = 0, end = 0;
};
// The keys that the row at `position` sees: up to its own in a decoder, on both sides in an encoder, all of them in
// cross-attention.
KeyRange visible_keys(const LayerDescription& layer, std::int64_t position, std::int64_t keys);
// Infers self-attention from the number of visible keys of each row: a decoder's, or an encoder's if the counts do not
// rise with the position; with a window if one gives exactly these counts. Leaves module and heads unset.
LayerDescription self_attention_with(std::span<const std::int64_t> visible);
// How many of `rows` rows see a given key.
std::int64_t rows_that_see(const LayerDescription& layer, std::int64_t key, std::int64_t rows);

// Statistics of every row (statistics.hpp has the names and formulas), heads x rows, row-major.
struct LayerRows {
  std::size_t layer = 0;
  std::int64_t rows = 0, keys = 0;
  std::map<std::string, std::span<const float>> statistics = {};
  std::span<const std::int64_t> visible = {};
  std::span<const float> key_mass = {};  // heads x keys, column sums of the weights; empty: not measured
};

// The weights of some rows: heads x positions x keys.
struct SampledRows {
  std::size_t layer = 0;
  std::int64_t rows = 0, keys = 0;           // in the layer
  std::vector<std::int64_t> positions = {};  // of the queries
  std::span<const float> weights = {};
  std::int64_t first_key = 0;  // of a tile: `weights` begin at this key
  bool is_last = true;         // no more rows of this layer follow in this window
};

// The same, digested on the device that computed the weights.
struct SampledDigests {
  std::size_t layer = 0;
  std::int64_t rows = 0, keys = 0;
  std::span<const SampledPlace> places = {};
  DigestLayout layout = {};
  std::span<const double> numbers = {};         // heads x places x layout.size()
  std::span<const double> shuffled_sinks = {};  // by head, with the last rows: KeyWeights::largest
};

// Key groups for detecting a local head: the last kRecentKeys, and the first key, which is excluded.
inline constexpr std::int64_t kFirstKeys = 1;

// Rows whose weights a scan requests: `count` evenly spaced ones, from the eighth on, and as many whose token has
// occurred before, at least two tokens earlier. Ascending, without duplicates. `ids`: the rows' tokens; empty if there
// are none.
std::vector<std::int64_t> rows_to_sample(std::int64_t rows, std::span<const std::int32_t> ids, std::int64_t count);

}  // namespace isentropic::scan
