// Owning tensors, and text forms of shapes and types.
#include "isentropic/tensor.hpp"

#include <bit>
#include <cstring>
#include <numeric>

#include "base/element.hpp"
#include "isentropic/error.hpp"

namespace isentropic {

const char* name(DType type) {
  switch (type) {
    case DType::float32:
      return "float32";
    case DType::bfloat16:
      return "bfloat16";
    case DType::float16:
      return "float16";
    case DType::float64:
      return "float64";
    case DType::boolean:
      return "boolean";
    case DType::int64:
      return "int64";
  }
  return "unknown";
}

std::size_t size_of(DType type) {
  return with_element_type(type, []<class T>() { return sizeof(T); });
}

std::string to_string(const Device& device) {
  return device.kind == Device::Kind::cpu ? "cpu" : "cuda:" + std::to_string(device.index);
}

std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (std::size_t axis = 0; axis < shape.size(); ++axis) text += (axis ? ", " : "") + std::to_string(shape[axis]);
  return text + "]";
}

Shape contiguous_strides(const Shape& shape) {
  Shape stride(shape.size(), 1);
  for (std::size_t axis = shape.size(); axis-- > 1;) stride[axis - 1] = stride[axis] * shape[axis];
  return stride;
}

View View::slice(std::size_t axis, std::int64_t begin, std::int64_t end) const {
  if (axis >= rank()) throw Error("slice axis", std::to_string(axis), "less than " + std::to_string(rank()));
  if (begin < 0 || begin > end || end > shape[axis])
    throw Error("slice range", "[" + std::to_string(begin) + ", " + std::to_string(end) + ")",
                "a range within [0, " + std::to_string(shape[axis]) + ")");
  View part = *this;
  part.shape[axis] = end - begin;
  part.data = static_cast<const std::byte*>(data) + begin * stride[axis] * static_cast<std::int64_t>(size_of(type));
  return part;
}

Tensor::Tensor(DType type, Shape shape) : type_(type), shape_(std::move(shape)) {
  bytes_.resize(static_cast<std::size_t>(size()) * size_of(type_));
}

std::int64_t Tensor::size() const {
  if (!present()) return 0;
  return std::accumulate(shape_.begin(), shape_.end(), std::int64_t{1}, std::multiplies<>());
}

double Tensor::at(std::initializer_list<std::int64_t> index) const {
  const Shape place(index);
  bool inside = place.size() == shape_.size();
  for (std::size_t axis = 0; inside && axis < place.size(); ++axis)
    inside = place[axis] >= 0 && place[axis] < shape_[axis];
  if (!inside) throw Error("index", to_string(place), "a place in a tensor of shape " + to_string(shape_));
  const Shape stride = contiguous_strides(shape_);
  return element(view(), std::inner_product(place.begin(), place.end(), stride.begin(), std::int64_t{0}));
}

std::vector<double> Tensor::to_doubles() const {
  std::vector<double> out(static_cast<std::size_t>(size()));
  const View all = view();
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = element(all, static_cast<std::int64_t>(i));
  return out;
}

void Tensor::check_type(DType type) const {
  if (present() && type != type_) throw Error("element type", name(type), name(type_));
}

float16 to_float16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000);
  const std::uint32_t magnitude = bits & 0x7FFFFFFF;
  const auto with_sign = [sign](std::uint32_t rest) { return float16{static_cast<std::uint16_t>(sign | rest)}; };
  if (magnitude > 0x7F800000) return with_sign(0x7E00);                       // NaN
  if (magnitude >= 0x477FF000) return with_sign(0x7C00);                      // rounds to Inf
  if (magnitude < 0x38800000) {                                               // subnormal result
    const float steps = std::bit_cast<float>(magnitude) * 0x1p24f;            // exact
    return with_sign(static_cast<std::uint32_t>(steps + 0x1p23f - 0x1p23f));  // nearest, ties to even
  }
  const std::uint32_t rounded = magnitude - 0x38000000 + 0xFFF + ((magnitude >> 13) & 1);
  return with_sign(rounded >> 13);
}

}  // namespace isentropic
