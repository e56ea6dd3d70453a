// Scales, gradients of their parameters, statistics and sums of rows on the device against the library's formulas.
#include "attention/cuda/rows.hpp"

#include "attention/problem/scale_formulas.hpp"
#include "cuda/row_records.hpp"
#include "isentropic/scale.hpp"

namespace isentropic::cuda::rows_test {
namespace {

constexpr ElementType kTypes[] = {ElementType::bfloat16, ElementType::float32, ElementType::float64};

// Every law that is a formula, with different parameters for each of three heads where it accepts them.
std::vector<Scale> formula_scales() {
  std::vector<Scale> out;
  for (const ScaleLaw& law : Scale::laws()) {
    if (!law.lambda) continue;
    Options options;
    for (const Parameter& parameter : law.parameters) {
      const bool first = options.empty();
      if (parameter.type == Parameter::Type::integer)
        options.emplace_back(parameter.name, std::int64_t{17});
      else if (parameter.type == Parameter::Type::per_head)
        options.emplace_back(parameter.name, first ? std::vector<double>{0.5, -1.25, 2} : std::vector<double>{1, 3, 0});
      else
        options.emplace_back(parameter.name, first ? 4.0 : 0.75);
    }
    out.push_back(Scale::named(law.name, options));
  }
  return out;
}

int number_of(const Scale& scale) { return static_cast<int>(&scale.law() - Scale::laws().data()); }

ScaleFormula on_device(const Scale& scale, ElementType type, DeviceMemory& memory) {
  ScaleFormula out;
  out.law = number_of(scale), out.learnable = scale.learnable();
  for (std::size_t index = 0; index < scale.parameters().size(); ++index) {
    const std::vector<double>& values = scale.parameters()[index].values();
    if (values.size() == 1)
      out.parameters[index].number = values[0];
    else
      out.parameters[index] = {memory.numbers(real_type(type), values), true};
  }
  return out;
}

// The laws' inputs for each row: from the problem's own spans, or with explicit counts and positions.
struct RowInputs {
  Problem problem;
  std::vector<std::int64_t> visible;    // empty: from the spans
  std::vector<std::int32_t> positions;  // likewise
  ScaleInput at(std::int64_t row) const {
    const Problem& p = problem;
    const std::int64_t i = row % p.n_q, h = row / p.n_q % p.heads, b = row / p.n_q / p.heads;
    if (visible.empty()) return {std::clamp<std::int64_t>(i + p.visible.offset + 1, 0, p.n_k), p.d, i + 25, h};
    return {visible[static_cast<std::size_t>(row)], p.d, positions[static_cast<std::size_t>(b * p.n_q + i)], h};
  }
};

std::vector<RowInputs> row_inputs(ElementType type) {
  RowInputs by_spans, counted;
  by_spans.problem = row_problem(type);
  by_spans.problem.visible.offset = 25, by_spans.problem.visible.right = 0;
  counted.problem = row_problem(type);
  for (std::int64_t row = 0; row < counted.problem.rows(); ++row) counted.visible.push_back(row * row % 1013);
  for (std::int64_t row = 0; row < counted.problem.batch * counted.problem.n_q; ++row)
    counted.positions.push_back(static_cast<std::int32_t>(row * 7 - 30));
  return {by_spans, counted};
}

ScaleFormula law_of(const Scale& scale, const RowInputs& inputs, DeviceMemory& memory) {
  ScaleFormula out = on_device(scale, inputs.problem.type, memory);
  if (!inputs.visible.empty()) out.visible = memory.list(inputs.visible);
  if (!inputs.positions.empty()) out.positions_in_document = memory.list(inputs.positions);
  return out;
}

TEST(CudaRows, LawsAreNumberedAsInTheTable) {
  EXPECT_EQ(Scale::laws().size(), static_cast<std::size_t>(LawNumber::target_entropy) + 1);
  const ScaleInput row{.visible = 37, .d = 6, .position = 110, .head = 1};
  for (const Scale& scale : formula_scales()) {
    LawTerms terms = {{}, 6, std::log(37.0), 110};
    for (std::size_t index = 0; index < scale.parameters().size(); ++index)
      terms.parameter[index] = scale.parameters()[index][1];
    EXPECT_EQ(scale.lambda(row), scale_by_law(static_cast<LawNumber>(number_of(scale)), terms)) << scale.name();
  }
  for (const char* law : {"per_row", "target_entropy"})
    EXPECT_EQ(Scale::laws()[law[0] == 'p' ? static_cast<std::size_t>(LawNumber::per_row)
                                          : static_cast<std::size_t>(LawNumber::target_entropy)]
                  .name,
              law);
}

TEST(CudaRows, ScalesAreThoseOfTheLaws) {
  if (!has_device()) GTEST_SKIP() << "no NVIDIA GPU";
  for (const ElementType type : kTypes)
    for (const RowInputs& inputs : row_inputs(type))
      for (const Scale& scale : formula_scales()) {
        SCOPED_TRACE(scale.name() + ", type " + std::to_string(static_cast<int>(type)));
        const Problem& p = inputs.problem;
        const auto rows = static_cast<std::size_t>(p.rows());
        DeviceMemory memory;
        void* lambda = memory.poisoned(rows * size_of(real_type(type)));
        require(row_scales(p, law_of(scale, inputs, memory), lambda, nullptr));
        require(cudaDeviceSynchronize());
        const Numbers found = read_numbers(real_type(type), lambda, rows);
        for (std::size_t row = 0; row < rows; ++row)
          ASSERT_NO_FATAL_FAILURE(
              expect_close(type, found[row], scale.lambda(inputs.at(static_cast<std::int64_t>(row))), 4));
      }
}

TEST(CudaRows, ParameterGradientsAreSumsOfDerivatives) {
  if (!has_device()) GTEST_SKIP() << "no NVIDIA GPU";
  for (const ElementType type : kTypes)
    for (const RowInputs& inputs : row_inputs(type))
      for (const Scale& scale : formula_scales()) {
        SCOPED_TRACE(scale.name() + ", type " + std::to_string(static_cast<int>(type)));
        const Problem& p = inputs.problem;
        std::mt19937 random(5);
        const Numbers upstream = normal(p.rows(), 1, real_type(type), random);
        const auto learnable = static_cast<std::size_t>(scale.learnable()), heads = static_cast<std::size_t>(p.heads);
        Numbers expected(learnable * heads, 0.0);
        for (std::int64_t row = 0; row < p.rows(); ++row)
          for (std::size_t index = 0; index < learnable; ++index) {
            const ScaleInput input = inputs.at(row);
            expected[index * heads + static_cast<std::size_t>(input.head)] +=
                upstream[static_cast<std::size_t>(row)] * scale.derivative(static_cast<int>(index), input);
          }
        DeviceMemory memory;
        void* found = memory.poisoned(expected.size() * size_of(real_type(type)));
        require(scale_parameter_gradients(p, law_of(scale, inputs, memory), memory.numbers(real_type(type), upstream),
                                          found, nullptr));
        require(cudaDeviceSynchronize());
        const Numbers sums = read_numbers(real_type(type), found, expected.size());
        for (std::size_t index = 0; index < sums.size(); ++index)
          ASSERT_NO_FATAL_FAILURE(expect_close(type, sums[index], expected[index], 64));
      }
}

TEST(CudaRows, LawsThatAreNoFormulasAreRefused) {
  ScaleFormula law;
  for (const int number : {-1, static_cast<int>(LawNumber::per_row), static_cast<int>(LawNumber::target_entropy), 99}) {
    law.law = number;
    EXPECT_EQ(row_scales(row_problem(ElementType::float32), law, nullptr, nullptr), cudaErrorInvalidValue);
  }
}

double statistic_of(Statistic statistic, const SoftmaxRecord<double>& keys, const double* sink) {
  const double total = log_partition(sink ? merge(keys, sink_logit(*sink)) : keys);
  switch (statistic) {
    case Statistic::log_partition:
      return total;
    case Statistic::entropy:
      return entropy(keys);
    case Statistic::mean_score:
      return mean_score(keys);
    case Statistic::score_variance:
      return score_variance(keys);
    case Statistic::max_score:
      return keys.m;
    case Statistic::normalised_entropy:
      return normalised_entropy(keys);
    case Statistic::peak:
      return peak(keys);
    case Statistic::collision:
      return collision(keys);
    case Statistic::sparsity:
      return sparsity(keys);
    case Statistic::participation:
      return participation(keys);
    case Statistic::effective_keys:
      return keys.empty() ? 0.0 : std::exp(entropy(keys));
    default:  // sink_mass
      return std::exp(*sink - total);
  }
}

TEST(CudaRows, StatisticsAreThoseOfTheRecords) {
  if (!has_device()) GTEST_SKIP() << "no NVIDIA GPU";
  for (const ElementType type : kTypes)
    for (const bool with_sink : {false, true}) {
      std::mt19937 random(9);
      const ElementType real = real_type(type);
      const Numbers sinks = {0.5, -40, 3};
      Problem p = row_problem(type);
      const Records records = random_records(p, random);
      DeviceMemory memory;
      if (with_sink) p.sink = memory.numbers(real, sinks);
      std::vector<Statistic> asked = {Statistic::log_partition, Statistic::entropy,       Statistic::mean_score,
                                      Statistic::max_score,     Statistic::peak,          Statistic::normalised_entropy,
                                      Statistic::collision,     Statistic::sparsity,      Statistic::score_variance,
                                      Statistic::participation, Statistic::effective_keys};
      if (with_sink) asked.push_back(Statistic::sink_mass);
      StatisticsOutput out;
      for (const Statistic statistic : asked)
        out.real[static_cast<int>(statistic)] = memory.poisoned(records.size() * size_of(real));
      out.visible = static_cast<std::int64_t*>(memory.poisoned(records.size() * 8));
      out.argmax = static_cast<std::int64_t*>(memory.poisoned(records.size() * 8));
      // Both compute in doubles; the variance subtracts squares of about 50.
      const double steps = type == ElementType::float64 ? 64 : 2;
      require(statistics(p, on_device(p, records, memory), out, nullptr));
      require(cudaDeviceSynchronize());
      for (const Statistic statistic : asked) {
        const Numbers found = read_numbers(real, out.real[static_cast<int>(statistic)], records.size());
        for (std::size_t row = 0; row < records.size(); ++row) {
          SCOPED_TRACE(std::string(name(statistic)) + " of row " + std::to_string(row));
          const double* sink = with_sink ? &sinks[row / static_cast<std::size_t>(p.n_q) % 3] : nullptr;
          ASSERT_NO_FATAL_FAILURE(expect_close(type, found[row], statistic_of(statistic, records[row], sink), steps));
        }
      }
      const auto visible = read_list<std::int64_t>(out.visible, records.size());
      const auto argmax = read_list<std::int64_t>(out.argmax, records.size());
      for (std::size_t row = 0; row < records.size(); ++row) {
        ASSERT_EQ(visible[row], records[row].k);
        ASSERT_EQ(argmax[row], records[row].a);
      }
    }
}

TEST(CudaRows, SumsByHeadAreInAFixedOrder) {
  if (!has_device()) GTEST_SKIP() << "no NVIDIA GPU";
  for (const ElementType type : kTypes)
    for (const std::int64_t n_q : {1, 71, 1024, 5000}) {
      std::mt19937 random(13);
      Problem p = row_problem(type);
      p.batch = n_q == 1 ? 3000 : 3, p.n_q = n_q;
      const Numbers rows = normal(p.rows(), 1, real_type(type), random);
      Numbers expected(static_cast<std::size_t>(p.heads), 0.0);
      for (std::size_t row = 0; row < rows.size(); ++row)
        expected[row / static_cast<std::size_t>(n_q) % expected.size()] += rows[row];
      DeviceMemory memory;
      const void* on_device = memory.numbers(real_type(type), rows);
      const auto sum = [&] {
        void* sums = memory.poisoned(expected.size() * size_of(real_type(type)));
        require(sum_by_head(p, on_device, sums, nullptr));
        require(cudaDeviceSynchronize());
        return read_numbers(real_type(type), sums, expected.size());
      };
      const Numbers first = sum();
      for (std::size_t h = 0; h < expected.size(); ++h)
        ASSERT_NO_FATAL_FAILURE(expect_close(type, first[h], expected[h], type == ElementType::float64 ? 4096 : 4));
      EXPECT_EQ(first, sum());
    }
}

}  // namespace
}  // namespace isentropic::cuda::rows_test
