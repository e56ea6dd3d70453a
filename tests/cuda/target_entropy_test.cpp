// Rows solved for a target entropy on the device, against EntropySolver given the same evaluations.
#include <cmath>

#include "attention/cuda/forward.hpp"
#include "attention/cuda/rows.hpp"
#include "cuda/device_case.hpp"
#include "isentropic/entropy_solver.hpp"

namespace isentropic::cuda::target_entropy_test {
namespace {

// Rows of raw scores; the last row of each head sees no key, and the row before it has identical scores.
struct Rows {
  Problem problem;
  Numbers target;  // of each head
  std::vector<Numbers> scores;
  std::vector<std::int64_t> visible;
  std::size_t head_of(std::size_t row) const {
    return row / static_cast<std::size_t>(problem.n_q) % static_cast<std::size_t>(problem.heads);
  }
};

Rows random_rows(ElementType type, Numbers target) {
  std::mt19937 random(11);
  Rows out;
  out.problem.type = type;
  out.problem.batch = 2, out.problem.heads = static_cast<std::int64_t>(target.size()), out.problem.kv_heads = 1;
  out.problem.n_q = 67, out.problem.n_k = 50, out.problem.d = 64;
  for (double& value : target) value = round_to(real_type(type), value);
  out.target = std::move(target);
  for (std::int64_t row = 0; row < out.problem.rows(); ++row) {
    const std::int64_t i = row % out.problem.n_q;
    const std::int64_t count = i + 1 == out.problem.n_q ? 0 : 2 + (row * 7) % 49;
    const double size = i + 2 == out.problem.n_q ? 0.0 : 8.0 + 4.0 * static_cast<double>(row % 9);
    out.scores.push_back(normal(count, size, ElementType::float64, random));
    if (size == 0) out.scores.back().assign(static_cast<std::size_t>(count), 1.0);
    out.visible.push_back(count);
  }
  return out;
}

// The record that a pass would leave for a row at lambda; lambda and sums are in the accumulation type.
SoftmaxRecord<double> evaluate(const Rows& rows, std::size_t row, double lambda) {
  const ElementType real = real_type(rows.problem.type);
  SoftmaxRecord<double> out;
  for (std::size_t j = 0; j < rows.scores[row].size(); ++j)
    out = merge(out, single_key(round_to(real, lambda) * rows.scores[row][j], static_cast<std::int64_t>(j)));
  for (double* sum : {&out.m, &out.sums.z, &out.sums.u, &out.sums.w, &out.sums.c}) *sum = round_to(real, *sum);
  return out;
}

double tolerance(ElementType type, std::int64_t visible) {
  const double unit = type == ElementType::float64 ? 4096 * std::numeric_limits<double>::epsilon()
                                                   : 8.0 * std::numeric_limits<float>::epsilon();
  return unit * (1 + std::log(std::max(1.0, static_cast<double>(visible))));
}

std::vector<EntropySolver> solvers_of(const Rows& rows) {
  std::vector<EntropySolver> out;
  for (std::size_t row = 0; row < rows.scores.size(); ++row)
    out.emplace_back(rows.target[rows.head_of(row)], rows.visible[row],
                     1 / std::sqrt(static_cast<double>(rows.problem.d)),
                     tolerance(rows.problem.type, rows.visible[row]));
  return out;
}

int active_in(const std::vector<EntropySolver>& solvers) {
  return static_cast<int>(std::count_if(solvers.begin(), solvers.end(), [](const auto& s) { return s.active(); }));
}

// Evaluates the records of all rows at the device's scales and stores them there.
RowArrays evaluate_all(const Rows& rows, const void* lambda, DeviceMemory& memory) {
  const ElementType real = real_type(rows.problem.type);
  const Numbers scales = read_numbers(real, lambda, rows.scores.size());
  Numbers m, z, u, w, c;
  std::vector<std::int64_t> k;
  for (std::size_t row = 0; row < rows.scores.size(); ++row) {
    const SoftmaxRecord<double> record = evaluate(rows, row, scales[row]);
    m.push_back(record.m), z.push_back(record.sums.z), u.push_back(record.sums.u);
    w.push_back(record.sums.w), c.push_back(record.sums.c), k.push_back(record.k);
  }
  const auto numbers = [&](const Numbers& values) { return memory.numbers(real, values); };
  return {numbers(m), numbers(z), numbers(u), numbers(w), numbers(c), memory.list(k), nullptr};
}

void solve_on_both(const Rows& rows) {
  const std::size_t count = rows.scores.size();
  const ElementType real = real_type(rows.problem.type);
  std::vector<EntropySolver> expected = solvers_of(rows);
  DeviceMemory memory;
  TargetEntropy solve;
  solve.target = {memory.numbers(real, rows.target), true};
  solve.visible = memory.list(rows.visible);
  solve.workspace = memory.poisoned(target_entropy_workspace(rows.problem));
  void* lambda = memory.poisoned(count * size_of(real));
  require(target_entropy_begin(rows.problem, solve, lambda, nullptr));
  const auto active = [&] { return read_list<int>(target_entropy_active(solve), 1).front(); };
  ASSERT_EQ(active(), active_in(expected));
  for (int pass = 0; pass < EntropySolver::kMaxIterations; ++pass) {
    DeviceMemory of_pass;
    const RowArrays records = evaluate_all(rows, lambda, of_pass);
    require(target_entropy_update(rows.problem, records, solve, lambda, nullptr));
    require(cudaDeviceSynchronize());
    for (std::size_t row = 0; row < count; ++row)
      if (expected[row].active()) {
        const SoftmaxRecord<double> record = evaluate(rows, row, expected[row].lambda());
        expected[row].update(entropy(record), score_variance(record), -record.sums.u / record.sums.z);
      }
    ASSERT_EQ(active(), active_in(expected)) << "after pass " << pass;
  }
  auto* status = static_cast<std::int64_t*>(memory.poisoned(count * 8));
  auto* iterations = static_cast<std::int64_t*>(memory.poisoned(count * 8));
  void* found = memory.poisoned(count * size_of(real));
  require(target_entropy_end(rows.problem, solve, found, status, iterations, nullptr));
  require(cudaDeviceSynchronize());
  const Numbers scales = read_numbers(real, found, count);
  const auto statuses = read_list<std::int64_t>(status, count), passes = read_list<std::int64_t>(iterations, count);
  for (std::size_t row = 0; row < count; ++row) {
    SCOPED_TRACE("row " + std::to_string(row));
    ASSERT_EQ(statuses[row], static_cast<std::int64_t>(expected[row].status()));
    ASSERT_EQ(passes[row], expected[row].iterations());
    ASSERT_NEAR(scales[row], expected[row].lambda(), 1e-6 * std::abs(expected[row].lambda()));
  }
}

TEST(CudaTargetEntropy, StepsAreThoseOfTheSolver) {
  if (!has_device()) GTEST_SKIP() << "no NVIDIA GPU";
  for (const ElementType type : {ElementType::bfloat16, ElementType::float64})
    ASSERT_NO_FATAL_FAILURE(solve_on_both(random_rows(type, {0.0, 0.5, 1.5, 3.0})));
}

TEST(CudaTargetEntropy, NothingIsActiveWhereEveryTargetIsAboveReach) {
  if (!has_device()) GTEST_SKIP() << "no NVIDIA GPU";
  ASSERT_NO_FATAL_FAILURE(solve_on_both(random_rows(ElementType::float32, {100.0})));
}

// Rows with more equal heaviest keys than the target allows: lambda stops where the others have no weight left, even
// though the rounded scores of equal keys differ from their maximum.
TEST(CudaTargetEntropy, EqualKeysLeaveScalesFinite) {
  if (!has_device()) GTEST_SKIP() << "no NVIDIA GPU";
  Case c{.name = "equal keys", .sizes = {.heads = 2, .kv_heads = 2, .n_q = 70, .n_k = 70}, .size = 3};
  reference::Problem oracle = oracle_of(c, ElementType::bfloat16);
  constexpr std::size_t kHead = 70 * 64, kThreeKeys = 3 * 64;
  for (std::size_t i = 0; i < oracle.key.size(); ++i)
    oracle.key[i] = oracle.key[i / kHead * kHead + i % kHead % kThreeKeys];
  DeviceMemory memory;
  Problem problem = on_device(oracle, ElementType::bfloat16, memory);
  const auto rows = static_cast<std::size_t>(problem.rows());
  TargetEntropy solve;
  solve.target = {memory.numbers(ElementType::float32, {2.0, 0.5}), true};
  solve.visible = memory.list(std::vector<std::int64_t>(rows, 70));
  solve.workspace = memory.poisoned(target_entropy_workspace(problem));
  void* lambda = memory.poisoned(rows * sizeof(float));
  require(target_entropy_begin(problem, solve, lambda, nullptr));
  problem.scales = lambda, problem.moments = MomentSet::all;
  const ForwardOutput found = forward_output(problem, memory);
  for (int pass = 0; pass < EntropySolver::kMaxIterations; ++pass) {
    require(forward(problem, found, nullptr));
    require(target_entropy_update(problem, found.rows, solve, lambda, nullptr));
  }
  auto* status = static_cast<std::int64_t*>(memory.poisoned(rows * 8));
  require(target_entropy_end(problem, solve, lambda, status, nullptr, nullptr));
  require(forward(problem, found, nullptr));
  require(cudaDeviceSynchronize());
  const Numbers scales = read_numbers(ElementType::float32, lambda, rows);
  const Numbers z = read_numbers(ElementType::float32, found.rows.z, rows);
  const Numbers m = read_numbers(ElementType::float32, found.rows.m, rows);
  const auto statuses = read_list<std::int64_t>(status, rows);
  for (std::size_t row = 0; row < rows; ++row) {
    SCOPED_TRACE("row " + std::to_string(row) + ", lambda " + std::to_string(scales[row]));
    ASSERT_EQ(statuses[row], static_cast<std::int64_t>(TargetEntropyStatus::below_reach));
    ASSERT_LT(std::abs(m[row]), 0x1p23);  // beyond this, float32 cannot distinguish scores that differ by 1
    ASSERT_NEAR(z[row], 70.0 / 3, 1);
  }
}

// The cases above cover every outcome but one.
TEST(CudaTargetEntropy, CasesReachEveryKindOfRow) {
  const Rows rows = random_rows(ElementType::float64, {0.0, 0.5, 1.5, 3.0});
  std::vector<EntropySolver> solvers = solvers_of(rows);
  for (int pass = 0; pass < EntropySolver::kMaxIterations; ++pass)
    for (std::size_t row = 0; row < solvers.size(); ++row)
      if (solvers[row].active()) {
        const SoftmaxRecord<double> record = evaluate(rows, row, solvers[row].lambda());
        solvers[row].update(entropy(record), score_variance(record), -record.sums.u / record.sums.z);
      }
  for (const auto wanted :
       {TargetEntropyStatus::solved, TargetEntropyStatus::above_reach, TargetEntropyStatus::below_reach})
    EXPECT_TRUE(std::any_of(solvers.begin(), solvers.end(), [&](const auto& s) { return s.status() == wanted; }));
  EXPECT_EQ(active_in(solvers), 0);
}

TEST(CudaTargetEntropy, ImplicitTermGoesToSolvedRows) {
  if (!has_device()) GTEST_SKIP() << "no NVIDIA GPU";
  const Rows rows = random_rows(ElementType::float64, {1.0});
  const std::size_t count = rows.scores.size();
  std::mt19937 random(3);
  const auto draw = [&] { return normal(rows.problem.rows(), 1, ElementType::float64, random); };
  const Numbers scales = draw(), gradients = draw(), before = draw();
  std::vector<std::int64_t> status(count);
  for (std::size_t row = 0; row < count; ++row) status[row] = static_cast<std::int64_t>(row % 4);
  DeviceMemory memory;
  const auto numbers = [&](const Numbers& values) { return memory.numbers(ElementType::float64, values); };
  void *lambda = numbers(scales), *a1 = numbers(before);
  const RowArrays records = evaluate_all(rows, lambda, memory);
  require(add_implicit_term(rows.problem, records, lambda, numbers(gradients), memory.list(status), a1, nullptr));
  require(cudaDeviceSynchronize());
  const Numbers after = read_numbers(ElementType::float64, a1, count);
  for (std::size_t row = 0; row < count; ++row) {
    const double variance = score_variance(evaluate(rows, row, scales[row]));
    const double moved = status[row] == 0 && variance > 0 ? scales[row] * gradients[row] / variance : 0.0;
    ASSERT_NEAR(after[row], before[row] - moved, 1e-9 * (1 + std::abs(moved))) << "row " << row;
  }
}

}  // namespace
}  // namespace isentropic::cuda::target_entropy_test
