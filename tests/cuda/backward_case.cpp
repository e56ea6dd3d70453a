// Builds the device's problem from an oracle's, and runs it.
#include "cuda/backward_case.hpp"

#include "reference/mask.hpp"

namespace isentropic::cuda::backward_test {
namespace {

reference::Upstream upstream_of(const reference::Problem& oracle, const UpstreamSet& set, ElementType type) {
  std::mt19937 random(11);
  const Index rows = oracle.batch * oracle.heads * oracle.n_q;
  reference::Upstream out;
  if (set.output) out.output = normal(rows * oracle.d_v, 1, type, random);
  out.log_partition = normal(rows, 1, ElementType::float32, random);
  out.entropy = normal(rows, 1, ElementType::float32, random);
  if (set.higher) {
    out.score_variance = normal(rows, 0.3, ElementType::float32, random);
    out.collision = normal(rows, 2, ElementType::float32, random);
  }
  return out;
}

BackwardProblem backward_problem(const DeviceProblem& device, const HostRows& rows,
                                 const reference::Upstream& upstream) {
  BackwardProblem out;
  const Problem& p = out.problem = device.problem;
  out.rows = {device.reals(rows.m),
              device.reals(rows.log_z),
              device.reals(rows.mean),
              device.reals(rows.gate),
              device.reals(rows.base),
              device.reals(rows.a1),
              nullptr,
              nullptr};
  if (!upstream.score_variance.empty()) out.rows.a2 = device.reals(rows.a2), out.rows.a3 = device.reals(rows.a3);
  if (!upstream.output.empty()) out.output_gradient = device.memory.numbers(p.type, upstream.output);
  out.output_gradient_stride = {p.heads * p.n_q * p.d_v, p.n_q * p.d_v, p.d_v};
  Gradients& to = out.gradients;
  const auto poisoned = [&](Index numbers, std::size_t size) {
    return device.memory.poisoned(static_cast<std::size_t>(numbers) * size);
  };
  to.query = poisoned(p.rows() * p.d, 2);
  to.key = poisoned(p.batch * p.kv_heads * p.n_k * p.d, 2);
  to.value = poisoned(p.batch * p.kv_heads * p.n_k * p.d_v, 2);
  to.lambda = poisoned(p.rows(), 4);
  to.query_stride = p.query_stride, to.key_stride = p.key_stride, to.value_stride = p.value_stride;
  if (p.slopes) to.slopes = poisoned(p.heads, 4);
  return out;
}

// d loss / d slope_h = -sum of the gradients of the head's scores, each times its distance.
Numbers slope_gradients(const reference::Problem& oracle, const reference::DenseGradients& gradients) {
  Numbers out(static_cast<std::size_t>(oracle.heads), 0);
  for (Index b = 0; b < oracle.batch; ++b)
    for (Index h = 0; h < oracle.heads; ++h)
      for (Index i = 0; i < oracle.n_q; ++i)
        for (Index j = 0; j < oracle.n_k; ++j)
          out[static_cast<std::size_t>(h)] -= gradients.score[static_cast<std::size_t>(oracle.cell(b, h, i, j))] *
                                              static_cast<double>(std::abs(reference::distance(oracle, b, i, j)));
  return out;
}

// With u the unit roundoff of a type (2^-8, 2^-11): weights or score gradients are rounded once, row scales and their
// products with these too, and so is the result. Each rounding has a root-mean-square error of 0.4 u, so that a
// gradient whose terms do not cancel is off by 0.8 u; 2 u are allowed. Score gradients cancel in their sum over keys,
// but not in sums with keys or queries that are independent. What remains is float32 rounding, which scores of several
// hundred amplify to 1e-4 of a weight. Slopes involve no number rounded to 16 bits.
double backward_tolerance(ElementType type) { return type == ElementType::bfloat16 ? 2 * 0x1p-8 : 2 * 0x1p-11; }

}  // namespace

HostRows host_rows(const reference::Problem& oracle, const reference::Upstream& upstream) {
  const reference::Forward forward = reference::forward(oracle);
  const auto of = [&](const char* name, std::size_t row) { return forward.statistics.at(name)[row]; };
  const auto at = [](const Numbers& numbers, std::size_t row) { return numbers.empty() ? 0.0 : numbers[row]; };
  HostRows out;
  for (std::size_t row = 0; row < forward.visible.size(); ++row) {
    const bool empty = forward.visible[row] == 0;
    const double m = of("max_score", row), log_z = empty ? 0 : -std::log(of("peak", row));
    double product = 0;
    for (Index t = 0; t < oracle.d_v; ++t) {
      const std::size_t place = row * static_cast<std::size_t>(oracle.d_v) + static_cast<std::size_t>(t);
      product += at(upstream.output, place) * forward.output[place];
    }
    const double gL = at(upstream.log_partition, row), gH = at(upstream.entropy, row);
    const double gV = at(upstream.score_variance, row), gC = at(upstream.collision, row);
    const double gate = empty ? 0 : std::exp(m + log_z - of("log_partition", row));
    out.m.push_back(m);
    out.log_z.push_back(log_z);
    out.mean.push_back(empty ? 0 : of("mean_score", row) - m);
    out.gate.push_back(gate);
    out.base.push_back(gate * (gL - product) - gV * of("score_variance", row) - 2 * gC * of("collision", row));
    out.a1.push_back(2 * gV - gH);
    out.a2.push_back(gV);
    out.a3.push_back(2 * gC);
  }
  return out;
}

Trial::Trial(const Case& c, ElementType type, const UpstreamSet& set)
    : oracle(oracle_of(c, type)), device{memory, on_device(oracle, type, memory)} {
  c.change(oracle, device);
  upstream = upstream_of(oracle, set, type);
  problem = backward_problem(device, host_rows(oracle, upstream), upstream);
}

Found run(BackwardProblem in, BackwardTile tile, DeviceMemory& memory) {
  in.workspace = memory.poisoned(backward_workspace(in, tile));
  require(backward(in, tile, nullptr));
  require(cudaDeviceSynchronize());
  const Problem& p = in.problem;
  const auto read = [&](ElementType type, const void* data, Index count) {
    return data ? read_numbers(type, data, static_cast<std::size_t>(count)) : Numbers();
  };
  return {read(p.type, in.gradients.query, p.rows() * p.d),
          read(p.type, in.gradients.key, p.batch * p.kv_heads * p.n_k * p.d),
          read(p.type, in.gradients.value, p.batch * p.kv_heads * p.n_k * p.d_v),
          read(ElementType::float32, in.gradients.lambda, p.rows()),
          read(ElementType::float32, in.gradients.slopes, p.heads)};
}

void expect_gradients(const Found& found, const reference::Problem& oracle, const reference::DenseGradients& expected,
                      ElementType type) {
  EXPECT_LT(relative_error(found.query, expected.query), backward_tolerance(type));
  EXPECT_LT(relative_error(found.key, expected.key), backward_tolerance(type));
  EXPECT_LT(relative_error(found.value, expected.value), backward_tolerance(type));
  EXPECT_LT(relative_error(found.lambda, expected.lambda), backward_tolerance(type));
  if (found.slopes.empty()) return;
  EXPECT_LT(relative_error(found.slopes, slope_gradients(oracle, expected)), 1e-3);
}

bool has_room_for_wide_heads() {
  int bytes = 0;
  return has_device() && cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0) == cudaSuccess &&
         bytes >= 220000;
}

Case causal_of_sizes(Sizes sizes) {
  return {"causal", sizes, [](reference::Problem& oracle, DeviceProblem& device) {
            oracle.mask.causal = true;
            device.problem.visible.right = 0;
          }};
}

}  // namespace isentropic::cuda::backward_test
