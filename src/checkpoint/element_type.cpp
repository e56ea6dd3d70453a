// The table of element types.
#include "checkpoint/element_type.hpp"

#include <algorithm>
#include <array>

namespace isentropic::checkpoint {
namespace {

struct Entry {
  ElementType type;
  std::string_view name;
  std::uint64_t bits;
  bool supported;
};

using enum ElementType;
constexpr std::array kEntries = {
    Entry{boolean, "BOOL", 8, true},
    Entry{f4, "F4", 4, false},
    Entry{f6_e2m3, "F6_E2M3", 6, false},
    Entry{f6_e3m2, "F6_E3M2", 6, false},
    Entry{u8, "U8", 8, true},
    Entry{i8, "I8", 8, true},
    Entry{f8_e5m2, "F8_E5M2", 8, false},
    Entry{f8_e4m3, "F8_E4M3", 8, false},
    Entry{f8_e8m0, "F8_E8M0", 8, false},
    Entry{f8_e4m3fnuz, "F8_E4M3FNUZ", 8, false},
    Entry{f8_e5m2fnuz, "F8_E5M2FNUZ", 8, false},
    Entry{i16, "I16", 16, true},
    Entry{u16, "U16", 16, false},
    Entry{f16, "F16", 16, true},
    Entry{bf16, "BF16", 16, true},
    Entry{i32, "I32", 32, true},
    Entry{u32, "U32", 32, false},
    Entry{f32, "F32", 32, true},
    Entry{c64, "C64", 64, false},
    Entry{f64, "F64", 64, true},
    Entry{i64, "I64", 64, true},
    Entry{u64, "U64", 64, false},
};

constexpr bool entries_are_in_order() {
  for (std::size_t i = 0; i < kEntries.size(); ++i)
    if (kEntries[i].type != static_cast<ElementType>(i)) return false;
  return kEntries.size() == static_cast<std::size_t>(u64) + 1;
}
static_assert(entries_are_in_order());

const Entry& entry(ElementType type) { return kEntries[static_cast<std::size_t>(type)]; }

}  // namespace

std::string_view name(ElementType type) { return entry(type).name; }

std::optional<ElementType> element_type_named(std::string_view name) {
  const auto* const found = std::ranges::find(kEntries, name, &Entry::name);
  if (found == kEntries.end()) return std::nullopt;
  return found->type;
}

std::uint64_t bits_of(ElementType type) { return entry(type).bits; }

bool is_supported(ElementType type) { return entry(type).supported; }

}  // namespace isentropic::checkpoint
