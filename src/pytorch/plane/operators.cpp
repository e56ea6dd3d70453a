// torch.ops.isentropic.plane_...: points of the information plane, and outputs made from a record of them.
#include <ATen/ATen.h>
#include <torch/library.h>

#include <nlohmann/json.hpp>

#include "isentropic/information/layer_information.hpp"
#include "plane/page.hpp"
#include "plane/phases.hpp"
#include "pytorch/errors.hpp"
#include "pytorch/executor.hpp"

namespace isentropic::pytorch {
namespace {

using Names = std::vector<std::string>;

std::vector<std::int64_t> whole_numbers(const at::Tensor& x) {
  const at::Tensor here = x.to(at::kCPU, at::kLong).contiguous();
  return {here.const_data_ptr<std::int64_t>(), here.const_data_ptr<std::int64_t>() + here.numel()};
}

information::Table table_of(const at::Tensor& rows) {
  const at::Tensor here = rows.to(at::kCPU, at::kDouble).contiguous();
  const double* numbers = here.const_data_ptr<double>();
  return {static_cast<std::size_t>(here.size(0)), static_cast<std::size_t>(here.size(1)),
          std::vector<double>(numbers, numbers + here.numel())};
}

// activations [rows, width], labels [rows], inputs [rows] or none: [estimators, 2], I(X;T) and I(T;Y) in bits.
at::Tensor points(const at::Tensor& activations, const at::Tensor& labels, const std::optional<at::Tensor>& inputs,
                  const Names& estimators) {
  TORCH_CHECK_VALUE(activations.dim() == 2, "activations has ", activations.dim(), " axes; expected rows and units");
  TORCH_CHECK_VALUE(!inputs || inputs->numel() > 0, "inputs is empty; expected one for each row");
  const information::Table table = table_of(activations);
  const std::vector<std::int64_t> label_of = whole_numbers(labels);
  const std::vector<std::int64_t> input_of = inputs ? whole_numbers(*inputs) : std::vector<std::int64_t>();
  at::Tensor out = at::empty({std::ssize(estimators), 2}, at::kDouble);
  double* numbers = out.mutable_data_ptr<double>();
  TorchThreads threads;
  with_python_errors([&] {
    for (const std::string& name : estimators) {
      const auto estimator = information::LayerEstimator::named(name);
      const auto found = information::layer_information(estimator, table, label_of, input_of, threads);
      *numbers++ = found.input, *numbers++ = found.label;
    }
  });
  return out;
}

Names usual_estimators(double noise_variance) {
  Names out;
  for (const information::LayerEstimator& estimator : information::usual_layer_estimators(noise_variance))
    out.push_back(estimator.name());
  return out;
}

plane::Record record_of(const std::string& json) { return plane::record_from_json(json, "the plane"); }

std::string page(const std::string& json) {
  return with_python_errors([&] { return plane::page(record_of(json)); });
}
std::string picture(const std::string& json) {
  return with_python_errors([&] { return plane::picture(record_of(json)); });
}
std::string terminal_text(const std::string& json) {
  return with_python_errors([&] { return plane::terminal_text(record_of(json)); });
}
std::string findings(const std::string& json) {
  return with_python_errors([&] { return plane::findings(record_of(json)).dump(); });
}

TORCH_LIBRARY_FRAGMENT(isentropic, library) {
  library.def("plane_points(Tensor activations, Tensor labels, Tensor? inputs, str[] estimators) -> Tensor", points);
  library.def("plane_usual_estimators(float noise_variance=0.1) -> str[]", usual_estimators);
  library.def("plane_page(str json) -> str", page);
  library.def("plane_picture(str json) -> str", picture);
  library.def("plane_terminal_text(str json) -> str", terminal_text);
  library.def("plane_findings(str json) -> str", findings);
}

}  // namespace
}  // namespace isentropic::pytorch
