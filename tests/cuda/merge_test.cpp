// The merge of partial rows against sums written out in double.
#include "attention/cuda/split.hpp"
#include "cuda/device_case.hpp"

namespace isentropic::cuda {
namespace {

using MergeIntegers = std::vector<std::int64_t>;

// Random parts, [parts, rows] each; about a third are empty, with a NaN output.
struct RandomParts {
  RandomParts(std::int64_t parts_, const Problem& p, std::mt19937& random)
      : parts(static_cast<std::size_t>(parts_)),
        rows(static_cast<std::size_t>(p.rows())),
        d_v(static_cast<std::size_t>(p.d_v)) {
    const ElementType real = real_type(p.type);
    std::normal_distribution<double> draw(0, 3);
    for (std::size_t at = 0; at < parts * rows; ++at) {
      const bool empty = random() % 3 == 0;
      // Some maxima are equal, in which case the lower index wins.
      m.push_back(empty ? -INFINITY : random() % 4 == 0 ? 5.0 : round_to(real, draw(random)));
      z.push_back(empty ? 0 : round_to(real, 1 + std::abs(draw(random))));
      u.push_back(empty ? 0 : round_to(real, -std::abs(draw(random))));
      w.push_back(empty ? 0 : round_to(real, std::abs(draw(random))));
      c.push_back(empty ? 0 : round_to(real, 1 + std::abs(draw(random)) / 10));
      k.push_back(empty ? static_cast<std::int64_t>(random() % 2) : 7);  // keys may have no mass
      a.push_back(empty ? -1 : static_cast<std::int64_t>(random() % 1000));
      for (std::size_t x = 0; x < d_v; ++x) output.push_back(empty ? NAN : round_to(real, draw(random)));
    }
  }

  std::size_t parts, rows, d_v;
  Numbers m, z, u, w, c, output;
  MergeIntegers k, a;
};

struct MergedRows {
  Numbers m, z, u, w, c, output;
  MergeIntegers k, a;
};

MergedRows merged_on_host(const RandomParts& in, const Numbers& sink_of_row) {
  MergedRows out;
  for (std::size_t row = 0; row < in.rows; ++row) {
    double m = -INFINITY, z = 0, u = 0, w = 0, c = 0;
    std::int64_t k = 0, a = -1;
    for (std::size_t at = row; at < in.m.size(); at += in.rows) {
      k += in.k[at];
      if (in.m[at] > m || (in.m[at] == m && in.z[at] > 0 && in.a[at] < a)) a = in.a[at];
      m = std::max(m, in.m[at]);
    }
    Numbers sum(in.d_v, 0);
    for (std::size_t at = row; at < in.m.size(); at += in.rows) {
      if (in.z[at] == 0) continue;
      const double delta = in.m[at] - m, r = std::exp(delta);
      z += r * in.z[at], u += r * (in.u[at] + delta * in.z[at]);
      w += r * (in.w[at] + 2 * delta * in.u[at] + delta * delta * in.z[at]), c += r * r * in.c[at];
      for (std::size_t x = 0; x < in.d_v; ++x) sum[x] += r * in.output[at * in.d_v + x];
    }
    const double total = z + (sink_of_row.empty() ? 0 : std::exp(sink_of_row[row] - m));
    for (const double x : sum) out.output.push_back(z == 0 ? 0 : x / total);
    out.m.push_back(m), out.z.push_back(z), out.u.push_back(u), out.w.push_back(w), out.c.push_back(c);
    out.k.push_back(k), out.a.push_back(a);
  }
  return out;
}

PartialRows parts_on_device(const RandomParts& in, ElementType type, DeviceMemory& memory) {
  const auto reals = [&](const Numbers& numbers) { return memory.numbers(real_type(type), numbers); };
  return {static_cast<std::int64_t>(in.parts),
          {reals(in.m), reals(in.z), reals(in.u), reals(in.w), reals(in.c), memory.list(in.k), memory.list(in.a)},
          reals(in.output)};
}

void expect_merge(ElementType type, std::int64_t parts, bool with_sink) {
  SCOPED_TRACE(std::to_string(parts) + " parts, type " + std::to_string(static_cast<int>(type)));
  std::mt19937 random(11);
  Problem p;
  p.type = type, p.batch = 2, p.heads = 3, p.kv_heads = 1, p.n_q = 5, p.d = p.d_v = 150;
  const RandomParts in(parts, p, random);
  DeviceMemory memory;
  Numbers sink_of_row;
  if (with_sink) {
    const Numbers sinks = {-2, 6, 40};
    p.sink = memory.numbers(real_type(type), sinks);
    for (std::size_t row = 0; row < in.rows; ++row) sink_of_row.push_back(sinks[row / 5 % 3]);
  }
  const ForwardOutput out = forward_output(p, memory);
  require(merge_parts(p, parts_on_device(in, type, memory), out, nullptr));
  require(cudaDeviceSynchronize());
  const MergedRows expected = merged_on_host(in, sink_of_row);
  const double tolerance = type == ElementType::float64 ? 1e-13 : 3e-6;
  const auto error = [&](const void* found, const Numbers& numbers) {
    return relative_error(read_numbers(real_type(type), found, in.rows), numbers);
  };
  EXPECT_LT(error(out.rows.m, expected.m), tolerance);
  EXPECT_LT(error(out.rows.z, expected.z), tolerance);
  EXPECT_LT(error(out.rows.u, expected.u), tolerance);
  EXPECT_LT(error(out.rows.w, expected.w), tolerance);
  EXPECT_LT(error(out.rows.c, expected.c), tolerance);
  EXPECT_EQ(read_list<std::int64_t>(out.rows.k, in.rows), expected.k);
  EXPECT_EQ(read_list<std::int64_t>(out.rows.a, in.rows), expected.a);
  const double rounding = type == ElementType::bfloat16 ? 4e-3 : type == ElementType::float16 ? 5e-4 : 0;
  EXPECT_LT(relative_error(read_numbers(type, out.output, expected.output.size()), expected.output),
            tolerance + rounding);
}

TEST(CudaMerge, AgreesWithSumsInDouble) {
  if (!has_device()) GTEST_SKIP() << "no NVIDIA GPU";
  for (const ElementType type :
       {ElementType::bfloat16, ElementType::float16, ElementType::float32, ElementType::float64})
    for (const std::int64_t parts : {1, 2, 5, 16, 17, 33, 40, 200})
      for (const bool with_sink : {false, true}) expect_merge(type, parts, with_sink);
}

}  // namespace
}  // namespace isentropic::cuda
