// Runs the windows and passes each layer's attention to the scanner.
#include "lab/scan_model.hpp"

#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "pytorch/executor.hpp"
#include "scan/scanner.hpp"

namespace isentropic::lab {
namespace {

using model::Transformer;

// Attention weights of sampled rows are fetched a few rows at a time, at most about this many values.
constexpr std::int64_t kWeightsAtOnce = 1 << 24;

at::Tensor on_cpu(const at::Tensor& x, at::ScalarType type) { return x.detach().to(at::kCPU, type).contiguous(); }

template <class T>
std::span<const T> span_of(const at::Tensor& x) {
  return {x.const_data_ptr<T>(), static_cast<std::size_t>(x.numel())};
}

class TellScanner : public model::ForwardObserver {
 public:
  TellScanner(scan::Scanner& scanner, const ScanOptions& options) : scanner_(scanner), options_(options) {}

  void enters(std::size_t layer, const at::Tensor& x) override {
    // ||X - mean||^2 = ||X||^2 - n ||mean||^2, in float64 without a float64 copy of X
    const at::Tensor all = at::linalg_vector_norm(x[0], 2, {}, false, at::kDouble).square();
    const at::Tensor mean = at::mean(x[0], at::IntArrayRef{0}, false, at::kDouble);
    const at::Tensor rest = (all - static_cast<double>(x.size(1)) * mean.square().sum()).clamp_min(0);
    scanner_.add_residual(layer, (rest / all).sqrt().item<double>());
  }

  void attended(const model::AttentionCall& call) override {
    add_rows(call);
    fetch(call, scanner_.rows_to_sample(call.layer, call.query.size(2), options_.sampled_rows),
          [&](const scan::SampledRows& sampled) { scanner_.add(sampled); });
    fetch(call, scanner_.rows_of_tile(call.query.size(2)),
          [&](const scan::SampledRows& tile) { scanner_.add_tile(tile); });
  }

 private:
  // Fetches the weights of `rows`, in parts.
  template <class Add>
  static void fetch(const model::AttentionCall& call, const std::vector<std::int64_t>& rows, const Add& add) {
    const std::int64_t heads = call.query.size(1), keys = call.key.size(2);
    const auto at_once = static_cast<std::size_t>(std::max<std::int64_t>(1, kWeightsAtOnce / (heads * keys)));
    for (std::size_t i = 0; i < rows.size(); i += at_once) {
      scan::SampledRows sampled{.layer = call.layer, .rows = call.query.size(2), .keys = keys};
      sampled.positions.assign(rows.begin() + static_cast<std::ptrdiff_t>(i),
                               rows.begin() + static_cast<std::ptrdiff_t>(std::min(rows.size(), i + at_once)));
      sampled.is_last = i + at_once >= rows.size();
      const at::Tensor weights =
          on_cpu(pytorch::attention_weights(call.query, call.key, sampled.positions, call.options), at::kFloat);
      sampled.weights = span_of<float>(weights);
      add(sampled);
    }
  }

  void add_rows(const model::AttentionCall& call) {
    scan::LayerRows rows{.layer = call.layer, .rows = call.query.size(2), .keys = call.key.size(2)};
    std::vector<at::Tensor> kept;
    for (const auto& [name, values] : call.output.statistics) {
      if (name == "argmax") continue;
      const bool is_count = name == "visible";
      kept.push_back(on_cpu(values, is_count ? at::kLong : at::kFloat));
      if (is_count)
        rows.visible = span_of<std::int64_t>(kept.back());
      else
        rows.statistics[name] = span_of<float>(kept.back());
    }
    if (options_.key_mass) {
      kept.push_back(on_cpu(pytorch::key_mass(call.query, call.key, call.options, call.output), at::kFloat));
      rows.key_mass = span_of<float>(kept.back());
    }
    scanner_.add(rows);
  }

  scan::Scanner& scanner_;
  const ScanOptions& options_;
};

// Sums, over windows, the mean entropy of the last rows, by layer and head.
class LastEntropies : public model::ForwardObserver {
 public:
  explicit LastEntropies(std::int64_t rows) : rows_(rows) {}
  void enters(std::size_t, const at::Tensor&) override {}
  void attended(const model::AttentionCall& call) override {
    const at::Tensor entropy = call.output.statistics.at("entropy")[0];
    const at::Tensor last = entropy.narrow(1, entropy.size(1) - rows_, rows_);
    const at::Tensor means = on_cpu(last.mean(1), at::kDouble);
    const auto numbers = span_of<double>(means);
    if (found.size() <= call.layer) found.resize(call.layer + 1, std::vector<double>(numbers.size()));
    for (std::size_t head = 0; head < numbers.size(); ++head) found[call.layer][head] += numbers[head];
  }
  std::vector<std::vector<double>> found;

 private:
  std::int64_t rows_;
};

std::vector<scan::LayerDescription> layers_of(const model::Description& model) {
  std::vector<scan::LayerDescription> out;
  for (std::size_t i = 0; i < model.layers.size(); ++i)
    out.push_back({.module = "layers." + std::to_string(i),
                   .kind = model.causal ? scan::Kind::decoder : scan::Kind::encoder,
                   .heads = model.heads,
                   .head_width = model.head_width,
                   .window = model.layers[i].window});
  return out;
}

class ModelScan {
 public:
  ModelScan(const Transformer& model, scan::Result about, const std::vector<ScanText>& texts,
            const ScanOptions& options)
      : model_(model),
        texts_(texts),
        options_(options),
        scanner_(std::move(about), layers_of(model.description()), threads_) {
    if (options.keep_rows) scanner_.keep_rows();
    check_lengths(texts, options);
    for (const ScanText& text : texts) work_ += static_cast<double>(windows_of(text, options) * options.length);
    for (const std::int64_t length : options.lengths)
      work_ += static_cast<double>(length * length_windows(texts.front(), options));
  }

  scan::Result run() {
    const at::NoGradGuard no_gradient;
    for (const ScanText& text : texts_) scan_text(text);
    for (const std::int64_t length : options_.lengths) measure(length);
    return scanner_.finish();
  }

 private:
  void advance(std::int64_t tokens) {
    done_ += static_cast<double>(tokens);
    if (options_.progress) options_.progress(done_ / work_);
  }
  void scan_text(const ScanText& text) {
    scanner_.begin_text(text.name);
    for (std::int64_t i = 0; i < windows_of(text, options_); ++i) {
      const auto ids = window_number(i, text, options_);
      scanner_.begin_window(ids);
      TellScanner tell(scanner_, options_);
      model::ForwardOptions forward;
      forward.statistics = Statistics::all().groups(scan::kFirstKeys, scan::kRecentKeys);
      forward.observer = &tell;
      const at::Tensor batch = batch_of(ids, model_.device());
      const at::Tensor hidden = model_.forward(batch, forward).hidden;
      if (predicts_next_token(model_))
        scanner_.add_loss(loss_of(model_, hidden, batch, options_.length - 1), options_.length - 1);
      advance(options_.length);
    }
  }

  // Measures the same last tokens after a context of this length, so that lengths can be compared.
  void measure(std::int64_t length) {
    const std::int64_t windows = length_windows(texts_.front(), options_), scored = compared_tokens(options_);
    LastEntropies entropies(scored);
    model::ForwardOptions forward;
    forward.statistics = Statistics::of({Statistic::entropy});
    forward.observer = &entropies;
    double loss = 0;
    for (std::int64_t i = 0; i < windows; ++i) {
      const at::Tensor batch = batch_of(length_window(i, texts_.front(), length, options_), model_.device());
      const at::Tensor hidden = model_.forward(batch, forward).hidden;
      loss += loss_of(model_, hidden, batch, scored);
      advance(length);
    }
    const auto count = static_cast<double>(windows);
    for (auto& layer : entropies.found)
      for (double& entropy : layer) entropy /= count;
    const double keys =
        static_cast<double>(length) - (model_.description().causal ? 0.5 * static_cast<double>(scored - 1) : 0);
    scanner_.add_length({length, keys, loss / count}, entropies.found);
  }

  const Transformer& model_;
  const std::vector<ScanText>& texts_;
  const ScanOptions& options_;
  pytorch::TorchThreads threads_;
  scan::Scanner scanner_;
  double work_ = 0, done_ = 0;
};

}  // namespace

std::int64_t scan_memory(const model::Description& model, std::int64_t length) {
  constexpr std::int64_t kStatistics = 24;  // per row: the statistics, in the operator and copied, and what it keeps
  const std::int64_t in_mlp = std::min(length, Transformer::kMlpRowsAtOnce);
  const std::int64_t activations = 8 * length * model.width + 3 * in_mlp * model.mlp_width;
  const std::int64_t rows = length * model.heads * kStatistics;
  const std::int64_t weights = std::max(kWeightsAtOnce, model.heads * length);
  const std::int64_t tallies = 6 * model.heads * length;  // what the shuffled keys of a layer receive
  return 4 * (activations + rows + weights) + tallies;
}

scan::Result scan_model(const Transformer& model, scan::Result about, const std::vector<ScanText>& texts,
                        const ScanOptions& options) {
  return ModelScan(model, std::move(about), texts, options).run();
}

}  // namespace isentropic::lab
