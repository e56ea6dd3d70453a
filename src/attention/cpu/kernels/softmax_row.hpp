// Folds one row of scores into its record: the inner loop of the streaming pass.
#pragma once

#include <algorithm>
#include <cstdint>

#include "attention/cpu/kernels/exp.hpp"
#include "attention/cpu/kernels/kernels.hpp"

namespace isentropic {

inline constexpr int kLanes = 16;

// Sums of moments in separate lanes, so that loops over scores vectorise without reassociation and can be interrupted.
// Kernels use the first 16 or all 32; lanes are uninitialised until `started`.
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

// The largest of n scores (a multiple of kLanes); NaN is ignored here and shows up in the sums.
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

// The same for a whole row; returns sum_j j e_j.
template <MomentSet set, class T>
inline T portable_exponentiate_located(T* s, std::int64_t n, T factor, T m, MomentLanes<T>& sums) {
  portable_exponentiate<set>(s, n, factor, m, sums);
  T lanes[kLanes] = {};
  for (std::int64_t j = 0; j < n; j += kLanes)
    for (int l = 0; l < kLanes; ++l) lanes[l] += s[j + l] * static_cast<T>(j + l);
  T total = 0;
  for (const T& lane : lanes) total += lane;
  return total;
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

// Calls f.operator()<set>() with the set as a compile-time constant.
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
inline T exponentiate_located(MomentSet set, T* s, std::int64_t n, T factor, T m, MomentLanes<T>& sums) {
  if constexpr (std::is_same_v<T, float>)
    return active_kernels().exponentiate_located(set, s, n, factor, m, sums);
  else
    return with_moments(set,
                        [&]<MomentSet kSet>() { return portable_exponentiate_located<kSet>(s, n, factor, m, sums); });
}

template <class T>
inline SoftmaxMoments<T> sum(const MomentLanes<T>& lanes) {
  if constexpr (std::is_same_v<T, float>)
    return active_kernels().sum(lanes);
  else
    return portable_sum(lanes);
}

// Folds a row of scores into its record, piece by piece.
template <class T>
class RecordFold {
 public:
  // n scores (a multiple of kLanes, hidden ones -inf), still to be multiplied by `factor` > 0, for keys j0, j0 + 1,
  // ...; the row sees `visible` of them.
  void begin(SoftmaxRecord<double>& record, T* s, std::int64_t n, T factor, std::int64_t j0, std::int64_t visible) {
    record_ = &record, s_ = s, n_ = n, at_ = 0, factor_ = factor;
    record.k += visible;
    before_ = record.m, max_ = before_;
    const bool poisoned = record.m != record.m;  // an earlier NaN score makes the whole row NaN
    highest_ = factor * row_maximum(s, n);
    empty_ = poisoned ||
             (highest_ == -std::numeric_limits<T>::infinity() && std::none_of(s, s + n, [](T x) { return x != x; }));
    if (empty_) return;
    max_ = std::max(before_, static_cast<double>(highest_));
    if (max_ > before_) record.a = j0 + find_scaled(s, n, factor, highest_);
    sums_.started = false;
  }

  // Turns the next `count` scores (a multiple of 2 kLanes, or all that are left) into weights relative to the new
  // maximum, written to `rounded` unless it is null. Returns false when none are left.
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

  // The same for all scores at once, using a function that gets them, their factor, their maximum and the row's
  // maximum, and returns their sums.
  template <class Fold>
  T end_with(Fold fold) {
    if (empty_) std::fill_n(s_, n_, T(0));
    return empty_ ? T(1) : end(fold(s_, n_, factor_, highest_, static_cast<T>(max_)));
  }

  // Returns the factor by which earlier sums shrink.
  T end() {
    if (empty_) return T(1);
    const SoftmaxMoments<T> block = sum(sums_);
    return end({block.z, block.u, block.w, block.c});
  }

 private:
  T end(const SoftmaxMoments<double>& sums) {
    const bool was_empty = record_->empty();
    record_->sums = was_empty ? sums : isentropic::add(max_ > before_ ? rebase(*record_, max_) : record_->sums, sums);
    record_->m = sums.z == sums.z ? max_ : std::numeric_limits<double>::quiet_NaN();
    return was_empty || max_ == before_ ? T(1) : static_cast<T>(std::exp(before_ - max_));
  }

  SoftmaxRecord<double>* record_ = nullptr;
  T* s_ = nullptr;
  std::int64_t n_ = 0, at_ = 0;
  T factor_ = 1, highest_ = 0;
  double before_ = 0, max_ = 0;
  bool empty_ = true;
  MomentLanes<T> sums_;
};

}  // namespace isentropic
