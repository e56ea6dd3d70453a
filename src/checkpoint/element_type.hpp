// The element types of the safetensors format, in its order: widest last, though files store them first.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace isentropic::checkpoint {

enum class ElementType : std::uint8_t {
  boolean,
  f4,
  f6_e2m3,
  f6_e3m2,
  u8,
  i8,
  f8_e5m2,
  f8_e4m3,
  f8_e8m0,
  f8_e4m3fnuz,
  f8_e5m2fnuz,
  i16,
  u16,
  f16,
  bf16,
  i32,
  u32,
  f32,
  c64,
  f64,
  i64,
  u64,
};

// As the format spells it: "BF16".
std::string_view name(ElementType type);
std::optional<ElementType> element_type_named(std::string_view name);

// In bits: the narrowest types share bytes.
std::uint64_t bits_of(ElementType type);

// Whether this program can compute with it: F64 F32 F16 BF16 I64 I32 I16 I8 U8 BOOL. Others can be listed and copied.
bool is_supported(ElementType type);

}  // namespace isentropic::checkpoint
