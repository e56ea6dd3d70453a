// The inner loops on Highway vectors, compiled once for each instruction set. Highway serves as headers alone: the
// choice among the sets is made in kernels.cpp.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)  // below AVX2 the plain code serves
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attention/cpu/kernels_highway.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h comes before highway.h, which each pass includes anew.
#include <hwy/highway.h>

#include <algorithm>
#include <limits>

#include "attention/cpu/exp.hpp"
#include "attention/cpu/few_rows.hpp"
#include "attention/cpu/kernels_highway.hpp"
#include "attention/cpu/products.hpp"
#include "attention/cpu/softmax_row.hpp"

HWY_BEFORE_NAMESPACE();
namespace isentropic {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::ScalableTag<float>;
using Vector = hn::Vec<Tag>;

HWY_INLINE std::int64_t lanes() { return static_cast<std::int64_t>(hn::Lanes(Tag())); }

// ---- Products ----

// kRows x kCols vectors of sums stay in registers: 6 x 4 fills the 32 of AVX-512, 6 x 2 the 16 of AVX2.
template <int kRows, int kCols, Store store, bool kSkipZeros>
HWY_INLINE void product_tile(const Product<float>& x, std::int64_t r0, std::int64_t c0) {
  const Tag tag;
  const std::int64_t n = lanes();
  Vector sum[kRows][kCols];
  for (int r = 0; r < kRows; ++r)
    for (int c = 0; c < kCols; ++c) sum[r][c] = hn::Zero(tag);
  const float *b = x.b + c0, *w = x.weights.data + r0 * x.weights.row_stride;
  for (std::int64_t i = 0; i < x.inner; ++i, b += x.b_stride, w += x.weights.inner_stride) {
    if (kSkipZeros && *w == 0.0f) continue;
    Vector row[kCols];
    for (int c = 0; c < kCols; ++c) row[c] = hn::LoadU(tag, b + c * n);
    for (int r = 0; r < kRows; ++r) {
      const Vector weight = hn::Set(tag, w[r * x.weights.row_stride]);
      for (int c = 0; c < kCols; ++c) sum[r][c] = hn::MulAdd(weight, row[c], sum[r][c]);
    }
  }
  for (int r = 0; r < kRows; ++r) {
    const Vector factor = hn::Set(tag, x.row_factor ? x.row_factor[r0 + r] : 1.0f);
    float* out = x.out + (r0 + r) * x.out_stride + c0;
    for (int c = 0; c < kCols; ++c) {
      Vector value = sum[r][c];
      if (store == Store::accumulate)
        value = hn::Add(hn::LoadU(tag, out + c * n), value);
      else if (x.row_factor)
        value = hn::Mul(value, factor);
      hn::StoreU(value, tag, out + c * n);
    }
  }
}

template <int kRows, Store store, bool kSkipZeros = false>
HWY_INLINE void product_columns(const Product<float>& x, std::int64_t r0, std::int64_t c0, std::int64_t vectors) {
  switch (vectors) {
    case 4:
      return product_tile<kRows, 4, store, kSkipZeros>(x, r0, c0);
    case 3:
      return product_tile<kRows, 3, store, kSkipZeros>(x, r0, c0);
    case 2:
      return product_tile<kRows, 2, store, kSkipZeros>(x, r0, c0);
    default:
      return product_tile<kRows, 1, store, kSkipZeros>(x, r0, c0);
  }
}

// Columns outside, rows inside: a panel of B stays in the nearest cache while all rows pass over it.
template <Store store>
void product_panels(const Product<float>& x) {
  constexpr std::int64_t kRows = 6;
  const std::int64_t n = lanes(), widest = n >= 16 ? 4 : 2;
  for (std::int64_t c = 0; c < x.cols;) {
    const std::int64_t vectors = std::min(widest, (x.cols - c) / n);
    std::int64_t r = 0;
    for (; x.skip_zero_weights && r < x.rows; ++r) product_columns<1, store, true>(x, r, c, vectors);
    for (; r + kRows <= x.rows; r += kRows) product_columns<kRows, store>(x, r, c, vectors);
    for (; r + 2 <= x.rows; r += 2) product_columns<2, store>(x, r, c, vectors);
    for (; r < x.rows; ++r) product_columns<1, store>(x, r, c, vectors);
    c += vectors * n;
  }
}

// Long sums are cut, so that the panel fits the cache whatever their length.
void Product_(Product<float> x, Store store) {
  if (store == Store::overwrite) return product_panels<Store::overwrite>(x);
  constexpr std::int64_t kInner = 128;
  for (std::int64_t left = x.inner; left > 0; left -= kInner) {
    x.inner = std::min(left, kInner);
    product_panels<Store::accumulate>(x);
    x.b += kInner * x.b_stride;
    x.weights.data += kInner * x.weights.inner_stride;
  }
}

// ---- Few rows ----

HWY_INLINE Vector load(const float* from) { return hn::LoadU(Tag(), from); }
HWY_INLINE Vector load(const bfloat16* from) {
  const hn::Rebind<std::uint16_t, Tag> half;
  const hn::RebindToUnsigned<Tag> bits;
  const auto wide = hn::PromoteTo(bits, hn::LoadU(half, reinterpret_cast<const std::uint16_t*>(from)));
  return hn::BitCast(Tag(), hn::ShiftLeft<16>(wide));
}
// As to_float() has it.
HWY_INLINE Vector load(const float16* from) {
  const Tag tag;
  const hn::Rebind<std::uint16_t, Tag> half;
  const hn::RebindToUnsigned<Tag> bits;
  const auto wide = hn::PromoteTo(bits, hn::LoadU(half, reinterpret_cast<const std::uint16_t*>(from)));
  const auto sign = hn::ShiftLeft<16>(hn::And(wide, hn::Set(bits, 0x8000)));
  const auto magnitude = hn::ShiftLeft<13>(hn::And(wide, hn::Set(bits, 0x7FFF)));
  const auto value = hn::BitCast(bits, hn::Mul(hn::BitCast(tag, magnitude), hn::Set(tag, 0x1p112f)));
  const hn::RebindToSigned<Tag> integers;  // what compares on every target
  const auto special = hn::RebindMask(bits, hn::Gt(hn::BitCast(integers, magnitude), hn::Set(integers, 0x0F7FFFFF)));
  const auto all = hn::Or(magnitude, hn::Set(bits, 0x7F800000));
  return hn::BitCast(tag, hn::Or(sign, hn::IfThenElse(special, all, value)));
}

// Memory is read from end to end; several keys in a row hide the latency of the sums over lanes. Each key is summed
// alike, wherever it stands.
template <int kRows, int kKeys, class E>
HWY_INLINE void dot_keys(const FewRows<float>& x, const E* keys, std::int64_t r0, std::int64_t j) {
  const Tag tag;
  Vector sum[kRows][kKeys];
  const float* q = x.left + r0 * x.left_stride;
  for (int k = 0; k < kKeys; ++k) {
    const E* key = keys + (j + k) * x.right.stride;
    for (int r = 0; r < kRows; ++r) sum[r][k] = hn::Zero(tag);
    for (std::int64_t c = 0; c < x.width; c += lanes()) {
      const Vector part = load(key + c);
      for (int r = 0; r < kRows; ++r)
        sum[r][k] = hn::MulAdd(hn::LoadU(tag, q + r * x.left_stride + c), part, sum[r][k]);
    }
  }
  for (int r = 0; r < kRows; ++r)
    for (int k = 0; k < kKeys; ++k)
      x.out[(r0 + r) * x.out_stride + j + k] = x.row_factor[r0 + r] * hn::GetLane(hn::SumOfLanes(tag, sum[r][k]));
}

template <class E>
HWY_INLINE void dots_of(const FewRows<float>& x) {
  const E* keys = static_cast<const E*>(x.right.data);
  const auto rows = [&]<int kKeys>(std::int64_t j) HWY_ATTR {
    std::int64_t r = 0;
    for (; r + 4 <= x.rows; r += 4) dot_keys<4, kKeys>(x, keys, r, j);
    for (; r < x.rows; ++r) dot_keys<1, kKeys>(x, keys, r, j);
  };
  std::int64_t j = 0;
  for (; j + 4 <= x.keys; j += 4) rows.template operator()<4>(j);
  for (; j < x.keys; ++j) rows.template operator()<1>(j);
}

template <int kRows, int kCols, class E>
HWY_INLINE void weigh_columns(const FewRows<float>& x, const E* values, std::int64_t r0, std::int64_t c0) {
  const Tag tag;
  const std::int64_t n = lanes();
  Vector sum[kRows][kCols];
  for (int r = 0; r < kRows; ++r)
    for (int c = 0; c < kCols; ++c) sum[r][c] = hn::LoadU(tag, x.out + (r0 + r) * x.out_stride + c0 + c * n);
  values += c0;
  for (std::int64_t j = 0; j < x.keys; ++j, values += x.right.stride) {
    Vector value[kCols];
    for (int c = 0; c < kCols; ++c) value[c] = load(values + c * n);
    for (int r = 0; r < kRows; ++r) {
      const Vector weight = hn::Set(tag, x.left[(r0 + r) * x.left_stride + j]);
      for (int c = 0; c < kCols; ++c) sum[r][c] = hn::MulAdd(weight, value[c], sum[r][c]);
    }
  }
  for (int r = 0; r < kRows; ++r)
    for (int c = 0; c < kCols; ++c) hn::StoreU(sum[r][c], tag, x.out + (r0 + r) * x.out_stride + c0 + c * n);
}

template <class E>
HWY_INLINE void weigh_of(const FewRows<float>& x) {
  const E* values = static_cast<const E*>(x.right.data);
  const std::int64_t n = lanes();
  std::int64_t r = 0;
  for (; r + 4 <= x.rows; r += 4) {
    std::int64_t c = 0;
    for (; c + 4 * n <= x.width; c += 4 * n) weigh_columns<4, 4>(x, values, r, c);
    for (; c < x.width; c += n) weigh_columns<4, 1>(x, values, r, c);
  }
  for (; r < x.rows; ++r) {
    std::int64_t c = 0;
    for (; c + 8 * n <= x.width; c += 8 * n) weigh_columns<1, 8>(x, values, r, c);
    for (; c + 4 * n <= x.width; c += 4 * n) weigh_columns<1, 4>(x, values, r, c);
    for (; c < x.width; c += n) weigh_columns<1, 1>(x, values, r, c);
  }
}

void Dots(const FewRows<float>& x) {
  if (x.right.type == DType::bfloat16)
    dots_of<bfloat16>(x);
  else if (x.right.type == DType::float16)
    dots_of<float16>(x);
  else
    dots_of<float>(x);
}

void Weigh(const FewRows<float>& x) {
  if (x.right.type == DType::bfloat16)
    weigh_of<bfloat16>(x);
  else if (x.right.type == DType::float16)
    weigh_of<float16>(x);
  else
    weigh_of<float>(x);
}

// ---- Rows ----

// 2^k value, for the integer k that sits in the low bits of `shifted` and is `k` as a number.
HWY_INLINE Vector times_power_of_two(Vector value, Vector k, Vector shifted) {
#if HWY_TARGET == HWY_AVX3
  (void)shifted;
  return Vector{_mm512_scalef_ps(value.raw, k.raw)};
#else
  (void)k;
  const Tag tag;
  const hn::RebindToSigned<Tag> integers;
  const auto power = hn::ShiftLeft<23>(hn::BitCast(integers, shifted));
  // NaN must pass: integer arithmetic on its bits may not be trusted to keep it.
  return hn::IfThenElse(hn::IsNaN(value), value, hn::BitCast(tag, hn::Add(hn::BitCast(integers, value), power)));
#endif
}

// e^x for x <= 0 as exp.hpp has it: x = k log 2 + r, a polynomial in r, times 2^k; exactly 1 at 0, exactly 0 at and
// below the floor. The polynomial has the least relative error on |r| <= log(2)/2 among those of degree 5 that are 1
// at 0, 9.2e-8; with rounding at most 1.6e-7. (k log 2 in one fused step: off by 2e-9 k, so less than that for weights
// above 1e-20.)
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
  // On x86 the second where either is NaN: a NaN score is passed over.
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

// Called where the CPU has the instruction; Highway 1.0.3 has no target for it.
HWY_INLINE void store_rounded(Vector x, bfloat16* to) {
#if HWY_TARGET == HWY_AVX3
  __m256i rounded;
  asm("vcvtneps2bf16 %1, %0" : "=v"(rounded) : "v"(x.raw));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), rounded);
#else
  (void)x, (void)to;
#endif
}

template <MomentSet set, bool kScaled, bool kRounded>
HWY_INLINE void exponentiate_row(float* s, std::int64_t n, float factor, float m, MomentLanes<float>& lane_sums,
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
  const auto fold = [&](std::int64_t j, SoftmaxMoments<Vector>& part) HWY_ATTR {
    Vector t = hn::LoadU(tag, s + j);
    if (kScaled) t = hn::Mul(t, scale);  // not fused: the product is rounded as where scores are scaled at once
    t = hn::Sub(t, maximum);
    t = hn::Max(floor, t);  // on x86 the second where either is NaN: NaN stays
    const Vector e = exp_not_positive(t);
    if (kRounded)
      store_rounded(e, rounded + j);
    else
      hn::StoreU(e, tag, s + j);
    part.z = hn::Add(part.z, e);
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
    fold(j, sums[0]);
    fold(j + step, sums[1]);
  }
  for (; j < n; j += step) fold(j, sums[0]);
  for (int chain = 0; chain < 2; ++chain) {
    hn::Store(sums[chain].z, tag, lane_sums.z + chain * step);
    hn::Store(sums[chain].u, tag, lane_sums.u + chain * step);
    hn::Store(sums[chain].w, tag, lane_sums.w + chain * step);
    hn::Store(sums[chain].c, tag, lane_sums.c + chain * step);
  }
  lane_sums.started = true;
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
  if (rounded)  // products in 16 bits leave the factor to us: it is 1 in rare cases
    exponentiate_row<set, true, true>(s, n, factor, m, sums, rounded);
  else if (factor == 1.0f)
    exponentiate_row<set, false, false>(s, n, factor, m, sums, nullptr);
  else
    exponentiate_row<set, true, false>(s, n, factor, m, sums, nullptr);
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
    const auto seen = hn::Not(hn::Eq(score, hidden));  // a NaN is seen
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

// Chains start apart, so that no compiler finds them equal; enough of them to hide the latency of each.
double FmaBurst(std::int64_t rounds) {
  const Tag tag;
  constexpr int kChains = 12;
  Vector sums[kChains];
  for (int chain = 0; chain < kChains; ++chain) sums[chain] = hn::Set(tag, static_cast<float>(chain));
  const Vector factor = hn::Set(tag, 0.999f), step = hn::Set(tag, 0.001f);
  for (std::int64_t round = 0; round < rounds; ++round)
    for (Vector& sum : sums) sum = hn::MulAdd(sum, factor, step);
  volatile float kept = 0;
  for (const Vector& sum : sums) kept = kept + hn::GetLane(sum);
  return 2.0 * kChains * static_cast<double>(lanes()) * static_cast<double>(rounds);
}

}  // namespace HWY_NAMESPACE
}  // namespace isentropic
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace isentropic {
namespace {

#if HWY_ARCH_X86
bool has_avx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
}
bool has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }

#define ISENTROPIC_KERNELS(target)                                                                        \
  target::Product_, target::Dots, target::Weigh, target::SoftCap, target::RowMaximum, target::FindScaled, \
      target::Exponentiate, target::Sum, target::FmaBurst, target::GradientRow

constexpr Kernels kAvx512 = {"avx512", has_avx512, ISENTROPIC_KERNELS(N_AVX3)};
constexpr Kernels kAvx2 = {"avx2", has_avx2, ISENTROPIC_KERNELS(N_AVX2)};
#endif

}  // namespace

std::vector<const Kernels*> highway_kernels() {
#if HWY_ARCH_X86
  return {&kAvx512, &kAvx2};
#else
  return {};
#endif
}

}  // namespace isentropic
#endif
