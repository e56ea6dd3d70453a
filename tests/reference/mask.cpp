// Which keys a query sees, key by key.
#include "reference/mask.hpp"

#include <algorithm>
#include <cstdlib>

namespace reference {
namespace {

const Documents& documents_of(const Problem& problem, Index b) {
  const auto& all = problem.mask.documents;
  return all.size() == 1 ? all[0] : all[b];
}

Index keys_of(const Problem& problem, Index b) {
  return problem.mask.key_lengths.empty() ? problem.n_k : problem.mask.key_lengths[b];
}

// The document that contains x, or -1.
Index containing(const std::vector<Index>& offsets, Index x) {
  for (std::size_t t = 0; t + 1 < offsets.size(); ++t) {
    if (offsets[t] <= x && x < offsets[t + 1]) return static_cast<Index>(t);
  }
  return kNowhere;
}

Index floor_divide(Index x, Index y) { return x >= 0 ? x / y : -((-x + y - 1) / y); }

Place in_segment(Index position, Index segment) {
  const Index document = floor_divide(position, segment);
  return {document, position - document * segment};
}

bool means_masked(const Problem& problem, const Numbers& added, Index cell) {
  return !added.empty() && added[cell] <= problem.lowest;
}

}  // namespace

Place query_place(const Problem& problem, Index b, Index i) {
  const Mask& mask = problem.mask;
  const bool to_the_end = mask.align == Align::end;
  if (!mask.documents.empty()) {
    const Documents& documents = documents_of(problem, b);
    const Index t = containing(documents.query, i);
    if (t == kNowhere) return {kNowhere, 0};
    const Index queries = documents.query[t + 1] - documents.query[t];
    // The document's keys within the key length.
    const Index keys = std::max<Index>(0, std::min(documents.key[t + 1], keys_of(problem, b)) - documents.key[t]);
    return {t, i - documents.query[t] + (to_the_end ? keys - queries : 0)};
  }
  const Index position = i + (to_the_end ? keys_of(problem, b) - problem.n_q : 0);
  return mask.segment > 0 ? in_segment(position, mask.segment) : Place{0, position};
}

Place key_place(const Problem& problem, Index b, Index j) {
  const Mask& mask = problem.mask;
  if (!mask.documents.empty()) {
    const Documents& documents = documents_of(problem, b);
    const Index t = containing(documents.key, j);
    if (t == kNowhere) return {kNowhere, 0};
    return {t, j - documents.key[t]};
  }
  return mask.segment > 0 ? in_segment(j, mask.segment) : Place{0, j};
}

Index distance(const Problem& problem, Index b, Index i, Index j) {
  return query_place(problem, b, i).position - key_place(problem, b, j).position;
}

bool visible(const Problem& problem, Index b, Index h, Index i, Index j) {
  const Mask& mask = problem.mask;
  const Index cell = problem.cell(b, h, i, j);
  if (j >= keys_of(problem, b)) return false;
  const Place query = query_place(problem, b, i);
  const Place key = key_place(problem, b, j);
  if (query.document == kNowhere || query.document != key.document) return false;

  const Index p = query.position;
  const Index x = key.position;
  const bool in_prefix = x < mask.prefix;
  if (mask.causal && !in_prefix && !(x <= p)) return false;
  if (mask.has_window && !in_prefix && !(p - mask.left < x && x <= p + mask.right)) return false;
  if (mask.exclude_self && x == p) return false;
  if (!mask.excluded_keys.empty() && mask.excluded_keys[i] == j) return false;
  if (mask.stride > 0 && !(std::llabs(p - x) < mask.local || (p - x) % mask.stride == 0)) return false;
  if (!mask.blocks.empty()) {
    const Index rows = (problem.n_q + mask.block_q - 1) / mask.block_q;
    const Index columns = (problem.n_k + mask.block_k - 1) / mask.block_k;
    const Index block = ((b * problem.heads + h) * rows + i / mask.block_q) * columns + j / mask.block_k;
    if (!mask.blocks[block]) return false;
  }
  if (!mask.dense_boolean.empty() && !mask.dense_boolean[cell]) return false;
  return !means_masked(problem, mask.dense_additive, cell) && !means_masked(problem, problem.bias.dense, cell);
}

Index count_visible(const Problem& problem, Index b, Index h, Index i) {
  Index count = 0;
  for (Index j = 0; j < problem.n_k; ++j) count += visible(problem, b, h, i, j);
  return count;
}

}  // namespace reference
