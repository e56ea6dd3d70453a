// Individual weights: the tile at the end of the first window, and the heaviest keys of some rows.
//
// Everything else that a scan draws is averaged over blocks or windows. The tile is the last kTile rows of the window
// by its last kTile keys, so that it contains a decoder's diagonal; the heaviest kKeysOfRow keys of a row come with the
// total of all others. For 1024 heads these take 40 MB during a scan.
#pragma once

#include <cstdint>
#include <vector>

#include "scan/measurement.hpp"
#include "scan/result.hpp"

namespace isentropic::scan {

inline constexpr std::int64_t kTile = 48;
inline constexpr std::size_t kExactRows = 8;

// The positions of the last rows, ascending.
std::vector<std::int64_t> rows_of_tile(std::int64_t rows);

class ExactWeights {
 public:
  // Rows may come in several parts, each ascending; positions that came before are ignored.
  void add_tile(const SampledRows& sampled);
  void add_rows(const SampledDigests& digests);
  // Copies the tile and kExactRows evenly spaced rows into the head.
  void describe(HeadResult* head) const;

 private:
  struct Head {
    Tile tile;
    std::vector<ExactRow> rows;
  };
  std::vector<Head>& heads_of(std::size_t layer, std::size_t heads);

  std::vector<std::vector<Head>> heads_;  // by layer and head
};

}  // namespace isentropic::scan
