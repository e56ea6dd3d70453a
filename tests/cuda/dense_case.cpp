// Cases with terms that are read or tested per score.
#include "base/counter_random.hpp"
#include "cuda/plain_case.hpp"

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

// One layout for all batch entries and heads, which hides whole tiles of keys.
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

// [batch, heads, n_q, n_k]; if it repeats, only the part of the first batch entry and head is given.
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

// Random numbers, -inf and the type's lowest value; row 3 sees nothing.
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

// One mask for all heads and rows: the last keys of each batch entry are padding, and so is key 70.
void padding(reference::Problem& oracle, DeviceProblem& device) {
  Numbers keys;
  for (Index b = 0; b < oracle.batch; ++b)
    for (Index j = 0; j < oracle.n_k; ++j) keys.push_back(j < oracle.n_k - 40 * b - 3 && j != 70);
  for (Index row = 0; row < oracle.batch * oracle.heads * oracle.n_q; ++row)
    for (Index j = 0; j < oracle.n_k; ++j)
      oracle.mask.dense_boolean.push_back(
          keys[static_cast<std::size_t>(row / (oracle.heads * oracle.n_q) * oracle.n_k + j)] != 0);
  device.problem.tests.mask = {
      device.memory.numbers(ElementType::boolean, keys), ElementType::boolean, {oracle.n_k, 0, 0, 1}};
}

// The same with numbers: -1e4 leaves a key almost no weight, the lowest value hides it.
void additive_padding(reference::Problem& oracle, DeviceProblem& device) {
  causal_rows(oracle, device);
  oracle.lowest = -65504;
  Numbers keys;
  for (Index j = 0; j < oracle.n_k; ++j) keys.push_back(j % 10 == 0 ? oracle.lowest : j % 11 == 0 ? -1e4 : 0);
  oracle.mask.dense_additive = repeated_for_heads(keys, oracle.batch * oracle.heads * oracle.n_q);
  device.problem.tests.mask = {device.memory.numbers(ElementType::float16, keys), ElementType::float16, {0, 0, 0, 1}};
}

// Neighbouring keys are far apart in memory.
void transposed_mask(reference::Problem& oracle, DeviceProblem& device) {
  auto random = term_generator();
  Numbers values;
  for (Index cell = 0; cell < oracle.n_q * oracle.n_k; ++cell) values.push_back(random() % 4 > 0);
  for (Index row = 0; row < oracle.batch * oracle.heads * oracle.n_q; ++row)
    for (Index j = 0; j < oracle.n_k; ++j)
      oracle.mask.dense_boolean.push_back(values[static_cast<std::size_t>(j * oracle.n_q + row % oracle.n_q)] != 0);
  device.problem.tests.mask = {
      device.memory.numbers(ElementType::boolean, values), ElementType::boolean, {0, 0, 1, oracle.n_q}};
}

// A mask and a bias together. Every other row of the bias starts at an odd address: its first number is skipped.
void misaligned_terms(reference::Problem& oracle, DeviceProblem& device) {
  dense_boolean(oracle, device);
  auto random = term_generator();
  Numbers values = normal(1 + oracle.n_q * oracle.n_k, 1, ElementType::bfloat16, random);
  values[0] = NAN;
  auto* const data = static_cast<std::uint16_t*>(device.memory.numbers(ElementType::bfloat16, values)) + 1;
  device.problem.bias = {data, ElementType::bfloat16, {0, 0, oracle.n_k, 1}};
  values.erase(values.begin());
  oracle.bias.kind = BiasKind::dense, oracle.bias.dense = repeated_for_heads(values, oracle.batch * oracle.heads);
}

void mask_cap_and_dropout(reference::Problem& oracle, DeviceProblem& device) {
  dense_boolean(oracle, device);
  dropout_of_weights(oracle, device);
  oracle.soft_cap = device.problem.soft_cap = 2;
}

void soft_cap_bias_and_sink(reference::Problem& oracle, DeviceProblem& device) {
  dense_bias(oracle, device);
  oracle.soft_cap = 3, oracle.sink = {0.5, -2};
  device.problem.soft_cap = 3, device.problem.sink = device.reals(oracle.sink);
}

}  // namespace

std::vector<Case> dense_cases() {
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
      {"padding mask", {.batch = 2, .n_q = 90, .n_k = 200, .d = 16}, padding},
      {"additive padding", {.n_q = 90, .n_k = 150, .d = 16}, additive_padding},
      {"transposed mask", {.n_q = 90, .n_k = 140, .d = 16}, transposed_mask},
      {"misaligned mask and bias", {.n_q = 70, .n_k = 131, .d = 16}, misaligned_terms},
      {"dropout", {.heads = 4, .n_q = 90, .n_k = 90, .d = 16}, dropout_of_weights},
      {"mask cap and dropout", {.n_q = 90, .n_k = 140, .d = 16}, mask_cap_and_dropout},
      {"cap bias and sink", small, soft_cap_bias_and_sink},
  };
}

Case dense_case(const std::string& name) {
  for (Case& c : dense_cases())
    if (c.name == name) return std::move(c);
  ADD_FAILURE() << "no case is called " << name;
  return {};
}

}  // namespace isentropic::cuda
