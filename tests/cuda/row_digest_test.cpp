// Digests of sampled rows on the device against the CPU's.
#include "scan/cuda/row_digest.hpp"

#include <gtest/gtest.h>

#include "cuda/device_case.hpp"
#include "scan/sampled_tally.hpp"
#include "scan/sampling.hpp"

namespace isentropic::scan::cuda {
namespace {

using isentropic::cuda::DeviceMemory;
using isentropic::cuda::has_device;
using isentropic::cuda::read_list;
using isentropic::cuda::require;

struct DigestCase {
  Kind kind = Kind::decoder;
  std::optional<std::int64_t> window = {};
  std::int64_t rows = 0, keys = 0;
};

// Rows that sum to about 1, with some equal weights and many zeros.
std::vector<float> some_weights(std::int64_t count, std::int64_t keys, std::mt19937& random) {
  std::vector<float> out(static_cast<std::size_t>(count));
  for (float& weight : out)
    weight = random() % 3 == 0 ? 0 : static_cast<float>(random() % 4096) / (1024 * static_cast<float>(keys));
  return out;
}

void expect_same(const DigestCase& c, bool is_drawn) {
  constexpr std::int64_t kHeads = 3;
  constexpr std::uint64_t kLayer = 5;
  std::mt19937 random(3);
  std::vector<std::int32_t> ids;
  for (std::int64_t i = 0; i < c.rows; ++i) ids.push_back(static_cast<std::int32_t>(random() % 20));
  const LayerDescription layer{.module = "", .kind = c.kind, .heads = kHeads, .window = c.window};
  Sampling sampling;
  sampling.begin_text();
  for (int window = is_drawn ? 1 : 0; window < 2; ++window) sampling.begin_window(ids, {});
  const std::vector<std::int64_t> positions = sampling.rows_to_sample(layer, c.rows, 9);
  const SampledPlaces& places = sampling.places(layer, c.rows, c.keys, positions);
  const DigestLayout layout = sampling.layout(c.rows, c.keys);
  ASSERT_EQ(layout.is_drawn, is_drawn);
  const std::int64_t rows = std::ssize(positions);
  const std::vector<float> weights = some_weights(kHeads * rows * c.keys, c.keys, random);

  DeviceMemory memory;
  SampledWeights given{memory.list(weights),        kHeads, rows, c.keys, memory.list(places.rows),
                       memory.list(places.targets), kLayer};
  const std::size_t size = static_cast<std::size_t>(layout.size()),
                    all = static_cast<std::size_t>(kHeads * rows) * size;
  auto* const digests = static_cast<double*>(memory.poisoned(all * sizeof(double)));
  require(digest_rows(given, layout, digests, nullptr));
  require(cudaDeviceSynchronize());
  const std::vector<double> found = read_list<double>(digests, all);

  std::vector<KeyWeights> keys(kHeads);
  for (std::int64_t head = 0; head < kHeads; ++head)
    for (std::int64_t r = 0; r < rows; ++r) {
      const SampledPlace& place = places.rows[static_cast<std::size_t>(r)];
      const auto at = static_cast<std::size_t>(head * rows + r), n = static_cast<std::size_t>(c.keys);
      const SampledRow row{place, std::span(weights).subspan(at * n, n), places.targets_of(place),
                           shuffle_offset(kLayer, static_cast<std::uint64_t>(head), place)};
      std::vector<double> expected(size);
      digest_row(row, layout, expected);
      for (std::size_t i = 0; i < size; ++i)
        ASSERT_NEAR(found[at * size + i], expected[i], 1e-10) << "head " << head << ", row " << r << ", number " << i;
      keys[static_cast<std::size_t>(head)].add(row);
    }
  if (!is_drawn) return;

  // In two parts, as rows may arrive; each part is a copy because the weights of a head's rows are contiguous.
  const std::vector<KeyTotal> none(static_cast<std::size_t>(kHeads * c.keys), {0, 0});
  KeyTotal* const totals = memory.list(none);
  for (const auto& [begin, end] : {std::pair<std::int64_t, std::int64_t>(0, rows / 2), {rows / 2, rows}}) {
    if (begin == end) continue;
    std::vector<float> part;
    for (std::int64_t head = 0; head < kHeads; ++head)
      part.insert(part.end(), weights.begin() + (head * rows + begin) * c.keys,
                  weights.begin() + (head * rows + end) * c.keys);
    SampledWeights some = given;
    some.weights = memory.list(part), some.rows = end - begin, some.places = given.places + begin;
    require(add_shuffled_keys(some, totals, nullptr));
  }
  auto* const largest = static_cast<double*>(memory.poisoned(kHeads * sizeof(double)));
  require(largest_means(totals, kHeads, c.keys, KeyWeights::kFewestRows, largest, nullptr));
  require(cudaDeviceSynchronize());
  const std::vector<double> sinks = read_list<double>(largest, kHeads);
  for (std::size_t head = 0; head < kHeads; ++head) {
    const double expected = keys[head].largest();
    ASSERT_EQ(std::isnan(sinks[head]), std::isnan(expected)) << head;
    if (std::isnan(expected)) continue;
    EXPECT_FLOAT_EQ(static_cast<float>(sinks[head]), static_cast<float>(expected)) << head;
  }
}

TEST(CudaRowDigest, AgreesWithTheCpu) {
  if (!has_device()) GTEST_SKIP() << "no NVIDIA GPU";
  std::vector<DigestCase> cases;
  for (const std::int64_t n : {1, 2, 17, 48, 100, 257, 1000, 2048, 5003}) {
    cases.push_back({Kind::decoder, {}, n, n});
    cases.push_back({Kind::decoder, 33, n, n});
    cases.push_back({Kind::encoder, {}, n, n});
    cases.push_back({Kind::encoder, 40, n, n});
    cases.push_back({Kind::cross, {}, n, n / 2 + 1});
    cases.push_back({Kind::cross, {}, n / 3 + 1, n});
  }
  for (const DigestCase& c : cases)
    for (const bool is_drawn : {true, false}) {
      SCOPED_TRACE(std::string(name(c.kind)) + ", " + std::to_string(c.rows) + " x " + std::to_string(c.keys) +
                   (c.window ? ", a window" : ""));
      expect_same(c, is_drawn);
    }
}

// All weights are equal: the earliest keys count as the heaviest, and every thread has one.
TEST(CudaRowDigest, TiesGoToTheEarlierKey) {
  if (!has_device()) GTEST_SKIP() << "no NVIDIA GPU";
  constexpr std::int64_t kKeys = 3000;
  DeviceMemory memory;
  const std::vector<SampledPlace> places = {{.position = kKeys - 1, .begin = 5, .end = kKeys}};
  const DigestLayout layout = digest_layout(kKeys, kKeys, true);
  const SampledWeights given{memory.list(std::vector<float>(kKeys, 0.25f)), 1, 1, kKeys, memory.list(places),
                             memory.list(std::vector<std::int32_t>{0}),     0};
  const auto size = static_cast<std::size_t>(layout.size());
  auto* const digests = static_cast<double*>(memory.poisoned(size * sizeof(double)));
  require(digest_rows(given, layout, digests, nullptr));
  require(cudaDeviceSynchronize());
  const std::vector<double> numbers = read_list<double>(digests, size);
  const RowDigest digest(layout, numbers);
  for (std::size_t i = 0; i < kKeysOfRow; ++i) {
    EXPECT_EQ(digest.heaviest_keys()[i], 5.0 + static_cast<double>(i));
    EXPECT_EQ(digest.heaviest_weights()[i], 0.25);
  }
  EXPECT_NEAR(digest.rest(), 0.25 * (kKeys - 5 - kKeysOfRow), 1e-9);
}

}  // namespace
}  // namespace isentropic::scan::cuda
