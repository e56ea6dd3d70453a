// Views of PyTorch's tensors for the library, and the library's tensors as PyTorch's; nothing is copied.
#pragma once

#include <ATen/ATen.h>

#include <optional>
#include <tuple>
#include <vector>

#include "isentropic/tensor.hpp"

namespace isentropic::pytorch {

// TypeError for a type the library does not have.
DType type_of(const at::Tensor& tensor, const char* argument);

// A view of a tensor on the CPU or a GPU whose last axis is contiguous.
View view_of(const at::Tensor& tensor, const char* argument);

// The same tensor with its last axis contiguous.
at::Tensor with_contiguous_rows(const at::Tensor& tensor);

// Keeps the tensors behind views alive.
class TensorKeepAlive {
 public:
  View operator()(const at::Tensor& tensor, const char* argument) {
    tensors_.push_back(with_contiguous_rows(tensor));
    return view_of(tensors_.back(), argument);
  }

 private:
  std::vector<at::Tensor> tensors_;
};

inline std::optional<at::Tensor> on_cpu(const std::optional<at::Tensor>& tensor) {
  return tensor ? std::optional(tensor->cpu()) : std::nullopt;
}

inline std::vector<at::Tensor> on_cpu(at::TensorList tensors) {
  std::vector<at::Tensor> out;
  for (const at::Tensor& tensor : tensors) out.push_back(tensor.cpu());
  return out;
}

// Moves every tensor of a tuple to a device.
template <class Tuple>
Tuple moved_to(const Tuple& tensors, at::Device device) {
  return std::apply([&](const auto&... tensor) { return Tuple(tensor.to(device)...); }, tensors);
}

at::ScalarType scalar_type(DType type);

// The type of sums and statistics: float64 for float64, else float32.
inline at::ScalarType statistics_type(const at::Tensor& query) {
  return query.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

// The lowest finite value of a floating type.
double lowest(at::ScalarType type);

// A new tensor of the given sizes whose axes have the same memory order as those of `like` (the last one innermost):
// for a transposed view the output is one, too. Axes with stride 0 have no order: the tensor is then contiguous.
at::Tensor empty_in_order_of(const at::Tensor& like, c10::SymIntArrayRef sizes, const at::TensorOptions& options);
// The same numbers in that memory order; copied only if necessary.
at::Tensor in_order_of(const at::Tensor& like, const at::Tensor& tensor);

// A copy of a tensor on the CPU.
Tensor from_torch(const at::Tensor& tensor);

// Takes over the memory. An absent tensor becomes an empty one of type float32.
at::Tensor to_torch(Tensor&& tensor);

}  // namespace isentropic::pytorch
