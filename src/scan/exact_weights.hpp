// Weights that can be read one by one: the tile at the end of the first window, and the heaviest keys of some rows.
//
// Everything else that a scan draws is averaged over blocks or windows. The tile is the last kTile rows of the window
// by its last kTile keys, so that a decoder's diagonal runs through it; a row's heaviest kKeysOfRow keys come with what
// the other keys share. Of 1024 heads they take 40 MB while a scan runs.
#pragma once

#include <cstdint>
#include <vector>

#include "scan/measurement.hpp"
#include "scan/result.hpp"

namespace isentropic::scan {

inline constexpr std::int64_t kTile = 48;
inline constexpr std::size_t kExactRows = 8;

// The positions of the last rows, rising.
std::vector<std::int64_t> rows_of_tile(std::int64_t rows);

class ExactWeights {
 public:
  // Rows may come in several parts, each rising; what came before is ignored.
  void add_tile(const SampledRows& sampled);
  void add_rows(const SampledDigests& digests);
  // Hands over what belongs to the head, kExactRows rows evenly chosen.
  void describe(HeadResult* head) const;

 private:
  struct Head {
    Tile tile;
    std::vector<ExactRow> rows;
  };
  std::vector<Head>& heads_of(std::size_t layer, std::size_t heads);

  std::vector<std::vector<Head>> heads_;  // layer, head
};

}  // namespace isentropic::scan
