// Tensors of the public API: typed, strided, non-owning views in; owned tensors out. Views refer to CPU memory unless
// they name another device; owned tensors are always in CPU memory.
//
// A view has one to four axes and its last axis is contiguous. Element (i0, i1, ...) lies at
// data + sum_a index_a * stride_a, in elements; a stride of 0 repeats an axis (broadcasting).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "isentropic/export.hpp"

namespace isentropic {

struct bfloat16 {
  std::uint16_t bits;
};
struct float16 {
  std::uint16_t bits;
};

enum class DType : std::uint8_t { float32, bfloat16, float16, float64, boolean, int64 };

ISENTROPIC_API const char* name(DType type);
ISENTROPIC_API std::size_t size_of(DType type);

template <class T>
struct DTypeOf;
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::float32;
};
template <>
struct DTypeOf<bfloat16> {
  static constexpr DType value = DType::bfloat16;
};
template <>
struct DTypeOf<float16> {
  static constexpr DType value = DType::float16;
};
template <>
struct DTypeOf<double> {
  static constexpr DType value = DType::float64;
};
template <>
struct DTypeOf<bool> {
  static constexpr DType value = DType::boolean;
};
template <>
struct DTypeOf<std::int64_t> {
  static constexpr DType value = DType::int64;
};

// The processor whose memory contains the data and which computes on it.
struct Device {
  enum class Kind : std::uint8_t { cpu, cuda };
  Kind kind = Kind::cpu;
  int index = 0;  // among devices of this kind

  bool operator==(const Device&) const = default;
};

ISENTROPIC_API std::string to_string(const Device& device);  // "cpu", "cuda:1"

using Shape = std::vector<std::int64_t>;

ISENTROPIC_API std::string to_string(const Shape& shape);     // "[2, 8, 16, 64]"
ISENTROPIC_API Shape contiguous_strides(const Shape& shape);  // row-major

// A read-only view. A default-constructed view is absent.
struct ISENTROPIC_API View {
  const void* data = nullptr;
  DType type = DType::float32;
  Shape shape;
  Shape stride;  // in elements
  Device device;

  View() = default;
  template <class T>
  View(const T* data_, Shape shape_)
      : data(data_), type(DTypeOf<T>::value), shape(std::move(shape_)), stride(contiguous_strides(shape)) {}
  template <class T>
  View(const T* data_, Shape shape_, Shape stride_)
      : data(data_), type(DTypeOf<T>::value), shape(std::move(shape_)), stride(std::move(stride_)) {}
  View(const void* data_, DType type_, Shape shape_, Shape stride_, Device device_ = {})
      : data(data_), type(type_), shape(std::move(shape_)), stride(std::move(stride_)), device(device_) {}

  bool present() const { return !shape.empty(); }
  std::size_t rank() const { return shape.size(); }
  // The part [begin, end) of one axis; no copy.
  View slice(std::size_t axis, std::int64_t begin, std::int64_t end) const;
};

// An owned, contiguous, zero-initialised tensor. A default-constructed tensor is absent.
class ISENTROPIC_API Tensor {
 public:
  Tensor() = default;
  Tensor(DType type, Shape shape);

  bool present() const { return !shape_.empty(); }
  DType type() const { return type_; }
  const Shape& shape() const { return shape_; }
  std::int64_t size() const;
  View view() const { return View(bytes_.data(), type_, shape_, contiguous_strides(shape_)); }
  operator View() const { return view(); }

  // The elements in row-major order; T must be the tensor's type.
  template <class T>
  std::span<T> values() {
    check_type(DTypeOf<T>::value);
    return {reinterpret_cast<T*>(bytes_.data()), static_cast<std::size_t>(size())};
  }
  template <class T>
  std::span<const T> values() const {
    check_type(DTypeOf<T>::value);
    return {reinterpret_cast<const T*>(bytes_.data()), static_cast<std::size_t>(size())};
  }

  // One element as a double, whatever the type. Throws Error when the index is out of range.
  double at(std::initializer_list<std::int64_t> index) const;
  std::vector<double> to_doubles() const;

 private:
  void check_type(DType type) const;
  DType type_ = DType::float32;
  Shape shape_;
  std::vector<std::byte> bytes_;
};

// Conversions to and from the narrow types; to_* rounds to nearest, ties to even.
// Those used in loops over tensors are inline and branch-free.
inline float to_float(bfloat16 x) { return std::bit_cast<float>(static_cast<std::uint32_t>(x.bits) << 16); }

inline bfloat16 to_bfloat16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16;
  return {static_cast<std::uint16_t>(x != x ? (bits >> 16) | 0x40 : rounded)};  // NaN: made quiet, never rounded to Inf
}

inline float to_float(float16 x) {
  const std::uint32_t sign = static_cast<std::uint32_t>(x.bits & 0x8000) << 16, magnitude = (x.bits & 0x7FFF) << 13;
  // The bits of the number times 2^-112, subnormal or not; Inf and NaN have all exponent bits set instead.
  const float value = std::bit_cast<float>(magnitude) * 0x1p112f;
  const std::uint32_t bits = magnitude >= 0x0F800000 ? magnitude | 0x7F800000 : std::bit_cast<std::uint32_t>(value);
  return std::bit_cast<float>(sign | bits);
}

ISENTROPIC_API float16 to_float16(float x);

}  // namespace isentropic
