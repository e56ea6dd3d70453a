// The keys of a block by group (first, recent, rest): at most four runs.
#pragma once

#include <algorithm>
#include <cstdint>

#include "attention/problem/visibility.hpp"
#include "isentropic/key_groups.hpp"

namespace isentropic {

// The boundaries of a row's groups, in positions on the whole key axis.
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

  // The group with the most keys.
  KeyGroup largest_group() const {
    std::int64_t sizes[kKeyGroups] = {};
    for (const KeyRun& run : *this) sizes[run.group] += run.end - run.begin;
    return static_cast<KeyGroup>(std::max_element(sizes, sizes + kKeyGroups) - sizes);
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

}  // namespace isentropic
