// The forward pass on the GPU against the oracle: output, records and statistics.
#include "attention/cuda/forward.hpp"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "reference/forward.hpp"

namespace isentropic::cuda {
namespace {

using reference::Index;
using reference::Numbers;

bool has_device() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
}

void require(cudaError_t error) { ASSERT_EQ(error, cudaSuccess) << cudaGetErrorString(error); }

// Memory of the device, poisoned until written.
template <class T>
class OnDevice {
 public:
  explicit OnDevice(std::size_t count) : count_(count) {
    require(cudaMalloc(&data_, std::max<std::size_t>(1, count) * sizeof(T)));
    require(cudaMemset(data_, 0xff, count * sizeof(T)));
  }
  explicit OnDevice(const std::vector<T>& host) : OnDevice(host.size()) {
    require(cudaMemcpy(data_, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
  }
  ~OnDevice() { cudaFree(data_); }
  OnDevice(const OnDevice&) = delete;

  T* get() const { return static_cast<T*>(data_); }
  std::vector<T> read() const {
    std::vector<T> host(count_);
    require(cudaMemcpy(host.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost));
    return host;
  }

 private:
  std::size_t count_;
  void* data_ = nullptr;
};

std::uint16_t bfloat16_bits(double x) {
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(x));
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
double from_bfloat16(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

// Normal numbers as bfloat16 has them.
Numbers normal(Index count, double size, std::mt19937& random) {
  std::normal_distribution<double> draw(0, size);
  Numbers out(static_cast<std::size_t>(count));
  for (double& x : out) x = from_bfloat16(bfloat16_bits(draw(random)));
  return out;
}
std::vector<std::uint16_t> bits_of(const Numbers& numbers) {
  std::vector<std::uint16_t> out;
  for (const double x : numbers) out.push_back(bfloat16_bits(x));
  return out;
}
std::vector<float> floats(const Numbers& numbers) { return {numbers.begin(), numbers.end()}; }

struct Sizes {
  Index batch = 1, heads = 2, kv_heads = 2, n_q = 200, n_k = 200, d = 64;
};

struct Case {
  std::string name;
  Sizes sizes = {};
  // Changes what the oracle and what the kernel are given.
  std::function<void(reference::Problem&, ForwardProblem&)> change = [](auto&, auto&) {};
  double size = 1;  // of queries
};

struct Found {
  std::vector<std::uint16_t> output;
  std::vector<std::vector<float>> statistics;
  std::vector<std::int64_t> visible;
};

reference::Problem oracle_of(const Case& c) {
  std::mt19937 random(7);
  const Sizes& n = c.sizes;
  reference::Problem out;
  out.batch = n.batch, out.heads = n.heads, out.kv_heads = n.kv_heads;
  out.n_q = n.n_q, out.n_k = n.n_k, out.d = n.d, out.d_v = n.d;
  out.query = normal(n.batch * n.heads * n.n_q * n.d, c.size, random);
  out.key = normal(n.batch * n.kv_heads * n.n_k * n.d, 1, random);
  out.value = normal(n.batch * n.kv_heads * n.n_k * n.d, 1, random);
  return out;
}

const Statistic kStatistics[] = {Statistic::log_partition,      Statistic::entropy,       Statistic::max_score,
                                 Statistic::normalised_entropy, Statistic::peak,          Statistic::collision,
                                 Statistic::sparsity,           Statistic::participation, Statistic::score_variance,
                                 Statistic::mean_score,         Statistic::effective_keys};
bool needs_all(Statistic statistic) {
  return statistic == Statistic::collision || statistic == Statistic::sparsity ||
         statistic == Statistic::participation || statistic == Statistic::score_variance;
}
bool needs_entropy(Statistic statistic) {
  return needs_all(statistic) || statistic == Statistic::entropy || statistic == Statistic::normalised_entropy ||
         statistic == Statistic::mean_score || statistic == Statistic::effective_keys;
}

Found run(const reference::Problem& oracle, ForwardProblem p) {
  const std::size_t rows = static_cast<std::size_t>(p.batch * p.heads * p.n_q);
  const OnDevice query(bits_of(oracle.query)), key(bits_of(oracle.key)), value(bits_of(oracle.value));
  const OnDevice<std::uint16_t> output(rows * static_cast<std::size_t>(p.d));
  const OnDevice<float> m(rows), z(rows), u(rows), w(rows), c(rows);
  p.query = query.get(), p.key = key.get(), p.value = value.get(), p.output = output.get();
  p.query_stride = p.output_stride = {p.heads * p.n_q * p.d, p.n_q * p.d, p.d};
  p.key_stride = p.value_stride = {p.kv_heads * p.n_k * p.d, p.n_k * p.d, p.d};
  p.m = m.get(), p.z = z.get(), p.u = u.get(), p.w = w.get(), p.c = c.get();
  require(forward(p, nullptr));
  StatisticsOutput asked;
  std::vector<std::unique_ptr<OnDevice<float>>> columns;
  for (const Statistic statistic : kStatistics) {
    columns.push_back(std::make_unique<OnDevice<float>>(rows));
    asked.real[static_cast<int>(statistic)] = columns.back()->get();
  }
  const OnDevice<std::int64_t> visible(rows);
  asked.visible = visible.get();
  require(statistics(p, asked, nullptr));
  require(cudaDeviceSynchronize());
  Found out{output.read(), {}, visible.read()};
  for (const auto& column : columns) out.statistics.push_back(column->read());
  return out;
}

void expect_near(const reference::Problem& oracle, const reference::Forward& expected, const Found& found,
                 MomentSet moments) {
  double error = 0, size = 0;
  for (std::size_t i = 0; i < found.output.size(); ++i) {
    const double off = from_bfloat16(found.output[i]) - expected.output[i];
    error += off * off, size += expected.output[i] * expected.output[i];
  }
  EXPECT_LT(std::sqrt(error), 4e-3 * std::sqrt(size) + 1e-12);
  for (std::size_t row = 0; row < found.visible.size(); ++row) ASSERT_EQ(found.visible[row], expected.visible[row]);
  for (std::size_t s = 0; s < std::size(kStatistics); ++s) {
    if (needs_all(kStatistics[s]) && moments != MomentSet::all) continue;
    if (needs_entropy(kStatistics[s]) && moments == MomentSet::partition) continue;
    const Numbers& wanted = expected.statistics.at(name(kStatistics[s]));
    for (std::size_t row = 0; row < wanted.size(); ++row) {
      if (std::isinf(wanted[row])) {
        ASSERT_EQ(found.statistics[s][row], static_cast<float>(wanted[row])) << name(kStatistics[s]) << " " << row;
        continue;
      }
      ASSERT_NEAR(found.statistics[s][row], wanted[row], 2e-4 * (1 + std::abs(wanted[row])))
          << name(kStatistics[s]) << " of row " << row << " of " << oracle.n_q;
    }
  }
}

class CudaForward : public testing::TestWithParam<Case> {};

TEST_P(CudaForward, AgreesWithTheOracle) {
  if (!has_device()) GTEST_SKIP() << "no NVIDIA GPU";
  for (const Index d : {64, 128}) {
    Case c = GetParam();
    c.sizes.d = d;
    reference::Problem oracle = oracle_of(c);
    ForwardProblem problem;
    problem.batch = oracle.batch, problem.heads = oracle.heads, problem.kv_heads = oracle.kv_heads;
    problem.n_q = oracle.n_q, problem.n_k = oracle.n_k, problem.d = d;
    problem.scale = static_cast<float>(1 / std::sqrt(static_cast<double>(d)));
    c.change(oracle, problem);
    const reference::Forward expected = reference::forward(oracle);
    for (const MomentSet moments : {MomentSet::partition, MomentSet::entropy, MomentSet::all}) {
      SCOPED_TRACE(c.name + ", d = " + std::to_string(d) + ", moments " + std::to_string(static_cast<int>(moments)));
      problem.moments = moments;
      expect_near(oracle, expected, run(oracle, problem), moments);
    }
  }
}

// What a case keeps on the device for its problem.
template <class T>
T* kept(const std::vector<T>& host) {
  static std::vector<std::unique_ptr<OnDevice<T>>> all;
  all.push_back(std::make_unique<OnDevice<T>>(host));
  return all.back()->get();
}

void causal(reference::Problem& oracle, ForwardProblem& problem) {
  oracle.mask.causal = true;
  problem.visible.right = 0;
}

void causal_at_the_end(reference::Problem& oracle, ForwardProblem& problem) {
  causal(oracle, problem);
  oracle.mask.align = reference::Align::end;
  problem.visible.offset = problem.n_k - problem.n_q;
}

std::vector<Case> cases() {
  return {
      {"full"},
      {"causal", {.batch = 2}, causal},
      {"one row", {.n_q = 1, .n_k = 777}},
      {"one key", {.n_q = 130, .n_k = 1}},
      {"grouped heads", {.heads = 6, .kv_heads = 2, .n_q = 129, .n_k = 129}, causal},
      {"aligned at the end", {.n_q = 77, .n_k = 333}, causal_at_the_end},
      {"rows without keys", {.n_q = 300, .n_k = 100}, causal_at_the_end},
      {"window",
       {.n_q = 500, .n_k = 500},
       [](reference::Problem& oracle, ForwardProblem& problem) {
         oracle.mask.has_window = true, oracle.mask.left = 70, oracle.mask.right = 5;
         problem.visible.left = 70, problem.visible.right = 5;
       }},
      {"prefix and window",
       {.n_q = 400, .n_k = 400},
       [](reference::Problem& oracle, ForwardProblem& problem) {
         causal(oracle, problem);
         oracle.mask.has_window = true, oracle.mask.left = 33, oracle.mask.prefix = 21;
         problem.visible.left = 33, problem.visible.prefix = kept<std::int32_t>({21});
       }},
      {"lists",
       {.batch = 2, .n_q = 150, .n_k = 150},
       [](reference::Problem& oracle, ForwardProblem& problem) {
         oracle.mask.key_lengths = {150, 90};
         std::vector<std::int32_t> begin(300, 0), end(300, 150);
         std::fill(end.begin() + 150, end.end(), 90);
         problem.visible.begin = kept(begin), problem.visible.end = kept(end);
       }},
      {"scale of each row",
       {},
       [](reference::Problem& oracle, ForwardProblem& problem) {
         oracle.scale.law = reference::Law::per_row;
         for (Index row = 0; row < oracle.batch * oracle.heads * oracle.n_q; ++row)
           oracle.scale.rows.push_back(row % 7 == 0 ? 0.0 : row % 5 == 0 ? -0.1 : 0.02 * static_cast<double>(row % 11));
         problem.scales = kept(floats(oracle.scale.rows));
       }},
      {"soft cap and slopes",
       {},
       [](reference::Problem& oracle, ForwardProblem& problem) {
         causal(oracle, problem);
         oracle.soft_cap = 20, oracle.bias.kind = reference::BiasKind::alibi, oracle.bias.slopes = {0.5, 0.03};
         problem.soft_cap = 20, problem.slopes = kept(floats(oracle.bias.slopes));
       }},
      {"sink",
       {},
       [](reference::Problem& oracle, ForwardProblem& problem) {
         causal(oracle, problem);
         oracle.sink = {1.5, -30};
         problem.sink = kept(floats(oracle.sink));
       }},
      {"large scores", {}, causal, 100},
  };
}

INSTANTIATE_TEST_SUITE_P(Cases, CudaForward, testing::ValuesIn(cases()), [](const testing::TestParamInfo<Case>& info) {
  std::string name = info.param.name;
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
});

TEST(CudaForward, RepeatsBitForBit) {
  if (!has_device()) GTEST_SKIP() << "no NVIDIA GPU";
  const reference::Problem oracle = oracle_of({"", {.n_q = 1000, .n_k = 1000}});
  ForwardProblem problem;
  problem.batch = 1, problem.heads = problem.kv_heads = 2, problem.n_q = problem.n_k = 1000, problem.d = 64;
  problem.scale = 0.125f, problem.moments = MomentSet::all;
  const Found first = run(oracle, problem), second = run(oracle, problem);
  EXPECT_EQ(first.output, second.output);
  EXPECT_EQ(first.statistics, second.statistics);
}

}  // namespace
}  // namespace isentropic::cuda
