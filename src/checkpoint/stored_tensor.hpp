// A tensor as stored in a file: bytes, and what they mean.
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
  Shape shape;                        // empty: a scalar
  std::span<const std::byte> bytes;   // elements little-endian, row-major
  std::shared_ptr<const void> owner;  // keeps the bytes valid

  // Whether the bytes can be read in place as elements of their type.
  bool is_aligned() const;
};

// Throws Error, starting with `place`, unless the number of bytes matches type and shape.
void require_byte_count(const std::string& place, const StoredTensor& tensor);

// All elements as float, row-major; BOOL becomes 0 or 1. Throws Error if the type is not supported.
std::vector<float> to_floats(const StoredTensor& tensor);

}  // namespace isentropic::checkpoint
