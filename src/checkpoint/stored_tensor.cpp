// Sizes of stored tensors, and their elements as numbers.
#include "checkpoint/stored_tensor.hpp"

#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/element.hpp"
#include "io/untrusted_json.hpp"
#include "isentropic/error.hpp"

namespace isentropic::checkpoint {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are read as they are stored");

// Nothing if it does not fit in 64 bits.
std::optional<std::uint64_t> bit_count(ElementType type, const Shape& shape) {
  std::uint64_t out = 1;
  for (const std::int64_t size : shape)
    if (size < 0 || __builtin_mul_overflow(out, static_cast<std::uint64_t>(size), &out)) return std::nullopt;
  if (__builtin_mul_overflow(out, bits_of(type), &out)) return std::nullopt;
  return out;
}

// Copies each element with memcpy, because the bytes may be misaligned.
template <class E>
std::vector<float> floats_from(std::span<const std::byte> bytes) {
  std::vector<float> out(bytes.size() / sizeof(E));
  for (std::size_t i = 0; i < out.size(); ++i) {
    E element;
    std::memcpy(&element, bytes.data() + i * sizeof(E), sizeof(E));
    out[i] = from_element<float>(element);
  }
  return out;
}

}  // namespace

bool StoredTensor::is_aligned() const {
  const std::uint64_t size = bits_of(type) / 8;
  return size <= 1 || reinterpret_cast<std::uintptr_t>(bytes.data()) % size == 0;
}

void require_byte_count(const std::string& place, const StoredTensor& tensor) {
  const auto what = [&] {
    return std::string(name(tensor.type)) + " of shape " + io::excerpt(nlohmann::json(tensor.shape));
  };
  const auto bits = bit_count(tensor.type, tensor.shape);
  if (!bits) throw Error(place, what(), "a shape with fewer than 2^64 bits of data");
  if (*bits % 8 != 0) throw Error(place, what(), "a whole number of bytes, not " + std::to_string(*bits) + " bits");
  if (*bits / 8 != tensor.bytes.size())
    throw Error(place, std::to_string(tensor.bytes.size()) + " bytes long",
                std::to_string(*bits / 8) + " bytes, for " + what());
}

std::vector<float> to_floats(const StoredTensor& tensor) {
  switch (tensor.type) {
    using enum ElementType;
    case boolean: {
      std::vector<float> out = floats_from<std::uint8_t>(tensor.bytes);
      for (float& x : out) x = x != 0 ? 1 : 0;
      return out;
    }
    case u8:
      return floats_from<std::uint8_t>(tensor.bytes);
    case i8:
      return floats_from<std::int8_t>(tensor.bytes);
    case i16:
      return floats_from<std::int16_t>(tensor.bytes);
    case i32:
      return floats_from<std::int32_t>(tensor.bytes);
    case i64:
      return floats_from<std::int64_t>(tensor.bytes);
    case f16:
      return floats_from<float16>(tensor.bytes);
    case bf16:
      return floats_from<bfloat16>(tensor.bytes);
    case f32:
      return floats_from<float>(tensor.bytes);
    case f64:
      return floats_from<double>(tensor.bytes);
    default:
      break;
  }
  throw Error("the type of tensor " + io::excerpt(tensor.name), std::string(name(tensor.type)),
              "one that can be computed with: F64 F32 F16 BF16 I64 I32 I16 I8 U8 BOOL");
}

}  // namespace isentropic::checkpoint
