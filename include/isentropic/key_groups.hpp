// A row's keys in three groups (first, recent, rest), one record each, merged only at the end: subtracting a
// dominant key from a finished record would lose all significant digits.
#pragma once

#include <array>
#include <cmath>

#include "isentropic/softmax_record.hpp"

namespace isentropic {

// A record that also carries location = sum_j e^{s_j - m} x_j, where x_j is the key's position. It rebases like z.
struct LocatedRecord {
  SoftmaxRecord<double> record;
  double location = 0;
};

inline LocatedRecord merge(const LocatedRecord& x, const LocatedRecord& y) {
  LocatedRecord out;
  out.record = merge(x.record, y.record);
  const auto seen_from = [&](const LocatedRecord& part) {
    if (part.record.empty()) return 0.0;
    return part.record.m == out.record.m ? part.location : part.location * std::exp(part.record.m - out.record.m);
  };
  out.location = seen_from(x) + seen_from(y);
  return out;
}

enum KeyGroup { kFirstKeys, kRecentKeys, kOtherKeys, kKeyGroups };

struct KeyGroupsRecord {
  std::array<LocatedRecord, kKeyGroups> group;
};

inline KeyGroupsRecord merge(const KeyGroupsRecord& x, const KeyGroupsRecord& y) {
  KeyGroupsRecord out;
  for (int g = 0; g < kKeyGroups; ++g) out.group[g] = merge(x.group[g], y.group[g]);
  return out;
}

}  // namespace isentropic
