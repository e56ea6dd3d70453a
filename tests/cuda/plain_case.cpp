// The cases of the plain kernels.
#include "cuda/plain_case.hpp"

#include "reference/scores.hpp"

namespace isentropic::cuda {
namespace {

void causal_rows(reference::Problem& oracle, DeviceProblem& device) {
  oracle.mask.causal = true;
  device.problem.visible.right = 0;
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
  dense_case("relative table").change(oracle, device);
}

// Rows of n numbers from an odd address on, each followed by a gap of NaN.
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
  std::vector<Case> out = {
      {"documents with prefix", {.n_q = 150, .n_k = 150, .d = 16}, documents_with_prefix},
      {"relative table in documents", {.n_q = 150, .n_k = 150, .d = 16}, relative_in_documents},
      {"tiny width", {.n_q = 70, .n_k = 70, .d = 5, .d_v = 3}, causal_rows},
      {"odd widths", {.heads = 4, .n_q = 70, .n_k = 100, .d = 96, .d_v = 72}, causal_rows},
      {"width 200", {.n_q = 40, .n_k = 70, .d = 200}, causal_rows},
      {"width 300 and 520", {.heads = 1, .kv_heads = 1, .n_q = 20, .n_k = 70, .d = 300, .d_v = 520}},
      {"misaligned", {.heads = 4, .n_q = 70, .n_k = 100, .d = 33, .d_v = 17}, misaligned},
      {"tiny scores", small, causal_rows, 1e-3},
      {"huge scores", small, causal_rows, 1e4},
  };
  for (Case& c : dense_cases()) out.push_back(std::move(c));
  return out;
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
