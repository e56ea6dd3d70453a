// torch.ops.isentropic.scan_...: outputs made from the result of a scan.
#include <ATen/ATen.h>
#include <torch/library.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "pytorch/errors.hpp"
#include "scan/arrays.hpp"
#include "scan/comparison.hpp"
#include "scan/page.hpp"
#include "scan/summary.hpp"
#include "scan/tables.hpp"
#include "scan/terminal.hpp"
#include "scan/training_page.hpp"

namespace isentropic::pytorch {
namespace {

using Names = std::vector<std::string>;

// The bytes of an .npz file: a Python string cannot hold them.
at::Tensor arrays_of(const scan::Result& result) {
  const std::string bytes = scan::npz(result);
  at::Tensor out = at::empty({static_cast<std::int64_t>(bytes.size())}, at::kByte);
  std::ranges::copy(bytes, reinterpret_cast<char*>(out.mutable_data_ptr<std::uint8_t>()));
  return out;
}

// f(result), or f(comparison) if the JSON contains one.
template <class F>
auto of_json(const std::string& json, F f) {
  return with_python_errors([&] {
    std::vector<scan::Result> found = scan::results_from_json(json, "the scan");
    if (found.size() == 1) return f(found.front());
    return f(scan::compare(std::move(found[0]), std::move(found[1])));
  });
}
// The result itself, or the second of a comparison.
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
// layers and heads: those shown in full.
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
