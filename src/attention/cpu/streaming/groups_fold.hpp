// Folds a row of scores into the records of its key groups.
//
// A group's sums are taken relative to the row's maximum, in the same pass that computes the weights, unless the group
// lies so far below it that they would lose digits: then they are recomputed relative to the group's own maximum.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "attention/cpu/kernels/softmax_row.hpp"
#include "attention/cpu/streaming/key_runs.hpp"

namespace isentropic {

template <class T>
class GroupsFold {
 public:
  // n scores (a multiple of kLanes; hidden ones and padding -inf), still to be multiplied by `factor` > 0, become
  // weights relative to m; `highest` is the largest of the scores after multiplication. The row sees `visible` of their
  // keys, and count(run) of a run's keys. Returns the sums of all.
  template <class Count>
  SoftmaxMoments<double> fold(MomentSet set, T* s, std::int64_t n, T factor, T highest, T m, const KeyRuns& runs,
                              std::int64_t visible, Count count, KeyGroupsRecord& groups) {
    set_ = set, factor_ = factor, m_ = m, sums_ = {};
    // The group with the most keys is folded in place, as if it were alone: the others are set aside for that time.
    const KeyGroup largest = runs.largest_group();
    aside_.clear(), runs_aside_.clear();
    for (const KeyRun& run : runs) {
      if (run.group == largest) continue;
      runs_aside_.push_back({run, count(run), set_aside(s, run)});
      visible -= runs_aside_.back().visible;
    }
    if (!runs_aside_.empty()) highest = factor * row_maximum(s, n);
    add_to(groups.group[largest], fold_part(s, n, highest, runs.first_position(), visible));
    for (const Aside& aside : runs_aside_) {
      T* scores = aside_.data() + aside.place;
      const std::int64_t size = aside.run.end - aside.run.begin, padded_size = whole_vectors(size);
      add_to(groups.group[aside.run.group], fold_part(scores, padded_size, factor * row_maximum(scores, padded_size),
                                                      runs.first_position() + aside.run.begin, aside.visible));
      std::copy_n(scores, size, s + aside.run.begin);
    }
    // A NaN score makes the row NaN from here on: no further blocks are folded, so every group must become NaN too.
    if (sums_.z != sums_.z)
      for (LocatedRecord& group : groups.group) group.record.sums.z = sums_.z;
    return sums_;
  }

 private:
  // A group no further than this below the row's maximum keeps its digits: u loses log2(16) bits, no weight underflows.
  static constexpr int kNear = 16;

  struct Aside {
    KeyRun run;
    std::int64_t visible;  // keys of the run
    std::int64_t place;    // index of its scores in aside_
  };

  static std::int64_t whole_vectors(std::int64_t n) { return (n + kLanes - 1) / kLanes * kLanes; }

  std::int64_t set_aside(T* s, const KeyRun& run) {
    const std::int64_t place = std::ssize(aside_);
    aside_.insert(aside_.end(), s + run.begin, s + run.end);
    aside_.resize(whole_vectors(std::ssize(aside_)), -std::numeric_limits<T>::infinity());
    std::fill(s + run.begin, s + run.end, -std::numeric_limits<T>::infinity());
    return place;
  }

  // Turns scores into weights and adds them to the sums; returns the record of their keys, which start at this
  // position.
  LocatedRecord fold_part(T* s, std::int64_t n, T highest, std::int64_t first_position, std::int64_t visible) {
    const bool near = m_ - highest <= kNear;
    if (!near) far_.assign(s, s + n);
    LocatedRecord part = fold_from(set_, s, n, m_, first_position);
    sums_ = add(sums_, part.record.sums);
    if (!near) {
      part = {};
      if (highest > -std::numeric_limits<T>::infinity())
        part = fold_from(MomentSet::entropy, far_.data(), n, highest, first_position);
    }
    part.record.k = visible;
    return part;
  }

  LocatedRecord fold_from(MomentSet set, T* s, std::int64_t n, T m, std::int64_t first_position) const {
    MomentLanes<T> lanes;
    const T location = exponentiate_located(set, s, n, factor_, m, lanes);  // counted from the first key
    const SoftmaxMoments<T> sums = sum(lanes);
    LocatedRecord out;
    out.record.m = static_cast<double>(m);
    out.record.sums = {sums.z, sums.u, sums.w, sums.c};
    out.location = static_cast<double>(location) + out.record.sums.z * static_cast<double>(first_position);
    return out;
  }

  static void add_to(LocatedRecord& group, const LocatedRecord& part) {
    if (group.record.m != part.record.m) {
      group = merge(group, part);
      return;
    }
    group.record.sums = add(group.record.sums, part.record.sums);  // merge() without its case distinctions
    group.record.k += part.record.k;
    group.location += part.location;
  }

  MomentSet set_ = MomentSet::all;
  T factor_ = 1, m_ = 0;
  SoftmaxMoments<double> sums_{};
  std::vector<Aside> runs_aside_;
  std::vector<T> aside_;  // scores of the runs set aside, each padded to whole vectors
  std::vector<T> far_;    // scores of a part far below m
};

}  // namespace isentropic
