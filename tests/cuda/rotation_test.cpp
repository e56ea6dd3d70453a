// Rotary positions against cosines and sines in double.
#include "attention/cuda/rotation.hpp"

#include "cuda/device_case.hpp"

namespace isentropic::cuda {
namespace {

struct RotationCase {
  ElementType type = ElementType::bfloat16;
  Index d = 64;
  bool by_positions = false;  // memory layout [batch, n, heads, d]
  bool turns_back = false;
};

std::string name_of(const RotationCase& c) {
  return std::string(c.type == ElementType::bfloat16 ? "bfloat16" : "float16") + "_" + std::to_string(c.d) +
         (c.by_positions ? "_by_positions" : "") + (c.turns_back ? "_back" : "");
}

void PrintTo(const RotationCase& c, std::ostream* out) { *out << name_of(c); }

class CudaRotation : public testing::TestWithParam<RotationCase> {};

constexpr Index kBatch = 2, kHeads = 3, kRotated = 37;

Strides strides_of(const RotationCase& c) {
  const Index whole = kHeads * kRotated * c.d;
  return c.by_positions ? Strides{whole, c.d, kHeads * c.d} : Strides{whole, kRotated * c.d, c.d};
}

double angle(Index i, Index pair) { return 0.7 * static_cast<double>(i) / static_cast<double>(pair + 1); }

// Only the first half holds numbers; the second is never read.
std::vector<float> numbers_of_pairs(Index d, double (*f)(double)) {
  std::vector<float> out(static_cast<std::size_t>(kRotated * d), NAN);
  for (Index i = 0; i < kRotated; ++i)
    for (Index pair = 0; pair < d / 2; ++pair)
      out[static_cast<std::size_t>(i * d + pair)] = static_cast<float>(f(angle(i, pair)));
  return out;
}

Numbers turned(const Numbers& x, const RotationCase& c) {
  const Strides stride = strides_of(c);
  Numbers out(x.size());
  for (Index b = 0; b < kBatch; ++b)
    for (Index h = 0; h < kHeads; ++h)
      for (Index i = 0; i < kRotated; ++i)
        for (Index pair = 0; pair < c.d / 2; ++pair) {
          const auto low = static_cast<std::size_t>(b * stride.batch + h * stride.head + i * stride.row + pair);
          const std::size_t high = low + static_cast<std::size_t>(c.d / 2);
          const double turn = c.turns_back ? -angle(i, pair) : angle(i, pair);
          out[low] = x[low] * std::cos(turn) - x[high] * std::sin(turn);
          out[high] = x[high] * std::cos(turn) + x[low] * std::sin(turn);
        }
  return out;
}

TEST_P(CudaRotation, TurnsPairs) {
  if (!has_device()) GTEST_SKIP() << "no NVIDIA GPU";
  const RotationCase c = GetParam();
  std::mt19937 random(5);
  const Numbers x = normal(kBatch * kHeads * kRotated * c.d, 1, c.type, random);
  DeviceMemory memory;
  const Rotation rotation{.type = c.type,
                          .batch = kBatch,
                          .heads = kHeads,
                          .n = kRotated,
                          .d = c.d,
                          .x = memory.numbers(c.type, x),
                          .y = memory.poisoned(x.size() * size_of(c.type)),
                          .x_stride = strides_of(c),
                          .y_stride = strides_of(c),
                          .cosine = memory.list(numbers_of_pairs(c.d, std::cos)),
                          .sine = memory.list(numbers_of_pairs(c.d, std::sin)),
                          .turns_back = c.turns_back};
  ASSERT_TRUE(fits_rotation(rotation));
  require(rotate(rotation, nullptr));
  require(cudaDeviceSynchronize());
  const double half_a_step = c.type == ElementType::bfloat16 ? 0x1p-9 : 0x1p-12;
  EXPECT_LT(relative_error(read_numbers(c.type, rotation.y, x.size()), turned(x, c)), half_a_step);
}

INSTANTIATE_TEST_SUITE_P(Rotations, CudaRotation,
                         testing::Values(RotationCase{}, RotationCase{.by_positions = true},
                                         RotationCase{.type = ElementType::float16, .d = 128, .turns_back = true},
                                         RotationCase{.d = 48, .by_positions = true, .turns_back = true}),
                         [](const auto& rotation) { return name_of(rotation.param); });

TEST(CudaRotationFits, WholeChunksAlone) {
  Rotation rotation{.batch = 1, .heads = 1, .n = 4, .d = 64, .x_stride = {256, 256, 64}, .y_stride = {256, 256, 64}};
  EXPECT_TRUE(fits_rotation(rotation));
  rotation.d = 24;
  EXPECT_FALSE(fits_rotation(rotation));
  rotation.d = 64, rotation.x_stride.row = 68;
  EXPECT_FALSE(fits_rotation(rotation));
  rotation.x_stride.row = 64, rotation.type = ElementType::float32;
  EXPECT_FALSE(fits_rotation(rotation));
}

}  // namespace
}  // namespace isentropic::cuda
