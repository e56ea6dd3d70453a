// The keys of a block by group (first, recent, rest): at most four runs, each folded apart.
//
// A group's sums are taken relative to the row's maximum, in the same pass that makes the weights, unless the group
// lies so far below it that they would lose digits: then once more, relative to its own.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "attention/cpu/softmax_row.hpp"
#include "attention/visibility.hpp"
#include "isentropic/key_groups.hpp"

namespace isentropic {

struct KeyRun {
  KeyGroup group;
  std::int64_t begin, end;  // keys of the block
};

// The runs of a row in a block of n keys, the first of which has position `first_position` on the whole key axis.
class KeyRuns {
 public:
  KeyRuns(std::int64_t n, std::int64_t first_position, const RowPlace& row, const Statistics& asked)
      : first_position_(first_position) {
    const auto local = [&](std::int64_t position) { return std::clamp<std::int64_t>(position - first_position, 0, n); };
    const std::int64_t first_end = local(row.document.begin + asked.first_keys());
    const std::int64_t recent_begin = std::max(first_end, local(row.position - asked.recent_keys() + 1));
    const std::int64_t recent_end = std::max(recent_begin, local(row.position + 1));
    for (const KeyRun& run : {KeyRun{kFirstKeys, 0, first_end}, KeyRun{kOtherKeys, first_end, recent_begin},
                              KeyRun{kRecentKeys, recent_begin, recent_end}, KeyRun{kOtherKeys, recent_end, n}})
      if (run.begin < run.end) runs_[count_++] = run;
  }

  const KeyRun* begin() const { return runs_.data(); }
  const KeyRun* end() const { return runs_.data() + count_; }
  std::int64_t first_position() const { return first_position_; }

 private:
  std::int64_t first_position_;
  std::array<KeyRun, 4> runs_{};
  int count_ = 0;
};

// f(piece, n, index): the run's scores in pieces of whole vectors, index the key of piece[0]. Where a run shares a
// vector with another, a copy stands for it in which the other's scores are hidden.
template <class T, class F>
inline void for_each_piece(T* s, const KeyRun& run, F f) {
  const auto shared = [&](std::int64_t index) {
    alignas(64) T piece[kLanes];
    std::fill_n(piece, kLanes, -std::numeric_limits<T>::infinity());
    const std::int64_t begin = std::max(run.begin, index), end = std::min(run.end, index + kLanes);
    std::copy(s + begin, s + end, piece + (begin - index));
    f(piece, kLanes, index);
    std::copy(piece + (begin - index), piece + (end - index), s + begin);
  };
  const std::int64_t whole_begin = (run.begin + kLanes - 1) / kLanes * kLanes, whole_end = run.end / kLanes * kLanes;
  if (run.begin < whole_begin) shared(whole_begin - kLanes);
  if (whole_begin < whole_end) f(s + whole_begin, whole_end - whole_begin, whole_begin);
  if (whole_end < run.end && whole_end >= whole_begin) shared(whole_end);
}

template <class T>
inline T run_maximum(T* s, const KeyRun& run) {
  T highest = -std::numeric_limits<T>::infinity();
  for_each_piece(s, run, [&](const T* piece, std::int64_t n, std::int64_t) {
    highest = std::max(highest, row_maximum(piece, n));
  });
  return highest;
}

// Scores of the run become weights relative to m; the record they give, seen from there.
template <class T>
inline LocatedRecord fold_run(MomentSet set, T* s, const KeyRun& run, std::int64_t first_position, T m) {
  MomentLanes<T> lanes;
  double location = 0;  // counted from the block's first key
  for_each_piece(s, run, [&](T* piece, std::int64_t n, std::int64_t index) {
    exponentiate(set, piece, n, T(1), m, lanes, nullptr);
    location += static_cast<double>(index_sum(piece, n, static_cast<T>(index)));
  });
  const SoftmaxMoments<T> sums = sum(lanes);
  LocatedRecord out;
  out.record.m = static_cast<double>(m);
  out.record.sums = {sums.z, sums.u, sums.w, sums.c};
  out.location = location + out.record.sums.z * static_cast<double>(first_position);
  return out;
}

// A row of scores (n of them and padding, hidden ones -inf) becomes weights relative to its maximum m; every run is
// folded into its group. Returns the sums of all.
template <class T>
inline SoftmaxMoments<double> fold_groups(MomentSet set, T* s, std::int64_t visible, std::int64_t padded_n, T m,
                                          const KeyRuns& runs, KeyGroupsRecord& groups) {
  constexpr T kHidden = -std::numeric_limits<T>::infinity();
  constexpr T kNear = 16;  // from m: u loses log2(16) bits, and no weight underflows
  SoftmaxMoments<double> all{};
  std::int64_t n = 0;
  for (const KeyRun& run : runs) n = std::max(n, run.end);
  std::fill(s + n, s + padded_n, T(0));
  for (const KeyRun& run : runs) {
    std::int64_t k = run.end - run.begin;
    if (visible < n) k = std::count_if(s + run.begin, s + run.end, [](T x) { return x != kHidden; });
    LocatedRecord apart;
    const T highest = run_maximum(s, run);
    const bool near = !(m - highest > kNear);  // a NaN is told by the sums
    if (!near && highest != kHidden) {
      std::vector<T> copy(s, s + n);
      copy.resize(padded_n, kHidden);
      apart = fold_run(MomentSet::entropy, copy.data(), run, runs.first_position(), highest);
    }
    LocatedRecord part = fold_run(set, s, run, runs.first_position(), m);
    all = add(all, part.record.sums);
    if (!near) part = apart;
    part.record.k = k;
    groups.group[run.group] = merge(groups.group[run.group], part);
  }
  // A NaN score makes the row NaN from here on: no further block is folded, so no group of it may look whole.
  if (all.z != all.z)
    for (LocatedRecord& group : groups.group) group.record.sums.z = all.z;
  return all;
}

}  // namespace isentropic
