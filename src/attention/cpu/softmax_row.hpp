// One row of scores folded into its record: the inner loop of the streaming pass.
#pragma once

#include <algorithm>
#include <cstdint>

#include "attention/cpu/exp.hpp"
#include "attention/cpu/kernels.hpp"
#include "attention/visibility.hpp"
#include "isentropic/key_groups.hpp"

namespace isentropic {

inline constexpr int kLanes = 16;

// Sums of moments in separate lanes, so that loops over scores are vectorised without reassociating anything and can be
// interrupted. Kernels use the first 16 or all 32, and those that they have started.
template <class T>
struct MomentLanes {
  alignas(64) T z[32], u[32], w[32], c[32];
  bool started = false;
};

template <class T>
inline SoftmaxMoments<T> portable_sum(const MomentLanes<T>& lanes) {
  const auto sum = [](const T* x) {
    T half[8];
    for (int l = 0; l < 8; ++l) half[l] = x[l] + x[l + 8];
    for (int width = 4; width > 0; width /= 2)
      for (int l = 0; l < width; ++l) half[l] += half[l + width];
    return half[0];
  };
  return {sum(lanes.z), sum(lanes.u), sum(lanes.w), sum(lanes.c)};
}

// The largest of n scores (a multiple of kLanes); NaN is passed over here and shows up in the sums.
template <class T>
inline T portable_row_maximum(const T* s, std::int64_t n) {
  T lanes[kLanes];
  std::fill_n(lanes, kLanes, -std::numeric_limits<T>::infinity());
  for (std::int64_t j = 0; j < n; j += kLanes)
    for (int l = 0; l < kLanes; ++l) lanes[l] = s[j + l] > lanes[l] ? s[j + l] : lanes[l];
  return *std::max_element(lanes, lanes + kLanes);
}

// The first j with factor s_j = value, or n.
template <class T>
inline std::int64_t portable_find_scaled(const T* s, std::int64_t n, T factor, T value) {
  return std::find_if(s, s + n, [&](T x) { return factor * x == value; }) - s;
}

// s becomes e^{factor s - m} and is added to the sums.
template <MomentSet set, class T>
inline void portable_exponentiate(T* s, std::int64_t n, T factor, T m, MomentLanes<T>& sums) {
  if (!sums.started)
    for (T* lanes : {sums.z, sums.u, sums.w, sums.c}) std::fill_n(lanes, kLanes, T(0));
  sums.started = true;
  for (std::int64_t j = 0; j < n; j += kLanes) {
    for (int l = 0; l < kLanes; ++l) {
      T t = s[j + l] * factor - m;
      t = t < kExpFloor<T> ? kExpFloor<T> : t;
      const T e = exp_not_positive(t);
      sums.z[l] += e;
      if constexpr (set != MomentSet::partition) sums.u[l] += t * e;
      if constexpr (set == MomentSet::all) {
        sums.w[l] += t * t * e;
        sums.c[l] += e * e;
      }
      s[j + l] = e;
    }
  }
}

template <class T>
inline T row_maximum(const T* s, std::int64_t n) {
  if constexpr (std::is_same_v<T, float>)
    return active_kernels().row_maximum(s, n);
  else
    return portable_row_maximum(s, n);
}

template <class T>
inline std::int64_t find_scaled(const T* s, std::int64_t n, T factor, T value) {
  if constexpr (std::is_same_v<T, float>)
    return active_kernels().find_scaled(s, n, factor, value);
  else
    return portable_find_scaled(s, n, factor, value);
}

// Calls f.operator()<set>() with the set as a constant.
template <class F>
decltype(auto) with_moments(MomentSet set, F&& f) {
  switch (set) {
    case MomentSet::partition:
      return f.template operator()<MomentSet::partition>();
    case MomentSet::entropy:
      return f.template operator()<MomentSet::entropy>();
    case MomentSet::all:
      break;
  }
  return f.template operator()<MomentSet::all>();
}

template <class T>
inline void exponentiate(MomentSet set, T* s, std::int64_t n, T factor, T m, MomentLanes<T>& sums, bfloat16* rounded) {
  if constexpr (std::is_same_v<T, float>)
    active_kernels().exponentiate(set, s, n, factor, m, sums, rounded);
  else
    with_moments(set, [&]<MomentSet kSet>() { portable_exponentiate<kSet>(s, n, factor, m, sums); });
}

template <class T>
inline SoftmaxMoments<T> sum(const MomentLanes<T>& lanes) {
  if constexpr (std::is_same_v<T, float>)
    return active_kernels().sum(lanes);
  else
    return portable_sum(lanes);
}

// A row of scores folded into its record, piece by piece.
template <class T>
class RowFold {
 public:
  // n scores (a multiple of kLanes, hidden ones -inf), still to be multiplied by `factor` > 0, of keys j0, j0 + 1, ...,
  // of which the row sees `visible`.
  void begin(SoftmaxRecord<double>& record, T* s, std::int64_t n, T factor, std::int64_t j0, std::int64_t visible) {
    record_ = &record, s_ = s, n_ = n, at_ = 0, factor_ = factor;
    record.k += visible;
    before_ = record.m, max_ = before_;
    const bool poisoned = record.m != record.m;  // a NaN score: the row is NaN from there on
    const T highest = factor * row_maximum(s, n);
    empty_ = poisoned ||
             (highest == -std::numeric_limits<T>::infinity() && std::none_of(s, s + n, [](T x) { return x != x; }));
    if (empty_) return;
    max_ = std::max(before_, static_cast<double>(highest));
    if (max_ > before_) record.a = j0 + find_scaled(s, n, factor, highest);
    sums_.started = false;
  }

  // The next scores, `count` of them (a multiple of 2 kLanes) or what is left, become weights relative to the new
  // maximum, in the row `rounded` unless it is null. False when that was all.
  bool add(MomentSet set, std::int64_t count, bfloat16* rounded) {
    count = std::min(count, n_ - at_);
    bfloat16* to = rounded ? rounded + at_ : nullptr;
    if (!empty_)
      exponentiate(set, s_ + at_, count, factor_, static_cast<T>(max_), sums_, to);
    else if (rounded)
      std::fill_n(to, count, bfloat16{0});
    else
      std::fill_n(s_ + at_, count, T(0));
    at_ += count;
    return at_ < n_;
  }

  // The factor by which what was summed before shrinks.
  T end() {
    if (empty_) return T(1);
    const SoftmaxMoments<T> block = sum(sums_);
    const SoftmaxMoments<double> sums{block.z, block.u, block.w, block.c};
    const bool was_empty = record_->empty();
    record_->sums = was_empty ? sums : isentropic::add(max_ > before_ ? rebase(*record_, max_) : record_->sums, sums);
    record_->m = block.z == block.z ? max_ : std::numeric_limits<double>::quiet_NaN();
    return was_empty || max_ == before_ ? T(1) : static_cast<T>(std::exp(before_ - max_));
  }

 private:
  SoftmaxRecord<double>* record_ = nullptr;
  T* s_ = nullptr;
  std::int64_t n_ = 0, at_ = 0;
  T factor_ = 1;
  double before_ = 0, max_ = 0;
  bool empty_ = true;
  MomentLanes<T> sums_;
};

// The record of scores [begin, end) of a block that starts at key j0, with the keys' positions.
template <class T>
inline LocatedRecord located_record(const T* s, std::int64_t begin, std::int64_t end, std::int64_t j0,
                                    std::int64_t first_position) {
  LocatedRecord out;
  double m = -std::numeric_limits<double>::infinity();
  for (std::int64_t j = begin; j < end; ++j) m = std::max(m, static_cast<double>(s[j]));
  for (std::int64_t j = begin; j < end; ++j) {
    if (s[j] == -std::numeric_limits<T>::infinity()) continue;
    const double t = static_cast<double>(s[j]) - m, e = std::exp(t);
    SoftmaxMoments<double>& sums = out.record.sums;
    sums = {sums.z + e, sums.u + t * e, sums.w + t * t * e, sums.c + e * e};
    out.location += e * static_cast<double>(first_position + j);
    ++out.record.k;
    if (out.record.a < 0 && t == 0) out.record.a = j0 + j;
  }
  out.record.m = m;
  return out;
}

// Folds a block of n scores into the groups of a row; positions are those of the whole key axis.
template <class T>
inline void fold_groups(KeyGroupsRecord& groups, const T* s, std::int64_t n, std::int64_t j0, std::int64_t key_offset,
                        const RowPlace& row, std::int64_t first_keys, std::int64_t recent_keys) {
  const std::int64_t first_position = j0 + key_offset;
  const auto local = [&](std::int64_t position) { return std::clamp<std::int64_t>(position - first_position, 0, n); };
  const std::int64_t first_end = local(row.document.begin + first_keys);
  const std::int64_t recent_begin = std::max(first_end, local(row.position - recent_keys + 1));
  const std::int64_t recent_end = std::max(recent_begin, local(row.position + 1));
  const auto fold = [&](KeyGroup group, std::int64_t begin, std::int64_t end) {
    if (begin < end)
      groups.group[group] = merge(groups.group[group], located_record(s, begin, end, j0, first_position));
  };
  fold(kFirstKeys, 0, first_end);
  fold(kOtherKeys, first_end, recent_begin);
  fold(kRecentKeys, recent_begin, recent_end);
  fold(kOtherKeys, recent_end, n);
}

}  // namespace isentropic
