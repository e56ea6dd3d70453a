// One forward pass per window and change; one more per window with the model unchanged, to measure what is left out.
#include "lab/what_if.hpp"

#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "isentropic/error.hpp"
#include "lab/left_out.hpp"

namespace isentropic::lab {
namespace {

using scan::Alternative;
using scan::AlternativeHead;

// Rows that count towards the mean entropy of a head: of the last `last`, those that see at least `least_keys` keys.
struct CountedRows {
  std::int64_t last = 0, least_keys = 1;
};

// Runs changed attention and keeps the mean entropy of each head.
class ChangedAttention {
 public:
  ChangedAttention(const AttentionChange& change, const ScoreMap& own, CountedRows rows)
      : change_(change), rows_(rows) {
    if (change.has_entropy(own)) statistics_ = Statistics::of({Statistic::entropy, Statistic::visible});
  }

  pytorch::AttentionOutput operator()(std::size_t layer, const at::Tensor& query, const at::Tensor& key,
                                      const at::Tensor& value, const pytorch::AttentionOptions& options) {
    pytorch::AttentionOptions changed = change_.of(layer, options);
    changed.statistics = statistics_;
    for (auto& [name, values] : changed.scale_parameters) values = values.to(query.device());
    pytorch::AttentionOutput out = attend(query, key, value, changed);
    if (!statistics_.empty()) add(layer, out.statistics);
    out.statistics.clear();
    return out;
  }

  // NaN if there is none.
  double entropy(std::size_t layer, std::size_t head) const {
    return layer < sums_.size() ? sums_[layer][head] / windows_of_layer_ : AlternativeHead::kNone;
  }
  void end_window() { ++windows_of_layer_; }

 private:
  void add(std::size_t layer, const std::map<std::string, at::Tensor>& statistics) {
    const std::int64_t n = statistics.at("entropy").size(2), rows = std::min(n, rows_.last);
    const auto last = [&](const char* name) {
      return statistics.at(name)[0].narrow(1, n - rows, rows).to(at::kCPU, at::kDouble);
    };
    const at::Tensor counted = (last("visible") >= rows_.least_keys).to(at::kDouble);
    const at::Tensor means = (last("entropy") * counted).sum(1) / counted.sum(1).clamp_min(1);
    if (sums_.size() <= layer) sums_.resize(layer + 1, std::vector<double>(static_cast<std::size_t>(means.numel())));
    for (std::size_t head = 0; head < sums_[layer].size(); ++head)
      sums_[layer][head] += means[static_cast<std::int64_t>(head)].item<double>();
  }

  const AttentionChange& change_;
  CountedRows rows_;
  Statistics statistics_ = Statistics::none();
  std::vector<std::vector<double>> sums_;
  double windows_of_layer_ = 0;
};

class WhatIf {
 public:
  WhatIf(const model::Transformer& model, const std::vector<ScanText>& texts, const ScanOptions& options,
         const std::vector<AttentionChange>& changes, scan::Result* result)
      : model_(model), texts_(texts), options_(options), changes_(changes), result_(*result) {
    double windows = 0, lengths = 0;
    for (const ScanText& text : texts) windows += static_cast<double>(windows_of(text, options) * options.length);
    for (const std::int64_t length : options.lengths)
      lengths += static_cast<double>(length * length_windows(texts.front(), options));
    for (const AttentionChange& change : changes) work_ += (leaves_out(change) ? 2 : 1) * windows + lengths;
  }

  void run() {
    const at::NoGradGuard no_gradient;
    for (const AttentionChange& change : changes_) {
      Alternative found{.kind = change.kind, .text = change.text};
      found.heads.resize(result_.heads.size());
      measure_windows(change, &found);
      for (const std::int64_t length : options_.lengths) measure_length(change, length, &found);
      result_.alternatives.push_back(std::move(found));
    }
    measure_what_is_left_out();
  }

 private:
  void advance(std::int64_t tokens) {
    done_ += static_cast<double>(tokens);
    if (options_.progress) options_.progress(std::min(1.0, done_ / work_));
  }

  // Mean loss of the last `scored` tokens.
  double run_window(ChangedAttention& attention, const std::vector<std::int32_t>& ids, std::int64_t scored) {
    const at::Tensor batch = batch_of(ids, model_.device());
    const model::ForwardOptions forward{.attention = std::ref(attention)};
    const at::Tensor hidden = model_.forward(batch, forward).hidden;
    attention.end_window();
    return loss_of(model_, hidden, batch, scored);
  }

  // Means over the windows of a text, then over the texts.
  void measure_windows(const AttentionChange& change, Alternative* out) {
    double losses = 0;
    std::vector<double> entropies(out->heads.size());
    for (const ScanText& text : texts_) {
      ChangedAttention attention(change, model_.description().map, {options_.length, 2});
      double loss = 0;
      const std::int64_t windows = windows_of(text, options_);
      for (std::int64_t i = 0; i < windows; ++i) {
        loss += run_window(attention, window_number(i, text, options_), options_.length - 1);
        advance(options_.length);
      }
      losses += loss / static_cast<double>(windows);
      for (std::size_t i = 0; i < entropies.size(); ++i)
        entropies[i] += attention.entropy(result_.heads[i].layer, result_.heads[i].head);
    }
    const auto count = static_cast<double>(texts_.size());
    out->loss = losses / count;
    for (std::size_t i = 0; i < entropies.size(); ++i) out->heads[i].entropy = entropies[i] / count;
  }

  void measure_length(const AttentionChange& change, std::int64_t length, Alternative* out) {
    const std::int64_t windows = length_windows(texts_.front(), options_), scored = compared_tokens(options_);
    ChangedAttention attention(change, model_.description().map, {scored, 1});
    double loss = 0;
    for (std::int64_t i = 0; i < windows; ++i) {
      loss += run_window(attention, length_window(i, texts_.front(), length, options_), scored);
      advance(length);
    }
    out->length_losses.push_back(loss / static_cast<double>(windows));
    for (std::size_t i = 0; i < out->heads.size(); ++i)
      out->heads[i].length_entropies.push_back(attention.entropy(result_.heads[i].layer, result_.heads[i].head));
  }

  void measure_what_is_left_out() {
    std::vector<const AttentionChange*> some;
    for (const AttentionChange& change : changes_)
      if (leaves_out(change)) some.push_back(&change);
    if (some.empty()) return;
    LeftOutTally tally(some);
    for (const ScanText& text : texts_)
      for (std::int64_t i = 0; i < windows_of(text, options_); ++i) {
        model_.forward(batch_of(window_number(i, text, options_), model_.device()), {.attention = std::ref(tally)});
        advance(options_.length * std::ssize(some));
      }
    for (const AttentionChange* change : some) {
      const auto index = static_cast<std::size_t>(change - changes_.data());
      add(tally.of(*change), &result_.alternatives[result_.alternatives.size() - changes_.size() + index]);
    }
  }

  void add(const std::vector<std::vector<LeftOut>>& found, Alternative* out) {
    if (found.empty()) return;
    for (std::size_t i = 0; i < out->heads.size(); ++i) {
      const LeftOut& sums = found[result_.heads[i].layer][result_.heads[i].head];
      out->heads[i].missing_mass = sums.missing_mass / sums.rows;
      out->heads[i].error = sums.error / sums.output;
      out->heads[i].error_bound = sums.error_bound / sums.output;
    }
  }

  const model::Transformer& model_;
  const std::vector<ScanText>& texts_;
  const ScanOptions& options_;
  const std::vector<AttentionChange>& changes_;
  scan::Result& result_;
  double work_ = 0, done_ = 0;
};

}  // namespace

void check_change(const model::Transformer& model, const AttentionChange& change) try {
  const at::NoGradGuard no_gradient;
  const std::vector<std::int32_t> some(16, 0);
  ChangedAttention attention(change, model.description().map, {1, 1});
  model.forward(batch_of(some, model.device()), {.attention = std::ref(attention)});
} catch (const c10::Error& error) {
  throw Error(error.what_without_backtrace());
}

void add_alternatives(const model::Transformer& model, const std::vector<ScanText>& texts, const ScanOptions& options,
                      const std::vector<AttentionChange>& changes, scan::Result* result) {
  WhatIf(model, texts, options, changes, result).run();
}

}  // namespace isentropic::lab
