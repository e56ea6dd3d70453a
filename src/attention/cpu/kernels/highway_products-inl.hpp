// products.hpp and few_rows.hpp on vectors; compiled once per target by kernels_highway.cpp.
#if defined(ISENTROPIC_HIGHWAY_PRODUCTS) == defined(HWY_TARGET_TOGGLE)
#ifdef ISENTROPIC_HIGHWAY_PRODUCTS
#undef ISENTROPIC_HIGHWAY_PRODUCTS
#else
#define ISENTROPIC_HIGHWAY_PRODUCTS
#endif

#include <algorithm>

#include "attention/cpu/kernels/few_rows.hpp"
#include "attention/cpu/kernels/highway_vector-inl.hpp"
#include "attention/cpu/kernels/products.hpp"

HWY_BEFORE_NAMESPACE();
namespace isentropic {
namespace HWY_NAMESPACE {

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

// Columns in the outer loop, rows in the inner: a panel of B stays in L1 while all rows pass over it.
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

// Long sums are split so that the panel always fits in cache.
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

HWY_INLINE Vector load(const float* from) { return hn::LoadU(Tag(), from); }
HWY_INLINE Vector load(const bfloat16* from) {
  const hn::Rebind<std::uint16_t, Tag> half;
  const hn::RebindToUnsigned<Tag> bits;
  const auto wide = hn::PromoteTo(bits, hn::LoadU(half, reinterpret_cast<const std::uint16_t*>(from)));
  return hn::BitCast(Tag(), hn::ShiftLeft<16>(wide));
}
// As in to_float().
HWY_INLINE Vector load(const float16* from) {
  const Tag tag;
  const hn::Rebind<std::uint16_t, Tag> half;
  const hn::RebindToUnsigned<Tag> bits;
  const auto wide = hn::PromoteTo(bits, hn::LoadU(half, reinterpret_cast<const std::uint16_t*>(from)));
  const auto sign = hn::ShiftLeft<16>(hn::And(wide, hn::Set(bits, 0x8000)));
  const auto magnitude = hn::ShiftLeft<13>(hn::And(wide, hn::Set(bits, 0x7FFF)));
  const auto value = hn::BitCast(bits, hn::Mul(hn::BitCast(tag, magnitude), hn::Set(tag, 0x1p112f)));
  const hn::RebindToSigned<Tag> integers;  // signed comparison exists on every target
  const auto special = hn::RebindMask(bits, hn::Gt(hn::BitCast(integers, magnitude), hn::Set(integers, 0x0F7FFFFF)));
  const auto all = hn::Or(magnitude, hn::Set(bits, 0x7F800000));
  return hn::BitCast(tag, hn::Or(sign, hn::IfThenElse(special, all, value)));
}

// Memory is read sequentially; handling several keys at a time hides the latency of the sums over lanes. Every key is
// summed in the same order, whatever its index.
template <int kRows, int kKeys, class E>
HWY_INLINE void dot_keys(const FewRowsProduct<float>& x, const E* keys, std::int64_t r0, std::int64_t j) {
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
HWY_INLINE void dots_of(const FewRowsProduct<float>& x) {
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
HWY_INLINE void weigh_columns(const FewRowsProduct<float>& x, const E* values, std::int64_t r0, std::int64_t c0) {
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
HWY_INLINE void weigh_of(const FewRowsProduct<float>& x) {
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

// f.operator()<E>() with the type of the right factor.
template <class F>
HWY_INLINE void with_right_type(const FewRowsProduct<float>& x, F f) {
  if (x.right.type == DType::bfloat16)
    f.template operator()<bfloat16>();
  else if (x.right.type == DType::float16)
    f.template operator()<float16>();
  else
    f.template operator()<float>();
}

void Dots(const FewRowsProduct<float>& x) {
  with_right_type(x, [&]<class E>() HWY_ATTR { dots_of<E>(x); });
}

void Weigh(const FewRowsProduct<float>& x) {
  with_right_type(x, [&]<class E>() HWY_ATTR { weigh_of<E>(x); });
}

}  // namespace HWY_NAMESPACE
}  // namespace isentropic
HWY_AFTER_NAMESPACE();

#endif
