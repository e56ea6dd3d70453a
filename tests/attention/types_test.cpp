// The element types: conversions, tensors and views, and every type through every pass.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "isentropic/tensor.hpp"
#include "sweep.hpp"

namespace attention_test {
namespace {

using isentropic::bfloat16;
using isentropic::float16;
using isentropic::Tensor;
using isentropic::View;

// The value of an IEEE-like 16-bit pattern, by definition.
double decode(std::uint16_t bits, int exponent_bits) {
  const int fraction_bits = 15 - exponent_bits;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = (bits >> fraction_bits) & ((1 << exponent_bits) - 1);
  const int fraction = bits & ((1 << fraction_bits) - 1);
  const double sign = bits >> 15 ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1) {
    return fraction ? std::numeric_limits<double>::quiet_NaN() : sign * std::numeric_limits<double>::infinity();
  }
  const double significand = exponent == 0
                                 ? std::ldexp(fraction, 1 - bias - fraction_bits)
                                 : std::ldexp((1 << fraction_bits) + fraction, exponent - bias - fraction_bits);
  return sign * significand;
}

// The finite bit pattern nearest to |x|, ties to even; from half a step beyond the largest, infinity.
std::uint16_t encode_magnitude(double x, int exponent_bits) {
  const int infinity = ((1 << exponent_bits) - 1) << (15 - exponent_bits);
  int low = 0, high = infinity - 1;
  while (low < high) {  // the largest pattern whose value is <= x
    const int middle = (low + high + 1) / 2;
    if (decode(static_cast<std::uint16_t>(middle), exponent_bits) <= x) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  const double below = decode(static_cast<std::uint16_t>(low), exponent_bits);
  const double step = low == infinity - 1 ? below - decode(static_cast<std::uint16_t>(low - 1), exponent_bits)
                                          : decode(static_cast<std::uint16_t>(low + 1), exponent_bits) - below;
  const double part = (x - below) / step;
  const bool up = part > 0.5 || (part == 0.5 && low % 2 == 1);
  return static_cast<std::uint16_t>(low + (up ? 1 : 0));
}

TEST(NarrowTypes, EveryPatternDecodes) {
  for (int bits = 0; bits < 65536; ++bits) {
    const auto pattern = static_cast<std::uint16_t>(bits);
    const double half = decode(pattern, 5), brain = decode(pattern, 8);
    const double half_met = to_float(float16{pattern}), brain_met = to_float(bfloat16{pattern});
    ASSERT_TRUE(half_met == half || (std::isnan(half_met) && std::isnan(half))) << bits;
    ASSERT_TRUE(brain_met == brain || (std::isnan(brain_met) && std::isnan(brain))) << bits;
    ASSERT_TRUE(std::isnan(half) || isentropic::to_float16(static_cast<float>(half)).bits == pattern) << bits;
    ASSERT_TRUE(std::isnan(brain) || isentropic::to_bfloat16(static_cast<float>(brain)).bits == pattern) << bits;
  }
}

TEST(NarrowTypes, RoundToNearestEven) {
  support::Random random(31);
  for (int trial = 0; trial < 200000; ++trial) {
    const auto bits = static_cast<std::uint32_t>(random.integer(0, 0xffffffffLL));
    float x = std::bit_cast<float>(bits);
    // Random patterns seldom fall within the range of float16, so half of the trials are forced into it.
    if (trial % 2) x = static_cast<float>(std::ldexp(random.uniform(-2, 2), static_cast<int>(random.integer(-26, 16))));
    if (!std::isfinite(x)) continue;
    const auto sign = static_cast<std::uint16_t>(std::signbit(x) ? 0x8000 : 0);
    ASSERT_EQ(isentropic::to_bfloat16(x).bits, sign | encode_magnitude(std::abs(static_cast<double>(x)), 8)) << x;
    ASSERT_EQ(isentropic::to_float16(x).bits, sign | encode_magnitude(std::abs(static_cast<double>(x)), 5)) << x;
  }
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(isentropic::to_float16(infinity).bits, 0x7c00);
  EXPECT_EQ(isentropic::to_bfloat16(-infinity).bits, 0xff80);
  EXPECT_EQ(isentropic::to_float16(65519.0f).bits, 0x7bff);
  EXPECT_EQ(isentropic::to_float16(65520.0f).bits, 0x7c00);
  EXPECT_EQ(isentropic::to_float16(-0.0f).bits, 0x8000);
  // A NaN stays a NaN, even if its payload lies in the truncated bits.
  for (std::uint32_t bits : {0x7fc00000u, 0x7f800001u, 0xff800001u, 0xffffffffu}) {
    EXPECT_TRUE(std::isnan(to_float(isentropic::to_float16(std::bit_cast<float>(bits)))));
    EXPECT_TRUE(std::isnan(to_float(isentropic::to_bfloat16(std::bit_cast<float>(bits)))));
  }
}

TEST(Tensors, ShapesStridesAndElements) {
  EXPECT_EQ(isentropic::to_string(isentropic::Shape{2, 8, 16, 64}), "[2, 8, 16, 64]");
  EXPECT_EQ(isentropic::contiguous_strides({2, 3, 4}), (isentropic::Shape{12, 4, 1}));
  Tensor tensor(DType::float32, {2, 3});
  EXPECT_TRUE(tensor.present());
  EXPECT_FALSE(Tensor().present());
  EXPECT_EQ(tensor.size(), 6);
  for (float value : tensor.values<float>()) EXPECT_EQ(value, 0);
  tensor.values<float>()[4] = 1.5f;
  EXPECT_EQ(tensor.at({1, 1}), 1.5);
  EXPECT_EQ(tensor.to_doubles(), (support::Numbers{0, 0, 0, 0, 1.5, 0}));
  EXPECT_THROW(tensor.at({2, 0}), isentropic::Error);
  EXPECT_THROW(tensor.at({0, -1}), isentropic::Error);
  EXPECT_THROW(tensor.at({0}), isentropic::Error);
  EXPECT_THROW(tensor.values<double>(), isentropic::Error);
  EXPECT_EQ(isentropic::size_of(DType::bfloat16), 2u);
  EXPECT_EQ(isentropic::size_of(DType::int64), 8u);
  EXPECT_STREQ(isentropic::name(DType::float16), "float16");
}

TEST(Tensors, SlicesAreViews) {
  const float numbers[24] = {};
  const View view(numbers, {2, 3, 4});
  const View part = view.slice(1, 1, 3);
  EXPECT_EQ(part.shape, (isentropic::Shape{2, 2, 4}));
  EXPECT_EQ(part.stride, view.stride);
  EXPECT_EQ(part.data, numbers + 4);
  EXPECT_FALSE(View().present());
  EXPECT_THROW(view.slice(1, 2, 5), isentropic::Error);
  EXPECT_THROW(view.slice(3, 0, 1), isentropic::Error);
}

// Every mask, term and map in every type: matches the oracle for the rounded inputs to the type's precision.
double tolerance(DType type) {
  switch (type) {
    case DType::bfloat16:
      return 0x1p-8;  // the output is rounded to 8 bits
    case DType::float16:
      return 0x1p-11;
    default:
      return 2e-5;
  }
}

void expect_type_accuracy(const Case& description) {
  SCOPED_TRACE(description.describe());
  Instance x = build(description);
  x.problem.statistics = support::every_statistic(x);
  const isentropic::AttentionResult result = attention(x.problem);
  const reference::Forward expected = reference::forward(x.oracle);
  EXPECT_EQ(result.output.type(), description.type);
  EXPECT_TRUE(support::close(result.output.to_doubles(), expected.output, tolerance(description.type)));
  support::expect_statistics(result.statistics, expected, 5e-5);
  EXPECT_TRUE(support::close(attention_weights(x.problem, support::all_rows(x.sizes.n_q)).to_doubles(),
                             expected.weights, 5e-5));
}

TEST(Types, EveryMask) {
  std::uint64_t seed = 6000;
  for (const auto& masks : support::mask_combinations()) {
    for (DType type : {DType::float32, DType::bfloat16, DType::float16}) {
      expect_type_accuracy({.sizes = kSmall,
                            .parts = joined(masks, {support::log_n(), support::groups(1, 2)}),
                            .type = type,
                            .layout = Layout::interleaved,
                            .seed = ++seed});
    }
  }
}

TEST(Types, EveryMapAndTerm) {
  std::uint64_t seed = 6100;
  std::vector<std::vector<Part>> settings = {{support::soft_cap(1.5), support::alibi(), support::sink()},
                                             {support::dense_bias_with_masked_keys()},
                                             {support::relative(2), support::per_row_scale()}};
  for (const Part& map : support::score_maps()) {
    // Maps with ties or thresholds may decide differently after rounding, so they are compared in double only.
    const bool continuous = !map.name.starts_with("top_k") && map.name != "hard" && !map.name.starts_with("gumbel");
    if (continuous) settings.push_back({map});
  }
  for (const Part& map : support::linear_maps()) settings.push_back({map});
  for (const auto& setting : settings) {
    for (DType type : {DType::float32, DType::bfloat16, DType::float16}) {
      expect_type_accuracy(
          {.sizes = kSmall, .parts = joined({support::causal()}, setting), .type = type, .seed = ++seed});
    }
  }
}

TEST(Types, Gradients) {
  for (DType type : {DType::float32, DType::bfloat16, DType::float16}) {
    Instance x =
        build({.sizes = kSmall,
               .parts = {support::causal(Align::end), support::soft_cap(2), support::dense_bias(), support::sink()},
               .type = type,
               .seed = 6200});
    SCOPED_TRACE(isentropic::name(type));
    // Gradients have the type of the inputs. They are computed from the output as rounded to that type.
    support::expect_dense_gradients(x, 4 * tolerance(type));
  }
}

}  // namespace
}  // namespace attention_test
