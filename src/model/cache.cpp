// Storage for keys and values whose capacity doubles when it is full.
#include "model/cache.hpp"

#include <algorithm>

namespace isentropic::model {
namespace {

void append_to(at::Tensor& room, std::int64_t length, const at::Tensor& rows) {
  const std::int64_t needed = length + rows.size(2);
  if (!room.defined() || room.size(2) < needed) {
    constexpr std::int64_t kLeast = 64;
    const std::int64_t size = std::max({kLeast, needed, 2 * length});
    at::Tensor larger = at::empty({rows.size(0), rows.size(1), size, rows.size(3)}, rows.options());
    if (length > 0) larger.narrow(2, 0, length).copy_(room.narrow(2, 0, length));
    room = larger;
  }
  room.narrow(2, length, rows.size(2)).copy_(rows);
}

}  // namespace

Cache::KeysAndValues Cache::append(std::size_t layer, const at::Tensor& keys, const at::Tensor& values) {
  if (layers_.size() <= layer) layers_.resize(layer + 1);
  KeysAndValues& room = layers_[layer];
  append_to(room.keys, length_, keys);
  append_to(room.values, length_, values);
  const std::int64_t all = length_ + keys.size(2);
  return {room.keys.narrow(2, 0, all), room.values.narrow(2, 0, all)};
}

}  // namespace isentropic::model
