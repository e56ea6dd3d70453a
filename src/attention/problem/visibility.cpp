// Masks as spans of keys per row, and tests for the parts that are not spans.
#include "attention/problem/visibility.hpp"

#include "base/element.hpp"

namespace isentropic {
namespace {

std::int64_t or_default(std::int64_t value, std::int64_t fallback) { return value < 0 ? fallback : value; }

const DocumentOffsets& offsets_of(const Mask& mask, std::int64_t b) {
  return mask.document_offsets[mask.document_offsets.size() == 1 ? 0 : static_cast<std::size_t>(b)];
}

// Runs ascend, so a span of positions is a span of local keys.
Span local(Span whole, const Positions& keys) { return {keys.first_from(whole.begin), keys.first_from(whole.end)}; }

bool holds(const Span& span, std::int64_t key) { return span.begin <= key && key < span.end; }

bool covers(const Span& span, std::int64_t begin, std::int64_t end) { return span.begin <= begin && end <= span.end; }

bool meets(const Span& span, std::int64_t begin, std::int64_t end) {
  return span.size() > 0 && span.begin < end && begin < span.end;
}

}  // namespace

Visibility::Visibility(const AttentionProblem& problem)
    : problem_(problem),
      dims_(problem),
      queries_(problem.shard.query_runs, dims_.n_q),
      keys_(problem.shard.key_runs, dims_.n_k),
      total_queries_(or_default(problem.shard.total_queries, dims_.n_q)),
      total_keys_(or_default(problem.shard.total_keys, dims_.n_k)),
      tests_dense_(problem.mask.dense_part.present() || problem.bias.kind() == Bias::Kind::dense) {
  tests_keys_ = tests_dense_ || problem.mask.strided_part || problem.mask.block_sparse_part;
}

QueryPlace Visibility::place(std::int64_t b, std::int64_t i) const {
  const Mask& mask = problem_.mask;
  const std::int64_t query = queries_[i];
  const Span keys{0, mask.lengths.empty() ? total_keys_ : mask.lengths[static_cast<std::size_t>(b)]};
  if (!mask.document_offsets.empty()) {
    const DocumentOffsets& offsets = offsets_of(mask, b);
    const auto after = std::upper_bound(offsets.query.begin(), offsets.query.end(), query);
    if (after == offsets.query.begin() || after == offsets.query.end()) return {0, {0, 0}};
    const auto t = static_cast<std::size_t>(after - offsets.query.begin()) - 1;
    const Span document{offsets.key[t], std::min(offsets.key[t + 1], keys.end)};
    const std::int64_t shift =
        mask.align == Align::end ? document.size() - (offsets.query[t + 1] - offsets.query[t]) : 0;
    return {document.begin + (query - offsets.query[t]) + shift, document};
  }
  const std::int64_t position = query + (mask.align == Align::end ? keys.end - total_queries_ : 0);
  if (mask.segment_length == 0) return {position, keys};
  if (position < 0) return {position, {0, 0}};
  const std::int64_t begin = position / mask.segment_length * mask.segment_length;
  return {position, {begin, std::min(begin + mask.segment_length, keys.end)}};
}

VisibleSpans Visibility::whole_spans(std::int64_t b, std::int64_t i) const {
  const Mask& mask = problem_.mask;
  const QueryPlace row = place(b, i);
  Span band = row.document;
  if (mask.is_causal) band.end = std::min(band.end, row.position + 1);
  if (mask.window_part) {
    band.begin = std::max(band.begin, row.position - mask.window_part->left + 1);
    band.end = std::min(band.end, row.position + mask.window_part->right + 1);
  }
  Span prefix{row.document.begin, std::min(row.document.begin + mask.prefix_keys, row.document.end)};
  band.begin = std::max(band.begin, prefix.end);
  if (prefix.size() == 0) prefix = {band.begin, band.begin};
  if (band.size() == 0) band = {prefix.end, prefix.end};
  return {prefix, band};
}

VisibleSpans Visibility::spans(std::int64_t b, std::int64_t i) const {
  const VisibleSpans whole = whole_spans(b, i);
  return {local(whole.prefix, keys_), local(whole.band, keys_)};
}

// Within one document the ends of a band never decrease from row to row: if the first and the last row have a band,
// they bound those in between.
bool Visibility::ends_rise(std::int64_t b, std::int64_t i0, std::int64_t i1) const {
  const Mask& mask = problem_.mask;
  return mask.document_offsets.empty() && mask.segment_length == 0 && i0 < i1 && spans(b, i0).band.size() > 0 &&
         spans(b, i1 - 1).band.size() > 0;
}

Span Visibility::reach(std::int64_t b, std::int64_t i0, std::int64_t i1) const {
  const std::int64_t step = ends_rise(b, i0, i1) ? std::max<std::int64_t>(1, i1 - 1 - i0) : 1;
  Span all{dims_.n_k, 0};
  for (std::int64_t i = i0; i < i1; i += step) {
    const VisibleSpans row = spans(b, i);
    if (row.prefix.size() + row.band.size() == 0) continue;
    all.begin = std::min(all.begin, row.begin());
    all.end = std::max(all.end, row.end());
  }
  return all;
}

TileVisibility Visibility::tile(std::int64_t b, std::int64_t h, std::int64_t i0, std::int64_t i1, std::int64_t j0,
                                std::int64_t j1) const {
  const std::int64_t step = ends_rise(b, i0, i1) ? std::max<std::int64_t>(1, i1 - 1 - i0) : 1;
  Span reached{j1, j0};
  bool all = !tests_keys_;
  for (std::int64_t i = i0; i < i1; i += step) {
    const VisibleSpans row = spans(b, i);
    for (const Span& span : {row.prefix, row.band})
      if (span.size() > 0) reached = {std::min(reached.begin, span.begin), std::max(reached.end, span.end)};
    const bool touching = row.prefix.end == row.band.begin;
    all = all && (covers(row.prefix, j0, j1) || covers(row.band, j0, j1) ||
                  (touching && covers({row.prefix.begin, row.band.end}, j0, j1)));
  }
  for (std::int64_t i = i0; all && problem_.mask.excludes_keys() && i < i1; ++i)
    for_each_excluded(b, i, [&](std::int64_t j) { all = all && (j < j0 || j >= j1); });
  if (!meets(reached, j0, j1) || layout_hides_tile(b, h, i0, i1, j0, j1)) return TileVisibility::none;
  return all ? TileVisibility::all : TileVisibility::some;
}

bool Visibility::passes_layout(std::int64_t b, std::int64_t h, std::int64_t query, std::int64_t key) const {
  const Mask::BlockSparse& part = *problem_.mask.block_sparse_part;
  const std::int64_t place = broadcast_offset(part.layout, b, h, query / part.block_q, key / part.block_k);
  return static_cast<const bool*>(part.layout.data)[place];
}

bool Visibility::layout_hides_tile(std::int64_t b, std::int64_t h, std::int64_t i0, std::int64_t i1, std::int64_t j0,
                                   std::int64_t j1) const {
  if (!problem_.mask.block_sparse_part) return false;
  // The first place of the next block.
  const auto next = [](std::int64_t place, const Positions& positions, std::int64_t block) {
    return positions.first_from((positions[place] / block + 1) * block);
  };
  const Mask::BlockSparse& part = *problem_.mask.block_sparse_part;
  for (std::int64_t i = i0; i < i1; i = next(i, queries_, part.block_q))
    for (std::int64_t j = j0; j < j1; j = next(j, keys_, part.block_k))
      if (passes_layout(b, h, queries_[i], keys_[j])) return false;
  return true;
}

void Visibility::test_positions(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t first, std::int64_t n,
                                std::uint8_t* passed) const {
  const Mask& mask = problem_.mask;
  if (mask.strided_part) {
    const std::int64_t lag = place(b, i).position - first;  // of the first key; it decreases from there on
    const std::int64_t stride = mask.strided_part->stride, local = mask.strided_part->local;
    std::int64_t phase = (lag % stride + stride) % stride;
    for (std::int64_t j = 0; j < n; ++j) {
      passed[j] &= std::abs(lag - j) < local || phase == 0;
      phase = phase == 0 ? stride - 1 : phase - 1;
    }
  }
  for (std::int64_t j = 0; mask.block_sparse_part && j < n;) {
    const std::int64_t block = mask.block_sparse_part->block_k;
    const std::int64_t end = std::min(n, j + block - (first + j) % block);
    if (!passes_layout(b, h, queries_[i], first + j)) std::fill(passed + j, passed + end, std::uint8_t{0});
    j = end;
  }
}

void Visibility::test_keys(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j0, std::int64_t n,
                           std::uint8_t* passed) const {
  const Mask& mask = problem_.mask;
  for (std::int64_t j = j0; j < j0 + n;) {
    const std::int64_t end = std::min(j0 + n, keys_.run_end(j));
    test_positions(b, h, i, keys_[j], end - j, passed + (j - j0));
    j = end;
  }
  const auto test_dense = [&](const View& view) {
    with_element_type(view.type, [&]<class E>() {
      const E* values = static_cast<const E*>(view.data) + broadcast_offset(view, b, h, i, j0);
      const auto passes = [&](std::int64_t j) {
        if constexpr (std::is_same_v<E, bool>)
          return values[j];
        else
          return !is_masking(values[j]);
      };
      if (view.shape[3] == 1) {  // one value for the whole row
        if (!passes(0)) std::fill_n(passed, n, std::uint8_t{0});
        return;
      }
      for (std::int64_t j = 0; j < n; ++j) passed[j] &= passes(j);
    });
  };
  if (mask.dense_part.present()) test_dense(mask.dense_part);
  if (problem_.bias.kind() == Bias::Kind::dense) test_dense(problem_.bias.values());
}

bool Visibility::passes(std::int64_t b, std::int64_t h, std::int64_t i, const VisibleSpans& row, std::int64_t j) const {
  if (!holds(row.prefix, j) && !holds(row.band, j)) return false;
  std::uint8_t passed = 1;
  if (tests_keys_) test_keys(b, h, i, j, 1, &passed);
  return passed != 0;
}

// Counts the local keys of `range`.
std::int64_t Visibility::count_within(std::int64_t b, std::int64_t h, std::int64_t i, Span range) const {
  const VisibleSpans row = spans(b, i);
  std::int64_t seen = 0;
  for (const Span& span : {row.prefix, row.band}) {
    const Span part{std::max(span.begin, range.begin), std::min(span.end, range.end)};
    if (!tests_keys_) seen += part.size();
    for_each_passed(b, h, i, part, [&](std::int64_t, std::int64_t n, const std::uint8_t* passed) {
      seen += std::count(passed, passed + n, 1);
    });
  }
  for_each_excluded(b, i, [&](std::int64_t j) {
    if (range.begin <= j && j < range.end) seen -= passes(b, h, i, row, j);
  });
  return seen;
}

// Counts all keys of the whole problem, local or not, provided no part of the mask is dense.
std::int64_t Visibility::count_whole(std::int64_t b, std::int64_t h, std::int64_t i) const {
  const VisibleSpans row = whole_spans(b, i);
  const Span all{0, total_keys_};
  const auto test = [&](std::int64_t first, std::int64_t n, std::uint8_t* passed) {
    test_positions(b, h, i, first, n, passed);
  };
  std::int64_t seen = 0;
  for (const Span& span : {row.prefix, row.band}) {
    const Span part{std::max(span.begin, all.begin), std::min(span.end, all.end)};
    if (!tests_keys_)
      seen += part.size();
    else
      for_each_piece(part, test, [&](std::int64_t, std::int64_t n, const std::uint8_t* passed) {
        seen += std::count(passed, passed + n, 1);
      });
  }
  for_each_excluded_position(b, i, [&](std::int64_t position) {
    if (!holds(all, position) || (!holds(row.prefix, position) && !holds(row.band, position))) return;
    std::uint8_t passed = 1;
    test(position, 1, &passed);
    seen -= passed;
  });
  return seen;
}

std::int64_t Visibility::count(std::int64_t b, std::int64_t h, std::int64_t i) const {
  if (problem_.shard.visible.present()) {
    const View& given = problem_.shard.visible;
    return static_cast<const std::int64_t*>(given.data)[broadcast_offset(given, b, h, i)];
  }
  // Dense parts cover only the local keys; the other parts cover all keys.
  return tests_dense_ ? count_within(b, h, i, {0, dims_.n_k}) : count_whole(b, h, i);
}

}  // namespace isentropic
