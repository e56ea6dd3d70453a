// The cases that only the plain kernels take.
#include "cuda/plain_case.hpp"

#include "base/counter_random.hpp"
#include "reference/scores.hpp"

namespace isentropic::cuda {
namespace {

using reference::BiasKind;

std::mt19937 term_generator() { return std::mt19937(11); }

void causal_rows(reference::Problem& oracle, DeviceProblem& device) {
  oracle.mask.causal = true;
  device.problem.visible.right = 0;
}

void strided_keys(reference::Problem& oracle, DeviceProblem& device) {
  causal_rows(oracle, device);
  oracle.mask.stride = 7, oracle.mask.local = 5;
  device.problem.tests.stride = 7, device.problem.tests.local = 5;
}

// One layout for all batch entries and heads; whole tiles of keys are hidden.
void block_sparse(reference::Problem& oracle, DeviceProblem& device) {
  const Index block_q = 24, block_k = 40, rows = (oracle.n_q + block_q - 1) / block_q;
  const Index columns = (oracle.n_k + block_k - 1) / block_k;
  Numbers layout;
  for (Index r = 0; r < rows; ++r)
    for (Index c = 0; c < columns; ++c) layout.push_back(r == 2 ? 0 : (r * r + 3 * c) % 4 == 0);
  oracle.mask.block_q = block_q, oracle.mask.block_k = block_k;
  for (Index head = 0; head < oracle.batch * oracle.heads; ++head)
    oracle.mask.blocks.insert(oracle.mask.blocks.end(), layout.begin(), layout.end());
  KeyTests& tests = device.problem.tests;
  tests.layout = static_cast<const bool*>(device.memory.numbers(ElementType::boolean, layout));
  tests.layout_stride[2] = columns, tests.layout_stride[3] = 1;
  tests.block_q = block_q, tests.block_k = block_k;
}

void excluded_keys(reference::Problem& oracle, DeviceProblem& device) {
  oracle.mask.exclude_self = true;
  for (Index i = 0; i < oracle.n_q; ++i) oracle.mask.excluded_keys.push_back(i % 3 == 0 ? -1 : i * 37 % oracle.n_k);
  device.problem.tests.excludes_self = true;
  device.problem.tests.excluded = device.memory.list(oracle.mask.excluded_keys);
}

// [batch, heads, n_q, n_k], of which only the row of the first batch entry and head is given when it repeats.
DenseTerm dense_term(DeviceProblem& device, ElementType type, const Numbers& values, bool repeats) {
  const Problem& p = device.problem;
  DenseTerm out = {device.memory.numbers(type, values), type, {p.heads * p.n_q * p.n_k, p.n_q * p.n_k, p.n_k, 1}};
  if (repeats) out.stride[0] = out.stride[1] = 0;
  return out;
}

Numbers repeated_for_heads(const Numbers& values, Index times) {
  Numbers out;
  for (Index copy = 0; copy < times; ++copy) out.insert(out.end(), values.begin(), values.end());
  return out;
}

// Row 3 sees nothing.
void dense_boolean(reference::Problem& oracle, DeviceProblem& device) {
  auto random = term_generator();
  for (Index cell = 0; cell < oracle.batch * oracle.heads * oracle.n_q * oracle.n_k; ++cell)
    oracle.mask.dense_boolean.push_back(cell / oracle.n_k % oracle.n_q != 3 && random() % 3 > 0);
  const Numbers values(oracle.mask.dense_boolean.begin(), oracle.mask.dense_boolean.end());
  device.problem.tests.mask = dense_term(device, ElementType::boolean, values, false);
}

// Numbers, -inf and the lowest value of the type; row 3 sees nothing.
Numbers additive_terms(const reference::Problem& oracle, ElementType type, double lowest) {
  auto random = term_generator();
  Numbers values = normal(oracle.n_q * oracle.n_k, 2, type, random);
  for (std::size_t cell = 0; cell < values.size(); ++cell) {
    if (random() % 5 == 0) values[cell] = -INFINITY;
    if (random() % 7 == 0 || static_cast<Index>(cell) / oracle.n_k == 3) values[cell] = lowest;
  }
  return values;
}

template <ElementType type>
void dense_additive(reference::Problem& oracle, DeviceProblem& device) {
  causal_rows(oracle, device);
  oracle.lowest = type == ElementType::bfloat16 ? -0x1.FEp127 : std::numeric_limits<float>::lowest();
  const Numbers values = additive_terms(oracle, type, oracle.lowest);
  oracle.mask.dense_additive = repeated_for_heads(values, oracle.batch * oracle.heads);
  device.problem.tests.mask = dense_term(device, type, values, true);
}

void dense_bias(reference::Problem& oracle, DeviceProblem& device) {
  causal_rows(oracle, device);
  oracle.lowest = -65504;
  const Numbers values = additive_terms(oracle, ElementType::float16, oracle.lowest);
  oracle.bias.kind = BiasKind::dense, oracle.bias.dense = repeated_for_heads(values, oracle.batch * oracle.heads);
  device.problem.bias = dense_term(device, ElementType::float16, values, true);
}

void relative_table(reference::Problem& oracle, DeviceProblem& device) {
  auto random = term_generator();
  oracle.bias.kind = BiasKind::relative, oracle.bias.reach = 20;
  oracle.bias.table = normal(oracle.heads * 41, 1, ElementType::float32, random);
  device.problem.reach = 20, device.problem.relative = device.reals(oracle.bias.table);
}

void table_of_one(reference::Problem& oracle, DeviceProblem& device) {
  oracle.bias.kind = BiasKind::relative, oracle.bias.table = {0.5, -0.25};
  device.problem.relative = device.reals(oracle.bias.table);
}

// Documents of 70, 50 and 30 rows; each has a prefix of 9 keys that its window does not hide.
void documents_with_prefix(reference::Problem& oracle, DeviceProblem& device) {
  const std::vector<Index> offsets = {0, 70, 120, 150};
  oracle.mask.documents = {{offsets, offsets}};
  oracle.mask.causal = true, oracle.mask.has_window = true, oracle.mask.left = 12, oracle.mask.prefix = 9;
  std::vector<RowSpans> spans;
  std::vector<std::int32_t> positions;
  for (std::size_t t = 0; t + 1 < offsets.size(); ++t)
    for (Index i = offsets[t]; i < offsets[t + 1]; ++i) {
      const auto begin = static_cast<std::int32_t>(offsets[t]), p = static_cast<std::int32_t>(i);
      const std::int32_t band = std::max(begin + 9, p - 11);
      spans.push_back({begin, begin + 9, band, std::max(band, p + 1)});
      positions.push_back(p);
    }
  device.problem.visible.spans = device.memory.list(spans);
  device.problem.visible.positions = device.memory.list(positions);
  device.problem.visible.prefix_varies = true;
}

void relative_in_documents(reference::Problem& oracle, DeviceProblem& device) {
  documents_with_prefix(oracle, device);
  relative_table(oracle, device);
}

void dropout_of_weights(reference::Problem& oracle, DeviceProblem& device) {
  causal_rows(oracle, device);
  const std::uint64_t seed = 0x123456789abcdef;
  oracle.dropout = 0.3;
  for (Index b = 0; b < oracle.batch; ++b)
    for (Index h = 0; h < oracle.heads; ++h)
      for (Index i = 0; i < oracle.n_q; ++i) {
        CounterRandom random(RandomStream::dropout, seed, b, h, i);
        for (Index j = 0; j < oracle.n_k; ++j) oracle.keep.push_back(random.uniform(j) >= oracle.dropout);
      }
  device.problem.dropout = oracle.dropout;
  device.problem.seed = device.memory.list<std::uint64_t>({seed});
}

void soft_cap_bias_and_sink(reference::Problem& oracle, DeviceProblem& device) {
  dense_bias(oracle, device);
  oracle.soft_cap = 3, oracle.sink = {0.5, -2};
  device.problem.soft_cap = 3, device.problem.sink = device.reals(oracle.sink);
}

// Rows of n numbers from an odd address on, with a gap behind each that holds NaN.
const void* spaced_rows(DeviceProblem& device, const Numbers& values, Index rows, Index n) {
  Numbers out = {NAN};
  for (Index r = 0; r < rows; ++r) {
    out.insert(out.end(), values.begin() + r * n, values.begin() + (r + 1) * n);
    out.insert(out.end(), 3, NAN);
  }
  const ElementType type = device.problem.type;
  return static_cast<const char*>(device.memory.numbers(type, out)) + size_of(type);
}

void misaligned(reference::Problem& oracle, DeviceProblem& device) {
  causal_rows(oracle, device);
  Problem& p = device.problem;
  p.query = spaced_rows(device, oracle.query, p.batch * p.heads * p.n_q, p.d);
  p.key = spaced_rows(device, oracle.key, p.batch * p.kv_heads * p.n_k, p.d);
  p.value = spaced_rows(device, oracle.value, p.batch * p.kv_heads * p.n_k, p.d_v);
  p.query_stride = {p.heads * p.n_q * (p.d + 3), p.n_q * (p.d + 3), p.d + 3};
  p.key_stride = {p.kv_heads * p.n_k * (p.d + 3), p.n_k * (p.d + 3), p.d + 3};
  p.value_stride = {p.kv_heads * p.n_k * (p.d_v + 3), p.n_k * (p.d_v + 3), p.d_v + 3};
}

}  // namespace

std::vector<Case> plain_cases() {
  const Sizes small = {.n_q = 90, .n_k = 140, .d = 20};
  return {
      {"strided", {.n_q = 200, .n_k = 200, .d = 16}, strided_keys},
      {"block sparse", {.batch = 2, .n_q = 170, .n_k = 230, .d = 16}, block_sparse},
      {"excluded keys", small, excluded_keys},
      {"dense boolean mask", {.batch = 2, .n_q = 90, .n_k = 140, .d = 16}, dense_boolean},
      {"additive mask", small, dense_additive<ElementType::float32>},
      {"additive mask in bfloat16", small, dense_additive<ElementType::bfloat16>},
      {"dense bias", {.batch = 2, .n_q = 90, .n_k = 140, .d = 20}, dense_bias},
      {"relative table", {.batch = 2, .n_q = 150, .n_k = 110, .d = 16}, relative_table},
      {"relative table of one", small, table_of_one},
      {"documents with prefix", {.n_q = 150, .n_k = 150, .d = 16}, documents_with_prefix},
      {"relative table in documents", {.n_q = 150, .n_k = 150, .d = 16}, relative_in_documents},
      {"dropout", {.heads = 4, .n_q = 90, .n_k = 90, .d = 16}, dropout_of_weights},
      {"cap bias and sink", small, soft_cap_bias_and_sink},
      {"tiny width", {.n_q = 70, .n_k = 70, .d = 5, .d_v = 3}, causal_rows},
      {"odd widths", {.heads = 4, .n_q = 70, .n_k = 100, .d = 96, .d_v = 72}, causal_rows},
      {"width 200", {.n_q = 40, .n_k = 70, .d = 200}, causal_rows},
      {"width 300 and 520", {.heads = 1, .kv_heads = 1, .n_q = 20, .n_k = 70, .d = 300, .d_v = 520}},
      {"misaligned", {.heads = 4, .n_q = 70, .n_k = 100, .d = 33, .d_v = 17}, misaligned},
      {"tiny scores", small, causal_rows, 1e-3},
      {"huge scores", small, causal_rows, 1e4},
  };
}

double score_size(const reference::Problem& oracle) {
  double size = 0;
  for (Index b = 0; b < oracle.batch; ++b)
    for (Index h = 0; h < oracle.heads; ++h)
      for (Index i = 0; i < oracle.n_q; ++i) {
        const reference::ScoreRow row = reference::score_row(oracle, b, h, i);
        for (std::size_t j = 0; j < row.score.size(); ++j)
          size = std::max({size, std::abs(row.scaled[j]), row.seen[j] ? std::abs(row.score[j]) : 0.0});
      }
  return size;
}

double tolerance(const reference::Problem& oracle, ElementType type) {
  return 20 * (type == ElementType::float64 ? 0x1p-52 : 0x1p-23) * (1 + score_size(oracle));
}

double oracle_error(const reference::Problem& oracle) {
  const double size = 1 + score_size(oracle);
  return 20 * 0x1p-52 * size * size;
}

}  // namespace isentropic::cuda
