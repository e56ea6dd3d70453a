// The gradient's row constants on the device against the library's, with and without a sink, for every statistic.
#include "attention/cuda/row_constants.cuh"

#include <complex>

#include "attention/passes/row_constants.hpp"
#include "cuda/row_records.hpp"

namespace isentropic::cuda::row_constants_test {
namespace {

constexpr Statistic kDifferentiable[] = {
    Statistic::log_partition,      Statistic::entropy,  Statistic::mean_score,    Statistic::score_variance,
    Statistic::collision,          Statistic::sparsity, Statistic::participation, Statistic::effective_keys,
    Statistic::normalised_entropy, Statistic::sink_mass};

struct ConstantsCase {
  std::string name;
  std::int64_t d_v = 64, padding = 0, shift = 0;  // in elements, after each row and before the first
  bool sink = false, statistics = true, output = true;
};

std::vector<ConstantsCase> constants_cases() {
  return {{"wide rows"},
          {"a sink", 64, 0, 0, true},
          {"rows of 37", 37},
          {"rows of one", 1},
          {"many elements, padded", 320, 8},
          {"rows that begin anywhere", 64, 3, 1, true},
          {"the output alone", 128, 0, 0, true, false},
          {"statistics alone", 64, 0, 0, true, true, false}};
}

// Doubles that are exact in the type of the inputs or of the sums.
struct Upstreams {
  Problem problem;
  Numbers sinks = {0.5, -40, 3};
  Records records;
  Numbers output, output_gradient;              // [rows, d_v]
  Numbers statistics[StatisticsOutput::kMost];  // empty: none
};

Upstreams random_upstreams(const ConstantsCase& c, ElementType type) {
  std::mt19937 random(21);
  Upstreams out;
  out.problem = row_problem(type, c.d_v);
  out.records = random_records(out.problem, random);
  const std::int64_t rows = out.problem.rows();
  if (c.output) {
    out.output = normal(rows * c.d_v, 1, type, random);
    out.output_gradient = normal(rows * c.d_v, 1, type, random);
    for (std::size_t e = 0; e < out.output.size(); e += 5) out.output_gradient[e] = 0, out.output[e] = NAN;
  }
  if (c.statistics)
    for (const Statistic statistic : kDifferentiable) {
      Numbers& gradients = out.statistics[static_cast<int>(statistic)];
      gradients = normal(rows, 1, real_type(type), random);
      for (std::size_t row = static_cast<std::size_t>(statistic); row < gradients.size(); row += 7) gradients[row] = 0;
    }
  return out;
}

// df / dx of an analytic f by the complex step, exact to rounding: Im f(x + ih) / h.
template <class F>
double derivative(F f, double x) {
  constexpr double kStep = 1e-30;
  return f(std::complex<double>(x, kStep)).imag() / kStep;
}

// The library has gradients of L, H, E, V and sum p^2; those of derived statistics follow by the chain rule.
std::vector<RowConstants> expected_constants(const Upstreams& in, bool with_sink) {
  using Z = std::complex<double>;
  const Problem& p = in.problem;
  const auto rows = static_cast<std::size_t>(p.rows());
  Numbers of_l(rows), of_h(rows), of_e(rows), of_v(rows), of_c(rows), direct(rows), products(rows, 0.0);
  for (std::size_t row = 0; row < rows; ++row) {
    const auto g = [&](Statistic statistic) {
      const Numbers& gradients = in.statistics[static_cast<int>(statistic)];
      return gradients.empty() ? 0.0 : gradients[row];
    };
    const SoftmaxRecord<double>& keys = in.records[row];
    const double k = static_cast<double>(keys.k);
    of_l[row] = g(Statistic::log_partition), of_h[row] = g(Statistic::entropy), of_e[row] = g(Statistic::mean_score);
    of_v[row] = g(Statistic::score_variance), of_c[row] = g(Statistic::collision);
    if (with_sink) {
      const double sink = in.sinks[row / static_cast<std::size_t>(p.n_q) % 3];
      const double total = log_partition(merge(keys, sink_logit(sink))), of_mass = g(Statistic::sink_mass);
      of_l[row] += of_mass * derivative([&](Z l) { return std::exp(sink - l); }, total);
      direct[row] = of_mass * derivative([&](Z s) { return std::exp(s - total); }, sink);
    }
    if (keys.k > 1)
      of_h[row] += g(Statistic::normalised_entropy) * derivative([&](Z h) { return h / std::log(k); }, entropy(keys));
    if (keys.k > 0) {
      of_h[row] += g(Statistic::effective_keys) * derivative([](Z h) { return std::exp(h); }, entropy(keys));
      of_c[row] += g(Statistic::participation) * derivative([](Z c) { return 1.0 / c; }, collision(keys));
      of_c[row] += g(Statistic::sparsity) * derivative([&](Z c) { return 1.0 / std::sqrt(k * c); }, collision(keys));
    }
    for (std::size_t e = row * static_cast<std::size_t>(p.d_v);
         !in.output.empty() && e < (row + 1) * static_cast<std::size_t>(p.d_v); ++e)
      if (in.output_gradient[e] != 0) products[row] += in.output_gradient[e] * in.output[e];
  }
  const Shape shape = {p.batch, p.heads, p.n_q};
  const float* const none = nullptr;
  AttentionProblem problem = {.query = View(none, {p.batch, p.heads, p.n_q, p.d}),
                              .key = View(none, {p.batch, p.kv_heads, p.n_k, p.d})};
  if (with_sink) problem.sink = PerHead(in.sinks);
  AttentionResult forward;
  forward.rows.lambda = Tensor(DType::float64, shape);
  forward.rows.allocate_records(MomentSet::all);
  for (std::size_t row = 0; row < rows; ++row) forward.rows.set_record(static_cast<std::int64_t>(row), in.records[row]);
  const AttentionUpstream upstream = {.log_partition = View(of_l.data(), shape),
                                      .entropy = View(of_h.data(), shape),
                                      .mean_score = View(of_e.data(), shape),
                                      .score_variance = View(of_v.data(), shape),
                                      .collision = View(of_c.data(), shape)};
  std::vector<RowConstants> out = isentropic::row_constants(problem, forward, upstream, products);
  for (std::size_t row = 0; row < rows; ++row) out[row].sink += direct[row];
  return out;
}

// A tensor [batch, heads, n_q, d_v] with gaps of `padding` between rows, starting `shift` elements into its memory.
const void* padded(const Upstreams& in, const Numbers& values, const ConstantsCase& c, Strides& stride,
                   DeviceMemory& memory) {
  const Problem& p = in.problem;
  const std::int64_t row = c.d_v + c.padding;
  stride = {p.heads * p.n_q * row, p.n_q * row, row};
  if (values.empty()) return nullptr;
  Numbers spread(static_cast<std::size_t>(c.shift + p.rows() * row), NAN);
  for (std::int64_t r = 0; r < p.rows(); ++r)
    std::copy_n(values.begin() + r * c.d_v, c.d_v, spread.begin() + c.shift + r * row);
  const auto* data = static_cast<const char*>(memory.numbers(p.type, spread));
  return data + static_cast<std::size_t>(c.shift) * size_of(p.type);
}

std::vector<RowConstants> found_on_device(Upstreams in, const ConstantsCase& c) {
  Problem& p = in.problem;
  const ElementType real = real_type(p.type);
  const auto rows = static_cast<std::size_t>(p.rows());
  DeviceMemory memory;
  if (c.sink) p.sink = memory.numbers(real, in.sinks);
  RowUpstream upstream;
  upstream.output = padded(in, in.output, c, upstream.output_stride, memory);
  upstream.output_gradient = padded(in, in.output_gradient, c, upstream.output_gradient_stride, memory);
  for (int s = 0; s < StatisticsOutput::kMost; ++s)
    if (!in.statistics[s].empty()) upstream.statistics[s] = memory.numbers(real, in.statistics[s]);
  const auto array = [&] { return memory.poisoned(rows * size_of(real)); };
  const RowConstantArrays arrays = {array(), array(), array(), array(), array(), array(), array(), array()};
  void* sink = array();
  require(row_constants(p, on_device(p, in.records, memory), upstream, arrays, sink, nullptr));
  require(cudaDeviceSynchronize());
  std::vector<RowConstants> out(rows);
  const auto read = [&](const void* data, double RowConstants::*field) {
    const Numbers values = read_numbers(real, data, rows);
    for (std::size_t row = 0; row < rows; ++row) out[row].*field = values[row];
  };
  read(arrays.max_score, &RowConstants::max_score);
  read(arrays.log_partition, &RowConstants::log_partition);
  read(arrays.mean_score, &RowConstants::mean_score);
  read(arrays.gate, &RowConstants::gate);
  read(arrays.base, &RowConstants::base);
  read(arrays.a1, &RowConstants::a1);
  read(arrays.a2, &RowConstants::a2);
  read(arrays.a3, &RowConstants::a3);
  read(sink, &RowConstants::sink);
  return out;
}

std::vector<RowConstants> found_on_host(const Upstreams& in, const ConstantsCase& c) {
  std::vector<RowConstants> out;
  for (std::size_t row = 0; row < in.records.size(); ++row) {
    double product = 0;
    for (std::size_t e = 0; c.output && e < static_cast<std::size_t>(c.d_v); ++e) {
      const std::size_t place = row * static_cast<std::size_t>(c.d_v) + e;
      product += contained(in.output_gradient[place], in.output[place]);
    }
    const RowSink sink = {c.sink, in.sinks[row / static_cast<std::size_t>(in.problem.n_q) % 3]};
    const RowGradientConstants x = gradient_constants(in.records[row], sink, product, [&](Statistic statistic) {
      const Numbers& gradients = in.statistics[static_cast<int>(statistic)];
      return gradients.empty() ? 0.0 : gradients[row];
    });
    out.push_back({x.max_score, x.log_partition, x.mean_score, x.gate, x.base, x.a1, x.a2, x.a3, x.sink});
  }
  return out;
}

void expect_constants(ElementType type, const std::vector<RowConstants>& found,
                      const std::vector<RowConstants>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t row = 0; row < found.size(); ++row)
    for (const auto field :
         {&RowConstants::max_score, &RowConstants::log_partition, &RowConstants::mean_score, &RowConstants::gate,
          &RowConstants::base, &RowConstants::a1, &RowConstants::a2, &RowConstants::a3, &RowConstants::sink}) {
      SCOPED_TRACE("row " + std::to_string(row));
      // D sums up to 320 products of size 1; participation turns gradients of size 1 into ones of size 400.
      ASSERT_NO_FATAL_FAILURE(expect_close(type, found[row].*field, expected[row].*field, 512));
    }
}

TEST(CudaRowConstants, OfTheHostAreTheLibrarys) {
  for (const ConstantsCase& c : constants_cases()) {
    SCOPED_TRACE(c.name);
    const Upstreams in = random_upstreams(c, ElementType::float64);
    expect_constants(ElementType::float64, found_on_host(in, c), expected_constants(in, c.sink));
  }
}

TEST(CudaRowConstants, OfTheDeviceAreTheLibrarys) {
  if (!has_device()) GTEST_SKIP() << "no NVIDIA GPU";
  for (const ElementType type :
       {ElementType::bfloat16, ElementType::float16, ElementType::float32, ElementType::float64})
    for (const ConstantsCase& c : constants_cases()) {
      SCOPED_TRACE(c.name + ", type " + std::to_string(static_cast<int>(type)));
      const Upstreams in = random_upstreams(c, type);
      expect_constants(type, found_on_device(in, c), expected_constants(in, c.sink));
    }
}

TEST(CudaRowConstants, ArraysThatAreNotWantedAreLeftAlone) {
  if (!has_device()) GTEST_SKIP() << "no NVIDIA GPU";
  const ConstantsCase c;
  const Upstreams in = random_upstreams(c, ElementType::float32);
  DeviceMemory memory;
  RowConstantArrays arrays;
  arrays.base = memory.poisoned(in.records.size() * 4);
  RowUpstream upstream;
  upstream.output = padded(in, in.output, c, upstream.output_stride, memory);
  upstream.output_gradient = padded(in, in.output_gradient, c, upstream.output_gradient_stride, memory);
  require(row_constants(in.problem, on_device(in.problem, in.records, memory), upstream, arrays, nullptr, nullptr));
  require(cudaDeviceSynchronize());
  for (const double value : read_numbers(ElementType::float32, arrays.base, in.records.size()))
    ASSERT_TRUE(std::isfinite(value));
}

}  // namespace
}  // namespace isentropic::cuda::row_constants_test
