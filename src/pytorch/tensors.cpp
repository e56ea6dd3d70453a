// PyTorch's types and shapes as the library's.
#include "pytorch/tensors.hpp"

#include <limits>
#include <memory>
#include <utility>

#include "pytorch/errors.hpp"

namespace isentropic::pytorch {

DType type_of(const at::Tensor& tensor, const char* argument) {
  switch (tensor.scalar_type()) {
    case at::kFloat:
      return DType::float32;
    case at::kBFloat16:
      return DType::bfloat16;
    case at::kHalf:
      return DType::float16;
    case at::kDouble:
      return DType::float64;
    case at::kBool:
      return DType::boolean;
    case at::kLong:
      return DType::int64;
    default:
      throw WrongType(std::string(argument) + " type", c10::toString(tensor.scalar_type()),
                      "float32, bfloat16, float16, float64, bool or int64");
  }
}

View view_of(const at::Tensor& tensor, const char* argument) {
  return View(tensor.const_data_ptr(), type_of(tensor, argument), tensor.sizes().vec(), tensor.strides().vec());
}

at::Tensor with_contiguous_rows(const at::Tensor& tensor) {
  if (tensor.numel() == 0) return at::empty(tensor.sizes(), tensor.options());  // its strides may be anything
  return tensor.dim() == 0 || tensor.size(-1) == 1 || tensor.stride(-1) == 1 ? tensor : tensor.contiguous();
}

at::ScalarType scalar_type(DType type) {
  switch (type) {
    case DType::float32:
      return at::kFloat;
    case DType::bfloat16:
      return at::kBFloat16;
    case DType::float16:
      return at::kHalf;
    case DType::float64:
      return at::kDouble;
    case DType::boolean:
      return at::kBool;
    case DType::int64:
      break;
  }
  return at::kLong;
}

double lowest(at::ScalarType type) {
  switch (type) {
    case at::kDouble:
      return std::numeric_limits<double>::lowest();
    case at::kHalf:
      return static_cast<double>(std::numeric_limits<c10::Half>::lowest());
    case at::kBFloat16:
      return static_cast<double>(std::numeric_limits<c10::BFloat16>::lowest());
    default:
      return static_cast<double>(std::numeric_limits<float>::lowest());
  }
}

at::Tensor to_torch(Tensor&& tensor) {
  if (!tensor.present()) return at::empty({0}, at::kFloat);
  auto owner = std::make_shared<Tensor>(std::move(tensor));
  const View view = owner->view();
  return at::from_blob(
      const_cast<void*>(view.data), view.shape, [owner](void*) {}, scalar_type(view.type));
}

}  // namespace isentropic::pytorch
