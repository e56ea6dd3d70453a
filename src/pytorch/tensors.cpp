// Conversions between PyTorch's types and shapes and the library's.
#include "pytorch/tensors.hpp"

#include <algorithm>
#include <cstring>
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
  Device device;
  if (tensor.is_cuda()) device = {Device::Kind::cuda, tensor.get_device()};
  return View(tensor.const_data_ptr(), type_of(tensor, argument), tensor.sizes().vec(), tensor.strides().vec(), device);
}

at::Tensor with_contiguous_rows(const at::Tensor& tensor) {
  if (tensor.numel() == 0) return at::empty(tensor.sizes(), tensor.options());  // its strides may be anything
  return tensor.dim() == 0 || tensor.size(-1) == 1 || tensor.stride(-1) == 1 ? tensor : tensor.contiguous();
}

namespace {

// All axes of a tensor but the last, outermost first. Axes of size 1 stay in place: their strides are meaningless.
std::vector<std::size_t> outer_axes(const at::Tensor& tensor) {
  const c10::SymIntArrayRef sizes = tensor.sym_sizes(), strides = tensor.sym_strides();
  std::vector<std::size_t> axes, long_axes;
  for (std::size_t axis = 0; axis + 1 < sizes.size(); ++axis) {
    axes.push_back(axis);
    if (sizes[axis] != 1) long_axes.push_back(axis);
  }
  if (std::ranges::any_of(long_axes, [&](std::size_t axis) { return strides[axis] == 0; })) return axes;
  std::ranges::stable_sort(long_axes, [&](std::size_t x, std::size_t y) { return strides[x] > strides[y]; });
  auto next = long_axes.begin();
  for (std::size_t& axis : axes)
    if (sizes[axis] != 1) axis = *next++;
  return axes;
}

std::vector<c10::SymInt> strides_in_order_of(const at::Tensor& like, c10::SymIntArrayRef sizes) {
  std::vector<c10::SymInt> strides(sizes.size(), 1);
  // As in PyTorch, empty axes count as axes of size 1. (Written without max(), which would remain in symbolic strides.)
  c10::SymInt stride = sizes.back() == 0 ? c10::SymInt(1) : sizes.back();
  const std::vector<std::size_t> axes = outer_axes(like);
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    strides[*axis] = stride;
    if (sizes[*axis] != 0) stride = stride * sizes[*axis];
  }
  return strides;
}

}  // namespace

at::Tensor empty_in_order_of(const at::Tensor& like, c10::SymIntArrayRef sizes, const at::TensorOptions& options) {
  // The common case needs no work; symbolic sizes are excluded because the check would force guards on them.
  const bool has_symbols = like.unsafeGetTensorImpl()->has_symbolic_sizes_strides();
  if (!has_symbols && like.is_contiguous()) return at::empty_symint(sizes, options);
  return at::empty_strided_symint(sizes, strides_in_order_of(like, sizes), options);
}

at::Tensor in_order_of(const at::Tensor& like, const at::Tensor& tensor) {
  const std::vector<c10::SymInt> strides = strides_in_order_of(like, tensor.sym_sizes());
  if (tensor.sym_strides() == c10::SymIntArrayRef(strides)) return tensor;
  return at::empty_strided_symint(tensor.sym_sizes(), strides, tensor.options()).copy_(tensor);
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

Tensor from_torch(const at::Tensor& tensor) {
  const at::Tensor source = tensor.contiguous();
  Tensor out(type_of(source, "saved tensor"), source.sizes().vec());
  std::memcpy(const_cast<void*>(out.view().data), source.const_data_ptr(), source.nbytes());
  return out;
}

at::Tensor to_torch(Tensor&& tensor) {
  if (!tensor.present()) return at::empty({0}, at::kFloat);
  auto owner = std::make_shared<Tensor>(std::move(tensor));
  const View view = owner->view();
  return at::from_blob(
      const_cast<void*>(view.data), view.shape, [owner](void*) {}, scalar_type(view.type));
}

}  // namespace isentropic::pytorch
