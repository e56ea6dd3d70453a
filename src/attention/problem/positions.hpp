// Where the rows of a shard lie in the whole problem, and back.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "isentropic/attention.hpp"

namespace isentropic {

// Maps places (local indices) 0 ... n - 1 of a shard to positions in the whole problem, given its ascending runs
// (Shard).
class Positions {
 public:
  Positions(const std::vector<Run>& runs, std::int64_t n) : size_(n) {
    std::int64_t begin = 0;
    for (const Run& run : runs) {
      const std::int64_t length = run.length < 0 ? n - begin : run.length;
      const bool goes_on = !pieces_.empty() && run.offset - begin == pieces_.back().shift;
      if (length > 0 && !goes_on) pieces_.push_back({begin, run.offset - begin});
      begin += length;
    }
    if (pieces_.empty()) pieces_.push_back({0, 0});
  }

  std::int64_t operator[](std::int64_t place) const { return place + piece(place).shift; }

  // The first place whose position is >= `position`; n if there is none.
  std::int64_t first_from(std::int64_t position) const {
    for (std::size_t p = 0; p + 1 < pieces_.size(); ++p)
      if (position - pieces_[p].shift < pieces_[p + 1].begin)
        return std::max(position - pieces_[p].shift, pieces_[p].begin);
    return std::clamp(position - pieces_.back().shift, pieces_.back().begin, size_);
  }

  // The place of a position, or -1 if it is not in this shard.
  std::int64_t place_of(std::int64_t position) const {
    const std::int64_t place = first_from(position);
    return place < size_ && (*this)[place] == position ? place : -1;
  }

  // The end of the run that contains `place`.
  std::int64_t run_end(std::int64_t place) const {
    for (const Piece& next : pieces_)
      if (next.begin > place) return next.begin;
    return size_;
  }

 private:
  struct Piece {
    std::int64_t begin;  // first place
    std::int64_t shift;  // position minus place
  };

  const Piece& piece(std::int64_t place) const {
    std::size_t p = pieces_.size() - 1;
    while (p > 0 && pieces_[p].begin > place) --p;
    return pieces_[p];
  }

  std::int64_t size_;
  std::vector<Piece> pieces_;  // one or a few
};

}  // namespace isentropic
