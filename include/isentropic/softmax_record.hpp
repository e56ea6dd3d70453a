// The record of a softmax row, and its exact merge: the algebra that everything here rests on.
//
// Over a set of scores s_j keep, relative to the maximum m,
//
//   m = max_j s_j                       -inf when empty
//   z = sum_j e^{s_j - m}               0 when empty
//   u = sum_j (s_j - m) e^{s_j - m}     first moment
//   w = sum_j (s_j - m)^2 e^{s_j - m}   second moment
//   c = sum_j e^{2 (s_j - m)}           collision mass
//   k = number of keys,  a = index of the maximum (ties: the lowest; -1 when empty)
//
// Two records merge exactly: rebase both to the larger maximum, with delta = m_old - m_new and r = e^delta,
//
//   z' = r z,   u' = r (u + delta z),   w' = r (w + 2 delta u + delta^2 z),   c' = r^2 c,
//
// then add. The empty record is the exact identity and a masked key contributes it. This is a commutative
// monoid, so blocks, threads, split keys, key groups, devices and hosts all merge the same way.
//
// Logarithms are natural (nats). By hand: scores {0, 0, 0, 0} give m = 0, z = 4, u = w = 0, c = 4, hence
// H = log 4, L = log 4, peak 1/4, collision 1/4. Scores {0, log 3}: z = 4/3, u = -log(3)/3, H = log 4 - 3/4 log 3.
//
// Plain C++ and CUDA (host and device) include this header.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "isentropic/host_device.hpp"

namespace isentropic {

// Which sums a pass accumulates, chosen at compile time: z alone (L, maximum and peak come for free); u too, for one
// more multiply-add per score; or all four, for three more. Sums that are not accumulated stay 0.
enum class MomentSet : std::uint8_t { partition, entropy, all };

// The sums of a record. V is a number or a vector of lanes: only + and * are used on it.
template <class V>
struct SoftmaxMoments {
  V z, u, w, c;
};

// The same sums relative to another maximum: delta = m_old - m_new <= 0, r = e^delta.
template <class V>
ISENTROPIC_HOST_DEVICE inline SoftmaxMoments<V> rebase(const SoftmaxMoments<V>& x, V delta, V r) {
  const V shifted_u = x.u + delta * x.z;
  return {r * x.z, r * shifted_u, r * (x.w + delta * (x.u + shifted_u)), r * r * x.c};
}

template <class V>
ISENTROPIC_HOST_DEVICE inline SoftmaxMoments<V> add(const SoftmaxMoments<V>& x, const SoftmaxMoments<V>& y) {
  return {x.z + y.z, x.u + y.u, x.w + y.w, x.c + y.c};
}

template <class T>
struct SoftmaxRecord {
  T m = -std::numeric_limits<T>::infinity();
  SoftmaxMoments<T> sums = {T(0), T(0), T(0), T(0)};
  std::int64_t k = 0;
  std::int64_t a = -1;

  ISENTROPIC_HOST_DEVICE bool empty() const { return sums.z == T(0); }
};

// One visible key.
template <class T>
ISENTROPIC_HOST_DEVICE inline SoftmaxRecord<T> single_key(T score, std::int64_t index) {
  return {score, {T(1), T(0), T(0), T(1)}, 1, index};
}

// A sink logit: mass in the normaliser, no key.
template <class T>
ISENTROPIC_HOST_DEVICE inline SoftmaxRecord<T> sink_logit(T logit) {
  return {logit, {T(1), T(0), T(0), T(1)}, 0, -1};
}

// The record's sums relative to a maximum m_new >= m. The empty record stays empty (no 0 * inf).
template <class T>
ISENTROPIC_HOST_DEVICE inline SoftmaxMoments<T> rebase(const SoftmaxRecord<T>& x, T m_new) {
  if (x.empty() || x.m == m_new) return x.sums;
  const T delta = x.m - m_new;
  const T r = std::exp(delta);
  // Once r underflows every product is 0; handled explicitly because delta may be -inf.
  if (r == T(0)) return {T(0), T(0), T(0), T(0)};
  return rebase(x.sums, delta, r);
}

template <class T>
ISENTROPIC_HOST_DEVICE inline SoftmaxRecord<T> merge(const SoftmaxRecord<T>& x, const SoftmaxRecord<T>& y) {
  SoftmaxRecord<T> out;
  if (x.empty() || y.empty()) {
    out = x.empty() ? y : x;
    out.k = x.k + y.k;  // a visible key may have no mass (a score of -inf)
    return out;
  }
  out.m = x.m > y.m ? x.m : y.m;
  // A NaN score on either side makes the row NaN.
  if (x.m != x.m || y.m != y.m) out.m = x.m + y.m;
  out.sums = add(rebase(x, out.m), rebase(y, out.m));
  out.k = x.k + y.k;
  if (x.m == y.m && x.a >= 0 && y.a >= 0) {
    out.a = x.a < y.a ? x.a : y.a;
  } else {
    out.a = (y.a < 0 || (x.a >= 0 && x.m > y.m)) ? x.a : y.a;
  }
  return out;
}

// ---- What a record says. The empty record: L = -inf, everything else 0. ----

template <class T>
ISENTROPIC_HOST_DEVICE inline T log_partition(const SoftmaxRecord<T>& x) {
  return x.m + std::log(x.sums.z);  // empty: m = log z = -inf
}

// H = log z - u / z, in [0, log k].
template <class T>
ISENTROPIC_HOST_DEVICE inline T entropy(const SoftmaxRecord<T>& x) {
  if (x.empty()) return T(0);
  const T h = std::log(x.sums.z) - x.sums.u / x.sums.z;
  // Only rounding can take h outside [0, log k]; a NaN passes through.
  if (h < T(0)) return T(0);
  const T most = std::log(static_cast<T>(x.k));
  return x.k > 0 && h > most ? most : h;
}

// H / log k; 0 when k <= 1.
template <class T>
ISENTROPIC_HOST_DEVICE inline T normalised_entropy(const SoftmaxRecord<T>& x) {
  return x.k > 1 ? entropy(x) / std::log(static_cast<T>(x.k)) : T(0);
}

// E = m + u / z.
template <class T>
ISENTROPIC_HOST_DEVICE inline T mean_score(const SoftmaxRecord<T>& x) {
  return x.empty() ? T(0) : x.m + x.sums.u / x.sums.z;
}

// V = w / z - (u / z)^2.
template <class T>
ISENTROPIC_HOST_DEVICE inline T score_variance(const SoftmaxRecord<T>& x) {
  if (x.empty()) return T(0);
  const T mean = x.sums.u / x.sums.z;
  const T v = x.sums.w / x.sums.z - mean * mean;
  return v < T(0) ? T(0) : v;
}

// max_j p_j = 1 / z.
template <class T>
ISENTROPIC_HOST_DEVICE inline T peak(const SoftmaxRecord<T>& x) {
  return x.empty() ? T(0) : T(1) / x.sums.z;
}

// sum_j p_j^2 = c / z^2.
template <class T>
ISENTROPIC_HOST_DEVICE inline T collision(const SoftmaxRecord<T>& x) {
  return x.empty() ? T(0) : x.sums.c / (x.sums.z * x.sums.z);
}

// 1 / sum p^2 = k S^2, the number of keys that share the mass.
template <class T>
ISENTROPIC_HOST_DEVICE inline T participation(const SoftmaxRecord<T>& x) {
  return x.empty() ? T(0) : x.sums.z * x.sums.z / x.sums.c;
}

// S = E|a| / sqrt(E[a^2]) = z / sqrt(k c), in [k^-1/2, 1]; small is sparse.
template <class T>
ISENTROPIC_HOST_DEVICE inline T sparsity(const SoftmaxRecord<T>& x) {
  return x.k == 0 ? T(0) : x.sums.z / std::sqrt(static_cast<T>(x.k) * x.sums.c);
}

}  // namespace isentropic
