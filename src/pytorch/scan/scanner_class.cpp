// torch.classes.isentropic.Scanner: scan::Scanner for Python, fed with tensors.
#include <torch/custom_class.h>
#include <torch/library.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "pytorch/errors.hpp"
#include "pytorch/executor.hpp"
#include "pytorch/scan/arrivals.hpp"
#include "pytorch/scan/background.hpp"
#include "pytorch/scan/device_digests.hpp"
#include "pytorch/scan/what_layers_see.hpp"
#include "scan/exact_weights.hpp"
#include "scan/scanner.hpp"

namespace isentropic::pytorch {
namespace {

using Names = std::vector<std::string>;

template <class T>
std::span<const T> numbers_of(const at::Tensor& x) {
  return {x.const_data_ptr<T>(), static_cast<std::size_t>(x.numel())};
}

void require_numbers(const char* what, const at::Tensor& x, std::int64_t expected) {
  TORCH_CHECK_VALUE(x.numel() == expected, what, " has ", x.numel(), " numbers; expected ", expected);
}

// The bytes of a list, on a device.
template <class T>
at::Tensor bytes_on(c10::Device device, const std::vector<T>& list, at::ScalarType type) {
  const auto bytes = static_cast<std::int64_t>(list.size() * sizeof(T));
  at::Tensor here = at::empty({bytes / static_cast<std::int64_t>(c10::elementSize(type))},
                              at::TensorOptions(type).pinned_memory(true));
  std::ranges::copy(list, static_cast<T*>(here.mutable_data_ptr()));
  return here.to(device, /*non_blocking=*/true);
}

// The result. Its JSON contains every number of every head, so it is written only on request.
class ScanResult : public torch::CustomClassHolder {
 public:
  explicit ScanResult(scan::Result found) : found_(std::move(found)) {}
  std::string json() { return to_json(found_); }

 private:
  scan::Result found_;
};

// Tensors may be on any device; those of rows are [heads, rows]. Data from a CUDA device is accumulated later, while
// the device computes, and so is everything after it: the scanner receives everything in order and is not queried
// before the end. What must be known immediately (the layers, the rows to sample) is kept here.
class ScannerClass : public torch::CustomClassHolder {
 public:
  ScannerClass(std::string model, std::string family, std::string scale, std::string map, std::int64_t parameters,
               std::int64_t trained_length, std::int64_t length, Names tokens, Names written_tokens)
      : scanner_(
            [&] {
              scan::Result about;
              about.model = std::move(model), about.family = std::move(family);
              about.scale = std::move(scale), about.map = std::move(map);
              about.parameters = parameters, about.trained_length = trained_length, about.length = length;
              about.tokens_of_window = std::move(tokens), about.written_of_window = std::move(written_tokens);
              return about;
            }(),
            {}, threads_) {}

  void keep_rows() {
    in_order([this] { scanner_.keep_rows(); });
  }
  void set_picture(std::string source, std::int64_t rows, std::int64_t columns) {
    in_order([this, picture = scan::Picture{std::move(source), rows, columns}] { scanner_.set_picture(picture); });
  }
  void begin_text(const std::string& name) {
    sampling_.begin_text();
    in_order([this, name] { scanner_.begin_text(name); });
  }
  void begin_window(const at::Tensor& ids, const at::Tensor& written) {
    const at::Tensor read_here = on_cpu(ids, at::kInt), written_here = on_cpu(written, at::kInt);
    on_device_.clear();
    sampling_.begin_window(numbers_of<std::int32_t>(read_here), numbers_of<std::int32_t>(written_here));
    in_order([this, read_here, written_here] {
      scanner_.begin_window(numbers_of<std::int32_t>(read_here), numbers_of<std::int32_t>(written_here));
    });
  }

  // problem: the text of its attention; visible [rows] of one head is read if the text alone does not determine what
  // the layer sees.
  std::int64_t add_layer(std::string module, bool is_cross, std::int64_t heads, std::int64_t head_width,
                         const std::string& problem, std::int64_t keys, const at::Tensor& visible) {
    std::optional<scan::LayerDescription> found = what_layers_see_.description(problem, visible.numel(), keys);
    if (!found) {
      const at::Tensor counts = on_cpu(visible, at::kLong);
      found = scan::self_attention_with(numbers_of<std::int64_t>(counts));
    }
    if (is_cross) found->kind = scan::Kind::cross, found->window.reset();
    found->module = std::move(module), found->heads = heads, found->head_width = head_width;
    layers_.push_back(*found);
    in_order([this, layer = *found] { scanner_.add_layer(layer); });
    return std::ssize(layers_) - 1;
  }

  std::string kind(std::int64_t layer) { return name(about(layer).kind); }

  void add_rows(std::int64_t layer, std::int64_t keys, const Names& names, const std::vector<at::Tensor>& statistics,
                const at::Tensor& visible, const std::optional<at::Tensor>& key_mass) {
    Arrivals arrivals;
    const at::Tensor counts = arrivals.copy(visible, at::kLong);
    scan::LayerRows rows{.layer = static_cast<std::size_t>(layer), .rows = counts.size(-1), .keys = keys};
    const std::int64_t heads = about(layer).heads;
    require_numbers("visible", counts, heads * rows.rows);
    rows.visible = numbers_of<std::int64_t>(counts);
    std::vector<at::Tensor> kept = {counts};
    for (std::size_t i = 0; i < names.size(); ++i) {
      kept.push_back(arrivals.copy(statistics[i], at::kFloat));
      require_numbers(names[i].c_str(), kept.back(), heads * rows.rows);
      rows.statistics[names[i]] = numbers_of<float>(kept.back());
    }
    if (key_mass) {
      kept.push_back(arrivals.copy(*key_mass, at::kFloat));
      require_numbers("key_mass", kept.back(), heads * keys);
      rows.key_mass = numbers_of<float>(kept.back());
    }
    after(arrivals, [this, rows, kept] { scanner_.add(rows); });
  }

  std::vector<std::int64_t> rows_to_sample(std::int64_t layer, std::int64_t rows, std::int64_t count) {
    return sampling_.rows_to_sample(about(layer), rows, count);
  }
  std::vector<std::int64_t> rows_of_tile(std::int64_t rows) {
    return sampling_.is_first_window() ? scan::rows_of_tile(rows) : std::vector<std::int64_t>();
  }
  // The first key that a tile shows.
  std::int64_t first_key_of_tile(std::int64_t keys) { return std::max<std::int64_t>(0, keys - scan::kTile); }

  // weights [heads, positions, keys]; is_last: no more rows of this layer follow in this window.
  void add_sampled(std::int64_t layer, std::int64_t rows, std::vector<std::int64_t> positions,
                   const at::Tensor& weights, bool is_last) {
    const std::int64_t keys = weights.size(-1);
    require_numbers("weights", weights, about(layer).heads * std::ssize(positions) * keys);
    if (weights.is_cuda() && digest_rows_on_cuda() && add_digests(layer, rows, positions, weights, is_last)) return;
    tell_sampled({.layer = static_cast<std::size_t>(layer),
                  .rows = rows,
                  .keys = keys,
                  .positions = std::move(positions),
                  .is_last = is_last},
                 weights, [this](const scan::SampledRows& sampled) { scanner_.add(sampled); });
  }
  // weights [heads, positions, keys - first_key] of rows_of_tile, for the keys from first_key on.
  void add_tile(std::int64_t layer, std::int64_t rows, std::int64_t keys, std::vector<std::int64_t> positions,
                std::int64_t first_key, const at::Tensor& weights) {
    require_numbers("weights", weights, about(layer).heads * std::ssize(positions) * (keys - first_key));
    tell_sampled({.layer = static_cast<std::size_t>(layer),
                  .rows = rows,
                  .keys = keys,
                  .positions = std::move(positions),
                  .first_key = first_key},
                 weights, [this](const scan::SampledRows& tile) { scanner_.add_tile(tile); });
  }

  // A single number each.
  void add_residual(std::int64_t layer, const at::Tensor& ratio) {
    tell_number(ratio, [=, this](double value) { scanner_.add_residual(static_cast<std::size_t>(layer), value); });
  }
  void add_loss(const at::Tensor& mean, std::int64_t tokens) {
    tell_number(mean, [=, this](double value) { scanner_.add_loss(value, tokens); });
  }
  void add_statistic(std::int64_t layer, const std::string& name, const at::Tensor& by_head) {
    Arrivals arrivals;
    const at::Tensor here = arrivals.copy(by_head, at::kDouble);
    after(arrivals,
          [=, this] { scanner_.add_statistic(static_cast<std::size_t>(layer), name, numbers_of<double>(here)); });
  }
  void add_length(std::int64_t length, double keys, double loss, const std::vector<at::Tensor>& entropies) {
    std::vector<std::vector<double>> by_layer;
    for (const at::Tensor& layer : entropies) {
      const at::Tensor here = on_cpu(layer, at::kDouble);
      const auto numbers = numbers_of<double>(here);
      by_layer.emplace_back(numbers.begin(), numbers.end());
    }
    in_order([=, this] { scanner_.add_length({length, keys, loss}, by_layer); });
  }

  c10::intrusive_ptr<ScanResult> finish(const Names& other_layers) {
    return with_python_errors([&] {
      background_.finish();
      scan::Result found = scanner_.finish();
      found.other_layers = other_layers;
      return c10::make_intrusive<ScanResult>(std::move(found));
    });
  }

 private:
  const scan::LayerDescription& about(std::int64_t layer) const { return layers_[static_cast<std::size_t>(layer)]; }

  void in_order(Background::Work work) { background_.add_in_order(std::move(work)); }
  // Runs work once the copies have arrived.
  void after(Arrivals& arrivals, Background::Work work) {
    if (const std::shared_ptr<c10::Event> event = arrivals.start(copy_streams_))
      background_.add(
          [event, work = std::move(work)] {
            event->synchronize();
            work();
          },
          arrivals.bytes());
    else
      in_order(std::move(work));
  }

  template <class Tell>
  void tell_number(const at::Tensor& number, Tell tell) {
    Arrivals arrivals;
    const at::Tensor here = arrivals.copy(number, at::kDouble);
    require_numbers("number", here, 1);
    after(arrivals, [here, tell] { tell(*here.const_data_ptr<double>()); });
  }
  template <class Tell>
  void tell_sampled(scan::SampledRows sampled, const at::Tensor& weights, Tell tell) {
    Arrivals arrivals;
    const at::Tensor here = arrivals.copy(weights, at::kFloat);
    sampled.weights = numbers_of<float>(here);
    after(arrivals, [sampled = std::move(sampled), here, tell] { tell(sampled); });
  }

  // Returns false if the kernels do not run on the device.
  bool add_digests(std::int64_t layer, std::int64_t rows, const std::vector<std::int64_t>& positions,
                   const at::Tensor& weights, bool is_last) {
    const std::int64_t heads = about(layer).heads, keys = weights.size(-1);
    const scan::SampledPlaces& places = sampling_.places(about(layer), rows, keys, positions);
    const auto [lists, is_new] = on_device_.try_emplace({&places, weights.device().index()});
    if (is_new)
      lists->second = {bytes_on(weights.device(), places.rows, at::kByte),
                       bytes_on(weights.device(), places.targets, at::kInt)};
    DeviceRows given{.weights = weights.detach().to(at::kFloat).contiguous().view({heads, -1, keys}),
                     .places = lists->second.first,
                     .targets = lists->second.second,
                     .layer = static_cast<std::uint64_t>(layer),
                     .layout = sampling_.layout(rows, keys),
                     .is_last = is_last};
    if (given.layout.is_drawn) {
      at::Tensor& totals = totals_[layer];
      if (!totals.defined()) totals = at::zeros({heads, keys, 2}, given.weights.options());
      given.totals = totals;
      if (is_last) totals_.erase(layer);
    }
    const std::optional<DeviceDigests> found = digest_rows_on_cuda()(given);
    if (!found) return false;
    Arrivals arrivals;
    const at::Tensor numbers = arrivals.copy(found->numbers, at::kDouble);
    const at::Tensor sinks = found->shuffled_sinks.defined() ? arrivals.copy(found->shuffled_sinks, at::kDouble)
                                                             : at::empty({0}, at::kDouble);
    after(arrivals, [=, this, layout = given.layout, on = places.rows] {
      scanner_.add({static_cast<std::size_t>(layer), rows, keys, on, layout, numbers_of<double>(numbers),
                    numbers_of<double>(sinks)});
    });
    return true;
  }

  using Lists = std::pair<at::Tensor, at::Tensor>;  // places and targets
  std::vector<scan::LayerDescription> layers_;
  WhatLayersSee what_layers_see_;
  scan::Sampling sampling_;
  std::map<std::pair<const scan::SampledPlaces*, c10::DeviceIndex>, Lists> on_device_;  // for this window
  std::map<std::int64_t, at::Tensor> totals_;  // by layer, for layers whose last rows are still to come
  CopyStreams copy_streams_;
  TorchThreads threads_;
  scan::Scanner scanner_;
  Background background_;
};

TORCH_LIBRARY_FRAGMENT(isentropic, library) {
  library.class_<ScanResult>("ScanResult").def("json", &ScanResult::json);
  library.class_<ScannerClass>("Scanner")
      .def(torch::init<std::string, std::string, std::string, std::string, std::int64_t, std::int64_t, std::int64_t,
                       Names, Names>())
      .def("keep_rows", &ScannerClass::keep_rows)
      .def("set_picture", &ScannerClass::set_picture)
      .def("begin_text", &ScannerClass::begin_text)
      .def("begin_window", &ScannerClass::begin_window)
      .def("add_layer", &ScannerClass::add_layer)
      .def("kind", &ScannerClass::kind)
      .def("add_rows", &ScannerClass::add_rows)
      .def("rows_to_sample", &ScannerClass::rows_to_sample)
      .def("rows_of_tile", &ScannerClass::rows_of_tile)
      .def("first_key_of_tile", &ScannerClass::first_key_of_tile)
      .def("add_sampled", &ScannerClass::add_sampled)
      .def("add_tile", &ScannerClass::add_tile)
      .def("add_residual", &ScannerClass::add_residual)
      .def("add_statistic", &ScannerClass::add_statistic)
      .def("add_loss", &ScannerClass::add_loss)
      .def("add_length", &ScannerClass::add_length)
      .def("finish", &ScannerClass::finish);
}

}  // namespace
}  // namespace isentropic::pytorch
