// What a scan is told about a model's attention: one layer over one window of text at a time, from any framework.
//
// A scan never holds a matrix of weights: statistics come row by row (n of them), weights of a few sampled rows.
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
  std::optional<std::int64_t> window = {};  // keys a row sees at most
};

struct KeyRange {
  std::int64_t begin = 0, end = 0;
};
// The keys that the row at `position` sees: up to its own in a decoder, on both sides in an encoder, all of them
// across.
KeyRange visible_keys(const LayerDescription& layer, std::int64_t position, std::int64_t keys);
// The self-attention whose rows see so many keys, one number for each row: a decoder's, or an encoder's where the
// counts do not rise with the position; with a window where one gives these very counts. Neither module nor heads are
// set.
LayerDescription self_attention_with(std::span<const std::int64_t> visible);
// How many of `rows` rows see a key.
std::int64_t rows_that_see(const LayerDescription& layer, std::int64_t key, std::int64_t rows);

// Statistics of every row (statistics.hpp has the names and formulas), heads x rows, row-major.
struct LayerRows {
  std::size_t layer = 0;
  std::int64_t rows = 0, keys = 0;
  std::map<std::string, std::span<const float>> statistics = {};
  std::span<const std::int64_t> visible = {};
  std::span<const float> key_mass = {};  // heads x keys, sum over the rows of their weights; empty: not measured
};

// The weights of some rows: heads x positions x keys.
struct SampledRows {
  std::size_t layer = 0;
  std::int64_t rows = 0, keys = 0;           // of the layer
  std::vector<std::int64_t> positions = {};  // of the queries
  std::span<const float> weights = {};
  std::int64_t first_key = 0;  // of a tile: `weights` are those of the keys from this one on
  bool is_last = true;         // no more rows of this layer follow in this window
};

// The same, digested where the weights were.
struct SampledDigests {
  std::size_t layer = 0;
  std::int64_t rows = 0, keys = 0;
  std::span<const SampledPlace> places = {};
  DigestLayout layout = {};
  std::span<const double> numbers = {};         // heads x places x layout.size()
  std::span<const double> shuffled_sinks = {};  // by head, with the last rows: KeyWeights::largest
};

// The keys of the groups whose mass tells a local head: the last kRecentKeys and, to be left out, the first one.
inline constexpr std::int64_t kFirstKeys = 1;

// Rows whose weights a scan asks for: `count` evenly spaced ones, from the eighth on, and as many whose token has
// occurred before, at least two tokens earlier. Rising, none twice. `ids` of the rows' tokens: empty if they have none.
std::vector<std::int64_t> rows_to_sample(std::int64_t rows, std::span<const std::int32_t> ids, std::int64_t count);

}  // namespace isentropic::scan
