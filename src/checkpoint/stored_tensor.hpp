// A tensor as a file holds it: bytes, with what they mean.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/element_type.hpp"
#include "isentropic/tensor.hpp"

namespace isentropic::checkpoint {

struct StoredTensor {
  std::string name;
  ElementType type = ElementType::f32;
  Shape shape;                        // empty: a single number
  std::span<const std::byte> bytes;   // elements little-endian, rows first
  std::shared_ptr<const void> owner;  // the bytes stay valid as long as a copy of it lives

  // Whether the bytes may be read in place as elements of their type.
  bool is_aligned() const;
};

// Throws Error, which begins with `place`, unless there are as many bytes as type and shape need.
void require_byte_count(const std::string& place, const StoredTensor& tensor);

// All elements as float, rows first; BOOL becomes 0 or 1. Throws Error for a type that is not supported.
std::vector<float> to_floats(const StoredTensor& tensor);

}  // namespace isentropic::checkpoint
