#include "attention/visibility.hpp"

#include <limits>

#include "tensor/element.hpp"

namespace isentropic {
namespace {

std::int64_t or_default(std::int64_t value, std::int64_t fallback) { return value < 0 ? fallback : value; }

const DocumentOffsets& offsets_of(const Mask& mask, std::int64_t b) {
  return mask.document_offsets[mask.document_offsets.size() == 1 ? 0 : static_cast<std::size_t>(b)];
}

Span local(Span whole, std::int64_t offset, std::int64_t n) {
  return {std::clamp<std::int64_t>(whole.begin - offset, 0, n), std::clamp<std::int64_t>(whole.end - offset, 0, n)};
}

// Of an additive mask or bias: -inf, or the type's lowest.
template <class E>
bool means_masked(E value) {
  if constexpr (std::is_same_v<E, float16>)
    return value.bits == 0xFBFF || value.bits == 0xFC00;
  else if constexpr (std::is_same_v<E, bfloat16>)
    return value.bits == 0xFF7F || value.bits == 0xFF80;
  else if constexpr (std::is_floating_point_v<E>)
    return value <= std::numeric_limits<E>::lowest();
  else
    return false;
}

bool covers(const Span& span, std::int64_t begin, std::int64_t end) { return span.begin <= begin && end <= span.end; }

bool meets(const Span& span, std::int64_t begin, std::int64_t end) {
  return span.size() > 0 && span.begin < end && begin < span.end;
}

// A band without its key `middle`.
RowSpans around(const Span& band, std::int64_t middle) {
  RowSpans out{{band.begin, std::min(band.end, middle)}, {std::max(band.begin, middle + 1), band.end}};
  if (out.prefix.size() == 0) out.prefix = {out.band.begin, out.band.begin};
  if (out.band.size() == 0) out.band = {out.prefix.end, out.prefix.end};
  return out;
}

}  // namespace

Visibility::Visibility(const AttentionProblem& problem)
    : problem_(problem),
      dims_(problem),
      total_queries_(or_default(problem.shard.total_queries, dims_.n_q)),
      total_keys_(or_default(problem.shard.total_keys, dims_.n_k)),
      tests_dense_(problem.mask.dense_part.present() || problem.bias.kind() == Bias::Kind::dense) {
  tests_keys_ = tests_dense_ || problem.mask.strided_part || problem.mask.block_sparse_part;
}

RowPlace Visibility::place(std::int64_t b, std::int64_t i) const {
  const Mask& mask = problem_.mask;
  const std::int64_t query = i + problem_.shard.query_offset;
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

RowSpans Visibility::whole_spans(std::int64_t b, std::int64_t i) const {
  const Mask& mask = problem_.mask;
  const RowPlace row = place(b, i);
  Span band = row.document;
  if (mask.is_causal) band.end = std::min(band.end, row.position + 1);
  if (mask.window_part) {
    band.begin = std::max(band.begin, row.position - mask.window_part->left + 1);
    band.end = std::min(band.end, row.position + mask.window_part->right + 1);
  }
  if (mask.others_only) return around(band, row.position);
  Span prefix{row.document.begin, std::min(row.document.begin + mask.prefix_keys, row.document.end)};
  band.begin = std::max(band.begin, prefix.end);
  if (prefix.size() == 0) prefix = {band.begin, band.begin};
  if (band.size() == 0) band = {prefix.end, prefix.end};
  return {prefix, band};
}

RowSpans Visibility::spans(std::int64_t b, std::int64_t i) const {
  const RowSpans whole = whole_spans(b, i);
  const std::int64_t offset = problem_.shard.key_offset;
  return {local(whole.prefix, offset, dims_.n_k), local(whole.band, offset, dims_.n_k)};
}

// Within one document the ends of a band never fall from row to row: if the first and the last row have one, they speak
// for those between; but not for keys that each row leaves out.
bool Visibility::ends_rise(std::int64_t b, std::int64_t i0, std::int64_t i1) const {
  const Mask& mask = problem_.mask;
  return mask.document_offsets.empty() && mask.segment_length == 0 && !mask.others_only && i0 < i1 &&
         spans(b, i0).band.size() > 0 && spans(b, i1 - 1).band.size() > 0;
}

Span Visibility::reach(std::int64_t b, std::int64_t i0, std::int64_t i1) const {
  const std::int64_t step = ends_rise(b, i0, i1) ? std::max<std::int64_t>(1, i1 - 1 - i0) : 1;
  Span all{dims_.n_k, 0};
  for (std::int64_t i = i0; i < i1; i += step) {
    const RowSpans row = spans(b, i);
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
    const RowSpans row = spans(b, i);
    for (const Span& span : {row.prefix, row.band})
      if (span.size() > 0) reached = {std::min(reached.begin, span.begin), std::max(reached.end, span.end)};
    const bool touching = row.prefix.end == row.band.begin;
    all = all && (covers(row.prefix, j0, j1) || covers(row.band, j0, j1) ||
                  (touching && covers({row.prefix.begin, row.band.end}, j0, j1)));
  }
  if (!meets(reached, j0, j1) || layout_hides_tile(b, h, i0, i1, j0, j1)) return TileVisibility::none;
  return all ? TileVisibility::all : TileVisibility::some;
}

bool Visibility::passes_layout(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const {
  const Mask::BlockSparse& part = *problem_.mask.block_sparse_part;
  const std::int64_t block_i = (i + problem_.shard.query_offset) / part.block_q;
  const std::int64_t block_j = (j + problem_.shard.key_offset) / part.block_k;
  return static_cast<const bool*>(part.layout.data)[broadcast_offset(part.layout, b, h, block_i, block_j)];
}

bool Visibility::layout_hides_tile(std::int64_t b, std::int64_t h, std::int64_t i0, std::int64_t i1, std::int64_t j0,
                                   std::int64_t j1) const {
  if (!problem_.mask.block_sparse_part) return false;
  const auto next = [](std::int64_t local_index, std::int64_t offset, std::int64_t block) {
    return (((local_index + offset) / block) + 1) * block - offset;
  };
  const Mask::BlockSparse& part = *problem_.mask.block_sparse_part;
  for (std::int64_t i = i0; i < i1; i = next(i, problem_.shard.query_offset, part.block_q))
    for (std::int64_t j = j0; j < j1; j = next(j, problem_.shard.key_offset, part.block_k))
      if (passes_layout(b, h, i, j)) return false;
  return true;
}

void Visibility::test_keys(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j0, std::int64_t n,
                           std::uint8_t* passed) const {
  const Mask& mask = problem_.mask;
  if (mask.strided_part) {
    const std::int64_t lag = place(b, i).position - (j0 + problem_.shard.key_offset);  // of key j0; it falls with j
    const std::int64_t stride = mask.strided_part->stride, local = mask.strided_part->local;
    std::int64_t phase = (lag % stride + stride) % stride;
    for (std::int64_t j = 0; j < n; ++j) {
      passed[j] &= std::abs(lag - j) < local || phase == 0;
      phase = phase == 0 ? stride - 1 : phase - 1;
    }
  }
  for (std::int64_t j = 0; mask.block_sparse_part && j < n;) {
    const std::int64_t block = mask.block_sparse_part->block_k, position = j0 + j + problem_.shard.key_offset;
    const std::int64_t end = std::min(n, j + block - position % block);
    if (!passes_layout(b, h, i, j0 + j)) std::fill(passed + j, passed + end, std::uint8_t{0});
    j = end;
  }
  const auto test_dense = [&](const View& view) {
    with_element_type(view.type, [&]<class E>() {
      const E* values = static_cast<const E*>(view.data) + broadcast_offset(view, b, h, i, j0);
      const auto passes = [&](std::int64_t j) {
        if constexpr (std::is_same_v<E, bool>)
          return values[j];
        else
          return !means_masked(values[j]);
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

bool Visibility::sees(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j0, std::int64_t j1) const {
  const RowSpans row = spans(b, i);
  bool any = false;
  for (const Span& span : {row.prefix, row.band}) {
    const Span part{std::max(span.begin, j0), std::min(span.end, j1)};
    any = any || (!tests_keys_ && part.size() > 0);
    for_each_passed(b, h, i, part, [&](std::int64_t, std::int64_t n, const std::uint8_t* passed) {
      any = any || std::find(passed, passed + n, 1) != passed + n;
    });
  }
  return any;
}

std::int64_t Visibility::count(std::int64_t b, std::int64_t h, std::int64_t i) const {
  if (problem_.shard.visible.present()) {
    const View& given = problem_.shard.visible;
    return static_cast<const std::int64_t*>(given.data)[broadcast_offset(given, b, h, i)];
  }
  const RowSpans whole = whole_spans(b, i);
  if (!tests_keys_) return whole.prefix.size() + whole.band.size();
  // Dense parts know the local keys only; the other parts know them all.
  const std::int64_t offset = problem_.shard.key_offset;
  const Span known = tests_dense_ ? Span{0, dims_.n_k} : Span{-offset, total_keys_ - offset};
  std::int64_t seen = 0;
  for (const Span& span : {whole.prefix, whole.band}) {
    const Span part{std::max(span.begin - offset, known.begin), std::min(span.end - offset, known.end)};
    for_each_passed(b, h, i, part, [&](std::int64_t, std::int64_t n, const std::uint8_t* passed) {
      seen += std::count(passed, passed + n, 1);
    });
  }
  return seen;
}

}  // namespace isentropic
