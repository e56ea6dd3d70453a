// Which keys layers see.
#include "scan/measurement.hpp"

#include <algorithm>
#include <limits>

namespace isentropic::scan {

const char* name(Kind kind) {
  constexpr const char* kNames[] = {"decoder", "encoder", "cross"};
  return kNames[static_cast<std::size_t>(kind)];
}

KeyRange visible_keys(const LayerDescription& layer, std::int64_t position, std::int64_t keys) {
  const std::int64_t window = layer.window.value_or(std::numeric_limits<std::int64_t>::max() / 2);
  if (layer.kind == Kind::cross) return {0, keys};
  const std::int64_t end = layer.kind == Kind::decoder ? position + 1 : position + window;
  return {std::max<std::int64_t>(0, position - window + 1), std::min(keys, end)};
}

LayerDescription self_attention_with(std::span<const std::int64_t> visible) {
  const auto n = std::ssize(visible);
  const auto is = [&](const LayerDescription& layer) {
    for (std::int64_t i = 0; i < n; ++i) {
      const KeyRange keys = visible_keys(layer, i, n);
      if (visible[static_cast<std::size_t>(i)] != keys.end - keys.begin) return false;
    }
    return true;
  };
  LayerDescription out;
  const auto fits = [&](Kind kind, std::optional<std::int64_t> window) {
    out.kind = kind, out.window = window;
    return is(out);
  };
  if (n == 0 || fits(Kind::decoder, {}) || fits(Kind::encoder, {})) return out;
  if (fits(Kind::decoder, std::ranges::max(visible)) || fits(Kind::encoder, visible.front())) return out;
  bool looks_back = true;  // none of these fits: a mask of another form
  for (std::int64_t i = 0; i < n; ++i) looks_back = looks_back && visible[static_cast<std::size_t>(i)] <= i + 1;
  out.kind = looks_back ? Kind::decoder : Kind::encoder;
  out.window.reset();
  return out;
}

std::int64_t rows_that_see(const LayerDescription& layer, std::int64_t key, std::int64_t rows) {
  const std::int64_t window = layer.window.value_or(rows);
  if (layer.kind == Kind::cross) return rows;
  const std::int64_t after = std::min(rows - key, window);
  return layer.kind == Kind::decoder ? after : after + std::min(key, window - 1);
}

}  // namespace isentropic::scan
