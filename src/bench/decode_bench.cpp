// Decoding: one query per head against a long cache, limited by memory bandwidth.
#include <cmath>
#include <cstring>
#include <numeric>
#include <span>

#include "bench/attention_bench.hpp"
#include "bench/timing.hpp"
#include "isentropic/attention.hpp"

namespace isentropic::bench {
namespace {

// Cheap numbers in [-1, 1), because gigabytes are needed.
template <class E>
std::vector<E> fill(std::int64_t count, std::uint64_t state) {
  std::vector<E> out(static_cast<std::size_t>(count));
  for (E& x : out) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const float value = static_cast<float>(static_cast<std::int32_t>(state >> 32)) * 0x1p-31f;
    if constexpr (std::is_same_v<E, bfloat16>)
      x = to_bfloat16(value);
    else
      x = value;
  }
  return out;
}

// Reads all of the memory once, on all threads.
std::uint64_t read(std::span<const std::byte> memory) {
  constexpr std::int64_t kPiece = 1 << 22;
  const std::int64_t size = std::ssize(memory), pieces = (size + kPiece - 1) / kPiece;
  std::vector<std::uint64_t> sums(static_cast<std::size_t>(pieces));
  default_executor().parallel_for(pieces, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t piece = begin; piece < end; ++piece) {
      std::uint64_t lanes[8] = {}, word;
      const std::byte* at = memory.data() + piece * kPiece;
      const std::int64_t words = std::min(kPiece, size - piece * kPiece) / 8;
      for (std::int64_t x = 0; x + 8 <= words; x += 8)
        for (int lane = 0; lane < 8; ++lane) {
          std::memcpy(&word, at + (x + lane) * 8, 8);
          lanes[lane] += word;
        }
      sums[piece] = std::accumulate(lanes, lanes + 8, std::uint64_t{0});
    }
  });
  return std::accumulate(sums.begin(), sums.end(), std::uint64_t{0});
}

// The entropy of the last head, computed naively in double.
template <class E>
void verify(const std::vector<E>& query, const std::vector<E>& key, const DecodeTiming& sizes, double met) {
  const auto number = [](E x) {
    if constexpr (std::is_same_v<E, bfloat16>)
      return static_cast<double>(to_float(x));
    else
      return static_cast<double>(x);
  };
  const E *q = query.data() + (sizes.heads - 1) * sizes.d, *k = key.data() + (sizes.kv_heads - 1) * sizes.n * sizes.d;
  double z = 0, u = 0;  // scores are small: no maximum needs to be subtracted
  for (std::int64_t j = 0; j < sizes.n; ++j) {
    double s = 0;
    for (std::int64_t c = 0; c < sizes.d; ++c) s += number(q[c]) * number(k[j * sizes.d + c]);
    s /= std::sqrt(static_cast<double>(sizes.d));
    z += std::exp(s);
    u += s * std::exp(s);
  }
  if (!(std::abs(met - (std::log(z) - u / z)) < 1e-4))
    throw Error("entropy of decoding", met, to_text(std::log(z) - u / z) + "; not timed");
}

template <class E>
DecodeTiming time_decode(DecodeTiming timing, double seconds) {
  const std::int64_t elements = timing.kv_heads * timing.n * timing.d;
  const std::vector<E> query = fill<E>(timing.heads * timing.d, 1), key = fill<E>(elements, 2),
                       value = fill<E>(elements, 3);
  const Shape shape{1, timing.kv_heads, timing.n, timing.d};
  const AttentionProblem problem{.query = View(query.data(), {1, timing.heads, 1, timing.d}),
                                 .key = View(key.data(), shape),
                                 .value = View(value.data(), shape),
                                 .statistics = Statistics::all()};
  verify(query, key, timing, attention(problem).statistics.entropy.at({0, timing.heads - 1, 0}));
  std::vector<double> times, ratios;
  double spent = 0;
  while (spent < 2 * seconds || times.size() < 5) {
    volatile std::uint64_t kept = 0;
    const double reading =
        seconds_of([&] { kept = read(std::as_bytes(std::span(key))) + read(std::as_bytes(std::span(value))); });
    times.push_back(seconds_of([&] { attention(problem); }));
    ratios.push_back(reading / times.back());
    spent += reading + times.back();
  }
  timing.seconds = median(times);
  timing.gigabytes_per_second = static_cast<double>(2 * elements * std::int64_t{sizeof(E)}) / timing.seconds * 1e-9;
  timing.read_fraction = median(ratios);
  return timing;
}

}  // namespace

std::vector<DecodeTiming> run_decode(const Options& options, const Progress& progress) {
  std::vector<DecodeTiming> out;
  if (options.decode_keys == 0) return out;
  for (std::int64_t d : options.sizes)
    for (bool bfloat : {false, true})
      for (std::int64_t kv_heads : {options.heads, std::max<std::int64_t>(1, options.heads / 4)}) {
        if (options.heads % kv_heads != 0) continue;
        const DecodeTiming sizes{
            bfloat ? "bfloat16" : "float32", options.decode_keys, d, options.heads, kv_heads, 0, 0, 0};
        out.push_back(bfloat ? time_decode<bfloat16>(sizes, options.seconds)
                             : time_decode<float>(sizes, options.seconds));
        progress.decode(out.back());
      }
  return out;
}

}  // namespace isentropic::bench
