// Per-layer keys and values of the tokens read so far, for decoding.
#pragma once

#include <ATen/ATen.h>

#include <vector>

namespace isentropic::model {

class Cache {
 public:
  std::int64_t length() const { return length_; }

  struct KeysAndValues {
    at::Tensor keys, values;  // [batch, kv_heads, length, d]
  };
  // Appends new tokens' keys and values to a layer and returns all of them. Capacity doubles when needed.
  KeysAndValues append(std::size_t layer, const at::Tensor& keys, const at::Tensor& values);

  // Call once all layers have seen the `tokens` new ones.
  void advance(std::int64_t tokens) { length_ += tokens; }

 private:
  std::int64_t length_ = 0;
  std::vector<KeysAndValues> layers_;
};

}  // namespace isentropic::model
