// What happens to the delimiters when a text is split at matches of a pattern.
//
// "the-final--countdown", split at "-":
//   removed               the | final | countdown
//   isolated              the | - | final | - | - | countdown
//   merged_with_previous  the- | final- | - | countdown
//   merged_with_next      the | -final | - | -countdown
//   contiguous            the | - | final | -- | countdown
#pragma once

#include "tokenizer/json_access.hpp"
#include "tokenizer/piece.hpp"

namespace isentropic::tokenizer {

enum class SplitBehavior { removed, isolated, merged_with_previous, merged_with_next, contiguous };

SplitBehavior read_split_behavior(const Field& field);

// Given the segments of a piece in order, each a match or the text between matches, emits the non-empty parts.
template <typename Emit>
class Splitter {
 public:
  Splitter(Piece piece, SplitBehavior behavior, const Emit& emit) : piece_(piece), behavior_(behavior), emit_(emit) {}

  void add(std::size_t start, std::size_t end, bool is_match) {
    if (behavior_ == SplitBehavior::removed) {
      if (!is_match) give({start, end, is_match});
    } else {
      if (!joins(is_match)) {
        give(held_);
        held_.start = start;
      }
      held_.end = end;
      held_.is_match = is_match;
    }
  }

  void finish() { give(held_); }

 private:
  struct Segment {
    std::size_t start, end;
    bool is_match;  // of the last segment joined
  };

  bool joins(bool is_match) const {
    switch (behavior_) {
      case SplitBehavior::merged_with_previous:
        return is_match && !held_.is_match;
      case SplitBehavior::merged_with_next:
        return !is_match && held_.is_match;
      case SplitBehavior::contiguous:
        return is_match == held_.is_match;
      default:
        return false;
    }
  }

  void give(const Segment& segment) {
    if (segment.start < segment.end) emit_(piece_.slice(segment.start, segment.end));
  }

  Piece piece_;
  SplitBehavior behavior_;
  const Emit& emit_;
  Segment held_ = {0, 0, false};  // the next segment may join it
};

}  // namespace isentropic::tokenizer
