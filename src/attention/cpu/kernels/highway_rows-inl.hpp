// Rows of scores on vectors: soft cap, softmax, gradients; compiled once per target by kernels_highway.cpp.
#if defined(ISENTROPIC_HIGHWAY_ROWS) == defined(HWY_TARGET_TOGGLE)
#ifdef ISENTROPIC_HIGHWAY_ROWS
#undef ISENTROPIC_HIGHWAY_ROWS
#else
#define ISENTROPIC_HIGHWAY_ROWS
#endif

#include <algorithm>
#include <limits>

#include "attention/cpu/kernels/exp.hpp"
#include "attention/cpu/kernels/highway_vector-inl.hpp"
#include "attention/cpu/kernels/softmax_row.hpp"

HWY_BEFORE_NAMESPACE();
namespace isentropic {
namespace HWY_NAMESPACE {

// 2^k value, for an integer k given both as the number `k` and in the low bits of `shifted`.
HWY_INLINE Vector times_power_of_two(Vector value, Vector k, Vector shifted) {
#if HWY_TARGET == HWY_AVX3
  (void)shifted;
  return Vector{_mm512_scalef_ps(value.raw, k.raw)};
#else
  (void)k;
  const Tag tag;
  const hn::RebindToSigned<Tag> integers;
  const auto power = hn::ShiftLeft<23>(hn::BitCast(integers, shifted));
  // NaN must propagate, and integer arithmetic on its bits might not preserve it.
  return hn::IfThenElse(hn::IsNaN(value), value, hn::BitCast(tag, hn::Add(hn::BitCast(integers, value), power)));
#endif
}

// e^x for x <= 0, as in exp.hpp: x = k log 2 + r, a polynomial in r, times 2^k; exactly 1 at 0, exactly 0 at and below
// the floor. The polynomial has the smallest relative error on |r| <= log(2)/2 among those of degree 5 that are 1 at 0,
// 9.2e-8; with rounding at most 1.6e-7. (k log 2 is subtracted in one fused step: off by 2e-9 k, which is below that
// for weights above 1e-20.)
HWY_INLINE Vector exp_not_positive(Vector x) {
  const Tag tag;
  const Vector shift = hn::Set(tag, 12582912.0f);  // 1.5 * 2^23: adding it rounds to an integer kept in the low bits
  const Vector shifted = hn::MulAdd(x, hn::Set(tag, 1.44269504f), shift);
  const Vector k = hn::Sub(shifted, shift);
  const Vector r = hn::NegMulAdd(k, hn::Set(tag, 0.693147182f), x);
  Vector p = hn::Set(tag, 8.290272206e-3f);
  p = hn::MulAdd(p, r, hn::Set(tag, 4.189816117e-2f));
  p = hn::MulAdd(p, r, hn::Set(tag, 1.666763872e-1f));
  p = hn::MulAdd(p, r, hn::Set(tag, 4.999914765e-1f));
  p = hn::MulAdd(p, r, hn::Set(tag, 9.999997020e-1f));
  p = hn::MulAdd(p, r, hn::Set(tag, 1.0f));
  return hn::IfThenZeroElse(hn::Le(x, hn::Set(tag, kExpFloor<float>)), times_power_of_two(p, k, shifted));
}

// As tanhf in the Cephes library (S. Moshier): near 0 a polynomial, beyond it 1 - 2 / (e^{2 |x|} + 1).
HWY_INLINE Vector tanh_of(Vector x) {
  const Tag tag;
  const Vector one = hn::Set(tag, 1.0f), two = hn::Set(tag, 2.0f), size = hn::Abs(x), z = hn::Mul(x, x);
  Vector p = hn::Set(tag, -5.70498872745e-3f);
  p = hn::MulAdd(p, z, hn::Set(tag, 2.06390887954e-2f));
  p = hn::MulAdd(p, z, hn::Set(tag, -5.37397155531e-2f));
  p = hn::MulAdd(p, z, hn::Set(tag, 1.33314422036e-1f));
  p = hn::MulAdd(p, z, hn::Set(tag, -3.33332819422e-1f));
  const Vector near = hn::MulAdd(hn::Mul(p, z), x, x);
  // 2 / (e^{2a} + 1) = 2 e^{-2a} / (1 + e^{-2a})
  const Vector e = exp_not_positive(hn::Mul(hn::Set(tag, -2.0f), size));
  const Vector far = hn::Sub(one, hn::Div(hn::Mul(two, e), hn::Add(one, e)));
  return hn::IfThenElse(hn::Lt(size, hn::Set(tag, 0.625f)), near, hn::CopySign(far, x));
}

void SoftCap(float* s, float* derivative, std::int64_t n, float bound) {
  const Tag tag;
  const Vector cap = hn::Set(tag, bound), one = hn::Set(tag, 1.0f);
  for (std::int64_t j = 0; j < n; j += lanes()) {
    const Vector t = tanh_of(hn::Div(hn::LoadU(tag, s + j), cap));
    hn::StoreU(hn::Mul(cap, t), tag, s + j);
    hn::StoreU(hn::NegMulAdd(t, t, one), tag, derivative + j);
  }
}

float RowMaximum(const float* s, std::int64_t n) {
  const Tag tag;
  const std::int64_t step = lanes();
  constexpr int kChains = 4;  // hide the latency
  Vector highest[kChains];
  for (Vector& part : highest) part = hn::Set(tag, -std::numeric_limits<float>::infinity());
  // On x86, Max returns the second operand if either is NaN, so NaN scores are ignored.
  std::int64_t j = 0;
  for (; j + kChains * step <= n; j += kChains * step)
    for (int part = 0; part < kChains; ++part)
      highest[part] = hn::Max(hn::LoadU(tag, s + j + part * step), highest[part]);
  for (; j < n; j += step) highest[0] = hn::Max(hn::LoadU(tag, s + j), highest[0]);
  return hn::GetLane(hn::MaxOfLanes(tag, hn::Max(hn::Max(highest[0], highest[1]), hn::Max(highest[2], highest[3]))));
}

std::int64_t FindScaled(const float* s, std::int64_t n, float factor, float value) {
  const Tag tag;
  const Vector scale = hn::Set(tag, factor), wanted = hn::Set(tag, value);
  for (std::int64_t j = 0; j < n; j += lanes()) {
    const std::int64_t place = hn::FindFirstTrue(tag, hn::Eq(hn::Mul(hn::LoadU(tag, s + j), scale), wanted));
    if (place >= 0) return j + place;
  }
  return n;
}

// Called only if the CPU has the instruction; Highway 1.0.3 has no target for it.
HWY_INLINE void store_rounded(Vector x, bfloat16* to) {
#if HWY_TARGET == HWY_AVX3
  __m256i rounded;
  asm("vcvtneps2bf16 %1, %0" : "=v"(rounded) : "v"(x.raw));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), rounded);
#else
  (void)x, (void)to;
#endif
}

// Returns sum_j j e_j if kLocated (the row must begin here), else 0.
template <MomentSet set, bool kScaled, bool kRounded, bool kLocated>
HWY_INLINE float exponentiate_row(float* s, std::int64_t n, float factor, float m, MomentLanes<float>& lane_sums,
                                  bfloat16* rounded) {
  const Tag tag;
  const std::int64_t step = lanes();
  const Vector scale = hn::Set(tag, factor), maximum = hn::Set(tag, m), floor = hn::Set(tag, kExpFloor<float>);
  // Two chains of sums hide the latency of the additions.
  SoftmaxMoments<Vector> sums[2];
  for (int chain = 0; chain < 2; ++chain) {
    const auto load_sums = [&](const float* from) HWY_ATTR {
      return lane_sums.started ? hn::Load(tag, from + chain * step) : hn::Zero(tag);
    };
    sums[chain] = {load_sums(lane_sums.z), load_sums(lane_sums.u), load_sums(lane_sums.w), load_sums(lane_sums.c)};
  }
  Vector running[2] = {hn::Zero(tag), hn::Zero(tag)};  // sums of the running values of z
  const auto fold = [&](std::int64_t j, int chain) HWY_ATTR {
    SoftmaxMoments<Vector>& part = sums[chain];
    Vector t = hn::LoadU(tag, s + j);
    if (kScaled) t = hn::Mul(t, scale);  // not fused, to round as when scores are scaled immediately
    t = hn::Sub(t, maximum);
    t = hn::Max(floor, t);  // on x86 the second operand if either is NaN: NaN propagates
    const Vector e = exp_not_positive(t);
    if (kRounded)
      store_rounded(e, rounded + j);
    else
      hn::StoreU(e, tag, s + j);
    part.z = hn::Add(part.z, e);
    if (kLocated) running[chain] = hn::Add(running[chain], part.z);
    if (set != MomentSet::partition) {
      const Vector te = hn::Mul(t, e);
      part.u = hn::Add(part.u, te);
      if (set == MomentSet::all) {
        part.w = hn::MulAdd(t, te, part.w);
        part.c = hn::MulAdd(e, e, part.c);
      }
    }
  };
  std::int64_t j = 0;
  for (; j + 2 * step <= n; j += 2 * step) {
    fold(j, 0);
    fold(j + step, 1);
  }
  for (; j < n; j += step) fold(j, 0);
  for (int chain = 0; chain < 2; ++chain) {
    hn::Store(sums[chain].z, tag, lane_sums.z + chain * step);
    hn::Store(sums[chain].u, tag, lane_sums.u + chain * step);
    hn::Store(sums[chain].w, tag, lane_sums.w + chain * step);
    hn::Store(sums[chain].c, tag, lane_sums.c + chain * step);
  }
  lane_sums.started = true;
  if (!kLocated) return 0;
  // Vector i of a chain's N is included in N - i running sums, so sum_i i e_i = N z - (their sum).
  Vector location = hn::Zero(tag);
  for (int chain = 0; chain < 2; ++chain) {
    const float count = static_cast<float>((n / step + 1 - chain) / 2);
    const Vector turns = hn::MulSub(hn::Set(tag, count), sums[chain].z, running[chain]);
    const Vector first = hn::Add(hn::Iota(tag, 0.0f), hn::Set(tag, static_cast<float>(chain * step)));
    location = hn::MulAdd(hn::Set(tag, static_cast<float>(2 * step)), turns, location);
    location = hn::MulAdd(first, sums[chain].z, location);
  }
  return hn::GetLane(hn::SumOfLanes(tag, location));
}

SoftmaxMoments<float> Sum(const MomentLanes<float>& lane_sums) {
  const Tag tag;
  const auto total = [&](const float* x) HWY_ATTR {
    return hn::GetLane(hn::SumOfLanes(tag, hn::Add(hn::Load(tag, x), hn::Load(tag, x + lanes()))));
  };
  return {total(lane_sums.z), total(lane_sums.u), total(lane_sums.w), total(lane_sums.c)};
}

template <MomentSet set>
HWY_INLINE void exponentiate(float* s, std::int64_t n, float factor, float m, MomentLanes<float>& sums,
                             bfloat16* rounded) {
  if (rounded)  // 16-bit products leave the factor to us, and it is rarely 1
    exponentiate_row<set, true, true, false>(s, n, factor, m, sums, rounded);
  else if (factor == 1.0f)
    exponentiate_row<set, false, false, false>(s, n, factor, m, sums, nullptr);
  else
    exponentiate_row<set, true, false, false>(s, n, factor, m, sums, nullptr);
}

void Exponentiate(MomentSet set, float* s, std::int64_t n, float factor, float m, MomentLanes<float>& sums,
                  bfloat16* rounded) {
  switch (set) {
    case MomentSet::partition:
      return exponentiate<MomentSet::partition>(s, n, factor, m, sums, rounded);
    case MomentSet::entropy:
      return exponentiate<MomentSet::entropy>(s, n, factor, m, sums, rounded);
    case MomentSet::all:
      break;
  }
  exponentiate<MomentSet::all>(s, n, factor, m, sums, rounded);
}

template <MomentSet set>
HWY_INLINE float exponentiate_located(float* s, std::int64_t n, float factor, float m, MomentLanes<float>& sums) {
  if (factor == 1.0f) return exponentiate_row<set, false, false, true>(s, n, factor, m, sums, nullptr);
  return exponentiate_row<set, true, false, true>(s, n, factor, m, sums, nullptr);
}

float ExponentiateLocated(MomentSet set, float* s, std::int64_t n, float factor, float m, MomentLanes<float>& sums) {
  switch (set) {
    case MomentSet::partition:
      return exponentiate_located<MomentSet::partition>(s, n, factor, m, sums);
    case MomentSet::entropy:
      return exponentiate_located<MomentSet::entropy>(s, n, factor, m, sums);
    case MomentSet::all:
      break;
  }
  return exponentiate_located<MomentSet::all>(s, n, factor, m, sums);
}

void AddWeights(const float* s, std::int64_t n, float m, float log_partition, float* mass) {
  const Tag tag;
  const Vector maximum = hn::Set(tag, m), total = hn::Set(tag, log_partition);
  const Vector hidden = hn::Set(tag, -std::numeric_limits<float>::infinity());
  for (std::int64_t j = 0; j < n; j += lanes()) {
    const Vector score = hn::LoadU(tag, s + j);
    const Vector p = exp_not_positive(hn::Sub(hn::Sub(score, maximum), total));
    // The row's maximum may be NaN, which must affect only the keys that the row sees.
    hn::StoreU(hn::Add(hn::LoadU(tag, mass + j), hn::IfThenZeroElse(hn::Eq(score, hidden), p)), tag, mass + j);
  }
}

void GradientRow(const RowConstants& row, std::int64_t n, float* s, float* dp) {
  const Tag tag;
  const std::int64_t step = lanes();
  const auto constant = [&](double x) HWY_ATTR { return hn::Set(tag, static_cast<float>(x)); };
  const Vector m = constant(row.max_score), log_partition = constant(row.log_partition),
               mean = constant(row.mean_score);
  const Vector gate = constant(row.gate), base = constant(row.base);
  const Vector a1 = constant(row.a1), a2 = constant(row.a2), a3 = constant(row.a3);
  const Vector hidden = hn::Set(tag, -std::numeric_limits<float>::infinity());
  const auto differentiate = [&](float* scores, float* gradient) HWY_ATTR {
    const Vector score = hn::LoadU(tag, scores);
    const auto seen = hn::Not(hn::Eq(score, hidden));  // a NaN counts as seen
    const Vector x = hn::Sub(score, m);
    const Vector p = hn::IfThenElseZero(seen, exp_not_positive(hn::Sub(x, log_partition)));
    const Vector t = hn::IfThenElseZero(seen, hn::Sub(x, mean));
    Vector inner = hn::MulAdd(gate, hn::LoadU(tag, gradient), base);
    inner = hn::MulAdd(hn::MulAdd(a2, t, a1), t, inner);
    inner = hn::MulAdd(a3, p, inner);
    hn::StoreU(hn::IfThenZeroElse(hn::Eq(p, hn::Zero(tag)), hn::Mul(p, inner)), tag, gradient);
    hn::StoreU(p, tag, scores);
  };
  std::int64_t j = 0;
  for (; j + step <= n; j += step) differentiate(s + j, dp + j);
  if (j == n) return;
  float last_scores[HWY_MAX_BYTES / sizeof(float)] = {}, last_gradient[HWY_MAX_BYTES / sizeof(float)] = {};
  std::copy(s + j, s + n, last_scores);
  std::copy(dp + j, dp + n, last_gradient);
  differentiate(last_scores, last_gradient);
  std::copy(last_scores, last_scores + (n - j), s + j);
  std::copy(last_gradient, last_gradient + (n - j), dp + j);
}

}  // namespace HWY_NAMESPACE
}  // namespace isentropic
HWY_AFTER_NAMESPACE();

#endif
