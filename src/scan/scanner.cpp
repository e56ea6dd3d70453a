// Combines the texts: means, spreads, labels that most texts give, nearest heads and slopes.
#include "scan/scanner.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "isentropic/error.hpp"
#include "isentropic/information/attention_heads.hpp"
#include "isentropic/information/attention_matrices.hpp"
#include "scan/in_parallel.hpp"
#include "scan/slope.hpp"
#include "scan/stretches.hpp"
#include "scan/text_tally.hpp"

namespace isentropic::scan {
namespace {

std::string name_of(const Neighbour& head) {
  return "head " + std::to_string(head.layer) + "." + std::to_string(head.head);
}

// Spreads over the texts, or over the windows of a single text.
std::map<std::string, Spread> spreads(const std::vector<std::unique_ptr<TextTally>>& texts, std::size_t layer,
                                      std::size_t head) {
  std::map<std::string, Spread> out;
  for (const auto& [name, first] : texts.front()->heads[layer][head].statistics) {
    if (texts.size() == 1) {
      out[name] = {first.mean(), first.deviation()};
      continue;
    }
    Running all;
    for (const auto& text : texts) {
      const auto& statistics = text->heads[layer][head].statistics;
      if (const auto found = statistics.find(name); found != statistics.end()) all.add(found->second.mean());
    }
    out[name] = {all.mean(), all.deviation()};
  }
  return out;
}

// Labels that more than half of the texts give, with their mean value and the detail of the first one.
std::vector<Label> of_most(const std::vector<std::vector<Label>>& by_text) {
  std::vector<Label> out;
  for (const Rule& rule : rules()) {
    Running value;
    std::size_t count = 0;
    std::string detail;
    for (const auto& labels : by_text)
      for (const Label& label : labels)
        if (label.name == rule.label) {
          if (count++ == 0) detail = label.detail;
          value.add(label.value);
        }
    if (2 * count > by_text.size()) out.push_back({rule.label, value.mean(), detail});
  }
  return out;
}

void average_blocks(const HeadTally& tally, HeadResult* out) {
  out->blocks = tally.blocks;
  for (std::size_t block = 0; block < out->blocks.size(); ++block)
    for (double& weight : out->blocks[block])
      weight = tally.block_rows[block] > 0 ? weight / static_cast<double>(tally.block_rows[block]) : kNotMeasured;
}

}  // namespace

Scanner::Scanner(Result about, std::vector<LayerDescription> layers, Executor& executor)
    : executor_(executor), result_(std::move(about)), layers_(std::move(layers)) {}
Scanner::~Scanner() = default;

std::size_t Scanner::add_layer(LayerDescription layer) {
  layers_.push_back(std::move(layer));
  for (auto& text : texts_) text->grow();
  return layers_.size() - 1;
}
void Scanner::begin_text(const std::string& name) {
  result_.texts.push_back(name);
  texts_.push_back(std::make_unique<TextTally>(layers_));
  sampling_.begin_text();
}
void Scanner::begin_window(std::span<const std::int32_t> ids, std::span<const std::int32_t> written) {
  sampling_.begin_window(ids, written);
  texts_.back()->begin_window(std::ssize(ids) + std::ssize(written));
}
std::vector<std::int64_t> Scanner::rows_to_sample(std::size_t layer, std::int64_t rows, std::int64_t count) {
  return sampling_.rows_to_sample(layers_[layer], rows, count);
}
void Scanner::add(const LayerRows& rows) {
  texts_.back()->add(rows, executor_);
  if (!keeps_rows_ || !sampling_.is_first_window()) return;
  const auto n = static_cast<std::size_t>(rows.rows);
  for (const std::string& name : kRowStatistics) {
    auto& heads = result_.rows[name].emplace_back();
    const auto found = rows.statistics.find(name);
    const std::span<const float> values = found == rows.statistics.end() ? std::span<const float>() : found->second;
    for (std::size_t begin = 0; begin < values.size(); begin += n)
      heads.emplace_back(values.begin() + static_cast<std::ptrdiff_t>(begin),
                         values.begin() + static_cast<std::ptrdiff_t>(begin + n));
  }
}
void Scanner::add(const SampledRows& sampled) {
  const LayerDescription& layer = layers_[sampled.layer];
  const SampledPlaces& places = sampling_.places(layer, sampled.rows, sampled.keys, sampled.positions);
  const DigestLayout layout = sampling_.layout(sampled.rows, sampled.keys);
  const auto heads = static_cast<std::size_t>(layer.heads), keys = static_cast<std::size_t>(sampled.keys);
  const std::size_t rows = places.rows.size(), size = static_cast<std::size_t>(layout.size());
  std::vector<double> numbers(heads * rows * size), sinks;
  shuffled_keys_.resize(heads);
  in_parallel(executor_, heads, [&](std::size_t head) {
    for (std::size_t r = 0; r < rows; ++r) {
      const SampledPlace& place = places.rows[r];
      const SampledRow row{place, sampled.weights.subspan((head * rows + r) * keys, keys), places.targets_of(place),
                           shuffle_offset(sampled.layer, head, place)};
      digest_row(row, layout, std::span(numbers).subspan((head * rows + r) * size, size));
      if (layout.is_drawn) shuffled_keys_[head].add(row);
    }
  });
  if (sampled.is_last) {
    for (const KeyWeights& keys_of_head : shuffled_keys_) sinks.push_back(keys_of_head.largest());
    shuffled_keys_.clear();
  }
  add({sampled.layer, sampled.rows, sampled.keys, places.rows, layout, numbers, sinks});
}
void Scanner::add(const SampledDigests& digests) {
  texts_.back()->add(digests, executor_);
  if (!digests.layout.is_drawn) return;
  exact_.add_rows(digests);
  if (!digests.shuffled_sinks.empty()) measure_layer(digests.layer);  // with the layer's last rows
}
std::vector<std::int64_t> Scanner::rows_of_tile(std::int64_t rows) const {
  return sampling_.is_first_window() ? scan::rows_of_tile(rows) : std::vector<std::int64_t>();
}
void Scanner::add_tile(const SampledRows& tile) {
  if (sampling_.is_first_window()) exact_.add_tile(tile);
}
void Scanner::add_residual(std::size_t layer, double ratio) { texts_.back()->add_residual(layer, ratio); }
void Scanner::add_statistic(std::size_t layer, const std::string& name, std::span<const double> by_head) {
  for (std::size_t head = 0; head < by_head.size(); ++head)
    texts_.back()->heads[layer][head].statistics[name].add(by_head[head]);
}
void Scanner::add_loss(double mean, std::int64_t tokens) { texts_.back()->loss.add(mean, static_cast<double>(tokens)); }
void Scanner::add_length(const LengthResult& length, const std::vector<std::vector<double>>& entropies) {
  result_.lengths.push_back(length);
  length_entropies_.push_back(entropies);
}

// Heads are compared over the first window of the first text, within groups of one kind with the same rows and keys;
// all heads of a layer are in one group.
void Scanner::compare_heads() {
  using Shape = std::tuple<Kind, std::size_t, std::size_t>;
  std::vector<information::Table> tables(result_.heads.size());
  in_parallel(executor_, tables.size(), [&](std::size_t i) {
    const HeadResult& head = result_.heads[i];
    tables[i] = pooled(texts_.front()->sampled_rows(head.layer, head.head), pooling_for(tables.size()));
  });
  std::map<Shape, std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < tables.size(); ++i)
    groups[{layers_[result_.heads[i].layer].kind, tables[i].rows, tables[i].columns}].push_back(i);
  for (const auto& [shape, members] : groups) {
    if (members.size() < 2 || std::get<1>(shape) == 0) continue;
    std::vector<information::Table> compared;
    for (const std::size_t i : members) compared.push_back(std::move(tables[i]));
    const std::vector<std::vector<double>> similarities = similarity_matrix(compared, executor_);
    const std::vector<std::size_t> found = nearest(similarities);
    for (std::size_t i = 0; i < members.size(); ++i) {
      HeadResult& head = result_.heads[members[i]];
      const HeadResult& other = result_.heads[members[found[i]]];
      head.nearest = Neighbour{other.layer, other.head, similarities[i][found[i]]};
      const std::size_t first = i - head.head, heads = texts_.front()->heads[head.layer].size();  // of its layer
      if (heads > 1 && std::get<1>(shape) > 1)
        result_.layers[head.layer].similarities.emplace_back(
            similarities[i].begin() + static_cast<std::ptrdiff_t>(first),
            similarities[i].begin() + static_cast<std::ptrdiff_t>(first + heads));
    }
  }
}

void Scanner::describe_head(HeadResult* head) {
  head->statistics = spreads(texts_, head->layer, head->head);
  for (const auto& entropies : length_entropies_) head->length_entropies.push_back(entropies[head->layer][head->head]);
  std::vector<std::vector<Label>> by_text;
  Running previous, retrieval, sink;
  for (const auto& text : texts_) {
    Evidence evidence = text->evidence(head->layer, head->head);
    previous.add(evidence.previous), retrieval.add(evidence.retrieval), sink.add(evidence.sink);
    if (head->nearest) {
      evidence.similarity = head->nearest->similarity;
      evidence.similar_head = name_of(*head->nearest);
    }
    if (!layers_[head->layer].window) evidence.slope = entropy_slope(result_.lengths, head->length_entropies);
    by_text.push_back(labels(evidence));
  }
  head->labels = of_most(by_text);
  for (const auto& [name, found] :
       {std::pair("previous_weight", previous), {"retrieval_score", retrieval}, {"sink_weight", sink}})
    if (!std::isnan(found.mean())) head->statistics[name] = {found.mean(), found.deviation()};
  const HeadTally& tally = texts_.front()->heads[head->layer][head->head];
  head->entropy_curve = tally.curve;
  head->distance_profile = tally.sampled.profile();
  head->key_strip = tally.key_strip;
  head->heavy_keys = tally.heavy_keys;
  if (const auto& picture = result_.picture; picture) {
    const auto patches = static_cast<std::size_t>(picture->rows * picture->columns);
    if (tally.patches.size() >= patches)
      head->patch_weights.assign(tally.patches.end() - static_cast<std::ptrdiff_t>(patches), tally.patches.end());
  }
  const auto& tokens = result_.tokens_of_keys(layers_[head->layer].kind);
  for (HeavyKey& key : head->heavy_keys)
    if (static_cast<std::size_t>(key.position) < tokens.size())
      key.token = tokens[static_cast<std::size_t>(key.position)];
  if (head->layer < matrices_.size() && head->head < matrices_[head->layer].effective_ranks.size())
    if (const double rank = matrices_[head->layer].effective_ranks[head->head]; !std::isnan(rank))
      head->statistics["effective_rank"] = {rank, 0};
  average_blocks(tally, head);
  exact_.describe(head);
}

// Called as soon as all rows have arrived, while a GPU computes the next layer.
void Scanner::measure_layer(std::size_t layer) {
  constexpr std::size_t kColumns = 48;  // the redundancy needs a joint distribution of columns for each pair of heads
  const auto heads = static_cast<std::size_t>(layers_[layer].heads);
  matrices_.resize(std::max(matrices_.size(), layer + 1));
  LayerMatrices& out = matrices_[layer];
  out.effective_ranks.assign(heads, kNotMeasured);
  std::vector<information::Table> few_columns(heads);
  in_parallel(executor_, heads, [&](std::size_t head) {
    const information::Table rows = texts_.front()->sampled_rows(layer, head);
    if (rows.rows > 1) out.effective_ranks[head] = information::effective_rank(rows);
    few_columns[head] = pooled(rows, {.columns = kColumns});
  });
  if (heads > 1 && few_columns.front().rows > 1) out.redundancy = information::head_redundancy(few_columns);
}

void Scanner::add_up_losses() {
  Running losses;
  for (const auto& text : texts_) {
    result_.tokens += text->tokens;
    result_.windows += text->windows;
    if (!std::isnan(text->loss.mean())) losses.add(text->loss.mean());
  }
  if (std::isnan(losses.mean())) return;
  const Running& spread = texts_.size() > 1 ? losses : texts_.front()->loss;
  result_.loss = {spread.mean(), spread.deviation()};
}

void Scanner::count_labels_of_shuffled_keys() {
  std::map<std::string, double> counts;
  for (const HeadResult& head : result_.heads)
    for (const Label& label : labels(texts_.front()->null_evidence(head.layer, head.head))) ++counts[label.name];
  for (const char* name : {"previous_token", "retrieval", "sink", "local"})  // those based on positions
    result_.null_rates.push_back({name, counts[name] / static_cast<double>(result_.heads.size())});
}

Result Scanner::finish() {
  if (texts_.empty() || texts_.front()->windows == 0) throw Error("text", "none", "one window or more");
  for (std::size_t layer = 0; layer < layers_.size(); ++layer)
    for (std::size_t head = 0; head < static_cast<std::size_t>(layers_[layer].heads); ++head) {
      result_.heads.emplace_back();
      result_.heads.back().layer = layer, result_.heads.back().head = head;
    }
  for (std::size_t layer = 0; layer < layers_.size(); ++layer) {
    const Extent extent = texts_.front()->extents[layer];
    const double redundancy = layer < matrices_.size() ? matrices_[layer].redundancy : kNotMeasured;
    result_.layers.push_back(
        {layers_[layer], texts_.front()->residuals[layer].mean(), redundancy, extent.rows, extent.keys});
  }
  if (result_.length == 0) result_.length = texts_.front()->tokens / texts_.front()->windows;  // patches
  compare_heads();
  in_parallel(executor_, result_.heads.size(), [&](std::size_t i) { describe_head(&result_.heads[i]); });
  add_up_losses();
  count_labels_of_shuffled_keys();
  return std::move(result_);
}

}  // namespace isentropic::scan
