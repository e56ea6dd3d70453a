// torch.classes.isentropic.Scanner: scan::Scanner for Python, fed with tensors; and what is made of its result.
#include <ATen/ATen.h>
#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/custom_class.h>
#include <torch/library.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "pytorch/errors.hpp"
#include "pytorch/executor.hpp"
#include "pytorch/scan/background.hpp"
#include "scan/arrays.hpp"
#include "scan/comparison.hpp"
#include "scan/exact_weights.hpp"
#include "scan/page.hpp"
#include "scan/scanner.hpp"
#include "scan/summary.hpp"
#include "scan/tables.hpp"
#include "scan/terminal.hpp"
#include "scan/training_page.hpp"

namespace isentropic::pytorch {
namespace {

using Names = std::vector<std::string>;

at::Tensor on_cpu(const at::Tensor& x, at::ScalarType type) { return x.detach().to(at::kCPU, type).contiguous(); }

// Copies on the CPU. From a CUDA device they travel into pinned memory, and are complete after the event.
class Arrivals {
 public:
  at::Tensor copy(const at::Tensor& x, at::ScalarType type) {
    if (!x.is_cuda()) return on_cpu(x, type);
    const at::Tensor there = x.detach().to(type).contiguous();
    at::Tensor here = at::empty(there.sizes(), at::TensorOptions(type).pinned_memory(true));
    here.copy_(there, /*non_blocking=*/true);
    device_ = x.device();
    bytes_ += here.nbytes();
    return here;
  }
  std::size_t bytes() const { return bytes_; }
  // Null: nothing is on its way.
  std::shared_ptr<c10::Event> event() const {
    if (!device_) return nullptr;
    const auto out = std::make_shared<c10::Event>(device_->type());
    out->record(c10::impl::VirtualGuardImpl(device_->type()).getStream(*device_));
    return out;
  }

 private:
  std::optional<c10::Device> device_;
  std::size_t bytes_ = 0;
};

template <class T>
std::span<const T> numbers_of(const at::Tensor& x) {
  return {x.const_data_ptr<T>(), static_cast<std::size_t>(x.numel())};
}

void require_numbers(const char* what, const at::Tensor& x, std::int64_t expected) {
  TORCH_CHECK_VALUE(x.numel() == expected, what, " has ", x.numel(), " numbers; expected ", expected);
}

// Tensors come from any device; those of rows are [heads, rows]. What comes from a CUDA device is added up later, while
// it computes: everything else that changes the scanner, or looks at what was added, keeps the order.
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
    background_.finish();
    scanner_.keep_rows();
  }
  void set_picture(std::string source, std::int64_t rows, std::int64_t columns) {
    background_.finish();
    scanner_.set_picture({std::move(source), rows, columns});
  }
  void begin_text(const std::string& name) {
    background_.finish();
    scanner_.begin_text(name);
  }
  void begin_window(const at::Tensor& ids, const at::Tensor& written) {
    background_.finish();
    const at::Tensor read_here = on_cpu(ids, at::kInt), written_here = on_cpu(written, at::kInt);
    scanner_.begin_window(numbers_of<std::int32_t>(read_here), numbers_of<std::int32_t>(written_here));
  }

  // visible [rows] of one head: what the layer sees.
  std::int64_t add_layer(std::string module, bool is_cross, std::int64_t heads, std::int64_t head_width,
                         const at::Tensor& visible) {
    const at::Tensor counts = on_cpu(visible, at::kLong);
    scan::LayerDescription layer = scan::self_attention_with(numbers_of<std::int64_t>(counts));
    if (is_cross) layer.kind = scan::Kind::cross, layer.window.reset();
    layer.module = std::move(module), layer.heads = heads, layer.head_width = head_width;
    background_.finish();
    return static_cast<std::int64_t>(scanner_.add_layer(std::move(layer)));
  }

  std::string kind(std::int64_t layer) { return name(scanner_.layer(static_cast<std::size_t>(layer)).kind); }

  void add_rows(std::int64_t layer, std::int64_t keys, const Names& names, const std::vector<at::Tensor>& statistics,
                const at::Tensor& visible, const std::optional<at::Tensor>& key_mass) {
    Arrivals arrivals;
    const at::Tensor counts = arrivals.copy(visible, at::kLong);
    scan::LayerRows rows{.layer = static_cast<std::size_t>(layer), .rows = counts.size(-1), .keys = keys};
    const std::int64_t heads = scanner_.layer(rows.layer).heads;
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
    return scanner_.rows_to_sample(static_cast<std::size_t>(layer), rows, count);
  }
  std::vector<std::int64_t> rows_of_tile(std::int64_t rows) { return scanner_.rows_of_tile(rows); }
  // weights [heads, positions, keys]; for_tile: of rows_of_tile.
  void add_sampled(std::int64_t layer, std::int64_t rows, std::vector<std::int64_t> positions,
                   const at::Tensor& weights, bool for_tile) {
    const std::int64_t heads = scanner_.layer(static_cast<std::size_t>(layer)).heads, keys = weights.size(-1);
    const std::int64_t first_key = for_tile ? std::max<std::int64_t>(0, keys - scan::kTile) : 0;
    require_numbers("weights", weights, heads * static_cast<std::int64_t>(positions.size()) * keys);
    Arrivals arrivals;
    const at::Tensor here = arrivals.copy(weights.narrow(-1, first_key, keys - first_key), at::kFloat);
    const scan::SampledRows sampled{.layer = static_cast<std::size_t>(layer),
                                    .rows = rows,
                                    .keys = keys,
                                    .positions = std::move(positions),
                                    .weights = numbers_of<float>(here),
                                    .first_key = first_key};
    after(arrivals, [this, sampled, here, for_tile] { for_tile ? scanner_.add_tile(sampled) : scanner_.add(sampled); });
  }

  void add_residual(std::int64_t layer, double ratio) {
    background_.add_in_order([=, this] { scanner_.add_residual(static_cast<std::size_t>(layer), ratio); });
  }
  void add_statistic(std::int64_t layer, const std::string& name, const at::Tensor& by_head) {
    const at::Tensor here = on_cpu(by_head, at::kDouble);
    background_.add_in_order(
        [=, this] { scanner_.add_statistic(static_cast<std::size_t>(layer), name, numbers_of<double>(here)); });
  }
  void add_loss(double mean, std::int64_t tokens) {
    background_.add_in_order([=, this] { scanner_.add_loss(mean, tokens); });
  }
  void add_length(std::int64_t length, double keys, double loss, const std::vector<at::Tensor>& entropies) {
    std::vector<std::vector<double>> by_layer;
    for (const at::Tensor& layer : entropies) {
      const at::Tensor here = on_cpu(layer, at::kDouble);
      const auto numbers = numbers_of<double>(here);
      by_layer.emplace_back(numbers.begin(), numbers.end());
    }
    background_.finish();
    scanner_.add_length({length, keys, loss}, by_layer);
  }

  std::string finish(const Names& other_layers) {
    return with_python_errors([&] {
      background_.finish();
      scan::Result found = scanner_.finish();
      found.other_layers = other_layers;
      return to_json(found);
    });
  }

 private:
  void after(const Arrivals& arrivals, Background::Work work) {
    if (const std::shared_ptr<c10::Event> event = arrivals.event())
      background_.add(
          [event, work = std::move(work)] {
            event->synchronize();
            work();
          },
          arrivals.bytes());
    else
      background_.add_in_order(std::move(work));
  }

  TorchThreads threads_;
  scan::Scanner scanner_;
  Background background_;
};

// The bytes of an .npz file: Python's strings are no bytes.
at::Tensor arrays_of(const scan::Result& result) {
  const std::string bytes = scan::npz(result);
  at::Tensor out = at::empty({static_cast<std::int64_t>(bytes.size())}, at::kByte);
  std::ranges::copy(bytes, reinterpret_cast<char*>(out.mutable_data_ptr<std::uint8_t>()));
  return out;
}

// f(result), or f(comparison) where the JSON holds one.
template <class F>
auto of_json(const std::string& json, F f) {
  return with_python_errors([&] {
    std::vector<scan::Result> found = scan::results_from_json(json, "the scan");
    if (found.size() == 1) return f(found.front());
    return f(scan::compare(std::move(found[0]), std::move(found[1])));
  });
}
// Of a result, or of the second of two.
const scan::Result& result_of(const scan::Result& result) { return result; }
const scan::Result& result_of(const scan::Comparison& comparison) { return comparison.second; }

std::string terminal_text(const std::string& json) {
  return of_json(json, [](const auto& found) { return scan::terminal_text(found); });
}
Names sentences(const std::string& json) {
  return of_json(json, [](const auto& found) { return scan::sentences(found); });
}
std::string tsv(const std::string& json) {
  return of_json(json, [](const auto& found) { return scan::tsv(found); });
}
at::Tensor arrays(const std::string& json) {
  return of_json(json, [](const auto& found) { return arrays_of(result_of(found)); });
}
std::string retrieval_scores(const std::string& json) {
  return of_json(json, [](const auto& found) { return scan::retrieval_scores(result_of(found)); });
}
// layers and heads: those that are shown in full.
std::string page(const std::string& json, at::IntArrayRef layers, at::IntArrayRef heads, std::int64_t most_in_full) {
  scan::PageOptions options;
  for (std::size_t i = 0; i < layers.size(); ++i)
    options.heads.emplace_back(static_cast<std::size_t>(layers[i]), static_cast<std::size_t>(heads[i]));
  options.most_in_full = static_cast<std::size_t>(most_in_full);
  return of_json(json, [&](const auto& found) { return scan::page(found, options); });
}
std::string compare(const std::string& first, const std::string& second) {
  return with_python_errors([&] {
    const scan::Comparison found = scan::compare(scan::result_from_json(first, "the first scan"),
                                                 scan::result_from_json(second, "the second scan"));
    return scan::json_of(found).dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  });
}
std::string training_page(const std::string& json) {
  return with_python_errors([&] { return scan::training_page(json); });
}

TORCH_LIBRARY_FRAGMENT(isentropic, library) {
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
      .def("add_sampled", &ScannerClass::add_sampled)
      .def("add_residual", &ScannerClass::add_residual)
      .def("add_statistic", &ScannerClass::add_statistic)
      .def("add_loss", &ScannerClass::add_loss)
      .def("add_length", &ScannerClass::add_length)
      .def("finish", &ScannerClass::finish);
  library.def("scan_page(str json, int[] layers, int[] heads, int most_in_full) -> str", page);
  library.def("scan_terminal_text(str json) -> str", terminal_text);
  library.def("scan_sentences(str json) -> str[]", sentences);
  library.def("scan_tsv(str json) -> str", tsv);
  library.def("scan_arrays(str json) -> Tensor", arrays);
  library.def("scan_retrieval_scores(str json) -> str", retrieval_scores);
  library.def("scan_compare(str first, str second) -> str", compare);
  library.def("training_page(str json) -> str", training_page);
}

}  // namespace
}  // namespace isentropic::pytorch
