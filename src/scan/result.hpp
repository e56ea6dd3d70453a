// The result of a scan: a table of heads with their labels, and what is needed to draw them. Reads and writes JSON.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "scan/alternatives.hpp"
#include "scan/labels.hpp"
#include "scan/measurement.hpp"
#include "scan/theory_check.hpp"

namespace isentropic::scan {

// Mean over the texts (or the windows of a single text) and the standard deviation between them; 0 for a single one.
struct Spread {
  double mean = 0, deviation = 0;
};

struct HeavyKey {
  std::int64_t position = 0;
  double weight = 0;  // mean over the rows that see the key
  std::string token = {};
};

struct KeyWeight {
  std::int64_t position = 0;
  double weight = 0;
};

// The weights that one row of the first window gives to its heaviest keys, and to all others together
// (exact_weights.hpp).
struct ExactRow {
  std::int64_t position = 0;
  std::vector<KeyWeight> keys = {};  // heaviest first
  double rest = 0;
};

// A block of weights of the first window, row by row: consecutive rows, consecutive keys.
struct Tile {
  std::int64_t first_row = 0, first_key = 0;
  std::vector<std::vector<double>> weights = {};
};

// The image behind the keys of a vision model: they are its patches, row by row, after others such as [CLS].
struct Picture {
  std::string source = {};  // a data: URL
  std::int64_t rows = 0, columns = 0;
};

// The head with the most similar weights in the sampled rows.
struct Neighbour {
  std::size_t layer = 0, head = 0;
  double similarity = 0;  // 1 - JS / log 2
};

struct HeadResult {
  std::size_t layer = 0, head = 0;
  // Means over rows that see two keys or more; also previous_weight, retrieval_score and sink_weight (labels.hpp).
  std::map<std::string, Spread> statistics = {};
  std::vector<Label> labels = {};
  std::vector<double> entropy_curve = {};        // along the window, in kCurvePoints stretches or per row
  std::vector<double> distance_profile = {};     // weight at distance 0, 1, 2-3, 4-7, ...
  std::vector<double> key_strip = {};            // mean weight of the heaviest key in each of kCurvePoints stretches
  std::vector<HeavyKey> heavy_keys = {};         // of the first text, heaviest first
  std::vector<std::vector<double>> blocks = {};  // weight per stretch of keys and stretch of sampled rows
  std::vector<double> patch_weights = {};        // mean weight of every patch, if there is a picture
  Tile tile = {};
  std::vector<ExactRow> exact_rows = {};
  std::optional<Neighbour> nearest = {};
  std::vector<double> length_entropies = {};  // one per entry of Result::lengths
};

inline constexpr std::size_t kCurvePoints = 128, kBlocks = 48, kHeavyKeys = 5;

struct LayerResult {
  LayerDescription description;
  double residual_ratio;            // ||X - mean of its rows|| / ||X|| of the layer's input; NaN: not measured
  double redundancy;                // of its heads, in [0, 1] (information/attention_heads.hpp)
  std::int64_t rows = 0, keys = 0;  // in the first window; 0: unknown
  std::vector<std::vector<double>> similarities = {};  // head x head, 1 - JS / log 2; empty: not measured
};

struct LengthResult {
  std::int64_t length = 0;
  double keys = 0;  // visible to the last tokens on average, in a layer without a window
  double loss = 0;  // of these tokens
};

struct NullRate {
  std::string label;
  double rate = 0;  // share of heads that get it when the keys of every sampled row are shuffled
};

struct Result {
  std::string model, family, scale, map;
  std::int64_t parameters = 0, trained_length = 0;
  std::int64_t tokens = 0, windows = 0, length = 0;
  std::vector<std::string> texts;
  std::optional<Spread> loss = {};  // nats per token
  std::vector<LayerResult> layers;
  std::vector<HeadResult> heads;  // layer by layer
  std::vector<LengthResult> lengths;
  std::vector<NullRate> null_rates;
  std::vector<std::string> tokens_of_window;   // the first window's, as text
  std::vector<std::string> written_of_window;  // what an encoder-decoder wrote there
  std::optional<Picture> picture = {};
  std::vector<std::string> other_layers;  // not attention, or attention that was not captured
  std::vector<Alternative> alternatives = {};
  TheoryCheck theory = {};
  // Which text the rows and keys of such a layer come from: in cross-attention, the text written and the text read.
  bool rows_are_written(Kind kind) const { return kind != Kind::encoder && !written_of_window.empty(); }
  bool keys_are_written(Kind kind) const { return kind == Kind::decoder && !written_of_window.empty(); }
  const std::vector<std::string>& tokens_of_rows(Kind kind) const {
    return rows_are_written(kind) ? written_of_window : tokens_of_window;
  }
  const std::vector<std::string>& tokens_of_keys(Kind kind) const {
    return keys_are_written(kind) ? written_of_window : tokens_of_window;
  }
  // Every row of the first window, if kept: statistic, layer, head, row.
  std::map<std::string, std::vector<std::vector<std::vector<double>>>> rows = {};
};

// The statistics in Result::rows.
inline const std::vector<std::string> kRowStatistics = {"entropy", "peak", "collision", "first_mass"};

nlohmann::ordered_json json_of(const Result& result);
std::string to_json(const Result& result);  // its text
// Throws Error, naming `place`, for anything to_json did not write.
Result result_from_json(const std::string& json, const std::string& place);
Result result_of(const nlohmann::ordered_json& json, const std::string& place);

}  // namespace isentropic::scan
