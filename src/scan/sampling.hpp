// Which rows of a window a scan samples, and what is known of each before its weights.
//
//   T = { j + 1 : j < i - 1, token j = token i }   of row i: the keys that a head would copy from
//
// Layers with the same visible keys share the same rows, so everything is computed once per window.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "scan/measurement.hpp"
#include "scan/row_digest.hpp"

namespace isentropic::scan {

// Some rows of a layer.
struct SampledPlaces {
  std::vector<SampledPlace> rows = {};
  std::vector<std::int32_t> targets = {};  // of all rows, concatenated

  std::span<const std::int32_t> targets_of(const SampledPlace& row) const {
    return std::span(targets).subspan(static_cast<std::size_t>(row.first_target),
                                      static_cast<std::size_t>(row.targets));
  }
};

class Sampling {
 public:
  void begin_text() { ++texts_, windows_ = 0; }
  // The tokens; an encoder-decoder writes different ones than it reads; an image has none.
  void begin_window(std::span<const std::int32_t> ids, std::span<const std::int32_t> written);
  bool is_first_window() const { return texts_ == 1 && windows_ == 1; }

  // References are valid until the next window.
  const std::vector<std::int64_t>& rows_to_sample(const LayerDescription& layer, std::int64_t rows, std::int64_t count);
  const SampledPlaces& places(const LayerDescription& layer, std::int64_t rows, std::int64_t keys,
                              const std::vector<std::int64_t>& positions);
  DigestLayout layout(std::int64_t rows, std::int64_t keys) const {
    return digest_layout(rows, keys, is_first_window());
  }

 private:
  // Empty if rows are not tokens.
  std::span<const std::int32_t> ids_of_rows(const LayerDescription& layer, std::int64_t rows) const;
  bool reads(const LayerDescription& layer) const { return layer.kind == Kind::encoder || written_.empty(); }
  SampledPlaces found_places(const LayerDescription& layer, std::int64_t rows, std::int64_t keys,
                             const std::vector<std::int64_t>& positions) const;

  using View = std::tuple<Kind, std::optional<std::int64_t>, std::int64_t, std::int64_t, std::vector<std::int64_t>>;
  std::int64_t texts_ = 0, windows_ = 0;
  std::vector<std::int32_t> ids_, written_;
  std::map<std::tuple<bool, std::int64_t, std::int64_t>, std::vector<std::int64_t>> rows_;
  std::map<View, SampledPlaces> places_;
};

}  // namespace isentropic::scan
