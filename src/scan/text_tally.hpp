// One text: the statistics of every head over its windows.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "isentropic/executor.hpp"
#include "isentropic/information/table.hpp"
#include "scan/labels.hpp"
#include "scan/measurement.hpp"
#include "scan/result.hpp"
#include "scan/sampled_tally.hpp"
#include "scan/similarity.hpp"

namespace isentropic::scan {

// Mean and standard deviation of the values added.
class Running {
 public:
  void add(double value, double weight = 1);
  double mean() const;  // NaN if nothing was added
  double deviation() const;

 private:
  double weight_ = 0, sum_ = 0, squares_ = 0;
};

struct HeadTally {
  std::map<std::string, Running> statistics;  // one value per window
  Running local;                              // rows with 64 keys or more
  double largest_score = kNotMeasured;
  SampledTally sampled;
  std::vector<HeavyKey> sinks;  // the heaviest key of each window
  std::vector<double> curve;    // from here on: of the first window
  std::vector<double> key_strip;
  std::vector<float> patches;  // mean weight of every key, in a window without tokens
  std::vector<HeavyKey> heavy_keys;
  std::vector<std::vector<double>> blocks;
  std::vector<std::int64_t> block_rows;  // number of sampled rows in each
  std::vector<float> sampled_rows;       // pooled as by Pooling, row after row
  std::size_t sampled_columns = 0;
  SampledTally shuffled;  // the same rows with shuffled keys
  double shuffled_sink = kNotMeasured;
};

struct Extent {
  std::int64_t rows = 0, keys = 0;
};

class TextTally {
 public:
  explicit TextTally(const std::vector<LayerDescription>& layers);

  void grow();                                       // there are more layers
  void begin_window(std::int64_t tokens_of_window);  // 0: rows are patches of an image
  void add(const LayerRows& rows, Executor& executor);
  void add(const SampledDigests& digests, Executor& executor);
  void add_residual(std::size_t layer, double ratio) { residuals[layer].add(ratio); }

  Evidence evidence(std::size_t layer, std::size_t head) const;
  // Evidence from the sampled rows with their keys shuffled.
  Evidence null_evidence(std::size_t layer, std::size_t head) const;
  // Sampled rows of the first window, normalised to sum to 1; Pooling sets their number.
  information::Table sampled_rows(std::size_t layer, std::size_t head) const;

  std::vector<std::vector<HeadTally>> heads;  // layer, head
  std::vector<Running> residuals;             // by layer
  std::vector<Extent> extents;                // by layer, in the first window
  Running loss;
  std::int64_t windows = 0, tokens = 0;

 private:
  void add_statistics(const LayerRows& rows, std::size_t head);
  void add_key_mass(const LayerRows& rows, std::size_t head);
  static void add_to_blocks(const SampledPlace& place, const RowDigest& digest, std::int64_t rows, HeadTally* head);
  static void keep_for_comparison(const RowDigest& digest, HeadTally* head);

  const std::vector<LayerDescription>& layers_;
  bool has_tokens_ = false;
};

}  // namespace isentropic::scan
