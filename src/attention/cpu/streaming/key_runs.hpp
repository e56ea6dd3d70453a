// The keys of a block by group (first, recent, rest): at most four runs, each folded apart.
//
// A group's sums are taken relative to the row's maximum, in the same pass that makes the weights, unless the group
// lies so far below it that they would lose digits: then once more, relative to its own.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "attention/cpu/kernels/softmax_row.hpp"
#include "attention/problem/visibility.hpp"
#include "isentropic/key_groups.hpp"

namespace isentropic {

// Where a row's groups end and begin, in positions on the whole key axis.
struct GroupBounds {
  std::int64_t first_end, recent_begin, recent_end;

  GroupBounds(const QueryPlace& row, const Statistics& asked)
      : first_end(row.document.begin + asked.first_keys()),
        recent_begin(std::max(first_end, row.position - asked.recent_keys() + 1)),
        recent_end(std::max(recent_begin, row.position + 1)) {}
};

struct KeyRun {
  KeyGroup group;
  std::int64_t begin, end;  // keys of the block
};

// The runs of a row in a block of n keys, the first of which has position `first_position` on the whole key axis.
class KeyRuns {
 public:
  KeyRuns(std::int64_t n, std::int64_t first_position, const GroupBounds& row) : first_position_(first_position) {
    if (first_position >= row.first_end && first_position + n <= row.recent_begin) {  // nearly every block of long rows
      runs_[count_++] = {kOtherKeys, 0, n};
      return;
    }
    const auto local = [&](std::int64_t position) { return std::clamp<std::int64_t>(position - first_position, 0, n); };
    add({kFirstKeys, 0, local(row.first_end)});
    add({kOtherKeys, local(row.first_end), local(row.recent_begin)});
    add({kRecentKeys, local(row.recent_begin), local(row.recent_end)});
    add({kOtherKeys, local(row.recent_end), n});
  }

  const KeyRun* begin() const { return runs_; }
  const KeyRun* end() const { return runs_ + count_; }
  std::int64_t first_position() const { return first_position_; }

 private:
  void add(const KeyRun& run) {
    if (run.begin < run.end) runs_[count_++] = run;
  }

  std::int64_t first_position_;
  KeyRun runs_[4];
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

// A group as little as this below the row's maximum keeps its digits: u loses log2(16) bits, and no weight underflows.
inline constexpr int kNear = 16;

// Those of the run alone, from its first vector on; others' are hidden.
template <class T>
inline void copy_run(const T* s, const KeyRun& run, std::vector<T>& out) {
  const std::int64_t begin = run.begin / kLanes * kLanes, end = (run.end + kLanes - 1) / kLanes * kLanes;
  out.resize(end - begin);
  std::fill(out.begin(), out.begin() + (run.begin - begin), -std::numeric_limits<T>::infinity());
  std::copy(s + run.begin, s + run.end, out.begin() + (run.begin - begin));
  std::fill(out.begin() + (run.end - begin), out.end(), -std::numeric_limits<T>::infinity());
}

// The record of a run whose scores stand in `scores`, seen from its own maximum.
template <class T>
inline LocatedRecord fold_alone(std::vector<T>& scores, const KeyRun& run, std::int64_t first_position) {
  const std::int64_t begin = run.begin / kLanes * kLanes;
  const T highest = row_maximum(scores.data(), std::ssize(scores));
  if (highest == -std::numeric_limits<T>::infinity()) return {};
  const KeyRun moved{run.group, run.begin - begin, run.end - begin};
  return fold_run(MomentSet::entropy, scores.data(), moved, first_position + begin, highest);
}

inline void add_to(LocatedRecord& group, const LocatedRecord& part) {
  if (group.record.m != part.record.m) {
    group = merge(group, part);
    return;
  }
  group.record.sums = add(group.record.sums, part.record.sums);  // as merge would, without its questions
  group.record.k += part.record.k;
  group.location += part.location;
}

// A row of scores (hidden ones -inf, padding behind the last run, the largest `highest`) becomes weights relative to m;
// every run is folded into its group. count(run) says how many of its keys the row sees; `scores` is room
// for those of a run that may turn out to lie far below m. Returns the sums of all.
template <class T, class Count>
inline SoftmaxMoments<double> fold_groups(MomentSet set, T* s, std::int64_t padded_n, T highest, T m,
                                          const KeyRuns& runs, Count count, std::vector<T>& scores,
                                          KeyGroupsRecord& groups) {
  const bool near = runs.end() - runs.begin() == 1 && m - highest <= kNear;
  SoftmaxMoments<double> all{};
  std::int64_t done = 0;
  for (const KeyRun& run : runs) {
    done = run.end;
    const std::int64_t visible = count(run);
    if (visible == 0) {
      std::fill(s + run.begin, s + run.end, T(0));
      continue;
    }
    if (!near) copy_run(s, run, scores);
    LocatedRecord part = fold_run(set, s, run, runs.first_position(), m);
    all = add(all, part.record.sums);
    if (!near && part.record.sums.z < std::exp(-kNear)) part = fold_alone(scores, run, runs.first_position());
    part.record.k = visible;
    add_to(groups.group[run.group], part);
  }
  std::fill(s + done, s + padded_n, T(0));
  // A NaN score makes the row NaN from here on: no further block is folded, so no group of it may look whole.
  if (all.z != all.z)
    for (LocatedRecord& group : groups.group) group.record.sums.z = all.z;
  return all;
}

}  // namespace isentropic
