// Accumulates what a model's attention does over windows of texts, and reports the result.
//
//   Scanner scanner(result);                         // what is known of model and text
//   scanner.begin_text("book.txt");
//   for each window:
//     scanner.begin_window(ids);
//     for each layer: scanner.add_layer(description) on its first occurrence, scanner.add(rows), scanner.add(sampled),
//     scanner.add_tile(tile), scanner.add_residual(layer, ratio)
//     scanner.add_loss(nats, tokens);
//   Result found = scanner.finish();
//
// Memory is linear in the length of a window, whatever the number of windows.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "isentropic/executor.hpp"
#include "isentropic/information/table.hpp"
#include "scan/exact_weights.hpp"
#include "scan/measurement.hpp"
#include "scan/result.hpp"
#include "scan/sampled_tally.hpp"
#include "scan/sampling.hpp"

namespace isentropic::scan {

class TextTally;

class Scanner {
 public:
  explicit Scanner(Result about, std::vector<LayerDescription> layers = {}, Executor& executor = default_executor());
  ~Scanner();
  Scanner(const Scanner&) = delete;
  Scanner& operator=(const Scanner&) = delete;

  std::size_t add_layer(LayerDescription layer);  // returns its index
  const LayerDescription& layer(std::size_t number) const { return layers_[number]; }
  void begin_text(const std::string& name);
  // The tokens; an encoder-decoder writes different ones than it reads; an image has none.
  void begin_window(std::span<const std::int32_t> ids, std::span<const std::int32_t> written = {});
  std::vector<std::int64_t> rows_to_sample(std::size_t layer, std::int64_t rows, std::int64_t count);
  void set_picture(Picture picture) { result_.picture = std::move(picture); }
  // Keeps the individual rows of the first window (Result::rows).
  void keep_rows() { keeps_rows_ = true; }
  void add(const LayerRows& rows);
  void add(const SampledRows& sampled);  // may come in several parts
  void add(const SampledDigests& digests);
  // Rows whose individual weights are shown, to be fetched like the sampled ones; empty after the first window.
  std::vector<std::int64_t> rows_of_tile(std::int64_t rows) const;
  void add_tile(const SampledRows& tile);  // may come in several parts
  void add_residual(std::size_t layer, double ratio);
  // Adds a statistic that is not a mean over rows: one number per head.
  void add_statistic(std::size_t layer, const std::string& name, std::span<const double> by_head);
  void add_loss(double mean, std::int64_t tokens);
  // Entropies of the last tokens by layer and head; lengths must ascend.
  void add_length(const LengthResult& length, const std::vector<std::vector<double>>& entropies);

  Result finish();

 private:
  void compare_heads();
  void describe_head(HeadResult* head);
  void measure_layer(std::size_t layer);
  void add_up_losses();
  void count_labels_of_shuffled_keys();

  // Results per layer from the matrices of its heads' sampled rows in the first window.
  struct LayerMatrices {
    std::vector<double> effective_ranks;
    double redundancy = kNotMeasured;
  };

  Executor& executor_;
  Result result_;
  Sampling sampling_;
  ExactWeights exact_;
  std::vector<KeyWeights> shuffled_keys_;  // by head, for the layer whose rows are arriving
  bool keeps_rows_ = false;
  std::vector<LayerDescription> layers_;
  std::vector<LayerMatrices> matrices_;  // by layer
  std::vector<std::unique_ptr<TextTally>> texts_;
  std::vector<std::vector<std::vector<double>>> length_entropies_;  // length, layer, head
};

}  // namespace isentropic::scan
