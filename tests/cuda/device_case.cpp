// The cases shared by the tests of all kernels.
#include "cuda/device_case.hpp"

namespace isentropic::cuda {
namespace {

void causal(reference::Problem& oracle, DeviceProblem& device) {
  oracle.mask.causal = true;
  device.problem.visible.right = 0;
}

void causal_at_the_end(reference::Problem& oracle, DeviceProblem& device) {
  causal(oracle, device);
  oracle.mask.align = reference::Align::end;
  device.problem.visible.offset = device.problem.n_k - device.problem.n_q;
}

void key_lengths(reference::Problem& oracle, DeviceProblem& device) {
  oracle.mask.key_lengths = {150, 90};
  std::vector<RowSpans> spans;
  for (int row = 0; row < 300; ++row) spans.push_back({0, 0, 0, row < 150 ? 150 : 90});
  device.problem.visible.spans = device.memory.list(spans);
}

// Documents of 40, 1, 69 and 40 rows; the last document has no keys.
void documents(reference::Problem& oracle, DeviceProblem& device) {
  const std::vector<Index> queries = {0, 40, 41, 110, 150}, keys = {0, 40, 41, 150, 150};
  oracle.mask.documents = {{queries, keys}};
  oracle.mask.causal = true;
  std::vector<RowSpans> spans;
  std::vector<std::int32_t> positions;
  for (std::size_t t = 0; t + 1 < queries.size(); ++t)
    for (Index i = queries[t]; i < queries[t + 1]; ++i) {
      const auto begin = static_cast<std::int32_t>(keys[t]);
      const auto position = static_cast<std::int32_t>(keys[t] + i - queries[t]);
      const auto end = std::min(static_cast<std::int32_t>(keys[t + 1]), position + 1);
      spans.push_back({begin, begin, begin, std::max(begin, end)});
      positions.push_back(position);
    }
  device.problem.visible.spans = device.memory.list(spans);
  device.problem.visible.positions = device.memory.list(positions);
}

void scale_of_each_row(reference::Problem& oracle, DeviceProblem& device) {
  oracle.scale.law = reference::Law::per_row;
  for (Index row = 0; row < oracle.batch * oracle.heads * oracle.n_q; ++row)
    oracle.scale.rows.push_back(round_to(ElementType::float32, row % 7 == 0   ? 0.0
                                                               : row % 5 == 0 ? -0.1
                                                                              : 0.02 * static_cast<double>(row % 11)));
  device.problem.scales = device.reals(oracle.scale.rows);
}

void soft_cap_and_slopes(reference::Problem& oracle, DeviceProblem& device) {
  causal(oracle, device);
  oracle.soft_cap = 20, oracle.bias.kind = reference::BiasKind::alibi, oracle.bias.slopes = {0.5, 0.03125};
  device.problem.soft_cap = 20, device.problem.slopes = device.reals(oracle.bias.slopes);
}

void sink(reference::Problem& oracle, DeviceProblem& device) {
  causal(oracle, device);
  oracle.sink = {1.5, -30};
  device.problem.sink = device.reals(oracle.sink);
}

void window(reference::Problem& oracle, DeviceProblem& device) {
  oracle.mask.has_window = true, oracle.mask.left = 70, oracle.mask.right = 5;
  device.problem.visible.left = 70, device.problem.visible.right = 5;
}

void prefix_and_window(reference::Problem& oracle, DeviceProblem& device) {
  causal(oracle, device);
  oracle.mask.has_window = true, oracle.mask.left = 33, oracle.mask.prefix = 21;
  device.problem.visible.left = 33, device.problem.visible.prefix = 21;
}

}  // namespace

std::vector<Case> span_cases() {
  return {
      {"full"},
      {"causal", {.batch = 2}, causal},
      {"one row", {.n_q = 1, .n_k = 777}},
      {"one key", {.n_q = 130, .n_k = 1}},
      {"odd lengths", {.n_q = 113, .n_k = 203}, causal},
      {"grouped heads", {.heads = 6, .kv_heads = 2, .n_q = 129, .n_k = 129}, causal},
      {"aligned at the end", {.n_q = 77, .n_k = 333}, causal_at_the_end},
      {"rows without keys", {.n_q = 300, .n_k = 100}, causal_at_the_end},
      {"window", {.n_q = 500, .n_k = 500}, window},
      {"prefix and window", {.n_q = 400, .n_k = 400}, prefix_and_window},
      {"key lengths", {.batch = 2, .n_q = 150, .n_k = 150}, key_lengths},
      {"documents", {.n_q = 150, .n_k = 150}, documents},
      {"scale of each row", {}, scale_of_each_row},
      {"soft cap and slopes", {}, soft_cap_and_slopes},
      {"sink", {}, sink},
      {"large scores", {}, causal, 100},
  };
}

}  // namespace isentropic::cuda
